"""Numbers with a special meaning, and the bounds of windows in measures."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined

# ---------------------------------------------------------------- sentinels

NOTHING = -1
# A span without a bound, and the least and the greatest measure.
ANY_SPAN = -1
EARLIEST, LATEST = -(2**63), 2**63 - 1


# ---------------------------------------------------------------- window


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
