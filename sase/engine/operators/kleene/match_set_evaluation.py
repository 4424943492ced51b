"""(SASE++) Collapsed evaluation: collect the events of a compressed match set.

The set is asked for at the end; or its matches are listed with the block that has their last event,
and events evicted that no window reaches any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition, Conjunct, Part, Reference
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
from sase.engine.operators.bindings.sets import SetBindings
from sase.engine.operators.contract import Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SnapshotError
from sase.planning.automaton.automaton import PatternAutomaton
from sase.planning.automaton.build import automaton_of
from sase.planning.automaton.unrolled import Unrolled
from sase.planning.nodes import Evaluation as How
from sase.planning.nodes import RunEvaluation
from sase.planning.paths import neighbours

# Rows of a candidate: its number, position, key, tie, measure, and levels as bits.
COPIES = 3  # of the candidates, while they are put in the order of keys
NUMBER, POSITION, KEY, TIE, MEASURE, BEGINS, TAKES = range(7)


class MatchSetEvaluationState(RunEvaluationBase):
    """A running collapsed evaluation."""

    layout = RunEvaluationBase.layout | dict(events=Array(SAME, None, path=None))

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        self._neighbours = self._tested()
        self._parts, self._is_restored = [np.empty((7, 0), np.int64)], False
        # Else all events stay until the set is asked for.
        self._lists = node.evaluation is How.EXPANDED
        # A single event agrees with no other, but must have what negative components share.
        alone = self._rest if node.is_alone else []
        self._shared = [context.dictionary.key((test,)) for test in alone]

    def _tested(self) -> NeighbourConditions:
        """The conditions on neighbours."""
        return neighbour_conditions(self._context, self.node.early)

    @property
    def tests_neighbours(self) -> bool:
        """Whether it depends on each other which events may be neighbours in a match."""
        return bool(self._neighbours)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Keep the candidates of a block; if matches are listed, yield those completed."""
        self._remember(block)
        return self._listed(block) if self._lists and len(block) else iter(())

    def _listed(self, block: Block) -> Iterator[Bindings]:
        """The matches whose last event is in a block."""
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
            found = self._incoming(block, block.positions)
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
        """The oldest candidate, once those out of reach are evicted."""
        if self._lists and self._window is not None:
            self._parts = [self._reached(np.concatenate(self._parts, axis=1))]
        if self._lists and self._watermark.is_final:
            return None
        return next((int(part[NUMBER, 0]) for part in self._parts if part.shape[1]), None)

    def _reached(self, events: Numbers) -> Numbers:
        """The candidates that a window to come may reach."""
        bound = bound_of(self._watermark, self._window)
        if not self.node.counts_in_partitions:
            return events[:, events[MEASURE] >= bound]
        last = np.full(1 + int(events[KEY].max(initial=0)), EARLIEST)
        np.maximum.at(last, events[KEY], events[MEASURE])
        return events[:, events[MEASURE] >= last[events[KEY]] - span_of(self._window)]

    def counters(self) -> Counters:
        """Events, candidates, and matches listed."""
        kept = sum(part.shape[1] for part in self._parts)
        bytes_held = sum(part.nbytes for part in self._parts)
        listed = {"matches": self._built} if self._lists else {}
        return {"events": self._seen, "candidates": kept, **listed, **self._counted(bytes_held)}

    def _encoded(self) -> dict[str, Any]:
        return {"events": np.concatenate(self._parts, axis=1)}

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
        key = self._context.dictionary.size(self._key)
        saved.check(bool(((events[KEY] >= 0) & (events[KEY] < key)).all()), "there is no such key")
        levels = events[BEGINS] | events[TAKES]
        is_level = (levels > 0) & (levels >> self._width == 0)
        saved.check(bool(is_level.all()), "there is no such level")
        self._parts, self._is_restored = [events], True

    def collected(self, until: int | None = None) -> CollectedMatches:
        """The matches of the events so far, or of those before a position, as a set."""
        partitions = self._partitions(until)
        candidates, check = [self._candidates(part) for part in partitions], self._context.check
        found = MatchSet.over(self._slots(candidates), candidates, self._span, check=check)
        numbers, positions = ([part[row] for part in partitions] for row in (NUMBER, POSITION))
        return CollectedMatches(found, numbers, positions, self._formed)

    def _slots(self, candidates: Sequence[CandidateEvents]) -> SlotAutomaton:
        """What matches are paths through."""
        are_tied = self.node.has_sets and any(map(have_ties, candidates))
        return SlotAutomaton(Unrolled(self._automaton(candidates), are_tied))

    def _formed(self, found: Bindings, slots: Numbers, automaton: SlotAutomaton) -> Bindings:
        """Matches with what lengths do not say: by the slots of the events."""
        if not self.node.has_sets:
            return found
        levels = np.array([slot.level for slot in automaton.all], np.int64)
        return SetBindings(found.events, found.ends, found.lengths, levels[slots])

    def count(self) -> int:
        """The number of matches, of a pattern with sets or groups by its states."""
        if self.tests_neighbours or not (self.node.has_sets or self.node.has_groups):
            return self.collected().matches.count()
        candidates = [self._candidates(part) for part in self._partitions(None)]
        automaton = self._automaton(candidates)
        return count_by_states(automaton, candidates, self._span, self._context.check)

    def _automaton(self, candidates: Sequence[CandidateEvents]) -> PatternAutomaton:
        """The automaton, with as many events of a component as those of a partition can tell."""
        limit = 1 + max(map(len, candidates), default=0)
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
        """What the first and the last event of a match are apart at most, if that is bounded."""
        span = None if self._window is None else span_of(self._window)
        return None if span == ANY_SPAN else span

    def _partitions(self, until: int | None) -> list[Numbers]:
        """The events so far, or those before a position, by key."""
        self._context.check(COPIES * sum(part.nbytes for part in self._parts))
        events = np.concatenate(self._parts, axis=1)
        if until is not None:
            events = events[:, events[POSITION] < until]
        events = events[:, np.argsort(events[KEY], kind="stable")]
        cuts = np.flatnonzero(np.diff(events[KEY])) + 1
        return [part for part in np.split(events, cuts, axis=1) if part.shape[1]]

    def _candidates(self, events: Numbers) -> CandidateEvents:
        edge = self._edge(events) if self.tests_neighbours else None
        rows = (POSITION, TIE, MEASURE, BEGINS, TAKES)
        positions, ties, measures, begins, takes = (np.ascontiguousarray(events[r]) for r in rows)
        if self.node.is_alone:  # one event is within any window, and there are no partitions
            measures = np.zeros_like(measures)
        if self._is_restored and not (_rises(ties) and _rises(measures)):
            raise SnapshotError(
                "the snapshot that this matcher goes on from was changed: candidates of it are"
                " later than the events that came since"
            )
        return CandidateEvents(positions, ties, measures, begins, takes, edge)

    def _edge(self, events: Numbers) -> Edge:
        """Whether neighbours in a match may stand at two places of a partition."""
        numbers, tested = events[NUMBER], self._neighbours
        return lambda earlier, later, pair: tested.evaluate(numbers[earlier], numbers[later], pair)


class NeighbourConditions:
    """Conditions on two neighbours in a match, as residual filters of pairs of events."""

    def __init__(self) -> None:
        self._filters: dict[Neighbours, list[ResidualFilter]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._filters)

    def add(self, pair: Neighbours, tested: ResidualFilter) -> None:
        """Ask of a pair what a filter of both asks."""
        self._filters[pair].append(tested)

    def evaluate(self, earlier: Numbers, later: Numbers, pair: Neighbours) -> NDArray[np.bool_]:
        """Whether all conditions hold, for each pair of event numbers."""
        holds, pairs = np.ones(len(earlier), np.bool_), np.stack([earlier, later])
        for residual in self._filters.get(pair, ()):
            at = np.flatnonzero(holds)
            holds[at] = residual.select(pairs[:, at])
        return holds


def neighbour_conditions(context: Context, conjuncts: Sequence[Conjunct]) -> NeighbourConditions:
    """The conditions on neighbours of components one after the other."""
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
    """What a condition asks of two events, of components in these rows."""
    conditions = [[condition], list[Condition]()]
    return ResidualFilter(context, [], conditions, 2, partial(layout.over, positions=rows))


class PreviousAndCurrent(ProgramLayout):
    """The earlier event, which is the previous one, in row 0, and the later one in row 1."""

    def row(self, reference: Reference) -> int:
        """The row of a referenced event."""
        return int(reference.part is Part.CURRENT)


def have_ties(candidates: CandidateEvents) -> bool:
    """Whether some are simultaneous."""
    return bool((candidates.ties[1:] == candidates.ties[:-1]).any())


def _rises(values: Numbers) -> bool:
    """Whether no value is less than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


class CollectedMatches:
    """A match set, with the numbers and positions of its events by partition and place.

    Matches are `formed` of events and the slots that these stand in.
    """

    def __init__(
        self,
        matches: MatchSet,
        numbers: list[Numbers],
        positions: list[Numbers],
        formed: Callable[[Bindings, Numbers, SlotAutomaton], Bindings],
    ) -> None:
        self.matches, self.numbers, self.positions = matches, numbers, positions
        self.levels, self._formed = len(matches.graph.slots.levels), formed

    def bindings(self, matches: list[Binding]) -> Bindings:
        """Matches by the numbers of their events."""
        empty = np.empty(0, np.int64)
        events = [self.numbers[each.partition][list(each.places)] for each in matches]
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
