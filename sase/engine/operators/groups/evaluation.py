"""(NFAb) Run evaluation of patterns with repeated groups: advance the runs of an automaton."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sase.binding.bound import (
    Condition,
    IterationConjunct,
    Part,
    When,
    WindowKind,
)
from sase.binding.parts import with_values
from sase.engine.blocks.block import Block
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups import automaton as automata
from sase.engine.kernels.groups.automaton import GroupBuffer
from sase.engine.kernels.groups.runs import advance_automaton
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene import runs as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.match_graph import CandidateEvents
from sase.engine.match_graph.group_states import IterationStates
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.match_graph.state_slots import StateSlots
from sase.engine.match_graph.states import CountingStates
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import Context, detach
from sase.engine.operators.groups.bindings import GroupBindings
from sase.engine.operators.groups.negation import IterationAbsences
from sase.engine.operators.groups.program import GroupProgram, iteration_terms, outer_terms
from sase.engine.operators.groups.saved_automaton import check_automaton_runs
from sase.engine.operators.groups.states import GroupStates, NfaState
from sase.engine.operators.kleene.evaluation import EVENTS_A_MATCH, RunEvaluationBase
from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.kleene.series_program import SeriesProgram
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation
from sase.planning.paths import is_of_one_event


class GroupEvents(RunEvaluationBase):
    """What events may be in iterations: the states of the automaton that admit them."""

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        self._groups = GroupStates(node.components, len(node.tested))
        self._by_type: tuple[tuple[str, ...], Numbers] | None = None
        counted = node.window is not None and node.window.kind is WindowKind.PARTITION_EVENTS
        self._is_ranked = counted or node.is_ranked
        super().__init__(node, context)

    def _of_iterations(self) -> Iterator[tuple[NfaState, IterationConjunct]]:
        """What is asked of positive elements of iterations."""
        for group in range(len(self._groups.levels)):
            for number, branch in enumerate(self._groups.group(group).branches):
                for conjunct in branch.conjuncts:
                    if not branch.elements[conjunct.element].negated:
                        yield self._groups.at_element(group, number, conjunct.element), conjunct

    def _simple(self) -> tuple[ScanFilter, ScanFilter]:
        """The conditions on one event: on each of a state, and on its first alone."""
        flat = replace(self._context, components=self._groups.flat)
        always: list[tuple[int, Condition]] = []
        first: list[tuple[int, Condition]] = []
        for conjunct in self.node.simple:
            assert conjunct.component is not None
            among = first if conjunct.when is When.FIRST else always
            among.append((conjunct.component, conjunct.condition))
        for state, asked in self._of_iterations():
            condition = _of_one_event(asked, state)
            if condition is not None:
                always.append((state.component.index, condition))
        for test in self.node.equivalences:
            if test.value is not None:
                always += flat.values(test, flat.components)
        return ScanFilter(flat, always), ScanFilter(flat, first)

    def _incoming(self, block: Block, spots: Numbers) -> of.Incoming:
        return super()._incoming(self._viewed(block), spots)

    def _viewed(self, block: Block) -> Block:
        """The block with the states of the automaton in place of those of components."""
        names = block.events.type_names
        if self._by_type is None or self._by_type[0] != names:
            self._by_type = names, states_by_type(self._groups.flat, names, every=False)
        view = copy.copy(block)
        view.states = self._by_type[1][block.events.types[block.rows].astype(np.int64) + 1]
        # The ranks may be those that another branch counts by.
        if block.ranks is not None and self._is_ranked:
            view.states[block.ranks == NOTHING] = 0
        return view

    @property
    def _width(self) -> int:
        return len(self._groups.states)


class GroupMatchSetState(GroupEvents, MatchSetEvaluationState):
    """A collapsed evaluation that collects events for the states of an automaton to count."""

    def _automaton(self) -> CountingStates:
        """The states that count."""
        return self._iterations

    @cached_property
    def _iterations(self) -> IterationStates:
        return IterationStates(self.node.components)

    def _slots(self, candidates: Sequence[CandidateEvents]) -> SlotAutomaton:
        """What matches are paths through: no two events of one are simultaneous."""
        states = self._iterations
        owners = [level for level, parts in enumerate(states.parts) for _ in parts]
        return StateSlots(states, range(len(owners)), owners, are_tied=False)

    def _formed(self, found: Bindings, slots: Numbers, automaton: SlotAutomaton) -> Bindings:
        """Matches with their iterations, which events begin."""
        assert isinstance(automaton, StateSlots)
        moves, groups = automaton.moves, self.node.components
        variables = [
            number
            for each in groups
            for number in ([0] if each.group is None else each.group.branches[0].variables)
        ]
        begins = np.array([move.begins for move in moves], np.bool_)[slots]
        bits = np.array([slot.bit for slot in automaton.all], np.int64)[slots]
        levels = np.array([slot.level for slot in automaton.all], np.int64)[slots]
        is_group = np.array([each.group is not None for each in groups])
        matches = np.repeat(np.arange(found.size), np.diff(found.ends, prepend=0))
        counts = np.zeros((int(is_group.sum()), found.size), np.int64)
        np.add.at(counts, ((np.cumsum(is_group) - 1)[levels[begins]], matches[begins]), 1)
        iterations = (np.cumsum(begins) - 1)[is_group[levels]]
        sizes = np.bincount(iterations, minlength=int(begins.sum())).astype(np.int64)
        return GroupBindings(
            found.events,
            found.ends,
            found.lengths,
            np.array(variables, np.int64)[bits],
            counts,
            sizes,
            np.zeros_like(sizes),
        )


class GroupEvaluationState(GroupEvents, RunEvaluationState):
    """A running evaluation of an automaton, whose states are components and elements of groups."""

    kernel: ClassVar[Any] = staticmethod(advance_automaton)
    _program: GroupProgram

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        groups = GroupStates(node.components, len(node.tested))
        self._absences = IterationAbsences(node, context, groups)
        super().__init__(node, context)
        self._buffer = self._room_for(context.options.chunk, EVENTS_A_MATCH)
        automaton = self._program.automaton
        first = sum(1 << int(e[automata.TARGET]) for e in _edges_of_root(automaton))
        self._runs = self._runs._replace(rules=self._runs.rules._replace(first=first))
        ends = automaton.states[:, automata.LAST_EDGE] - automaton.states[:, automata.FIRST_EDGE]
        self._most = int(ends.max())

    # ------------------------------------------------------------ what is asked

    def _programmed(self) -> SeriesProgram:
        """The conditions on several events, by moment."""
        terms = list(self._terms())
        return GroupProgram(
            self._context, self._groups, self._rest, terms, self._groups.moments, of_runs=True
        )

    def _terms(self) -> Iterator[Term]:
        for edge in self.node.conditions:
            yield from outer_terms(edge.conjunct, self._groups)
        for state, conjunct in self._of_iterations():
            if _of_one_event(conjunct, state) is None:
                yield from iteration_terms(conjunct, state, self._groups)

    # ------------------------------------------------------------ matches

    def _step(self, machine: nodes.Machine, incoming: of.Incoming) -> int:
        automaton = self._program.automaton
        return advance_automaton(machine, automaton, self._runs, incoming, self._buffer, self._most)

    def _room_for(self, chunk: int, events: int) -> GroupBuffer:
        """A buffer for matches, with room for so many events of each."""
        levels, groups = self._context.levels, len(self._groups.levels)
        long = [np.empty(chunk * events, np.int64) for _ in range(5)]
        return GroupBuffer(
            long[0],
            long[4],
            long[1],
            np.empty(chunk, np.int64),
            np.empty((levels, chunk), np.int64),
            np.empty((groups, chunk), np.int64),
            long[2],
            long[3],
            np.zeros(4, np.int64),
        )

    def _flush(self, why: int) -> Iterator[GroupBindings]:
        """Yield and empty the buffer; enlarge it if one match did not fit."""
        written = self._buffer
        matches, events, iterations, _ = (int(size) for size in written.totals)
        self._built += matches
        written.totals[:] = 0, 0, 0, self._built
        if matches:
            given = written.events, written.slots, written.sizes, written.branches, written.levels
            sizes = events, events, iterations, iterations, events
            parts = [detach(room, count) for room, count in zip(given, sizes, strict=True)]
            found = GroupBindings(
                parts[0][0],
                written.ends[:matches].copy(),
                written.lengths[:, :matches].copy(),
                parts[1][0],
                written.counts[:, :matches].copy(),
                parts[2][0],
                parts[3][0],
                None if self._groups.members is None else parts[4][0],
            )
            names = "events", "slots", "sizes", "branches", "levels"
            rooms = dict(zip(names, parts, strict=True))
            self._buffer = written._replace(**{name: room for name, (_, room) in rooms.items()})
            found = self._absences.passing(found)
            if found.size:
                yield found
        elif why == of.FULL:
            chunk = len(written.ends)
            self._buffer = self._room_for(chunk, 2 * len(written.events) // chunk)
            self._buffer.totals[3] = self._built

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that the events of a block complete."""
        self._absences.insert(block)
        return super().push(block, below)

    def advance(self, watermark: Any, below: Iterator[Any]) -> Iterator[Any]:
        """Yield nothing: time completes no match."""
        self._absences.evict(watermark)
        return super().advance(watermark, below)

    def horizon(self) -> int | None:
        """The oldest event of any run, and of those that iterations must not have."""
        known = [super().horizon(), self._absences.oldest()]
        return min((each for each in known if each is not None), default=None)

    # ------------------------------------------------------------ room and state

    def _make_room_for_event(self, key: int) -> None:
        """Make room for all that the runs of a partition may become by an event."""
        self._make_room_for_nodes((int(self._runs.counts[key]) + 1) * self._most)

    def checkpoint(self) -> dict[str, Any]:
        """The runs, and the events that iterations must not have."""
        return super().checkpoint() | {"absences": self._absences.checkpoint()}

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        self._absences.restore(saved.part("absences"))
        super().restore(saved)
        self._buffer.totals[3] = self._built

    def _check(self, saved: Saved) -> None:
        """Refuse runs that lead anywhere else than runs do."""
        check_automaton_runs(saved, self._runs, self._groups, self._program.automaton, self._built)


def _edges_of_root(automaton: automata.NfaGraph) -> Numbers:
    root = automaton.states[-1]
    return automaton.edges[root[automata.FIRST_EDGE] : root[automata.LAST_EDGE]]


def _of_one_event(conjunct: IterationConjunct, state: NfaState) -> Condition | None:
    """A condition on each event of an element alone, as one on a component by itself."""
    if not is_of_one_event(conjunct, state.slot):
        return None
    index = state.component.index
    return with_values(
        conjunct.condition, lambda each: replace(each, component=index, part=Part.EVENT, inner=None)
    )
