"""HAVING, RETURN and negation of matches with series, which are bound once more to be asked."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.jit.arrow_memory import copy
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import (
    IntRows,
    Ints,
    OutFlags,
    OutIntCubes,
    OutIntRows,
    OutInts,
)
from sase.engine.kernels.kleene.predicates import condition_at
from sase.engine.kernels.kleene.run_nodes import (
    HEAD,
    NO_EVENT,
    ROOT,
    TESTS,
    Machine,
    entry,
    tests_of,
)
from sase.engine.kernels.kleene.transitions import bind, programs_hold
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored, gap_of
from sase.engine.kernels.sentinels import NOTHING


class MatchArrays(NamedTuple):
    """The events of all matches, where each ends, and the lengths by level."""

    events: OutInts
    ends: OutInts
    lengths: OutIntRows


@inlined
def begin_of(ends: Ints, lengths: IntRows, level: int, number: int) -> int:
    """Where the events of a component begin in a match."""
    begin = ends[number - 1] if number > 0 else 0
    for before in range(level):
        begin += lengths[before, number]
    return int(begin)


@kernel
def gather_level(events: Ints, ends: Ints, lengths: IntRows, level: int, out: OutInts) -> None:
    """The events that a component binds in all matches, one after the other."""
    to = 0
    for number in range(ends.shape[0]):
        copy(events, begin_of(ends, lengths, level, number), out, to, lengths[level, number])
        to += lengths[level, number]


@kernel
def scatter_level(events: Ints, ends: Ints, lengths: IntRows, level: int, out: OutInts) -> None:
    """Put the events that a component binds where they stand among all events of the matches."""
    at = 0
    for number in range(ends.shape[0]):
        copy(events, at, out, begin_of(ends, lengths, level, number), lengths[level, number])
        at += lengths[level, number]


@kernel
def gather_ranges(given: Ints, begins: Ints, sizes: Ints, out: OutInts) -> None:
    """The numbers of ranges, one after the other."""
    to = 0
    for number in range(begins.shape[0]):
        copy(given, begins[number], out, to, sizes[number])
        to += sizes[number]


@linked
def rebuilt(machine: Machine, cells: OutIntRows, matches: MatchArrays, number: int) -> int:
    """Bind a match in nodes; return the last one."""
    at = matches.ends[number - 1] if number > 0 else 0
    node = ROOT
    for level in range(matches.lengths.shape[0]):
        for _ in range(matches.lengths[level, number]):
            bind(machine, cells, node + 1, node, level, matches.events[at])
            node += 1
            at += 1
    return node


@kernel
def select_matches(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, keep: OutFlags
) -> None:
    """Whether all conditions hold, for each match."""
    for number in range(keep.shape[0]):
        node = rebuilt(machine, cells, matches, number)
        keep[number] = programs_hold(machine, cells, 0, node, NO_EVENT)


@kernel
def evaluate_matches(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, found: OutIntRows, out: OutIntCubes
) -> None:
    """Write tag and bits of each value of each match; its program leaves it in `found`."""
    for number in range(out.shape[1]):
        node = rebuilt(machine, cells, matches, number)
        for value in range(out.shape[0]):
            condition_at(machine.condition, machine.arrays, cells, value, node, NO_EVENT)
            out[value, number, 0], out[value, number, 1] = found[0, 0], found[0, 1]


@kernel
def forbid_matches(
    machine: Machine, cells: OutIntRows, bound: MatchArrays, matches: MatchArrays,
    index: NegativeIndex, gap: Gap, stored: Stored, at_end: bool, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the matches that an event forbids, those with the gap `at_end` or others.

    They are `bound` level by level, while their gaps go by the order of their events.
    """
    for number in range(keep.shape[0]):
        if not keep[number]:
            continue
        begin = matches.ends[number - 1] if number > 0 else 0
        split = begin
        for level in range(gap.levels[0] + 1):
            split += matches.lengths[level, number]
        if (split == matches.ends[number]) == at_end:
            node = rebuilt(machine, cells, bound, number)
            keep[number] = not is_forbidden(
                machine, cells, node, matches.events[begin : matches.ends[number]],
                split - begin, index, gap, stored,
            )  # fmt: skip


@linked
def is_forbidden(
    machine: Machine, cells: OutIntRows, node: int, events: OutInts, split: int,
    index: NegativeIndex, gap: Gap, stored: Stored,
) -> bool:  # fmt: skip
    """Whether an event of the index lies in the gap before an event of a match, and agrees."""
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
