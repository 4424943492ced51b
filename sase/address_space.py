"""How many addresses a process may have, as by `ulimit -v`.

Libraries say in words of their own that there are too few, or end the process: so it is asked
before they are loaded.
"""

from __future__ import annotations

import os
import sys

# Bytes of addresses that libraries and kernels take as they are loaded, and with which a run fits.
LEAST, ROOM = 512 << 20, 2 << 30
# What loads the others, and asks for memory for each core, which it may be told not to.
FIRST, THREADS = "numpy", "OPENBLAS_NUM_THREADS"


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
    """Refuse to load libraries for which there are too few addresses."""
    limit = address_limit()
    if limit is None or limit >= ROOM or FIRST in sys.modules:
        return
    os.environ.setdefault(THREADS, "1")
    if limit < LEAST:
        from sase.errors import BudgetError  # with modules that `--version` does not need

        raise BudgetError(
            f"a limit such as `ulimit -v` leaves {limit >> 20:,} MiB of addresses, and to load"
            f" NumPy, Arrow and compiled kernels takes {LEAST >> 20:,} MiB at least: allow"
            f" {ROOM >> 20:,} MiB"
        )
