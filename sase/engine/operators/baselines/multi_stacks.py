"""(Multi-PAIS) Stacks for every equivalence attribute, with cross-attribute filtering."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.blocks.block import Block, Tests
from sase.engine.columns.arrays import Numbers, copy_stretch, grown, zeros
from sase.engine.kernels.baselines.multi_stacks import AttributeStacks, scan_all
from sase.engine.kernels.scan.stacks import COUNT, MASK, TAIL, Arrivals
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.contract import Context
from sase.engine.snapshots.layout import SAME, Array, Record
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.nodes import SequenceConstruction

# Events that are pushed between checks of limits: each may visit many earlier events.
AT_ONCE = 1 << 12


class MultiStacks(ActiveStacks):
    """The stacks of the first key, which construction uses, and those of the other keys."""

    layout = ActiveStacks.layout | dict(
        others=Record(
            heads=Array(SAME, SAME, None, low=NOTHING),
            below=Array(SAME, SAME, "room", ring=2),
            key=Array(SAME, SAME, "room"),
        )
    )

    def __init__(
        self, keys: tuple[Tests, ...], above: SequenceConstruction, context: Context
    ) -> None:
        assert not above.elements, "negative components are pushed to stacks of one key"
        super().__init__(keys[0], above, context)
        self._other_keys = [context.dictionary.key(tests) for tests in keys[1:]]
        shape = (len(self._other_keys), context.levels)
        self._others = AttributeStacks(
            np.full((*shape, 1), NOTHING, np.int64),
            np.zeros((*shape, context.options.stack), np.int64),
            np.zeros((*shape, context.options.stack), np.int64),
        )

    def scan(self, block: Block, arrivals: Arrivals, span: int) -> None:
        """Push the events that match earlier ones on every attribute."""
        coding = self._context.dictionary
        others = np.stack([block.codes(key) for key in self._other_keys])
        self._make_room_of_others(max(coding.size(key) for key in self._other_keys))
        for begin in range(0, len(arrivals.rows), AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            part = Arrivals._make(np.ascontiguousarray(each[some]) for each in arrivals)
            codes = np.ascontiguousarray(others[:, some])
            scan_all(part, codes, self.stacks, self._others, span)
            self._context.check(0)

    def _make_room_of_others(self, keys: int) -> None:
        others, room = self._others, int(self.stacks.ends[MASK].max()) + 1
        if keys > others.heads.shape[2]:
            others = others._replace(heads=grown(others.heads, keys, NOTHING, axis=2))
        if others.below.shape[2] < room:
            below, key = (self._moved(each, room) for each in (others.below, others.key))
            others = others._replace(below=below, key=key)
        self._others = others

    def _moved(self, array: Numbers, room: int) -> Numbers:
        """Enlarge the rings of the levels; instance numbers modulo the size are places."""
        larger, ends = zeros((*array.shape[:2], room)), self.stacks.ends
        for before, after in zip(array, larger, strict=True):
            for old, new, tail, count in zip(before, after, ends[TAIL], ends[COUNT], strict=True):
                copy_stretch(old, new, int(tail), int(count))
        return larger

    @property
    def nbytes(self) -> int:
        """The bytes of the stacks of all keys."""
        return super().nbytes + sum(array.nbytes for array in self._others)

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        part, ends, (heads, below, _) = saved.part("others"), self.stacks.ends, self._others
        room = below.shape[2]
        part.check(room <= self.stacks.cells.shape[1], "places differ")
        part.check((ends[COUNT] - ends[TAIL] <= room).all(), "there are more instances than places")
        part.check(heads.shape[2] > 0, "there is no stack")
        part.check((heads < ends[COUNT][:, np.newaxis]).all(), "a head is no instance")
