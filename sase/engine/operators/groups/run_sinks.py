"""(NFAb) Make matches from the runs of patterns with repeated groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.engine.blocks.block import Block, Watermark
from sase.engine.expressions.series import words_read
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import EVENT, EVENT_BEFORE, HEAD
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.advance import advance_groups
from sase.engine.kernels.runs.matches import READ_WIDTH, LeadingRuns
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.groups.negation import IterationAbsences
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import Written
from sase.engine.operators.kleene.run_operator import Flush, NodeStore, RunStep, SeriesSink
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.snapshots.layout import Count, Own

# The lookup table for nodes of equal runs: a power of two.
PLACES = 1 << 12


class GroupSink(SeriesSink):
    """Makes matches without forbidding events in their iterations."""

    layout = dict(absences=Own(), dropped=Count(path="dropped"))

    def __init__(self, code: RunCode) -> None:
        _, groups, members = code.program.automaton
        self._absences = IterationAbsences(code.node, code.context, code.states)
        leading = leading_runs(code.program, code.states)
        step = RunStep(advance_groups, groups, members, leading=leading)
        super().__init__(code, step, groups=len(code.states.levels))

    def note(self, block: Block) -> None:
        """Note the events of a block that may forbid iterations."""
        self._absences.insert(block)

    def formed(self, written: Written) -> Bindings:
        """The matches with their iterations."""
        events, ends, lengths, listed = written
        assert listed is not None
        levels = None if self._code.states.members is None else listed.levels
        of_groups = listed.slots, listed.counts, listed.sizes, listed.branches
        found = self._absences.passing(Bindings(events, ends, lengths, levels, *of_groups))
        self.dropped += len(ends) - found.size
        return found

    def released(self, watermark: Watermark, runs: NodeStore, flush: Flush) -> Iterator[Any]:
        """Evict events that no later iteration can contain; time completes no match."""
        self._absences.evict(watermark)
        return iter(())

    def oldest(self, runs: NodeStore, bound: int) -> int | None:
        """The oldest event of any run, and of those that may forbid iterations."""
        known = [super().oldest(runs, bound), self._absences.oldest()]
        return min((each for each in known if each is not None), default=None)


def leading_runs(program: SeriesProgram, states: PatternStates) -> LeadingRuns:
    """The words of nodes that decide how runs continue; empty if a condition ranges over others."""
    rows = [row for _, fill in program.code.reads for row in fill.rows]
    if program.code.ranges or states.members is not None:
        nothing = np.empty((0, READ_WIDTH), np.int64)
        return LeadingRuns(frozen(nothing), np.zeros((1, 2), np.int64))
    found = {(word, NOTHING): NOTHING for word in range(HEAD, program.width)}
    asked = {HEAD + word for row in rows for word in words_read(row)}
    for own in (of.CLASS, of.IDENTITY, of.SIZE):
        del found[states.at + own, NOTHING]
    for group, level in enumerate(states.levels):
        component, count = states.components[level], states.count_at(group)
        del found[states.before_at(group), NOTHING]
        if component.maximum is None and count not in asked:
            found[count, NOTHING] = max(component.minimum, 2)  # the first has other checks
    for *_, back in (row for row in rows if row[-1] != 0):
        words = (word for row in rows if row[-1] == back for word in words_read(row))
        found |= {(HEAD + word, HEAD + back): NOTHING for word in words}
    if any(row[0] == EVENT_BEFORE for row in rows):
        found[EVENT, NOTHING] = NOTHING
    read = [(word, cap, back) for (word, back), cap in found.items()]
    return LeadingRuns(frozen(np.array(read, np.int64)), np.zeros((PLACES, 2), np.int64))
