"""HAVING, RETURN and negation of finished matches, which are bound again for these checks.

Matches of series have no `iterations`, matches of precise time no `confidences`.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.operations import FLOAT
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutFlags, OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays, begin_of
from sase.engine.kernels.kleene.predicates import bind as bind_level
from sase.engine.kernels.kleene.predicates import condition_at, programs_hold
from sase.engine.kernels.kleene.run_nodes import (
    HEAD,
    LEVEL,
    NO_EVENT,
    ROOT,
    TESTS,
    Machine,
    entry,
    tests_of,
)
from sase.engine.kernels.runs.binding import bind
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored, gap_of
from sase.engine.kernels.sentinels import NOTHING


class Shape(NamedTuple):
    """The data by which matches with repeated groups are bound again.

    The automaton; for each level its group, or NOTHING, and its state, or the first of its
    branches; for each branch of a group the state of each slot.
    """

    graph: RunGraph
    words: Groups
    members: Members
    groups: OutInts
    states: OutInts
    branches: OutIntRows


class Iterations(NamedTuple):
    """The iterations of matches, as in `Bindings`; `lasts` has room for the last node of each."""

    shape: Shape
    slots: OutInts
    counts: OutIntRows
    sizes: OutInts
    branches: OutInts
    lasts: OutInts


class Confidences(NamedTuple):
    """The confidences of matches, and the word of the root that holds one, or NOTHING."""

    word: int
    bits: OutInts


@linked
def iterations_of(iterations: Iterations | None, number: int) -> int:
    """Return the number of iterations of a match."""
    found = 0
    if iterations is not None:
        for group in range(iterations.counts.shape[0]):
            found += iterations.counts[group, number]
    return found


@linked
def rebuilt(
    machine: Machine, iterations: Iterations | None, cells: OutIntRows, matches: MatchArrays,
    number: int, iteration: int,
) -> int:  # fmt: skip
    """Bind a match in nodes; `iteration` is its first iteration; return the last node."""
    at = matches.ends[number - 1] if number > 0 else 0
    node = ROOT
    for level in range(matches.lengths.shape[0]):
        left = branch = 0
        for place in range(matches.lengths[level, number]):
            event = matches.events[at]
            if iterations is None:
                bind_level(machine, cells, node + 1, node, level, event)
            else:
                shape = iterations.shape
                state, begins, is_take = shape.states[level], False, place > 0
                if shape.groups[level] != NOTHING:
                    begins = left == 0
                    if begins:
                        left, branch = iterations.sizes[iteration], iterations.branches[iteration]
                        iteration += 1
                    state = shape.branches[state + branch, iterations.slots[at]]
                    is_take = not begins and cells[node, LEVEL] == state
                    left -= 1
                    iterations.lasts[iteration - 1] = node + 1
                bind(
                    machine, shape.graph, shape.words, shape.members, cells, node + 1, node, state,
                    event, is_take, begins,
                )  # fmt: skip
            node += 1
            at += 1
    return node


@inlined
def note_confidence(confidences: Confidences, cells: OutIntRows, number: int) -> None:
    """Write the confidence of a match into the root, if it is read."""
    word = confidences.word
    if word != NOTHING:
        cells[ROOT, word], cells[ROOT, word + 1] = FLOAT, confidences.bits[number]


def _selected(
    machine: Machine, iterations: Iterations | None, cells: OutIntRows, matches: MatchArrays,
    confidences: Confidences | None, keep: OutFlags,
) -> None:  # fmt: skip
    """Set `keep` for each match: whether all conditions hold."""
    iteration = 0
    for number in range(keep.shape[0]):
        if confidences is not None:
            note_confidence(confidences, cells, number)
        node = rebuilt(machine, iterations, cells, matches, number, iteration)
        keep[number] = programs_hold(machine, cells, 0, node, NO_EVENT)
        iteration += iterations_of(iterations, number)


def _evaluated(
    machine: Machine, iterations: Iterations | None, cells: OutIntRows, matches: MatchArrays,
    confidences: Confidences | None, found: OutIntRows, out: OutIntCubes,
) -> None:  # fmt: skip
    """Write tag and bits of each value of each match; its program leaves them in `found`."""
    iteration = 0
    for number in range(out.shape[1]):
        if confidences is not None:
            note_confidence(confidences, cells, number)
        node = rebuilt(machine, iterations, cells, matches, number, iteration)
        for value in range(out.shape[0]):
            condition_at(machine.condition, machine.arrays, cells, value, node, NO_EVENT)
            out[value, number, 0], out[value, number, 1] = found[0, 0], found[0, 1]
        iteration += iterations_of(iterations, number)


def _forbidden(
    machine: Machine, iterations: Iterations | None, cells: OutIntRows, matches: MatchArrays,
    ordered: OutInts, index: NegativeIndex, gap: Gap, stored: Stored, at_end: bool, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the matches that an event forbids.

    With `at_end` only matches with the gap at their end are checked, otherwise only the others. The
    `ordered` events give the gaps, while a match is bound level by level.
    """
    iteration = 0
    for number in range(keep.shape[0]):
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        split = begin_of(matches.ends, matches.lengths, gap.levels[0] + 1, number)
        if keep[number] and (split == end) == at_end:
            node = rebuilt(machine, iterations, cells, matches, number, iteration)
            keep[number] = not is_forbidden(
                machine, cells, node, ordered[begin:end], split - begin, index, gap, stored
            )
        iteration += iterations_of(iterations, number)


@linked
def is_forbidden(
    machine: Machine, cells: OutIntRows, node: int, events: OutInts, split: int,
    index: NegativeIndex, gap: Gap, stored: Stored,
) -> bool:  # fmt: skip
    """Whether an event of the index is in the gap before `split`, and agrees with the match."""
    mask, behind = index.row.shape[0] - 1, events.shape[0]
    at, earliest, bound = gap_of(
        index, gap, stored, events[0] & machine.mask, events[behind - 1] & machine.mask,
        events[split - 1] & machine.mask if split > 0 else NOTHING,
        events[split] & machine.mask if split < behind else NOTHING,
    )  # fmt: skip
    while at >= index.sizes[1] and index.tie[at & mask] >= earliest:
        event, inside = index.row[at & mask], index.measure[at & mask] >= bound
        if not inside and gap.bounds[4] == 1:
            return False
        if (
            inside
            and agrees(machine, cells, node, event)
            and programs_hold(machine, cells, 0, node, event)
        ):
            return True
        at = index.below[at & mask]
    return False


@linked
def agrees(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event agrees with a match on the tests that are decided event by event."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        known = cells[node, HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and code != known:
            return False
    return True


select_matches = kernel(_selected, absent=["iterations", "confidences"])
select_groups = kernel(_selected, absent=["confidences"])
select_candidates = kernel(_selected, absent=["iterations"])
evaluate_matches = kernel(_evaluated, absent=["iterations", "confidences"])
evaluate_groups = kernel(_evaluated, absent=["confidences"])
evaluate_candidates = kernel(_evaluated, absent=["iterations"])
forbid_matches = kernel(_forbidden, absent=["iterations"])
forbid_groups = kernel(_forbidden)
