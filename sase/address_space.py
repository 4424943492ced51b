"""How many addresses a process may have, as by `ulimit -v`.

Libraries say in words of their own that there are too few, or end the process: so it is asked
before they are loaded.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sase.errors import BudgetError

# Bytes of addresses that libraries and kernels take as they are loaded, and with which a run fits.
LEAST, ROOM = 512 << 20, 2 << 30
# The first asks for memory for each core, which it may be told not to.
LIBRARIES, THREADS = ("numpy", "pyarrow", "numba"), "OPENBLAS_NUM_THREADS"


def address_limit() -> int | None:
    """The most bytes of addresses that the process may have, if there is such a limit."""
    try:
        import resource
    except ImportError:  # on Windows, which has no such limit
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def is_tight() -> bool:
    """Whether there may be too few addresses for a run."""
    limit = address_limit()
    return limit is not None and limit < ROOM


def require_addresses() -> None:
    """Load the libraries if addresses are few; refuse to where these are too few."""
    limit = address_limit()
    if limit is None or limit >= ROOM:
        return
    if LIBRARIES[0] not in sys.modules:
        os.environ.setdefault(THREADS, "1")
    if limit < LEAST:
        raise _too_few(limit)
    try:
        for name in LIBRARIES:
            import_module(name)
    except ModuleNotFoundError:
        raise
    except (OSError, ImportError, MemoryError) as problem:  # what else is loaded takes some, too
        raise _too_few(limit) from problem


def _too_few(limit: int) -> BudgetError:
    from sase.errors import BudgetError  # with modules that `--version` does not need

    return BudgetError(
        f"a limit such as `ulimit -v` leaves {limit >> 20:,} MiB of addresses, and to load"
        f" NumPy, Arrow and compiled kernels takes {LEAST >> 20:,} MiB at least: allow"
        f" {ROOM >> 20:,} MiB"
    )
