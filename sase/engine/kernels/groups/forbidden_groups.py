"""Matches of a negative sequence in the gaps of matches with repeated groups, or of iterations."""

from __future__ import annotations

from sase.engine.kernels.groups.iteration_checks import (
    GroupMatches,
    Shape,
    iterations_of,
    rebuilt,
)
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
from sase.engine.kernels.kleene.residual_checks import begin_of
from sase.engine.kernels.kleene.run_nodes import NO_EVENT, Machine
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored

# Where a sequence stands in iterations: their group, its level, their branch, the slot of the
# element behind it, and how many iterations of the match have been asked.
GROUP, GROUP_LEVEL, BRANCH, BEHIND, ASKED = range(5)


@kernel
def forbid_groups_by_sequences(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    ordered: OutInts, lists: SequenceLists, index: NegativeIndex, gap: Gap, stored: Stored,
    found: Search, first: int, at_end: bool, keep: OutFlags,
) -> int:  # fmt: skip
    """Clear `keep` for the matches with a match of the sequence in the gap, on from a state.

    The components of the sequence are states from the `first` on. Gaps go by the `ordered` events.
    """
    state, iteration = found.state, 0
    for number in range(state[NUMBER]):
        iteration += iterations_of(matches, number)
    while state[NUMBER] < keep.shape[0]:
        number = state[NUMBER]
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        split = begin_of(matches.ends, matches.lengths, gap.levels[0] + 1, number)
        key = key_of(stored, machine, ordered[begin])
        if keep[number] and (split == end) == at_end and key >= 0:
            if state[DEPTH] == FRESH:
                if end - begin + 1 >= cells.shape[0]:
                    return CROWDED
                events = ordered[begin:end]
                if may_begin(
                    machine, events, split - begin, lists, index, gap, stored, found, first, key
                ):
                    node = rebuilt(machine, shape, cells, matches, number, iteration)
                    begin_search(found, lists, first, node)
            why = decide(machine, cells, lists, index, gap, stored, found, first, key, number, keep)
            if why != DONE:
                return why
        iteration += iterations_of(matches, number)
        state[NUMBER] += 1
    return DONE


@kernel
def forbid_iterations_by_sequences(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    lists: SequenceLists, index: NegativeIndex, gap: Gap, stored: Stored, found: Search, first: int,
    given: OutInts, place: OutInts, keep: OutFlags,
) -> int:  # fmt: skip
    """Clear `keep` for the matches an iteration of which has a match of the sequence in its gap.

    The last of `given` is where conditions read the iteration that they are asked of.
    """
    state, iteration = found.state, 0
    for number in range(state[NUMBER]):
        iteration += iterations_of(matches, number)
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
                own += matches.counts[before, number]
            for before in range(place[GROUP_LEVEL]):
                at += matches.lengths[before, number]
            for each in range(own, own + matches.counts[place[GROUP], number]):
                is_asked = matches.branches[each] == place[BRANCH] and each - own >= place[ASKED]
                if is_asked and keep[number]:
                    if state[DEPTH] == FRESH:
                        if node == NO_EVENT:
                            node = rebuilt(machine, shape, cells, matches, number, iteration)
                        split = at
                        while matches.slots[begin + split] != place[BEHIND]:
                            split += 1
                        given[given.shape[0] - 1] = matches.lasts[each]
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
                at += matches.sizes[each]
        place[ASKED] = 0
        iteration += iterations_of(matches, number)
        state[NUMBER] += 1
    return DONE
