"""Find events and matches of negative sequences that may lie in a candidate's gap in some world."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.groups.negative_sequences import (
    CROWDED,
    DONE,
    PAUSED,
    SequenceLists,
    agrees_on_tests,
    first_level,
    first_of_level,
    next_level,
)
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays
from sase.engine.kernels.kleene.predicates import bind, comparisons_hold, is_match, programs_hold
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    EVENT,
    FINISH,
    LEVEL,
    MOMENTS,
    NO_EVENT,
    PREVIOUS,
    TAKE,
    Machine,
    levels_of,
)
from sase.engine.kernels.runs.residual_checks import agrees, rebuilt
from sase.engine.kernels.sentinels import EARLIEST, LATEST, window_end, window_start

# ---------------------------------------------------------------- placed negatives

# The intervals of a candidate's events are narrowed by their order. So whether an event can lie
# between two of them depends only on the candidate and that event.


class IntervalIndex(NamedTuple):
    """Events by key in stream order, with the bounds of their times, and the begin of each key.

    `most` is the latest time among an event and those of its key before it.
    """

    event: OutInts
    lo: OutInts
    hi: OutInts
    most: OutInts
    begins: OutInts


class BoundTimes(NamedTuple):
    """The bounds of events' times by place, and their keys if the index has several."""

    lo: OutInts
    hi: OutInts
    key: OutInts


@kernel
def note_latest(index: IntervalIndex) -> None:
    """Write the latest times of an index."""
    for key in range(index.begins.shape[0] - 1):
        latest = EARLIEST
        for place in range(index.begins[key], index.begins[key + 1]):
            latest = max(latest, index.hi[place])
            index.most[place] = latest


@linked
def earliest_of_last(
    matches: MatchArrays, number: int, levels: int, sets: Ints, times: BoundTimes, mask: int
) -> int:
    """Return the earliest possible end of the first `levels` levels."""
    at = matches.ends[number - 1] if number > 0 else 0
    before = most = EARLIEST
    for level in range(levels):
        for place in range(matches.lengths[level, number]):
            if place == 0 or sets[level] == 0:
                before, most = most, EARLIEST
            most = max(most, times.lo[matches.events[at] & mask], before + 1)
            at += 1
    return int(most)


@linked
def latest_of_first(
    matches: MatchArrays, number: int, level: int, sets: Ints, times: BoundTimes, mask: int
) -> int:
    """Return the latest possible begin of the levels from one on."""
    at = matches.ends[number] - 1
    behind = least = LATEST
    for last in range(matches.lengths.shape[0] - 1, level - 1, -1):
        for place in range(matches.lengths[last, number]):
            if place == 0 or sets[last] == 0:
                behind, least = least, LATEST
            least = min(least, times.hi[matches.events[at] & mask], behind - 1)
            at -= 1
    return int(least)


@linked
def gap_bounds(
    matches: MatchArrays, number: int, split: int, sets: Ints, times: BoundTimes, span: int,
    mask: int,
) -> tuple[int, int]:  # fmt: skip
    """Return the first possible time in the gap behind `split` levels, and its end."""
    bound, events = 0, 0
    for level in range(matches.lengths.shape[0]):
        events += matches.lengths[level, number]
        if level < split:
            bound += matches.lengths[level, number]
    if bound == 0:
        last = earliest_of_last(matches, number, matches.lengths.shape[0], sets, times, mask)
        return window_start(last, span), latest_of_first(matches, number, 0, sets, times, mask)
    if bound == events:
        first = latest_of_first(matches, number, 0, sets, times, mask)
        last = earliest_of_last(matches, number, matches.lengths.shape[0], sets, times, mask)
        return last + 1, min(window_end(first, span), LATEST - 1) + 1
    last = earliest_of_last(matches, number, split, sets, times, mask)
    return last + 1, latest_of_first(matches, number, split, sets, times, mask)


@linked
def sure_bounds(
    matches: MatchArrays, number: int, split: int, times: BoundTimes, span: int, mask: int
) -> tuple[int, int]:
    """Return the first and last time that is in the gap in every world with the order."""
    begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
    bound = 0
    for level in range(split):
        bound += matches.lengths[level, number]
    before, after, latest, earliest = EARLIEST, LATEST, EARLIEST, LATEST
    for at in range(begin, end):
        lo, hi = times.lo[matches.events[at] & mask], times.hi[matches.events[at] & mask]
        latest, earliest = max(latest, hi), min(earliest, lo)
        if at < begin + bound:
            before = max(before, hi)
        else:
            after = min(after, lo)
    if bound == 0:
        return window_start(latest, span), earliest - 1
    if begin + bound == end:
        return latest + 1, min(window_end(earliest, span), LATEST - 1)
    return before + 1, after - 1


@linked
def behind(index: IntervalIndex, key: int, bound: int) -> int:
    """Return the end of a key's events that begin before a bound."""
    low, high = index.begins[key], index.begins[key + 1]
    while low < high:
        middle = (low + high) // 2
        if index.lo[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return int(low)


@linked
def is_in(matches: MatchArrays, number: int, event: int) -> bool:
    """Whether a match has an event."""
    at = matches.ends[number] - 1
    begin = matches.ends[number - 1] if number > 0 else 0
    while at >= begin and matches.events[at] != event:
        at -= 1
    return bool(at >= begin)


@kernel
def place_negatives(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, index: IntervalIndex,
    times: BoundTimes, sets: Ints, split: int, span: int, out: OutIntRows, state: OutInts,
) -> bool:  # fmt: skip
    """Write pairs of a match and an event that may forbid it, from a state on; false if full.

    `split` levels are before the gap; `sets` is 1 for levels that are sets. The state is the next
    match, and the number of pairs written.
    """
    mask = machine.mask
    while state[0] < matches.ends.shape[0]:
        number, written = state[0], state[1]
        begin = matches.ends[number - 1] if number > 0 else 0
        lower, upper = gap_bounds(matches, number, split, sets, times, span, mask)
        key = times.key[matches.events[begin] & mask] if times.key.shape[0] > 0 else 0
        if key >= 0 and key + 1 < index.begins.shape[0]:
            node = rebuilt(machine, None, cells, matches, number, 0)
            place = behind(index, key, upper) - 1
            while place >= index.begins[key] and index.most[place] >= lower:
                event = index.event[place]
                if (
                    index.hi[place] >= lower
                    and not is_in(matches, number, event)
                    and agrees(machine, cells, node, event)
                    and programs_hold(machine, cells, 0, node, event)
                ):
                    if written == out.shape[0]:
                        return False
                    out[written, 0], out[written, 1] = number, event
                    written += 1
                place -= 1
        state[0], state[1] = number + 1, written
    return True


# ---------------------------------------------------------------- placed sequences

# As with precise time, the search binds events behind a candidate in the same nodes. But an event
# may follow any event that can be before it, so every order is tried. Each match is written with
# the events that may keep it from forbidding. Without such events, a match that contains another
# adds nothing, so the search does not extend a match; and a match in the gap in every world ends
# the search.

# A further reason to stop: the output is full.
FULL = 3
PATIENCE = 1 << 16
# Fields of the state: the next candidate, the depth of its search or FRESH, the node before it, the
# possible bounds of its gap, those in every world, and the number of rows written.
NUMBER, DEPTH, BASE, LOWER, UPPER, SURE_LOWER, SURE_UPPER, WRITTEN = range(8)
STATE = 8
FRESH = -1
# Fields of a frame: the current level, its next event, and the earliest time of one.
TRYING, CURSOR, EARLIEST_TIME = range(3)
FRAME = 3
# Fields of a row: the candidate, the place in the sequence, the event, and whether it is an
# absence; an absence has the place of the event after it.
WHOSE, PLACE, WHICH, IS_ABSENCE = range(4)
ROW = 4


class IntervalSearch(NamedTuple):
    """The position of a search, and its results."""

    state: OutInts
    frames: OutIntRows
    out: OutIntRows


@linked
def is_bound(cells: OutIntRows, node: int, base: int, event: int) -> bool:
    """Whether an event is bound behind a base node."""
    at = node
    while at > base and cells[at, EVENT] != event:
        at = cells[at, PREVIOUS]
    return bool(at > base)


@linked
def is_sure(
    cells: OutIntRows, node: int, times: BoundTimes, found: IntervalSearch, mask: int
) -> bool:
    """Whether the events behind the base are in order, and in the gap, in every world."""
    state, at, before = found.state, node, found.state[SURE_UPPER] + 1
    while at > state[BASE] and times.hi[cells[at, EVENT] & mask] < before:
        before = times.lo[cells[at, EVENT] & mask]
        at = cells[at, PREVIOUS]
    return bool(at == state[BASE] and before >= state[SURE_LOWER])


@linked
def try_level(
    found: IntervalSearch, depth: int, level: int, levels: int, lists: SequenceLists,
    index: IntervalIndex, first: int, key: int,
) -> None:  # fmt: skip
    """Continue with the events of a level, latest first."""
    found.frames[depth, TRYING] = level
    if level < levels:
        own = key * lists.width + lists.levels[level - first]
        found.frames[depth, CURSOR] = behind(index, own, found.state[UPPER]) - 1


@linked
def write_absences(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, lists: SequenceLists,
    index: IntervalIndex, times: BoundTimes, found: IntervalSearch, node: int, key: int,
) -> bool:  # fmt: skip
    """Write the events that may lie between two of a sequence's match; false if full."""
    state, out, mask = found.state, found.out, machine.mask
    base, number = state[BASE], state[NUMBER]
    for absence in range(lists.absences.shape[0]):
        own, level = key * lists.width + lists.absences[absence, 0], lists.absences[absence, 1]
        at = first_of_level(cells, node, level)
        lower = times.lo[cells[cells[at, PREVIOUS], EVENT] & mask] + 1
        upper = times.hi[cells[at, EVENT] & mask]
        moment = MOMENTS * (levels_of(machine) + absence) + FINISH
        place = behind(index, own, upper) - 1
        while place >= index.begins[own] and index.most[place] >= lower:
            event = index.event[place]
            if (
                index.hi[place] >= lower
                and not is_in(matches, number, event)
                and not is_bound(cells, node, base, event)
                and agrees_on_tests(machine, cells[node], event)
                and programs_hold(machine, cells, moment, node, event)
            ):
                if state[WRITTEN] == out.shape[0]:
                    return False
                row = out[state[WRITTEN]]
                row[WHOSE], row[PLACE], row[WHICH], row[IS_ABSENCE] = (
                    number,
                    at - base - 1,
                    event,
                    1,
                )
                state[WRITTEN] += 1
            place -= 1
    return True


@linked
def write_match(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, lists: SequenceLists,
    index: IntervalIndex, times: BoundTimes, found: IntervalSearch, node: int, key: int,
) -> bool:  # fmt: skip
    """Write a match of the sequence and its absences; nothing if it does not fit."""
    state, out = found.state, found.out
    base, written = state[BASE], state[WRITTEN]
    if written + node - base <= out.shape[0]:
        for at in range(base + 1, node + 1):
            row = out[state[WRITTEN]]
            row[WHOSE], row[PLACE] = state[NUMBER], at - base - 1
            row[WHICH], row[IS_ABSENCE] = cells[at, EVENT], 0
            state[WRITTEN] += 1
        if write_absences(machine, cells, matches, lists, index, times, found, node, key):
            return True
    state[WRITTEN] = written
    return False


@linked
def search(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, lists: SequenceLists,
    index: IntervalIndex, times: BoundTimes, found: IntervalSearch, first: int, key: int,
) -> int:  # fmt: skip
    """Continue the search for a candidate."""
    state, frames, tried = found.state, found.frames, 0
    levels, base = levels_of(machine), state[BASE]
    while state[DEPTH] >= 0:
        depth = state[DEPTH]
        node, level, at = base + depth, frames[depth, TRYING], frames[depth, CURSOR]
        if level >= levels:
            state[DEPTH] -= 1
            continue
        earliest = frames[depth, EARLIEST_TIME]
        own = key * lists.width + lists.levels[level - first]
        if at < index.begins[own] or index.most[at] < earliest:
            level = next_level(machine, cells, node, first, level)
            try_level(found, depth, level, levels, lists, index, first, key)
            continue
        if tried == PATIENCE:
            return PAUSED
        if depth + 1 >= frames.shape[0] or node + 1 >= cells.shape[0]:
            return CROWDED
        tried += 1
        event = index.event[at]
        moment = MOMENTS * level + (TAKE if level == cells[node, LEVEL] else BEGIN)
        time = max(index.lo[at], earliest)
        if (
            index.hi[at] >= earliest
            and time < state[UPPER]
            and not is_bound(cells, node, base, event)
            and not is_in(matches, state[NUMBER], event)
            and agrees_on_tests(machine, cells[node], event)
            and comparisons_hold(machine, cells, moment, node, event)
        ):
            bind(machine, cells, node + 1, node, level, event)
            if programs_hold(machine, cells, moment, node + 1, NO_EVENT):
                is_whole = is_match(machine, cells, node + 1)
                if is_whole and not write_match(
                    machine, cells, matches, lists, index, times, found, node + 1, key
                ):
                    return FULL
                if (
                    is_whole
                    and lists.absences.shape[0] == 0
                    and is_sure(cells, node + 1, times, found, machine.mask)
                ):
                    return DONE
                if not is_whole or lists.absences.shape[0] > 0:
                    state[DEPTH] = depth + 1
                    frames[depth + 1, EARLIEST_TIME] = time + 1
                    following = first_level(machine, cells, node + 1, first)
                    try_level(found, depth + 1, following, levels, lists, index, first, key)
        frames[depth, CURSOR] = at - 1
    return DONE


@kernel
def place_sequences(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, lists: SequenceLists,
    index: IntervalIndex, times: BoundTimes, sets: Ints, split: int, span: int,
    found: IntervalSearch,
) -> int:  # fmt: skip
    """Write the matches of a sequence that may lie in the gap behind `split` levels.

    The search resumes from the state. `sets` is 1 for levels that are sets.
    """
    state, first, mask = found.state, matches.lengths.shape[0], machine.mask
    while state[NUMBER] < matches.ends.shape[0]:
        number = state[NUMBER]
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        key = times.key[matches.events[begin] & mask] if times.key.shape[0] > 0 else 0
        if key >= 0 and (key + 1) * lists.width < index.begins.shape[0]:
            if state[DEPTH] == FRESH:
                if end - begin + 1 >= cells.shape[0]:
                    return CROWDED
                lower, upper = gap_bounds(matches, number, split, sets, times, span, mask)
                state[LOWER], state[UPPER], state[DEPTH] = lower, upper, 0
                first_sure, last_sure = sure_bounds(matches, number, split, times, span, mask)
                state[SURE_LOWER], state[SURE_UPPER] = first_sure, last_sure
                state[BASE] = rebuilt(machine, None, cells, matches, number, 0)
                found.frames[0, EARLIEST_TIME] = lower
                try_level(found, 0, first, levels_of(machine), lists, index, first, key)
            why = search(machine, cells, matches, lists, index, times, found, first, key)
            if why != DONE:
                return why
            state[DEPTH] = FRESH
        state[NUMBER] += 1
    return DONE
