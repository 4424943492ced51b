"""(NFAb) Run evaluation of patterns with repeated groups: advance the runs of an automaton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.groups import automaton as automata
from sase.engine.kernels.groups.automaton import GroupBuffer
from sase.engine.kernels.groups.runs import advance_automaton
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene import runs as of
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.events import GroupEvents
from sase.engine.operators.groups.negation import IterationAbsences
from sase.engine.operators.groups.saved_automaton import check_automaton_runs
from sase.engine.operators.kleene.evaluation import EVENTS_A_MATCH, FEWEST
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.programs.group_program import GroupProgram, run_terms_of
from sase.engine.operators.programs.group_states import GroupStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Own
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation


class GroupEvaluationState(GroupEvents, RunEvaluationState):
    """A running evaluation of an automaton, whose states are components and elements of groups."""

    layout = RunEvaluationState.layout | dict(absences=Own())
    kernel: ClassVar[Any] = staticmethod(advance_automaton)
    _program: GroupProgram

    def __init__(
        self, node: RunEvaluation, context: Context, taken: TakenMatches | None = None
    ) -> None:
        groups = GroupStates(node.components, len(node.tested))
        self._absences = IterationAbsences(node, context, groups)
        super().__init__(node, context, taken=taken)
        chunk = context.options.chunk
        are_told = taken is not None and taken.are_told
        self._buffer = self._room_for(min(FEWEST, chunk) if are_told else chunk, EVENTS_A_MATCH)
        automaton = self._program.automaton
        self._leading = self._program.leading()
        first = sum(1 << int(e[automata.TARGET]) for e in _edges_of_root(automaton))
        self._runs = self._runs._replace(rules=self._runs.rules._replace(first=first))
        ends = automaton.states[:, automata.LAST_EDGE] - automaton.states[:, automata.FIRST_EDGE]
        self._most = int(ends.max())

    # ------------------------------------------------------------ what is asked

    def _programmed(self) -> SeriesProgram:
        """The conditions on several events, by moment."""
        terms = list(run_terms_of(self.node, self._groups))
        return GroupProgram(
            self._context, self._groups, self._rest, terms, self._groups.moments, of_runs=True
        )

    # ------------------------------------------------------------ matches

    def _step(self, machine: nodes.Machine, incoming: of.Incoming) -> int:
        automaton = self._program.automaton
        return advance_automaton(
            machine, automaton, self._runs, self._leading, incoming, self._buffer, self._most
        )

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
            detach = self._memory.detach
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

    def _fit(self, taken: int) -> None:
        """Fit the buffer, which was full, to how many of its matches were taken."""
        found, events = len(self._buffer.ends), len(self._buffer.events)
        size = self._size_for(found, taken)
        if size != found:
            self._buffer = self._room_for(size, events // found)
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

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._buffer.totals[3] = self._built

    def _check(self, saved: Saved) -> None:
        """Refuse runs that lead anywhere else than runs do."""
        check_automaton_runs(saved, self._runs, self._groups, self._program.automaton, self._built)


def _edges_of_root(automaton: automata.NfaGraph) -> Numbers:
    root = automaton.states[-1]
    return automaton.edges[root[automata.FIRST_EDGE] : root[automata.LAST_EDGE]]
