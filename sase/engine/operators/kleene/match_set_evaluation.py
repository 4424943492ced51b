"""(SASE++) Collapsed evaluation: collect the events of a compressed match set.

The set is read at the end. Or its matches are listed with the block that has their last event; then
events that no window reaches any more are evicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition, Conjunct, Part, Reference
from sase.cached_property import cached_property
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import ProgramLayout
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, NOTHING
from sase.engine.match_graph import (
    Binding,
    CandidateEvents,
    Edge,
    MatchSet,
    Neighbours,
    SlotAutomaton,
)
from sase.engine.match_graph.state_counts import count_by_states
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.operators.contract import Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.evaluation import RunCode, RunEvaluationBase
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SnapshotError
from sase.planning.automaton.automaton import PatternAutomaton
from sase.planning.automaton.build import automaton_of
from sase.planning.automaton.unrolled import Unrolled
from sase.planning.plan.nodes import RunEvaluation
from sase.planning.reasoning.paths import neighbours

# Rows of a candidate: its number, position, key, tie, measure, and levels as bits.
COPIES = 3  # of the candidates, while they are sorted by key
NUMBER, POSITION, KEY, TIE, MEASURE, BEGINS, TAKES = range(7)


class MatchSetEvaluationState(RunEvaluationBase):
    """A running collapsed evaluation."""

    layout = RunEvaluationBase.layout | dict(events=Array(SAME, None, path=None))

    def __init__(
        self, node: RunEvaluation, context: Context, edges: Callable[[RunCode], GraphEdges]
    ) -> None:
        super().__init__(node, context, negatives=node.has_groups)
        self._room = MatchRoom(self._memory, context.levels, context.options.chunk)
        self._edges = edges(self._code)
        self._parts, self._is_restored = [np.empty((7, 0), np.int64)], False
        # A single event agrees with no other, but must have the values that negative components
        # share.
        alone = self._rest if node.is_alone else []
        self._shared = [context.dictionary.key((test,)) for test in alone]

    @property
    def tests_neighbours(self) -> bool:
        """Whether neighbours in a match are tested against each other."""
        return self._edges.are_tested

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Keep the candidates of a block; if matches are listed, yield the completed ones."""
        self._remember(block)
        return self._listed(block) if self._edges.lists and len(block) else iter(())

    def _listed(self, block: Block) -> Iterator[Bindings]:
        """The matches with their last event in a block."""
        if not self._parts[-1].shape[1]:
            return
        found = self.collected()
        matches = found.matches.ending_from(int(block.positions[0]))
        while some := list(islice(matches, self._context.options.chunk)):
            self._built += len(some)
            yield found.bindings(some)

    def _remember(self, block: Block) -> None:
        self._seen += len(block)
        if self.node.nothing is None:
            found = self._admission.incoming(block)
            columns = (
                found.numbers, found.spots, found.keys, found.ties, found.measures,
                found.begins, found.takes,
            )  # fmt: skip
            events = np.stack([np.asarray(column, np.int64) for column in columns])
            may = (events[KEY] >= 0) & ((events[BEGINS] | events[TAKES]) != 0)
            for key in self._shared:
                may &= block.codes(key) != NOTHING
            self._parts.append(events[:, may])

    def horizon(self) -> int | None:
        """Return the oldest candidate, after those out of reach are evicted."""
        if self._edges.lists and self._window is not None:
            self._parts = [self._reached(np.concatenate(self._parts, axis=1))]
        if self._edges.lists and self._watermark.is_final:
            return None
        return next((int(part[NUMBER, 0]) for part in self._parts if part.shape[1]), None)

    def _reached(self, events: Numbers) -> Numbers:
        """Return the candidates that a later window may reach."""
        bound = bound_of(self._watermark, self._window)
        if not self.node.counts_in_partitions:
            return events[:, events[MEASURE] >= bound]
        last = np.full(1 + int(events[KEY].max(initial=0)), EARLIEST)
        np.maximum.at(last, events[KEY], events[MEASURE])
        return events[:, events[MEASURE] >= last[events[KEY]] - span_of(self._window)]

    def counters(self) -> Counters:
        """Count events, candidates, and listed matches."""
        kept = sum(part.shape[1] for part in self._parts)
        bytes_held = sum(part.nbytes for part in self._parts)
        listed = {"matches": self._built} if self._edges.lists else {}
        return {"events": self._seen, "candidates": kept, **listed, **self._counted(bytes_held)}

    def _encoded(self) -> dict[str, Any]:
        return super()._encoded() | {"events": np.concatenate(self._parts, axis=1)}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        events = values.events
        saved.check_events(events[NUMBER])
        ordered = events[[NUMBER, POSITION]]
        rises = ordered[:, 1:] > ordered[:, :-1]
        saved.check(bool(rises.all()), "candidates are not in order")
        positions = events[POSITION]
        is_there = (positions >= 0) & (positions < saved.live.positions)
        saved.check(bool(is_there.all()), "a candidate is no event of the stream")
        key = self._context.dictionary.size(self.key)
        saved.check(bool(((events[KEY] >= 0) & (events[KEY] < key)).all()), "there is no such key")
        levels = events[BEGINS] | events[TAKES]
        is_level = (levels > 0) & (levels >> self._admission.width == 0)
        saved.check(bool(is_level.all()), "there is no such level")
        self._parts, self._is_restored = [events], True

    def collected(self, until: int | None = None) -> CollectedMatches:
        """Return the matches of the events so far, or of those before a position, as a set."""
        numbers, candidates = self._candidates(until)
        slots, check = self._slots(candidates), self._context.check
        found = MatchSet.over(slots, candidates, self._span, check=check)
        return CollectedMatches(found, numbers, self._edges.formed)

    def _slots(self, candidates: CandidateEvents) -> SlotAutomaton:
        """Return the automaton with the matches as its paths."""
        are_tied = self.node.has_sets and candidates.have_ties
        return SlotAutomaton(Unrolled(self._automaton(candidates), are_tied))

    def count(self) -> int:
        """Count the matches, by states if the pattern has sets or groups and no neighbour tests."""
        if self.tests_neighbours or not (self.node.has_sets or self.node.has_groups):
            return self.collected().matches.count()
        _, candidates = self._candidates(None)
        automaton = self._automaton(candidates)
        return count_by_states(automaton, candidates, self._span, self._context.check)

    def _automaton(self, candidates: CandidateEvents) -> PatternAutomaton:
        """Return the automaton, with repetitions limited by the events of a partition."""
        limit = 1 + int(np.diff(candidates.offsets).max(initial=0))
        components = [
            replace(
                each,
                minimum=min(each.minimum, limit),
                maximum=each.maximum and min(each.maximum, limit),
            )
            for each in self.node.components
        ]
        return automaton_of(components, self.node.strategy)

    @property
    def _span(self) -> int | None:
        """The most that the first and the last event of a match are apart, if that is bounded."""
        span = None if self._window is None else span_of(self._window)
        return None if span == ANY_SPAN else span

    def _candidates(self, until: int | None) -> tuple[Numbers, CandidateEvents]:
        """Return the events so far, or those before a position, by key, with their numbers."""
        self._context.check(COPIES * sum(part.nbytes for part in self._parts))
        events = np.concatenate(self._parts, axis=1)
        if until is not None:
            events = events[:, events[POSITION] < until]
        events = events.take(stable_order(events[KEY]), axis=1)
        if self.node.is_alone:  # one event is within any window, and there are no partitions
            events[MEASURE] = 0
        starts = np.flatnonzero(np.diff(events[KEY], prepend=NOTHING))
        positions, ties, measures, begins, takes = events[[POSITION, TIE, MEASURE, BEGINS, TAKES]]
        try:
            found = CandidateEvents(positions, ties, measures, begins, takes, None, starts)
        except ValueError as problem:
            if not self._is_restored:
                raise
            raise SnapshotError(
                "the snapshot of this matcher was changed: it has candidates that are later than"
                " the events that came since"
            ) from problem
        edge = self._edges.edge(events[NUMBER], found) if self.tests_neighbours else None
        return events[NUMBER], replace(found, edge=edge)


def stable_order(keys: Numbers) -> Numbers:
    """Return the order of keys, which are not negative, by passes of NumPy's radix sort."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(16, int(keys.max(initial=0)).bit_length(), 16):
        digits = (keys >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


class GraphEdges:
    """The test of events that are neighbours in a match, and the output of matches from paths."""

    # Whether matches are listed. If not, all events stay until the set is read.
    lists: ClassVar[bool] = False

    def __init__(self, code: RunCode) -> None:
        self._code = code
        self._conditions = self._asked()

    def _asked(self) -> NeighbourConditions:
        """The conditions on neighbours."""
        return neighbour_conditions(self._code.context, self._code.node.early)

    @property
    def are_tested(self) -> bool:
        """Whether neighbours in a match are tested against each other."""
        return bool(self._conditions)

    def edge(self, numbers: Numbers, events: CandidateEvents) -> Edge:
        """Return the test whether events at two places of a partition may be neighbours."""
        tested = self._conditions
        return lambda earlier, later, pair: tested.evaluate(numbers[earlier], numbers[later], pair)

    def formed(self, bindings: Bindings, slots: Numbers, automaton: SlotAutomaton) -> Bindings:
        """Add levels to matches if lengths do not determine them, by the slots of events."""
        if not self._code.node.has_sets:
            return bindings
        levels = np.array([slot.level for slot in automaton.all], np.int64)
        return Bindings(bindings.events, bindings.ends, bindings.lengths, levels[slots])


class ListedEdges(GraphEdges):
    """Edges of an evaluation that lists matches when they are complete."""

    lists = True


class NeighbourConditions:
    """Conditions on two neighbours in a match, as residual filters of pairs of events."""

    def __init__(self) -> None:
        self._filters: dict[Neighbours, list[ResidualFilter]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._filters)

    def add(self, pair: Neighbours, tested: ResidualFilter) -> None:
        """Add a filter for pairs of neighbours."""
        self._filters[pair].append(tested)

    def evaluate(self, earlier: Numbers, later: Numbers, pair: Neighbours) -> NDArray[np.bool_]:
        """Whether all conditions hold, for each pair of event numbers."""
        holds, pairs = np.ones(len(earlier), np.bool_), np.stack([earlier, later])
        for residual in self._filters.get(pair, ()):
            at = np.flatnonzero(holds)
            holds[at] = residual.select(pairs[:, at])
        return holds


def neighbour_conditions(context: Context, conjuncts: Sequence[Conjunct]) -> NeighbourConditions:
    """Return the conditions on neighbours in one series or in successive components."""
    found = NeighbourConditions()
    for conjunct in conjuncts:
        levels = neighbours(conjunct, context.components)
        assert levels is not None, "only conditions on neighbours are tested here"
        is_series = levels[0] == levels[1]
        layout = PreviousAndCurrent if is_series else ProgramLayout
        rows = {context.components[level].index: row for row, level in enumerate(levels)}
        pair = Neighbours(*levels, further=is_series, begins=False)
        found.add(pair, filter_of_pairs(context, conjunct.condition, layout, rows))
    return found


def filter_of_pairs(
    context: Context,
    condition: Condition,
    layout: type[ProgramLayout],
    rows: Mapping[int, int],
) -> ResidualFilter:
    """Return a filter of two events for a condition, with the components in these rows."""
    conditions = [[condition], list[Condition]()]
    return ResidualFilter(context, [], conditions, 2, partial(layout.over, positions=rows))


class PreviousAndCurrent(ProgramLayout):
    """The earlier event, which is the previous one, has row 0; the later event has row 1."""

    def row(self, reference: Reference) -> int:
        """Return the row of a referenced event."""
        return int(reference.part is Part.CURRENT)


class CollectedMatches:
    """A match set, with the numbers of its events by place.

    `formed` makes matches from events and their slots.
    """

    def __init__(
        self,
        matches: MatchSet,
        numbers: Numbers,
        formed: Callable[[Bindings, Numbers, SlotAutomaton], Bindings],
    ) -> None:
        self.matches, self._numbers = matches, numbers
        self.levels, self._formed = len(matches.graph.slots.levels), formed

    @cached_property
    def positions(self) -> list[Numbers]:
        """The positions of the events by partition and place."""
        graph = self.matches.graph
        return [graph.positions[begin:end] for begin, end in pairwise(graph.offsets)]

    def bindings(self, matches: list[Binding]) -> Bindings:
        """Return matches by the numbers of their events."""
        empty = np.empty(0, np.int64)
        offsets = self.matches.graph.offsets
        places = (np.add(offsets[each.partition], each.places) for each in matches)
        events = [self._numbers[each] for each in places]
        lengths = np.array([each.lengths for each in matches], np.int64)
        found = Bindings(
            np.concatenate([empty, *events]),
            np.cumsum([len(each) for each in events], dtype=np.int64),
            np.ascontiguousarray(lengths.reshape(len(matches), self.levels).T),
        )
        automaton, slots = self.matches.graph.slots, empty
        if automaton.is_told:
            slots = np.fromiter(chain.from_iterable(each.slots for each in matches), np.int64)
        return self._formed(found, slots, automaton)
