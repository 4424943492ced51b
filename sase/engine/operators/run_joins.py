"""The buffers of components and joins for run evaluations, and their rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, BoundWindow, Condition, Conjunct
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.expressions.checks import Checks
from sase.engine.kernels.scan.joins import (
    AT,
    COUNT,
    DONE,
    FIELDS,
    FRESH,
    PASSED,
    TAIL,
    TRIED,
    Join,
    conjoin,
    conjoin_checked,
    conjoin_counted,
    fill,
    join_checked,
    join_counted,
    join_records,
)
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.operators.contract import Context, Counters, span_of
from sase.engine.operators.join_tree import ROUND, JoinBuffer
from sase.engine.snapshots.layout import SAME, Array, Each, Own
from sase.engine.snapshots.saved_state import MOST_COUNTED
from sase.planning.plan.trees import JoinPart, part_of, parts_of


class RunJoins:
    """A buffer of each component and of each join: every round joins the new records.

    The components are those of the `context`. Joins of two members of a set are conjunctions.
    """

    # The members of the state of the operator that has the joins.
    layout = dict(
        buffers=Each(Own(), path=None),
        tried=Array(SAME, SAME, low=0, high=MOST_COUNTED, path=None),
    )

    def __init__(
        self,
        context: Context,
        joins: Sequence[int],
        window: BoundWindow | None,
        checking: ResidualFilter,
    ) -> None:
        self._context, self._span, self._checking = context, span_of(window), checking
        self._parts = list(parts_of(joins))
        of_sets = [each.set_of for each in context.components]
        self._conjoins = [
            of_sets[part.split] is not None and of_sets[part.split] == of_sets[part.split + 1]
            for part in self._parts
        ]
        levels, room = context.levels, context.options.stack
        sequences = [p for p, is_set in zip(self._parts, self._conjoins, strict=True) if not is_set]
        rights = {(part.split + 1, part.high) for part in sequences}
        whole = [(level, level) for level in range(levels)]
        whole += [(part.low, part.high) for part in self._parts]
        self._buffers = {
            (low, high): JoinBuffer(high - low + 1, room, is_right=(low, high) in rights)
            for low, high in whole
        }
        self._leaves = [self._buffers[level, level] for level in range(levels)]
        self._root = self._buffers[0, levels - 1]
        self._at = np.zeros((len(self._parts), 3), np.int64)
        self._at[:, AT] = FRESH

    def rounds(self, arrivals: Arrivals) -> Iterable[Numbers]:
        """The events of the new records of the root, a row each, round by round."""
        for begin in range(0, len(arrivals.rows), ROUND):
            self._fill(Arrivals._make(each[begin : begin + ROUND] for each in arrivals))
            for number, part in enumerate(self._parts):
                self._join(number, part)
            yield self._taken()

    def widen(self, keys: int) -> None:
        """Give every key below a bound its chains."""
        for buffer in self._buffers.values():
            buffer.widen(max(keys, 1))

    def _fill(self, arrivals: Arrivals) -> None:
        """Add events to the leaves of their components."""
        for level, leaf in enumerate(self._leaves):
            leaf.make_room(
                int(np.count_nonzero(arrivals.states & (1 << level))), self._context.check
            )
            fill(arrivals, level, None, leaf.buffer)

    def _join(self, number: int, part: JoinPart) -> None:
        """Join all new records below a join."""
        checking = self._checking
        checks: Checks | None = None if checking.is_empty else checking.checks()
        out = self._buffers[part.low, part.high]
        left = self._buffers[part.low, part.split]
        right = self._buffers[part.split + 1, part.high]
        asked = Join(*part, number, self._span, NOTHING, True, False, EARLIEST)
        joins = join_checked if checking.tally is None else join_counted
        conjoins = conjoin_checked if checking.tally is None else conjoin_counted
        if checks is None:
            joins, conjoins = join_records, conjoin
        is_done = False
        while not is_done:
            out.make_room(max(self._context.options.stack, out.alive), self._context.check)
            self._context.check(0)
            given = asked, self._at[number], checks, None if checks is None else checking.tally
            if self._conjoins[number]:
                is_done = conjoins(left.buffer, right.buffer, *given, out.buffer)
            else:
                is_done = joins(left.buffer, right.buffer, right.buffer, *given, out.buffer)
        if not self._conjoins[number]:
            right.evict(EARLIEST)

    def _taken(self) -> Numbers:
        """The events of the records of a round."""
        rows: Numbers = self._root.live()[:, FIELDS:]
        ends = self._root.buffer.ends
        self._root.most = max(self._root.most, self._root.alive)
        ends[TAIL] = ends[DONE] = ends[COUNT]
        return rows

    def evict(self, bound: int) -> None:
        """Drop the records that end before a bound."""
        for each in self._buffers.values():
            each.evict(bound)

    def oldest(self) -> int | None:
        """The oldest event of any record: a joined record begins with an event of its leaf."""
        oldest = [leaf.oldest() for leaf in self._leaves]
        return min((each for each in oldest if each is not None), default=None)

    @property
    def size(self) -> int:
        """The bytes of the buffers."""
        return sum(each.nbytes for each in self._buffers.values())

    def counters(self) -> Counters:
        """Count the records of all joins, the live ones, and the pairs that were tried."""
        return {
            "records": int(self._at[:, PASSED].sum()),
            "alive_records": sum(each.alive for each in self._buffers.values()),
            "pairs": int(self._at[:, TRIED].sum()),
        }

    def state(self, keys: int) -> dict[str, Any]:
        """The members of a state; buffers have chains for this number of keys."""
        self.widen(keys)
        return {"buffers": [*self._buffers.values()], "tried": self._at[:, TRIED:]}

    def take(self, tried: Numbers) -> None:
        """Continue with restored buffers; between pushes no round is under way."""
        self._at[:, TRIED:] = tried
        for part, is_set in zip(self._parts, self._conjoins, strict=True):
            if is_set:
                self._buffers[part.low, part.split].link()
                self._buffers[part.split + 1, part.high].link()


def by_join(
    conjuncts: Sequence[Conjunct], components: Sequence[BoundComponent], joins: Sequence[int]
) -> list[list[Condition]]:
    """The conditions by the first join that binds all of their events; without events the last."""
    found: list[list[Condition]] = [[] for _ in joins]
    for conjunct in conjuncts:
        is_of_events = bool(conjunct.references)
        number = part_of(joins, components, conjunct) if is_of_events else len(joins) - 1
        found[number].append(conjunct.condition)
    return found if conjuncts else []
