"""(NFAb) Run evaluation: the runs of a query with series or a strategy, and their matches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sase.binding.bound import Condition, ConjunctClass, When, WindowKind
from sase.engine.bindings import Bindings
from sase.engine.block import Block, Clock
from sase.engine.expressions.series import Term
from sase.engine.kernels import runs as of
from sase.engine.kernels.series import BEGIN, FINISH, MOMENTS, TAKE
from sase.engine.kernels.stacks import EARLIEST, NOTHING
from sase.engine.operators.contract import (
    Context,
    Counters,
    Saved,
    Sequences,
    bound_of,
    measures_of,
    span_of,
)
from sase.engine.operators.series import SeriesProgram, pattern_of
from sase.engine.operators.simple_conditions import SimpleConditions
from sase.lang.ast import StrategyName
from sase.planning.nodes import RunEvaluation

STRATEGIES = {
    StrategyName.SKIP_TILL_ANY_MATCH: of.ANY,
    StrategyName.SKIP_TILL_NEXT_MATCH: of.NEXT_MATCH,
    StrategyName.STRICT_CONTIGUITY: of.STRICT,
    StrategyName.PARTITION_CONTIGUITY: of.RANKED,
}
# The events that a chunk of results has room for, for each match that it has room for.
EVENTS_A_MATCH = 16


class RunEvaluationState:
    """A running evaluation."""

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        self.node, self._context, self._window = node, context, node.window
        self._always, self._first = _simple(node, context)
        # One event alone agrees with itself, NULL or not.
        is_alone = context.is_alone and context.components[0].is_single
        # Where a test fixes the value, that is a condition; partitions go by it all the same.
        goes_by_partition = node.is_ranked or node.is_watched or _counts_partition(node)
        written = [t for t in node.equivalences if t.value is None or goes_by_partition]
        written = [] if is_alone else written
        self._key = context.coding.key(() if is_alone else node.partitions)
        rest = [test for test in written if test not in node.partitions]
        self._pattern = pattern_of(context)
        self._program = SeriesProgram(context, rest, list(_terms(node)), MOMENTS * context.levels)
        self._rules = of.Rules(
            _strategy(node),
            span_of(node.window),
            int(self._prunes(is_partitioned=not rest)),
            sum(1 << level for level in _beginnings(context)),
        )
        options = context.options
        self._runs = of.Runs(
            self._program.cells(options.stack),
            np.full(16, NOTHING, np.int64),
            np.zeros(16, np.int64),
            np.zeros(options.stack, np.int64),
            np.zeros(of.STATE, np.int64),
        )
        self._runs.state[of.USED], self._runs.state[of.FREE] = 1, NOTHING
        self._written = of.Written(
            np.empty(options.chunk * EVENTS_A_MATCH, np.int64),
            np.empty(options.chunk, np.int64),
            np.empty((context.levels, options.chunk), np.int64),
            np.zeros(2, np.int64),
        )
        self._seen = self._built = self._grown = self._swept = 0
        self._clock = Clock(EARLIEST, 0)

    def _prunes(self, *, is_partitioned: bool) -> bool:
        """Whether an event that is outside of the window of a run ends it."""
        if self._window is None:
            return False
        return is_partitioned or self._window.kind is not WindowKind.PARTITION_EVENTS

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Bindings]:
        """The matches that the events of a block complete."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return
        incoming = self._incoming(block)
        machine, state = self._program.machine(), self._runs.state
        state[of.AT] = 0
        while True:
            self._written.sizes[:] = 0
            why = of.advance_runs(
                machine, self._pattern, self._rules, self._runs, incoming, self._written
            )
            matches, events = (int(size) for size in self._written.sizes)
            if matches:
                self._built += matches
                yield self._bindings(matches, events)
            elif why == of.FULL:
                self._make_room_for_match()
            if why == of.DONE:
                return
            if why == of.CROWDED:
                self._make_room_for_nodes(int(incoming.keys[state[of.AT]]))

    def _incoming(self, block: Block) -> of.Incoming:
        states = self._always.states(block)
        every = (1 << self._context.levels) - 1
        takes = states & every
        begins = self._first.of(block, takes)
        keys = block.codes(self._key)
        self._make_room_for_keys(self._context.coding.size(self._key))
        measures = measures_of(block, self._window)
        spots = block.positions
        if self._rules.strategy == of.RANKED:
            assert block.ranks is not None
            spots = block.ranks
        return of.Incoming(block.numbers, begins, takes, keys, measures, block.ties, spots)

    def _bindings(self, matches: int, events: int) -> Bindings:
        written = self._written
        return Bindings(
            written.events[:events].copy(),
            written.ends[:matches].copy(),
            written.lengths[:, :matches].copy(),
        )

    # ------------------------------------------------------------ room

    def _make_room_for_match(self) -> None:
        self._written = self._written._replace(
            events=np.empty(2 * len(self._written.events), np.int64)
        )

    def _make_room_for_keys(self, keys: int) -> None:
        runs, more = self._runs, keys - len(self._runs.heads)
        if more > 0:
            more = max(more, len(runs.heads))
            self._runs = runs._replace(
                heads=np.append(runs.heads, np.full(more, NOTHING, np.int64)),
                counts=np.append(runs.counts, np.zeros(more, np.int64)),
            )

    def _make_room_for_nodes(self, key: int) -> None:
        """Room for all that the runs of a partition may become by an event."""
        runs = self._runs
        needed = (int(runs.counts[key]) + 1) * self._context.levels
        size = len(runs.cells)
        while size - int(runs.state[of.USED]) + int(runs.state[of.SPARE]) < needed:
            size *= 2
        cells = runs.cells
        if size > len(cells):
            cells = np.zeros((size, self._program.width), np.int64)
            cells[: len(runs.cells)] = runs.cells
        fresh = runs.fresh
        if needed > len(fresh):
            fresh = np.zeros(1 << needed.bit_length(), np.int64)
        self._runs = runs._replace(cells=cells, fresh=fresh)

    # ------------------------------------------------------------ time

    def advance(self, clock: Clock, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """Time ends runs; they go when the next event comes by, or when it is worth a look."""
        self._clock = clock
        return iter(())

    def horizon(self) -> int | None:
        """The first event of any run, once those that are over are gone."""
        bound = EARLIEST if self._clock.is_final else bound_of(self._clock, self._window)
        first = of.expire(self._runs, self._rules, bound, self._clock.position)
        return None if first == NOTHING else int(first)

    def counters(self) -> Counters:
        """Events of an admitted type, runs that were made, that are alive, and matches."""
        state = self._runs.state
        found: Counters = {
            "events": self._seen,
            "runs": int(state[of.MADE]),
            "alive": int(state[of.LIVE]),
            "most_alive": int(state[of.MOST_LIVE]),
            "expired": int(state[of.EXPIRED]),
            "matches": self._built,
        }
        if self._context.options.analyze:
            found["rejected_events"] = {**self._always.rejected, **self._first.rejected}
            found["most_bytes"] = self._runs.cells.nbytes + self._written.events.nbytes
            found["most_stored_bytes"] = self._context.store.size
        return found

    def saved(self) -> Saved:
        """The runs."""
        used = int(self._runs.state[of.USED])
        return {
            "seen": self._seen,
            "built": self._built,
            "cells": self._runs.cells[:used],
            "heads": self._runs.heads,
            "counts": self._runs.counts,
            "state": self._runs.state,
        }

    def restore(self, saved: Saved) -> None:
        """Go on from a state that was saved."""
        self._seen, self._built = saved["seen"], saved["built"]
        cells = self._program.cells(max(len(saved["cells"]), len(self._runs.cells)))
        cells[: len(saved["cells"])] = saved["cells"]
        arrays = (np.array(saved[name], np.int64) for name in ("heads", "counts"))
        heads, counts = arrays
        state = np.array(saved["state"], np.int64)
        self._runs = of.Runs(cells, heads, counts, self._runs.fresh, state)


def _strategy(node: RunEvaluation) -> int:
    if node.is_alone:
        return of.ANY
    return of.WATCHED if node.is_watched else STRATEGIES[node.strategy]


def _counts_partition(node: RunEvaluation) -> bool:
    return node.window is not None and node.window.kind is WindowKind.PARTITION_EVENTS


def _beginnings(context: Context) -> Iterator[int]:
    """The levels at which a run may begin: those before may stay empty."""
    for level, component in enumerate(context.components):
        yield level
        if component.minimum > 0:
            return


def _simple(node: RunEvaluation, context: Context) -> tuple[SimpleConditions, SimpleConditions]:
    """The conditions on one event: on each of a component, and on its first alone."""
    always: list[tuple[int, Condition]] = []
    first: list[tuple[int, Condition]] = []
    for conjunct in node.simple:
        assert conjunct.component is not None
        among = first if conjunct.when is When.FIRST else always
        among.append((conjunct.component, conjunct.condition))
    for test in node.equivalences:
        if test.value is not None:
            always += context.values(test, node.components)
    return SimpleConditions(context, always), SimpleConditions(context, first)


def _terms(node: RunEvaluation) -> Iterator[Term]:
    """The conditions by moment."""
    levels = {component.index: level for level, component in enumerate(node.components)}
    for edge in node.conditions:
        conjunct = edge.conjunct
        if conjunct.kind is ConjunctClass.CONSTANT or conjunct.component is None:
            for level in range(len(levels)):
                yield Term(conjunct.condition, MOMENTS * level + BEGIN)
            continue
        level = MOMENTS * levels[conjunct.component]
        match conjunct.when:
            case When.WHOLE:
                yield Term(conjunct.condition, level + FINISH)
            case When.FIRST | When.EVENT:
                yield Term(conjunct.condition, level + BEGIN)
            case When.EVERY:
                yield Term(conjunct.condition, level + BEGIN, own=conjunct.component)
                yield Term(conjunct.condition, level + TAKE, own=conjunct.component)
            case When.FURTHER:
                yield Term(conjunct.condition, level + TAKE, own=conjunct.component)
