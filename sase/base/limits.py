"""Limits of work: the address space of the process, and the check inside long computations."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sase.errors import BudgetError


# ---------------------------------------------------------------- address space

# Libraries report too little address space with messages of their own, or end the process. So it is
# checked before they are loaded.

# Bytes of address space to load the libraries, pandas for Arrow and kernels, and to run as well.
LEAST, ROOM = 640 << 20, 2 << 30
# By default numpy reserves memory for each core; this environment variable limits the threads.
LIBRARIES, THREADS = ("numpy", "pyarrow", "numba"), "OPENBLAS_NUM_THREADS"


def address_limit() -> int | None:
    """Return the limit of the address space in bytes, or None without a limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def is_tight() -> bool:
    """Whether the address space may be too small for a run."""
    limit = address_limit()
    return limit is not None and limit < ROOM


def require_addresses() -> None:
    """Load the libraries if the address space is small; raise a BudgetError if it is too small."""
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
    except (OSError, ImportError, MemoryError) as problem:  # other imports take address space, too
        raise _too_few(limit) from problem


def _too_few(limit: int) -> BudgetError:
    from sase.errors import BudgetError  # imports modules that `--version` does not need

    return BudgetError(
        f"a limit such as `ulimit -v` leaves {limit >> 20:,} MiB of addresses, and to load"
        f" NumPy, Arrow and compiled kernels takes {LEAST >> 20:,} MiB at least: allow"
        f" {ROOM >> 20:,} MiB"
    )


# ---------------------------------------------------------------- heed

# A query is read, bound and planned, and its kernels are compiled, in many small steps. A run with
# a limit sets the function that these steps call.

# Takes the current state of the work and a remedy, as the end of an error message.
Ask: TypeAlias = Callable[[str], object]
SEARCHING, READING = "", "while the query is read and planned: shorten it, or give it more time"
_asked: ContextVar[Ask | None] = ContextVar("asked", default=None)


def heed(stands: str = READING) -> None:
    """Call the check of the enclosing `heeding` block, which raises if the work must end."""
    ask = _asked.get()
    if ask is not None:
        ask(stands)


@contextmanager
def heeding(ask: Ask) -> Iterator[None]:
    """Let `heed` call this function within the block."""
    before = _asked.get()
    _asked.set(ask)
    try:
        yield
    finally:
        _asked.set(before)
