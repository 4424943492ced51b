"""Which runs with groups go on alike, by what of their nodes is still read."""

from __future__ import annotations

import numpy as np

from sase.engine.expressions.series import words_read
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import EVENT, EVENT_BEFORE, HEAD
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.leading_runs import READ_WIDTH, LeadingRuns
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram

# Where nodes are looked up of which runs are the same from then on: a power of two.
PLACES = 1 << 12


def leading_runs(program: SeriesProgram, states: PatternStates) -> LeadingRuns:
    """What of nodes decides how runs go on; nothing where a condition ranges over others."""
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
            found[count, NOTHING] = max(component.minimum, 2)  # the first is asked other things
    for *_, back in (row for row in rows if row[-1] != 0):
        words = (word for row in rows if row[-1] == back for word in words_read(row))
        found |= {(HEAD + word, HEAD + back): NOTHING for word in words}
    if any(row[0] == EVENT_BEFORE for row in rows):
        found[EVENT, NOTHING] = NOTHING
    read = [(word, cap, back) for (word, back), cap in found.items()]
    return LeadingRuns(frozen(np.array(read, np.int64)), np.zeros((PLACES, 2), np.int64))
