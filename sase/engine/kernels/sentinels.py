"""The numbers that stand for something else: no such thing, no bound, the ends of all measures."""

from __future__ import annotations

NOTHING = -1
# A span that bounds nothing, and the earliest and the latest measure there is.
ANY_SPAN = -1
EARLIEST, LATEST = -(2**63), 2**63 - 1
