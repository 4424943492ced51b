"""(SES) Runs through sets of single events that never fork: each has a row, updated in place.

If no event fits two components, and a run ignores only events that it cannot bind, an event extends
a run in one way at most. A row holds the events by level. The runs of a key are listed in the order
of results, those that an event moves before the others. Most events cannot move any run of their
key. Each key has the levels for which its runs wait as bits, so such an event does not visit the
list.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.predicates import comparison_holds
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    Incoming,
    Machine,
)
from sase.engine.kernels.runs.matches import Listed
from sase.engine.kernels.sentinels import NOTHING, window_start

# Fields of a run: the next one of its key, the measure and the number of its first event, the
# levels that have events and those that it waits for as bits, and the order of its last event; then
# the events.
NEXT, START, FIRST, HELD, WAITS, TIE = range(6)
EVENTS = 6
# Fields of a key: its first run, the levels that its runs wait for as bits, the number of runs, and
# the number of runs from which on ended ones are searched.
HEAD, WANTED, COUNT, LIMIT = range(4)
KEY_WIDTH = 4
FEWEST = 8
# Fields of a level: the members of its element as bits, those of the next one, and begin and end of
# the comparisons of its event.
MEMBERS, ONWARD, CHECKS, CHECKS_END = range(4)
# Fields of a comparison: the level of the other event, and the arguments of `comparison_holds`.
OTHER, CHECK = range(2)


class LineRuns(NamedTuple):
    """Rows of runs, keys, and the state: see `run_nodes`."""

    rows: OutIntRows
    keys: OutIntRows
    state: OutInts


class LinePattern(NamedTuple):
    """Levels, comparisons, the levels to begin at as bits, and the span of the window."""

    levels: IntRows
    checks: IntRows
    first: int
    span: int


@inlined
def level_of(bits: int) -> int:
    """The level of the only bit."""
    level = 0
    while (bits >> level) & 1 == 0:
        level += 1
    return level


@linked
def accepts(
    machine: Machine, pattern: LinePattern, rows: OutIntRows, row: int, level: int, event: int
) -> bool:
    """Whether the comparisons with the bound events of a run accept an event."""
    for number in range(pattern.levels[level, CHECKS], pattern.levels[level, CHECKS_END]):
        other = pattern.checks[number, OTHER]
        if (rows[row, HELD] >> other) & 1 == 1 and not comparison_holds(
            machine, rows, pattern.checks[number, CHECK:], row, event & machine.mask
        ):
            return False
    return True


@inlined
def bind(pattern: LinePattern, rows: OutIntRows, row: int, level: int, event: int) -> None:
    """Bind an event."""
    held = rows[row, HELD] | (1 << level)
    rows[row, EVENTS + level], rows[row, HELD] = event, held
    still = pattern.levels[level, MEMBERS] & ~held
    rows[row, WAITS] = still if still != 0 else pattern.levels[level, ONWARD]


@inlined
def take_row(runs: LineRuns) -> int:
    """Take a free row."""
    state = runs.state
    row = state[nodes.FREE]
    if row == NOTHING:
        row = state[nodes.USED]
        state[nodes.USED] += 1
    else:
        state[nodes.FREE] = runs.rows[row, NEXT]
        state[nodes.SPARE] -= 1
    return int(row)


@inlined
def free_row(runs: LineRuns, row: int) -> None:
    """Free a row."""
    state = runs.state
    runs.rows[row, NEXT], state[nodes.FREE] = state[nodes.FREE], row
    runs.rows[row, HELD] = 0
    state[nodes.SPARE] += 1


@linked
def write_row(rows: OutIntRows, row: int, written: MatchBuffer, listed: Listed) -> None:
    """Write a match with its events in the order of the stream."""
    count, begin, levels = written.sizes[0], written.sizes[1], written.lengths.shape[0]
    for level in range(levels):
        event, to = rows[row, EVENTS + level], begin + level
        while to > begin and written.events[to - 1] > event:
            written.events[to] = written.events[to - 1]
            listed.levels[to] = listed.levels[to - 1]
            to -= 1
        written.events[to], listed.levels[to] = event, level
        written.lengths[level, count] = 1
    written.ends[count], listed.closes[count] = begin + levels, NOTHING
    written.sizes[0], written.sizes[1] = count + 1, begin + levels


@inlined
def begin_run(pattern: LinePattern, runs: LineRuns, incoming: Incoming, i: int, level: int) -> int:
    """Begin a run with an event."""
    rows, state = runs.rows, runs.state
    row = take_row(runs)
    rows[row, START], rows[row, FIRST] = incoming.measures[i], incoming.numbers[i]
    rows[row, HELD], rows[row, TIE] = 0, incoming.ties[i]
    bind(pattern, rows, row, level, incoming.numbers[i])
    state[nodes.MADE] += 1
    state[nodes.INITIATED] += 1
    return row


@linked
def move_runs(
    machine: Machine, pattern: LinePattern, runs: LineRuns, incoming: Incoming, i: int, level: int,
    written: MatchBuffer, listed: Listed,
) -> None:  # fmt: skip
    """Bind an event to the runs of its key that wait for it, and free those that have ended."""
    rows, state, key = runs.rows, runs.state, incoming.keys[i]
    own, bit, event = runs.keys[key], 1 << level, incoming.numbers[i]
    bound = window_start(incoming.measures[i], pattern.span)
    members, tie = pattern.levels[level, MEMBERS], incoming.ties[i]
    kept = moved = first_moved = NOTHING
    row, wanted, count = own[HEAD], 0, 0
    first_kept = NOTHING
    while row != NOTHING:
        after = rows[row, NEXT]
        state[nodes.STEPS] += 1
        if rows[row, START] < bound:
            state[nodes.EXPIRED] += 1
            state[nodes.LIVE] -= 1
            free_row(runs, row)
            row = after
            continue
        goes_on = (
            rows[row, WAITS] & bit != 0
            and (rows[row, HELD] & members != 0 or rows[row, TIE] != tie)
            and accepts(machine, pattern, rows, row, level, event)
        )
        if goes_on:
            bind(pattern, rows, row, level, event)
            rows[row, TIE] = tie
            state[nodes.MADE] += 1
            if rows[row, WAITS] == 0:
                write_row(rows, row, written, listed)
                state[nodes.LIVE] -= 1
                free_row(runs, row)
                row = after
                continue
            if moved == NOTHING:
                first_moved = row
            else:
                rows[moved, NEXT] = row
            moved = row
        else:
            if kept == NOTHING:
                first_kept = row
            else:
                rows[kept, NEXT] = row
            kept = row
        wanted |= rows[row, WAITS]
        count += 1
        row = after
    if kept != NOTHING:
        rows[kept, NEXT] = NOTHING
    if moved != NOTHING:
        rows[moved, NEXT] = first_kept
    own[HEAD] = first_kept if moved == NOTHING else first_moved
    own[WANTED], own[COUNT], own[LIMIT] = wanted, count, 2 * count + FEWEST


@kernel
def advance_set_lines(
    machine: Machine, pattern: LinePattern, runs: LineRuns, incoming: Incoming,
    written: MatchBuffer, listed: Listed,
) -> int:  # fmt: skip
    """Apply events, from the last stop on, and write the matches that they complete."""
    rows, state, levels = runs.rows, runs.state, pattern.levels.shape[0]
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        i = state[nodes.AT]
        key, bits = incoming.keys[i], incoming.begins[i]
        if key < 0 or bits == 0:
            state[nodes.AT] += 1
            continue
        own = runs.keys[key]
        begins, is_wanted = bits & pattern.first != 0, bits & own[WANTED] != 0
        if begins or is_wanted:
            if state[nodes.STEPS] >= until:
                return PAUSED
            most = own[COUNT] + 1
            if (
                written.sizes[0] + most > written.ends.shape[0]
                or written.sizes[1] + most * levels > written.events.shape[0]
            ):
                return FULL
            if state[nodes.FREE] == NOTHING and state[nodes.USED] >= rows.shape[0]:
                return CROWDED
            level = level_of(bits)
            row = NOTHING
            if begins:
                row = begin_run(pattern, runs, incoming, i, level)
                if rows[row, WAITS] == 0:
                    write_row(rows, row, written, listed)
                    free_row(runs, row)
                    row = NOTHING
            if is_wanted or own[COUNT] >= own[LIMIT]:
                move_runs(machine, pattern, runs, incoming, i, level, written, listed)
            if row != NOTHING:
                rows[row, NEXT], own[HEAD] = own[HEAD], row
                own[WANTED] |= rows[row, WAITS]
                own[COUNT] += 1
                state[nodes.LIVE] += 1
                state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
        state[nodes.AT] += 1
    return DONE


@kernel
def expire_set_lines(runs: LineRuns, bound: int) -> int:
    """Free the runs with a past window; return the first event of the others, or `NOTHING`."""
    rows, state, first = runs.rows, runs.state, NOTHING
    for key in range(runs.keys.shape[0]):
        own = runs.keys[key]
        kept, row, wanted, count = NOTHING, own[HEAD], 0, 0
        own[HEAD] = NOTHING
        while row != NOTHING:
            after = rows[row, NEXT]
            if rows[row, START] < bound:
                state[nodes.EXPIRED] += 1
                state[nodes.LIVE] -= 1
                free_row(runs, row)
            else:
                if kept == NOTHING:
                    own[HEAD] = row
                else:
                    rows[kept, NEXT] = row
                kept = row
                wanted |= rows[row, WAITS]
                count += 1
                if first == NOTHING or rows[row, FIRST] < first:
                    first = rows[row, FIRST]
            row = after
        if kept != NOTHING:
            rows[kept, NEXT] = NOTHING
        own[WANTED], own[COUNT], own[LIMIT] = wanted, count, 2 * count + FEWEST
    return int(first)
