"""Matches of a negative sequence in the gaps of iterations."""

from __future__ import annotations

from sase.engine.kernels.groups.negative_sequences import (
    BASE,
    CROWDED,
    DEPTH,
    DONE,
    FRESH,
    NUMBER,
    Search,
    SequenceLists,
    begin_search,
    decide,
    key_of,
    may_begin,
)
from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutFlags, OutIntRows, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays
from sase.engine.kernels.kleene.run_nodes import NO_EVENT, Machine
from sase.engine.kernels.runs.residual_checks import Iterations, iterations_of, rebuilt
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored

# The place of a sequence: the group, its level, the branch, the slot of the element after it, and
# the number of checked iterations of the match.
GROUP, GROUP_LEVEL, BRANCH, BEHIND, ASKED = range(5)


@kernel
def forbid_iterations_by_sequences(
    machine: Machine, iterations: Iterations, cells: OutIntRows, matches: MatchArrays,
    lists: SequenceLists, index: NegativeIndex, gap: Gap, stored: Stored, found: Search, first: int,
    given: OutInts, place: OutInts, keep: OutFlags,
) -> int:  # fmt: skip
    """Clear `keep` for the matches with an iteration that has a match of the sequence in its gap.

    The last of `given` is the place where conditions read the current iteration.
    """
    state, iteration = found.state, 0
    for number in range(state[NUMBER]):
        iteration += iterations_of(iterations, number)
    while state[NUMBER] < keep.shape[0]:
        number = state[NUMBER]
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        key = key_of(stored, machine, matches.events[begin])
        if keep[number] and key >= 0:
            if end - begin + 1 >= cells.shape[0]:
                return CROWDED
            node = NO_EVENT if state[DEPTH] == FRESH else state[BASE]
            events, own, at = matches.events[begin:end], iteration, 0
            for before in range(place[GROUP]):
                own += iterations.counts[before, number]
            for before in range(place[GROUP_LEVEL]):
                at += matches.lengths[before, number]
            for each in range(own, own + iterations.counts[place[GROUP], number]):
                is_asked = iterations.branches[each] == place[BRANCH] and each - own >= place[ASKED]
                if is_asked and keep[number]:
                    if state[DEPTH] == FRESH:
                        if node == NO_EVENT:
                            node = rebuilt(machine, iterations, cells, matches, number, iteration)
                        split = at
                        while iterations.slots[begin + split] != place[BEHIND]:
                            split += 1
                        given[given.shape[0] - 1] = iterations.lasts[each]
                        if may_begin(
                            machine, events, split, lists, index, gap, stored, found, first, key
                        ):
                            begin_search(found, lists, first, node)
                    why = decide(
                        machine, cells, lists, index, gap, stored, found, first, key, number, keep
                    )
                    if why != DONE:
                        place[ASKED] = each - own
                        return why
                at += iterations.sizes[each]
        place[ASKED] = 0
        iteration += iterations_of(iterations, number)
        state[NUMBER] += 1
    return DONE
