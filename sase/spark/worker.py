"""What is so in the processes alone that Spark runs tasks of Python in."""

from __future__ import annotations

import gc
import sys


def is_worker() -> bool:
    """Whether Spark started this process, and not a program of a user."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")


def spare_imports() -> None:
    """Have a worker not look for garbage among what is imported, as it does behind every task.

    What is there by now lives on, but for cycles of others that end later, which stay.
    """
    if is_worker():
        gc.freeze()
