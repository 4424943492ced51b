"""(NFAb) Run evaluation of patterns with repeated groups: advance the runs of an automaton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sase.engine.blocks.block import Block
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.runs.advance import advance_groups
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.events import GroupEvents
from sase.engine.operators.groups.leading import leading_runs
from sase.engine.operators.groups.negation import IterationAbsences
from sase.engine.operators.kleene.match_room import MatchRoom, Written
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Own
from sase.planning.nodes import RunEvaluation


class GroupEvaluationState(GroupEvents, RunEvaluationState):
    """A running evaluation of an automaton, whose states are components and elements of groups."""

    layout = RunEvaluationState.layout | dict(absences=Own())
    kernel: Any = staticmethod(advance_groups)

    def __init__(
        self, node: RunEvaluation, context: Context, taken: TakenMatches | None = None
    ) -> None:
        super().__init__(node, context, taken=taken)
        self._absences = IterationAbsences(node, context, self._states)
        self._leading = leading_runs(self._program, self._states)

    # ------------------------------------------------------------ matches

    def _step(self, machine: nodes.Machine, incoming: nodes.Incoming) -> int:
        return advance_groups(
            machine, self._graph, self._groups, self._members, None, self._leading, self._runs,
            incoming, self._most, self._room.written, self._room.listed,
        )  # fmt: skip

    def _match_room(self, matches: int) -> MatchRoom:
        groups = len(self._states.levels)
        return MatchRoom(self._memory, self._context.levels, matches, groups)

    def _matches_of(self, written: Written) -> GroupBindings:
        """The matches whose iterations have nothing that they must not have."""
        events, ends, lengths, listed = written
        assert listed is not None
        levels = None if self._states.members is None else listed.levels
        of_groups = listed.slots, listed.counts, listed.sizes, listed.branches
        return self._absences.passing(GroupBindings(events, ends, lengths, *of_groups, levels))

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
