"""Matches of a negative sequence in the gaps of matches with repeated groups."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutFlags, OutIntRows
from sase.engine.kernels.kleene.automaton import NfaGraph
from sase.engine.kernels.kleene.iteration_checks import (
    GroupMatches,
    Shape,
    iterations_of,
    rebuilt,
)
from sase.engine.kernels.kleene.negative_sequences import (
    CROWDED,
    DEPTH,
    DONE,
    FRESH,
    NUMBER,
    Search,
    SequenceLists,
    begin_search,
    key_of,
    may_begin,
    search,
)
from sase.engine.kernels.kleene.residual_checks import begin_of
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored


@kernel
def forbid_groups_by_sequences(
    machine: Machine, automaton: NfaGraph, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    lists: SequenceLists, index: NegativeIndex, gap: Gap, stored: Stored, found: Search, first: int,
    at_end: bool, keep: OutFlags,
) -> int:  # fmt: skip
    """Clear `keep` for the matches with a match of the sequence in the gap, on from a state.

    The components of the sequence are states from the `first` on.
    """
    state, iteration = found.state, 0
    for number in range(state[NUMBER]):
        iteration += iterations_of(matches, number)
    while state[NUMBER] < keep.shape[0]:
        number = state[NUMBER]
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        split = begin_of(matches.ends, matches.lengths, gap.levels[0] + 1, number)
        key = key_of(stored, machine, matches.events[begin])
        if keep[number] and (split == end) == at_end and key >= 0:
            if state[DEPTH] == FRESH:
                if end - begin + 1 >= cells.shape[0]:
                    return CROWDED
                events = matches.events[begin:end]
                if may_begin(
                    machine, events, split - begin, lists, index, gap, stored, found, first, key
                ):
                    node = rebuilt(machine, automaton, shape, cells, matches, number, iteration)
                    begin_search(found, lists, first, node)
            why = search(
                machine, cells, lists, index, stored, found, first, key, gap.bounds[4] == 1
            )
            if why != DONE:
                return why
            if state[DEPTH] >= 0:
                keep[number] = False
            state[DEPTH] = FRESH
        iteration += iterations_of(matches, number)
        state[NUMBER] += 1
    return DONE
