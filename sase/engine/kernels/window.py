"""What windows span, in the measure of each: time, positions, or ranks in a partition."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, LATEST


@inlined
def window_start(measure: int, span: int) -> int:
    """Return the least measure of a first event within the window; `< T` spans T − 1."""
    if span == ANY_SPAN or measure < EARLIEST + span:
        return EARLIEST
    return measure - span


@inlined
def window_end(first: int, span: int) -> int:
    """Return the last measure within the window of a first event."""
    if span == ANY_SPAN or first > LATEST - span:
        return LATEST
    return first + span
