"""Check the nodes of runs with sets in a checkpoint: what they know of members follows.

A node knows what the one before it does, and its own event: so each is checked by that alone.
"""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene import set_nodes as of
from sase.engine.operators.set_states import SetStates
from sase.engine.snapshots.saved_state import Saved


def check_members(saved: Saved, cells: Numbers, used: Numbers, states: SetStates) -> None:
    """Check the own words of nodes in use."""
    at, own = states.at, cells[used]
    previous = own[:, nodes.PREVIOUS]
    before, level = cells[previous], own[:, nodes.LEVEL]
    held = before[:, at + of.HELD]
    is_further = (held >> level) & 1 == 1
    saved.check((own[:, at + of.HELD] == held | (1 << level)).all(), "members are not those held")
    saved.check((own[:, at + of.BEFORE] == previous).all(), "a node has another one before it")
    element = np.array([states.element_of[n] for n in range(len(states.components))])
    known = previous != nodes.ROOT
    falls = element[cells[previous[known], nodes.LEVEL]] > element[level[known]]
    saved.check(not falls.any(), "an element is before one that it is behind")
    length = np.where(is_further, before[:, nodes.LENGTH], 0) + 1
    for place, series in enumerate(states.series):
        word, is_own = at + of.OWN_WORDS + len(states.sets) + place, level == series
        saved.check((own[:, word] == before[:, word] + is_own).all(), "a count is another one")
        length[is_own] = own[is_own, word]
    saved.check((own[:, nodes.LENGTH] == length).all(), "a length is not that of its node")
    least = np.array([each.minimum for each in states.components])[level]
    most = np.array([each.maximum or np.iinfo(np.int64).max for each in states.components])[level]
    for word, is_cleared in ((of.LACKS, length >= least), (of.OPEN, length >= most)):
        given = before[:, at + word]
        expected = np.where(is_cleared, given & ~(1 << level), given)
        saved.check((own[:, at + word] == expected).all(), "members are open that are not")
    for each in states.sets:
        word = states.entry(each)
        members = sum(1 << n for n in each)
        enters = ((1 << level) & members != 0) & (held & members == 0)
        expected = np.where(enters, previous, before[:, word])
        saved.check((own[:, word] == expected).all(), "a set was entered elsewhere")
