"""(Tree) Evaluation of patterns with sets by joins: conjunctions in a set, sequences between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.binding.bound import Condition, ranks_of
from sase.engine.blocks.block import Block
from sase.engine.kernels.expressions.checks import Checks
from sase.engine.kernels.kleene.run_nodes import MOMENTS
from sase.engine.kernels.scan.conjunctions import conjoin, conjoin_checked, conjoin_counted
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
    fill,
    join_checked,
    join_counted,
    join_records,
)
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.contract import Checkpoint, Context, Counters, bound_of, span_of
from sase.engine.operators.join_tree import ROUND, JoinBuffer
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.nodes import RunEvaluation
from sase.planning.trees import JoinPart, part_of, parts_of, set_joins


class SetTreeEvaluationState(RunEvaluationBase):
    """A buffer of each component and of each join: every round joins what is new in them."""

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        joins = set_joins(node.components)
        self._parts = list(parts_of(joins))
        super().__init__(node, context)
        groups = _by_join(node, joins)
        self._checking = ResidualFilter(context, self._rest, groups, context.levels)
        of_sets = [each.set_of for each in node.components]
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
        self._ranks = np.array(ranks_of(node.components), np.int64)
        self.form = SetForm(levels, detects=False)

    def _programmed(self) -> SeriesProgram:
        """Nothing: joins decide all conditions."""
        return SeriesProgram(self._context, self._rest, [], MOMENTS * self._context.levels)

    # ------------------------------------------------------------ matches

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[SetBindings]:
        """Yield the matches that the events of a block complete."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return
        incoming = self._incoming(block, block.positions)
        for buffer in self._buffers.values():
            buffer.widen(max(self._context.dictionary.size(self._key), 1))
        arrivals = block.arrivals(incoming.begins, incoming.keys, incoming.measures)
        for begin in range(0, len(arrivals.rows), ROUND):
            self._fill(Arrivals._make(each[begin : begin + ROUND] for each in arrivals))
            for number, part in enumerate(self._parts):
                self._join(number, part)
            found = self._taken()
            self._built += found.size
            chunk = self._context.options.chunk
            for first in range(0, found.size, chunk):
                yield found.between(first, first + chunk)

    def _fill(self, arrivals: Arrivals) -> None:
        """Have events come into the leaves of their components."""
        for level, leaf in enumerate(self._leaves):
            leaf.make_room(int(np.count_nonzero(arrivals.states & (1 << level))))
            fill(arrivals, level, None, leaf.buffer)

    def _join(self, number: int, part: JoinPart) -> None:
        """Join all that is new below a join."""
        checking: ResidualFilter = self._checking
        checks: Checks | None = None if checking.is_empty else checking.checks()
        out = self._buffers[part.low, part.high]
        left = self._buffers[part.low, part.split]
        right = self._buffers[part.split + 1, part.high]
        asked = Join(*part, number, span_of(self._window), NOTHING, True, False, EARLIEST)
        joins = join_checked if checking.tally is None else join_counted
        conjoins = conjoin_checked if checking.tally is None else conjoin_counted
        if checks is None:
            joins, conjoins = join_records, conjoin
        is_done = False
        while not is_done:
            out.make_room(max(self._context.options.stack, out.alive))
            self._context.check(out.size)
            given = asked, self._at[number], checks, None if checks is None else checking.tally
            if self._conjoins[number]:
                is_done = conjoins(left.buffer, right.buffer, *given, out.buffer)
            else:
                is_done = joins(left.buffer, right.buffer, right.buffer, *given, out.buffer)
        if not self._conjoins[number]:
            right.evict(EARLIEST)

    def _taken(self) -> SetBindings:
        """The matches of a round, in the order of results."""
        rows = self._root.live()[:, FIELDS:]
        ends, levels = self._root.buffer.ends, self._context.levels
        self._root.most = max(self._root.most, self._root.alive)
        ends[TAIL] = ends[DONE] = ends[COUNT]
        slots = np.argsort(rows, axis=1)
        events = np.take_along_axis(rows, slots, axis=1)
        ranks = self._ranks[slots]
        order = np.lexsort((*ranks.T, *(-events.T[:-1]), events.T[-1]))
        return SetBindings(
            np.ascontiguousarray(events[order]).reshape(-1),
            levels * np.arange(1, len(rows) + 1),
            np.ones((levels, len(rows)), np.int64),
            np.ascontiguousarray(slots[order]).reshape(-1),
        )

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any record, once those are given up whose window has passed."""
        self._evict()
        # What a join made begins with an event that its leaf still has.
        oldest = [leaf.oldest() for leaf in self._leaves]
        return min((each for each in oldest if each is not None), default=None)

    def _evict(self) -> int:
        """Give up what is in no match to come; the bound before which that is."""
        bound = EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)
        for each in self._buffers.values():
            each.evict(bound)
        return bound

    def counters(self) -> Counters:
        """Count events, records of all joins, pairs that they tried, and matches."""
        buffers = self._buffers.values()
        return {
            "events": self._seen,
            "records": int(self._at[:, PASSED].sum()),
            "alive_records": sum(each.alive for each in buffers),
            "pairs": int(self._at[:, TRIED].sum()),
            "matches": self._built,
            **self._counted(sum(each.size for each in buffers)),
        }

    def checkpoint(self) -> Checkpoint:
        """The records, and the counts."""
        bound = self._evict()
        return {
            **super().checkpoint(),
            "buffers": [each.checkpoint(bound) for each in self._buffers.values()],
            "tried": self._at[:, TRIED:],
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint: between pushes no round is under way."""
        super().restore(saved)
        keys = max(self._context.dictionary.size(self._key), 1)
        parts = saved.part("buffers").parts(len(self._buffers))
        for each, own in zip(self._buffers.values(), parts, strict=True):
            each.restore(own, keys)
        shape = len(self._at), 2
        self._at[:, TRIED:] = saved.part("tried").array(*shape, low=0, high=MOST_COUNTED)
        for part, is_set in zip(self._parts, self._conjoins, strict=True):
            if is_set:
                self._buffers[part.low, part.split].link()
                self._buffers[part.split + 1, part.high].link()


def _by_join(node: RunEvaluation, joins: tuple[int, ...]) -> list[list[Condition]]:
    """The conditions by the first join that binds all of their events."""
    found: list[list[Condition]] = [[] for _ in joins]
    for edge in node.conditions:
        conjunct = edge.conjunct
        is_of_events = bool(conjunct.references)
        number = part_of(joins, node.components, conjunct) if is_of_events else len(joins) - 1
        found[number].append(conjunct.condition)
    return found if node.conditions else []
