"""Functions for the Python worker processes of Spark."""

from __future__ import annotations

import gc
import sys


def is_worker() -> bool:
    """Whether this process is a worker of Spark, and not the program of a user."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")


def spare_imports() -> None:
    """Exclude imported objects from garbage collection, which a worker runs after every task.

    Objects that exist now are then not collected if they become cyclic garbage later.
    """
    if is_worker():
        gc.freeze()
