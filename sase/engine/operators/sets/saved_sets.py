"""Check the rows of runs with sets in a checkpoint: what they wait for follows."""

from __future__ import annotations

import numpy as np

from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import lines as lines
from sase.engine.kernels.sets.lines import LinePattern, LineRuns
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of


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
