"""Decide when matches of a union are released: when no earlier match and no copy can come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow
from sase.engine.blocks.block import Watermark
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.sentinels import EARLIEST, LATEST
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import size_of
from sase.engine.snapshots.layout import Declared, Number, Row
from sase.engine.snapshots.saved_state import Saved
from sase.planning.branches import CopyWait, branches_with_copies, wait_for_copies
from sase.planning.plan.nodes import Union
from sase.planning.split import window_of


@dataclass(eq=False)
class UnionRelease(Declared):
    """The rule by which matches are released, in order.

    A match is released after its detection, and after that of any copy of it. A copy may come until
    the end of the window of the match's first event: until that time, or until the first event
    beyond. `copied` are the branches with matches that may have copies. Positions before `passed`
    are those of events before the time of the last watermark, which is the `clock`.
    """

    layout = dict(
        passed=Number(EARLIEST, path="passed"),
        clock=Row(Number(), Number(0, "live.positions"), into=Watermark, path="clock"),
    )
    copied: NDArray[np.bool_]
    waits: CopyWait | None
    window: BoundWindow | None
    passed: int = EARLIEST
    clock: Watermark = Watermark(EARLIEST, 0)

    @classmethod
    def of(cls, union: Union) -> UnionRelease:
        """The rule of a union."""
        copied = np.array(branches_with_copies(union), np.bool_)
        return cls(copied, wait_for_copies(union), window_of(union))

    def keep(self, buffer: EventBuffer) -> None:
        """Keep the event columns that are needed to find the end of windows."""
        if self.waits is CopyWait.EVENTS:
            buffer.keep("position")

    def measures(self, bindings: Bindings, detected: Numbers, buffer: EventBuffer) -> Numbers:
        """The measure that the watermark has to pass until no copy of each match can come."""
        copied = self.copied[bindings.branches]
        if self.waits is None or not copied.any():
            return np.full(bindings.size, EARLIEST)
        if self.waits is CopyWait.END:
            return np.where(copied, LATEST, EARLIEST)
        assert self.window is not None
        size = size_of(self.window)
        if self.waits is CopyWait.EVENTS:
            size = min(size, LATEST - 1) + self.window.inclusive
            first = buffer.numbers("position")[bindings.first & buffer.mask]
        elif bindings.times is not None:  # the first time is an interval
            first = detected
        else:
            first = buffer.numbers("ts")[bindings.first & buffer.mask]
        latest = np.where(first > LATEST - size, LATEST, first + size)
        return np.where(copied, latest, EARLIEST)

    def advance(self, watermark: Watermark) -> int:
        """Take a watermark, and return a bound: the watermark has passed the measures below it."""
        if self.waits is not CopyWait.EVENTS:
            return watermark.ts
        if watermark.ts > self.clock.ts:
            self.passed = self.clock.position
        self.clock = watermark
        return self.passed

    def next_time(self, detected: int, measure: int) -> int:
        """The first time at which a match may be released."""
        if self.waits is CopyWait.TIME:
            return min(max(detected, measure), LATEST - 1) + 1
        return min(detected, LATEST - 1) + 1

    def _take(self, saved: Saved, values: Any) -> None:
        is_passed = values.passed <= values.clock.position
        saved.check(is_passed, "positions have passed that are to come")
        super()._take(saved, values)
