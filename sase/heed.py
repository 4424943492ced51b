"""Ask, amid work to which no check is handed on, whether what it is part of has come to its limits.

A query is read, bound, planned and its kernels are compiled in many small steps; whoever runs it
sets what they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

# What is told: where the work stands, and what helps.
Ask: TypeAlias = Callable[[str], object]
SEARCHING, READING = "", "while the query is read and planned: shorten it, or give it more time"
_asked: ContextVar[Ask | None] = ContextVar("asked", default=None)


def heed(stands: str = READING) -> None:
    """Ask whether to go on; an error ends the work where not."""
    ask = _asked.get()
    if ask is not None:
        ask(stands)


@contextmanager
def heeding(ask: Ask) -> Iterator[None]:
    """Have work within this block ask so."""
    before = _asked.get()
    _asked.set(ask)
    try:
        yield
    finally:
        _asked.set(before)
