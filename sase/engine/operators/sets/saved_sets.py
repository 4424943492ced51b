"""Check the nodes of runs with sets in a checkpoint: what they know of members follows.

A node knows what the one before it does, and its own event: so each is checked by that alone.
"""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import lines as lines
from sase.engine.kernels.sets import nodes as of
from sase.engine.kernels.sets.lines import LinePattern, LineRuns
from sase.engine.operators.programs.set_states import SetStates
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of


def check_members(
    saved: Saved, cells: Numbers, used: Numbers, states: SetStates, *, by_element: bool = True
) -> None:
    """Check the own words of nodes in use.

    Where states do not follow one another `by_element`, only members of sets have such words.
    """
    at, own = states.at, cells[used]
    previous = own[:, nodes.PREVIOUS]
    before, level = cells[previous], own[:, nodes.LEVEL]
    if by_element:
        element = np.array([states.element_of[n] for n in range(len(states.components))])
        known = previous != nodes.ROOT
        falls = element[cells[previous[known], nodes.LEVEL]] > element[level[known]]
        saved.check(not falls.any(), "an element is before one that it is behind")
    else:
        is_member = np.isin(level, list(states.entries))
        words = slice(at, states.words + nodes.HEAD)
        is_kept = (own[:, words] == before[:, words]).all(axis=1)
        saved.check(bool((is_member | is_kept).all()), "what is held changes outside of sets")
        own, previous, before = own[is_member], previous[is_member], before[is_member]
        level = level[is_member]
    held = before[:, at + of.HELD]
    is_further = (held >> level) & 1 == 1
    saved.check((own[:, at + of.HELD] == held | (1 << level)).all(), "members are not those held")
    saved.check((own[:, at + of.BEFORE] == previous).all(), "a node has another one before it")
    length = np.where(is_further, before[:, nodes.LENGTH], 0) + 1
    for series in states.series:
        word, is_own = states.count_at(series), level == series
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


def check_rows(saved: Saved, runs: LineRuns, pattern: LinePattern) -> None:
    """Check runs of single events, of which each is a row: what it waits for follows from these."""
    rows, keys, state = runs.rows[: int(runs.state[nodes.USED])], runs.keys, runs.state
    levels = pattern.levels
    saved.check(((state >= NOTHING) & (state <= MOST_COUNTED)).all(), "counts are none")
    held = rows[:, lines.HELD]
    is_used = held != 0
    live, free = np.flatnonzero(is_used), np.flatnonzero(~is_used)
    lists_of(state[nodes.FREE : nodes.FREE + 1], rows[:, lines.NEXT], free, saved)
    saved.check(state[nodes.SPARE] == len(free), "there are more free rows or fewer")
    owners = lists_of(keys[:, lines.HEAD], rows[:, lines.NEXT], live, saved)
    counts = np.bincount(owners, minlength=len(keys))
    saved.check((counts == keys[:, lines.COUNT]).all(), "a key has more runs or fewer")
    saved.check(state[nodes.LIVE] == len(live), "there are more runs or fewer")
    saved.check((keys[:, lines.LIMIT] >= 0).all(), "a limit is none")
    is_bound = (held[live, None] >> np.arange(len(levels))) & 1 == 1
    saved.check((held[live] >> len(levels) == 0).all(), "there is no such level")
    events = rows[live, lines.EVENTS :]
    saved.check_events(events[is_bound])
    saved.check_events(rows[live, lines.FIRST])
    waits, is_reached = np.zeros(len(live), np.int64), np.ones(len(live), np.bool_)
    for members in dict.fromkeys(levels[:, lines.MEMBERS].tolist()):
        own = held[live] & members
        saved.check((is_reached | (own == 0)).all(), "a run holds what comes later")
        is_at = is_reached & (own != members)
        waits = np.where(is_at, members & ~own, waits)
        is_reached &= own == members
    saved.check((rows[live, lines.WAITS] == waits).all(), "a run waits for something else")
    wanted = np.zeros(len(keys), np.int64)
    np.bitwise_or.at(wanted, owners, waits)
    saved.check((wanted & ~keys[:, lines.WANTED] == 0).all(), "a key waits for less than its runs")
