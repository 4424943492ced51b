"""Negative elements in the iterations of finished matches."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutFlags, OutIntRows, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays
from sase.engine.kernels.kleene.run_nodes import NO_EVENT, Machine
from sase.engine.kernels.runs.residual_checks import (
    Iterations,
    is_forbidden,
    iterations_of,
    rebuilt,
)
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored


@kernel
def forbid_iterations(
    machine: Machine, iterations: Iterations, cells: OutIntRows, matches: MatchArrays,
    index: NegativeIndex, gap: Gap, stored: Stored, given: OutInts, place: OutInts, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the matches with a forbidden event in an iteration.

    `place`: the group, its level, the branch, and the slots of the elements around. The last of
    `given` is the place where conditions read the current iteration.
    """
    iteration, group, level, branch = 0, place[0], place[1], place[2]
    for number in range(keep.shape[0]):
        behind = iteration + iterations_of(iterations, number)
        if keep[number]:
            node, begin = NO_EVENT, matches.ends[number - 1] if number > 0 else 0
            events = matches.events[begin : matches.ends[number]]
            first = iteration
            for before in range(group):
                first += iterations.counts[before, number]
            at = 0
            for before in range(level):
                at += matches.lengths[before, number]
            for each in range(first, first + iterations.counts[group, number]):
                end = at + iterations.sizes[each]
                if iterations.branches[each] == branch and keep[number]:
                    if node == NO_EVENT:
                        node = rebuilt(machine, iterations, cells, matches, number, iteration)
                    split = at
                    while iterations.slots[begin + split] != place[4]:
                        split += 1
                    given[given.shape[0] - 1] = iterations.lasts[each]
                    keep[number] = not is_forbidden(
                        machine, cells, node, events, split, index, gap, stored
                    )
                at = end
        iteration = behind
