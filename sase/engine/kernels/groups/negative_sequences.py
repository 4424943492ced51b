"""Matches of a negative sequence, searched in the gap of each match.

The search binds events after a match, in the same nodes (see `run_nodes`). It begins with the first
component of the sequence, and tries the most recent possible event first. The events of a component
and a key are a list of the index, newest first.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutFlags, OutIntRows, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays, begin_of
from sase.engine.kernels.kleene.predicates import (
    bind,
    comparisons_hold,
    is_match,
    may_pass,
    may_proceed,
    programs_hold,
)
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    EVENT,
    FINISH,
    HEAD,
    LENGTH,
    LEVEL,
    MOMENTS,
    NO_EVENT,
    PREVIOUS,
    TAKE,
    TESTS,
    Machine,
    entry,
    is_series,
    levels_of,
    most_of,
    tests_of,
)
from sase.engine.kernels.runs.residual_checks import Iterations, iterations_of, rebuilt
from sase.engine.kernels.scan.negation_index import (
    Gap,
    NegativeIndex,
    Stored,
    jump_over,
    last_in_window,
    last_with_less,
)
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

# The reasons why a search stops: it ended, the nodes need more room, or it pauses for interrupts.
DONE, CROWDED, PAUSED = range(3)
PATIENCE = 1 << 18
# Fields of the state: the current match, the depth of its search or FRESH, the node before it, and
# the number of events that were tried.
NUMBER, DEPTH, BASE, TRIED = range(4)
STATE = 4
FRESH = -1
# Fields of a frame: the level that is tried, and the next event for it.
TRYING, CURSOR = range(2)


class SequenceLists(NamedTuple):
    """The lists of the components, by level; an absence has a list, too.

    An absence is before a level. Each key has `width` lists.
    """

    width: int
    levels: Ints
    absences: IntRows


class Search(NamedTuple):
    """The position of a search: `tops` are the latest events of each list in the gap."""

    state: OutInts
    frames: OutIntRows
    tops: OutInts
    bounds: OutInts


@kernel
def insert_components(arrivals: Arrivals, bits: Ints, index: NegativeIndex) -> None:
    """Add the arrivals to the lists of the components by their bits."""
    mask, count = index.row.shape[0] - 1, bits.shape[0]
    for i in range(arrivals.rows.shape[0]):
        key = arrivals.keys[i]
        if key < 0:
            continue
        for component in range(count):
            if not (arrivals.states[i] >> bits[component]) & 1:
                continue
            number = index.sizes[0]
            place, top = number & mask, index.heads[key * count + component]
            index.row[place], index.tie[place] = arrivals.rows[i], arrivals.ties[i]
            index.measure[place] = arrivals.measures[i]
            index.below[place], index.jump[place], index.depth[place] = top, top, 0
            if top >= index.sizes[1]:
                index.depth[place] = index.depth[top & mask] + 1
                index.jump[place] = jump_over(index, top)
            index.heads[key * count + component] = number
            index.sizes[0] = number + 1


@linked
def agrees_on_tests(machine: Machine, words: OutInts, event: int) -> bool:
    """Whether an event agrees with all bound events; one without a value agrees with none."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        known = words[HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and (code != known or code == NOTHING):
            return False
    return True


@linked
def next_level(machine: Machine, cells: OutIntRows, node: int, first: int, level: int) -> int:
    """Return the level to try after another one behind a node; past the last one if none."""
    if level < first:  # a level of the match
        return first
    if level == cells[node, LEVEL]:
        passes = may_proceed(machine, cells, node)
    else:
        passes = may_pass(machine, cells, node, level)
    return level + 1 if passes else levels_of(machine)


@linked
def first_level(machine: Machine, cells: OutIntRows, node: int, first: int) -> int:
    """Return the first level to try behind a node: its own, if that may take more."""
    level = cells[node, LEVEL]
    if level < first:
        return first
    most = most_of(machine, level)
    if is_series(machine, level) and (most < 0 or cells[node, LENGTH] < most):
        return int(level)
    return next_level(machine, cells, node, first, level)


@inlined
def first_of_level(cells: OutIntRows, node: int, level: int) -> int:
    """Return the node of the first bound event of a level: a node or one before it."""
    at = node
    while cells[at, LEVEL] != level or cells[at, LENGTH] != 1:
        at = cells[at, PREVIOUS]
    return int(at)


@linked
def is_kept_from(
    machine: Machine, cells: OutIntRows, node: int, lists: SequenceLists, key: int,
    index: NegativeIndex, stored: Stored,
) -> bool:  # fmt: skip
    """Whether an event between two of the sequence keeps the sequence from forbidding."""
    mask = index.row.shape[0] - 1
    for number in range(lists.absences.shape[0]):
        own, behind = lists.absences[number, 0], lists.absences[number, 1]
        at = first_of_level(cells, node, behind)
        low = stored.tie[cells[cells[at, PREVIOUS], EVENT] & machine.mask]
        high = stored.tie[cells[at, EVENT] & machine.mask]
        found = last_with_less(index, index.tie, key * lists.width + own, high)
        moment = MOMENTS * (levels_of(machine) + number) + FINISH
        while found >= index.sizes[1] and index.tie[found & mask] > low:
            event = index.row[found & mask]
            if agrees_on_tests(machine, cells[node], event) and programs_hold(
                machine, cells, moment, node, event
            ):
                return True
            found = index.below[found & mask]
    return False


@linked
def search(
    machine: Machine, cells: OutIntRows, lists: SequenceLists, index: NegativeIndex,
    stored: Stored, found: Search, first: int, key: int, falls: bool,
) -> int:  # fmt: skip
    """Continue a search until there is a match of the sequence, or none."""
    state, frames, mask = found.state, found.frames, index.row.shape[0] - 1
    earliest, bound, base = found.bounds[0], found.bounds[1], state[BASE]
    until = state[TRIED] + PATIENCE
    while state[DEPTH] >= 0:
        depth = state[DEPTH]
        node, level, at = base + depth, frames[depth, TRYING], frames[depth, CURSOR]
        if level >= levels_of(machine):
            state[DEPTH] -= 1
            continue
        low = earliest - 1
        if depth > 0:
            low = stored.tie[cells[node, EVENT] & machine.mask]
        is_over = at < index.sizes[1] or index.tie[at & mask] <= low
        inside = is_over or index.measure[at & mask] >= bound
        if is_over or (not inside and falls):
            level = next_level(machine, cells, node, first, level)
            frames[depth, TRYING] = level
            if level < levels_of(machine):
                frames[depth, CURSOR] = found.tops[lists.levels[level - first]]
            continue
        if state[TRIED] >= until:
            return PAUSED
        if depth + 1 >= frames.shape[0] or node + 1 >= cells.shape[0]:
            return CROWDED
        state[TRIED] += 1
        event = index.row[at & mask]
        frames[depth, CURSOR] = index.below[at & mask]
        moment = MOMENTS * level + (TAKE if level == cells[node, LEVEL] else BEGIN)
        if (
            not inside
            or not agrees_on_tests(machine, cells[node], event)
            or not comparisons_hold(machine, cells, moment, node, event)
        ):
            continue
        bind(machine, cells, node + 1, node, level, event)
        if not programs_hold(machine, cells, moment, node + 1, NO_EVENT):
            continue
        if is_match(machine, cells, node + 1) and not is_kept_from(
            machine, cells, node + 1, lists, key, index, stored
        ):
            state[DEPTH] = depth + 1
            return DONE
        level = first_level(machine, cells, node + 1, first)
        state[DEPTH] = depth + 1
        frames[depth + 1, TRYING] = level
        if level < levels_of(machine):
            frames[depth + 1, CURSOR] = found.tops[lists.levels[level - first]]
    return DONE


@inlined
def decide(
    machine: Machine, cells: OutIntRows, lists: SequenceLists, index: NegativeIndex, gap: Gap,
    stored: Stored, found: Search, first: int, key: int, number: int, keep: OutFlags,
) -> int:  # fmt: skip
    """Continue a search; when it ends with a match, clear `keep` of the forbidden match."""
    why = search(machine, cells, lists, index, stored, found, first, key, gap.bounds[4] == 1)
    if why == DONE:
        if found.state[DEPTH] >= 0:
            keep[number] = False
        found.state[DEPTH] = FRESH
    return int(why)


@linked
def may_begin(
    machine: Machine, events: OutInts, split: int, lists: SequenceLists, index: NegativeIndex,
    gap: Gap, stored: Stored, found: Search, first: int, key: int,
) -> bool:  # fmt: skip
    """Find the gap of a match; return whether all needed components have an event in it."""
    mask, end = machine.mask, events.shape[0]
    earliest, bound = EARLIEST + 1, EARLIEST
    if split == 0:
        last = stored.measure[events[end - 1] & mask]
        bound = max(window_start(last, gap.bounds[0]), gap.bounds[1])
    else:
        earliest = stored.tie[events[split - 1] & mask] + 1
    found.bounds[0], found.bounds[1] = earliest, bound
    for own in range(lists.width):
        if split == end:
            measure = stored.measure[events[0] & mask]
            top = last_in_window(index, key * lists.width + own, measure, gap)
        else:
            tie = stored.tie[events[split] & mask]
            top = last_with_less(index, index.tie, key * lists.width + own, tie)
        found.tops[own] = top
    for level in range(first, levels_of(machine)):
        if machine.tables[1 + level, 0] > 0:
            top = found.tops[lists.levels[level - first]]
            if top < index.sizes[1] or index.tie[top & (index.row.shape[0] - 1)] < earliest:
                return False
    return True


@linked
def begin_search(found: Search, lists: SequenceLists, first: int, node: int) -> None:
    """Begin a search behind the last node of a match."""
    found.state[BASE], found.state[DEPTH] = node, 0
    found.frames[0, TRYING] = first
    found.frames[0, CURSOR] = found.tops[lists.levels[0]]


@inlined
def key_of(stored: Stored, machine: Machine, event: int) -> int:
    """Return the key of a match by its first event."""
    return int(stored.key[event & machine.mask]) if stored.key.shape[0] > 0 else 0


def _forbidden_by_sequences(
    machine: Machine, iterations: Iterations | None, cells: OutIntRows, matches: MatchArrays,
    ordered: OutInts, lists: SequenceLists, index: NegativeIndex, gap: Gap, stored: Stored,
    found: Search, first: int, at_end: bool, keep: OutFlags,
) -> int:  # fmt: skip
    """Clear `keep` for the matches with a match of the sequence in the gap, from a state on.

    The components of the sequence are states from the `first` on. Gaps are found in the `ordered`
    events, while matches are bound level by level.
    """
    state, iteration = found.state, 0
    for number in range(state[NUMBER]):
        iteration += iterations_of(iterations, number)
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
                    node = rebuilt(machine, iterations, cells, matches, number, iteration)
                    begin_search(found, lists, first, node)
            why = decide(machine, cells, lists, index, gap, stored, found, first, key, number, keep)
            if why != DONE:
                return why
        iteration += iterations_of(iterations, number)
        state[NUMBER] += 1
    return DONE


forbid_by_sequences = kernel(_forbidden_by_sequences, absent=["iterations"])
forbid_groups_by_sequences = kernel(_forbidden_by_sequences)
