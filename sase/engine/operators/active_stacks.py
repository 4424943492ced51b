"""(AIS, PAIS) Active instance stacks, one for each level, or one for each level and key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.block import Block, Numbers, Tests
from sase.engine.kernels.checks import Checks
from sase.engine.kernels.compiling import frozen
from sase.engine.kernels.stacks import EARLIEST, NOTHING, Absences, Stacks, evict, scan
from sase.engine.kernels.walk import FRESH, Walk, construct
from sase.engine.operators.contract import Context, Counters, Saved, Sequences, span_of
from sase.planning.nodes import SequenceConstruction

BY_PLACE = ("row", "rip", "below", "earlier", "tie", "measure", "reach", "floor")


class ActiveStacks:
    """The stacks, the walk through them, and the last events of the negative components pushed."""

    def __init__(self, key: Tests, above: SequenceConstruction, context: Context) -> None:
        self._key, self._context = key, context
        levels, room = context.levels, context.options.stack
        arrays = {name: np.zeros((levels, room), np.int64) for name in BY_PLACE}
        if not above.negations:
            arrays["floor"] = np.zeros((levels, 1), np.int64)
        self.stacks = Stacks(
            **arrays,
            heads=np.full((levels, 1), NOTHING, np.int64),
            counts=np.zeros(levels, np.int64),
            tails=np.zeros(levels, np.int64),
        )
        self._absences = _absences(above, context)
        self._walk = Walk(
            np.array([0, FRESH]),
            np.zeros(levels, np.int64),
            np.array(_bounds(above)),
            np.zeros(levels, np.int64),
        )
        self.dropped = np.zeros(levels, np.int64)

    def push(self, block: Block, states: Numbers, measures: Numbers, span: int) -> None:
        """Push the events of a block onto the stacks."""
        keys = block.codes(self._key)
        self.make_room(len(block), self._context.coding.keys(self._key).size if self._key else 1)
        arrivals = block.arrivals(states, keys, measures)
        scan(arrivals, self.stacks, self._absences, span, self.dropped)

    def walk(self, checks: Checks, out: Sequences) -> int:
        """Write sequences that end in the instances of the last level."""
        return construct(self.stacks, self._walk, checks, out)

    def evict(self, bound: int) -> None:
        """Drop the instances before a bound."""
        evict(self.stacks, bound)

    def oldest(self) -> int | None:
        """The first event of the live instances."""
        stacks, mask = self.stacks, self.stacks.row.shape[1] - 1
        # Those of the last level have all been used.
        alive = np.flatnonzero(stacks.tails[:-1] < stacks.counts[:-1])
        return min((int(stacks.row[i, stacks.tails[i] & mask]) for i in alive), default=None)

    def make_room(self, events: int, keys: int) -> None:
        """Let every level take some more events, and every key have a stack."""
        stacks = self.stacks
        self.stacks = stacks = stacks._replace(heads=_wider(stacks.heads, keys, NOTHING))
        if len(self._absences.gaps):
            self._absences = self._absences._replace(
                tie=_wider(self._absences.tie, keys, EARLIEST),
                measure=_wider(self._absences.measure, keys, EARLIEST),
            )
        room = stacks.row.shape[1]
        needed = int((stacks.counts - stacks.tails).max()) + events
        if needed > room:
            self.stacks = stacks._replace(**moved(stacks, 1 << (needed - 1).bit_length()))

    def counters(self) -> Counters:
        """Instances by level: pushed, alive, kept out by transition filtering, and visited."""
        stacks = self.stacks
        return {
            "pushed": stacks.counts.tolist(),
            "alive": (stacks.counts - stacks.tails).tolist(),
            "filtered": self.dropped.tolist(),
            "visited": self._walk.visited.tolist(),
        }

    def saved(self) -> Saved:
        """All arrays."""
        return {
            "stacks": self.stacks._asdict(),
            "walk": self._walk._asdict(),
            "tie": self._absences.tie,
            "measure": self._absences.measure,
            "dropped": self.dropped,
        }

    def restore(self, saved: Saved) -> None:
        """Go on from a state that was saved."""
        self.stacks, self._walk = Stacks(**saved["stacks"]), Walk(**saved["walk"])
        self._absences = self._absences._replace(tie=saved["tie"], measure=saved["measure"])
        self.dropped = saved["dropped"]


def moved(stacks: Stacks, room: int) -> dict[str, NDArray[Any]]:
    """The arrays by place with more room: every live instance at the place of its number there."""
    larger = {}
    for name in BY_PLACE:
        array = getattr(stacks, name)
        if array.shape[1] == 1 < stacks.row.shape[1] or (name == "floor" and array.shape[1] == 1):
            larger[name] = array
            continue
        larger[name] = np.zeros((len(array), room), np.int64)
        for level, (tail, count) in enumerate(zip(stacks.tails, stacks.counts, strict=True)):
            numbers = np.arange(tail, count)
            old = numbers & (array.shape[1] - 1)
            larger[name][level, numbers & (room - 1)] = array[level, old]
    return larger


def _wider(array: NDArray[np.int64], columns: int, empty: int) -> NDArray[np.int64]:
    """The array with at least so many columns."""
    missing = columns - array.shape[1]
    if missing <= 0:
        return array
    return np.append(array, np.full((len(array), missing), empty, np.int64), axis=1)


def _absences(above: SequenceConstruction, context: Context) -> Absences:
    """The negative components that construction decides."""
    count = len(above.negations)
    assert all(negation.before is not None for negation in above.negations)
    return Absences(
        frozen(np.array([negation.before for negation in above.negations], np.int64)),
        frozen(np.array([context.bit_of(n.component.index) for n in above.negations], np.int64)),
        np.full((2 * count, 1), EARLIEST, np.int64),
        np.full((2 * count, 1), EARLIEST, np.int64),
    )


def _bounds(above: SequenceConstruction) -> list[int]:
    """What the window spans, for sequences and for a negated start, and the earliest measure."""
    span = span_of(above.window)
    inclusive = above.window is not None and above.window.inclusive
    return [span, span, EARLIEST + (not inclusive)]


