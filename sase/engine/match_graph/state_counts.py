"""Count matches by the states of an automaton, exactly, with one pass for each window start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.engine.kernels.match_graph import state_counts as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.match_graph.candidates import CandidateEvents
from sase.engine.match_graph.graph import frames_of, places_of
from sase.engine.match_graph.state_tables import StateTables, tables
from sase.engine.resources import Check, no_check
from sase.planning.automaton.automaton import PatternAutomaton


def count_by_states(
    automaton: PatternAutomaton,
    partitions: Sequence[CandidateEvents],
    span: int | None = None,
    check: Check = no_check,
) -> int:
    """Count the matches whose first and last event are at most `span` apart.

    `check` is called between pieces of the work, and may end it by an exception.
    """
    stream = places_of(partitions, span)
    _, tied = np.unique(stream.before, return_counts=True)
    found = tables(automaton, int(tied.max(initial=1)))
    ends = np.flatnonzero((stream.begins | stream.takes) & _closing(found))
    frames, state = frames_of(stream, ends), np.zeros(of.COUNTING_STATE, np.int64)
    state[of.AT] = NOTHING
    counts, arrived = (np.zeros((len(found.settled), 1), np.int64) for _ in range(2))
    sums, why = np.zeros((2, 1), np.int64), of.PAUSED
    while why != of.DONE:
        check(0)
        why = of.count_frames(stream, frames, *found, counts, arrived, sums, state)
        if why == of.WIDER:
            check(counts.nbytes + arrived.nbytes)
            more = ((0, 0), (0, 1))
            counts, arrived, sums = (np.pad(each, more) for each in (counts, arrived, sums))
            state[of.WIDE] = 0
    return sum(digit << (of.BITS * place) for place, digit in enumerate(sums[of.ALL].tolist()))


def _closing(found: StateTables) -> int:
    """The mask of states whose events can end a match."""
    arcs = np.flatnonzero(found.closes[found.alone.targets])
    moves = np.searchsorted(found.alone.bounds, arcs, side="right") - 1
    return int(np.bitwise_or.reduce(1 << (moves // 2), initial=0))
