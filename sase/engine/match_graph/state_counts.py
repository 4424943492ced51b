"""Count matches by the states of an automaton, as tables for kernels, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph import state_counts as of
from sase.engine.kernels.match_graph.state_counts import Arcs
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.match_graph.candidates import CandidateEvents
from sase.engine.match_graph.graph import frames_of
from sase.engine.resources import Check, no_check
from sase.planning.automaton.automaton import PatternAutomaton
from sase.planning.automaton.unrolled import ROOT, Configuration, PathStep, Unrolled

# ---------------------------------------------------------------- state tables

#     root ──► c ──► cp ⟲ p ──► b        closes: b
#        └───► p ⟲ p ──► cp
#
# The drawing is of `SET(C c, P+ p[]), B b`.


class StateTables(NamedTuple):
    """The states as kernels read them: arcs to later events, and to simultaneous events."""

    alone: Arcs
    tied: Arcs
    settled: NDArray[np.int64]
    closes: NDArray[np.int64]


def tables(automaton: PatternAutomaton, most_tied: int) -> StateTables:
    """The reachable configurations, if at most `most_tied` events are simultaneous."""
    alone, tied = Unrolled(automaton), Unrolled(automaton, are_tied=True)
    numbers, waiting = {ROOT: 0}, [ROOT]
    arcs, tied_arcs = list[tuple[int, int, int]](), list[tuple[int, int, int]]()

    def reach(
        source: Configuration,
        step: PathStep,
        layer: list[Configuration],
        found: list[tuple[int, int, int]],
    ) -> None:
        if step.target not in numbers:
            numbers[step.target] = len(numbers)
            layer.append(step.target)
        found.append((2 * step.state + step.further, numbers[source], numbers[step.target]))

    for each in waiting:
        for step in alone.steps(each):
            reach(each, step, waiting, arcs)
    layer = list[Configuration]()
    for each in waiting if most_tied > 1 else ():
        for step in tied.steps(each):
            reach(each, step, layer, tied_arcs)
    for _ in range(most_tied - 1):
        further = list[Configuration]()
        for each in layer:
            for step in tied.beside(each):
                reach(each, step, further, tied_arcs)
        layer = further
    settled = [numbers[each.settled] for each in numbers]
    closes = [int(alone.closes(each)) for each in numbers]
    states = len(automaton.states)
    return StateTables(
        _arcs(arcs, states), _arcs(tied_arcs, states), _column(settled), _column(closes)
    )


def _arcs(found: list[tuple[int, int, int]], states: int) -> Arcs:
    rows = np.array(sorted(found), np.int64).reshape(-1, 3)
    bounds = np.searchsorted(rows[:, 0], np.arange(2 * states + 1))
    return Arcs(_column(bounds), _column(rows[:, 1]), _column(rows[:, 2]))


def _column(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return frozen(np.asarray(values, np.int64))


# ---------------------------------------------------------------- state counts


def count_by_states(
    automaton: PatternAutomaton,
    events: CandidateEvents,
    span: int | None = None,
    check: Check = no_check,
) -> int:
    """Count the matches with first and last event at most `span` apart.

    `check` is called between pieces of the work, and may end it by an exception.
    """
    stream = events.places(span)
    found = tables(automaton, int(np.diff(events.tie_bounds).max(initial=1)))
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
    """The mask of states with events that can end a match."""
    arcs = np.flatnonzero(found.closes[found.alone.targets])
    moves = np.searchsorted(found.alone.bounds, arcs, side="right") - 1
    return int(np.bitwise_or.reduce(1 << (moves // 2), initial=0))
