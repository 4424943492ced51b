"""(NFAb) Fused runs by contiguity that no event forks: the scan of columns in memory.

Comparisons of an event with the previous event of its key leave some of the moves that the pattern
allows. `stretch_groups` applies these moves to the runs of the key.
"""

from __future__ import annotations

from sase.engine.kernels.jit.arrow_memory import copy_numbers
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.line_scan import CODE, MANY, PIECE, READ, LineStream, read_codes
from sase.engine.kernels.kleene.lines import sortable
from sase.engine.kernels.kleene.run_nodes import DONE
from sase.engine.kernels.kleene.stretch_groups import (
    BEGIN,
    FRESH,
    KEY_FIELDS,
    LISTED,
    MOST_COMPARED,
    RANK,
    ROW,
    SEEN,
    SIZE,
    START,
    VALUES,
    YOUNGEST,
    Stretches,
    StretchEvent,
    StretchMatches,
    StretchRules,
    advance_listed,
    advance_oldest,
    end_runs,
    measure_of,
    oldest_of,
)
from sase.engine.kernels.scan.fused_scan import ADDRESS, FORM
from sase.engine.kernels.sentinels import NOTHING, window_start

# Compared values are read after the other arrays of a piece. The loop over the columns of an event
# always runs to the greatest number of columns, so that the compiler can unroll it.
COMPARED = READ
ROOM = READ + MOST_COMPARED * PIECE


# ---------------------------------------------------------------- columns


@inlined
def read_piece(
    rules: StretchRules, stream: LineStream, keys: OutInts, begin: int, count: int, room: OutInts
) -> None:
    """Decode the keys and the compared values of the events of a piece; prefetch far keys."""
    width = KEY_FIELDS + rules.width
    read_codes(stream, begin, count, width, room)
    if keys.shape[0] >= MANY * width:
        for place in range(CODE, CODE + count):
            prefetch(keys, room[place])
    for column in range(stream.compared.shape[0]):
        form, address = stream.compared[column, FORM], stream.compared[column, ADDRESS]
        to = COMPARED + column * PIECE
        copy_numbers(address + ((stream.row + begin) << (form >> 1)), form, count, room, to)
        if (rules.floats >> column) & 1:
            for place in range(to, to + count):
                room[place] = sortable(room[place])


@inlined
def moves_of(
    rules: StretchRules, stream: LineStream, keys: OutInts, key: int, room: OutInts, i: int, at: int
) -> int:
    """Return the moves of runs with an event, as bits, by its levels and its comparisons."""
    moves = (int(stream.takes[i]) | int(stream.begins[i]) << BEGIN) & rules.moves
    for column in range(MOST_COMPARED):
        if column < stream.compared.shape[0]:
            value, other = room[COMPARED + column * PIECE + at], keys[key + VALUES + column]
            order = int(value > other) - int(value < other) + 1
            moves &= rules.orders[3 * column + order]
    if stream.ties.shape[0] > 0 and stream.ties[keys[key + ROW]] == stream.ties[stream.row + i]:
        moves &= 1 << BEGIN
    return moves


# ---------------------------------------------------------------- the loop


@inlined
def may_be_over(keys: OutInts, key: int, rank: int, start: int, bound: int) -> bool:
    """Whether a gap or the window may have ended runs; each run has the last event of its key."""
    group = oldest_of(key)
    runs = keys[key + FRESH] | keys[group + SIZE]
    is_over = keys[key + SEEN] + 1 != rank or start < bound or keys[group + START] < bound
    return bool((runs and is_over) or keys[key + YOUNGEST] != 0)


@inlined
def count_stretches(
    state: OutInts, at: int, steps: int, made: int, expired: int, begun: int, live: int, most: int
) -> None:
    """Count the work before the next event."""
    state[nodes.AT], state[nodes.LIVE], state[nodes.MOST_LIVE] = at, live, most
    state[nodes.STEPS] += steps
    state[nodes.MADE] += made + begun
    state[nodes.EXPIRED] += expired
    state[nodes.INITIATED] += begun


@kernel
def fused_stretches(
    rules: StretchRules, stream: LineStream, stretches: Stretches, written: StretchMatches,
    room: OutInts, behind: int,
) -> int:  # fmt: skip
    """Apply events of columns from where the last call stopped; write the completed matches."""
    keys, state, first = stretches.keys, stretches.state, stretches.state[nodes.AT]
    columns, shift = stream.compared.shape[0], stream.position - stream.row
    steps = made = expired = begun = 0
    live, most_live = state[nodes.LIVE], state[nodes.MOST_LIVE]
    while first < behind:
        count = min(PIECE, behind - first)
        read_piece(rules, stream, keys, first, count, room)
        for at in range(count):
            i, key, ahead = first + at, room[CODE + at], room[CODE + min(at + 16, count - 1)]
            prefetch(keys, ahead)
            prefetch(keys, ahead + KEY_FIELDS)
            rank, row, before = keys[key + RANK], stream.row + i, keys[key + ROW]
            if stream.takes[i] == 0:
                keys[key + RANK] = rank + 1
                continue
            moves = moves_of(rules, stream, keys, key, room, i, at)
            stretches.chain[row] = before
            if rules.is_strict and before + 1 != row:
                keys[key + SEEN] = NOTHING
            start = measure_of(rules, stream, before, rank - 1)
            bound = window_start(measure_of(rules, stream, row, rank), rules.span)
            if may_be_over(keys, key, rank, start, bound):
                is_left = keys[key + SEEN] + 1 != rank
                ended = end_runs(rules, stream, stretches, key, bound, is_left)
                steps, expired, live = steps + ended, expired + ended, live - ended
            event = StretchEvent(key, moves, rank, row, shift, start)
            why, met, moved, left = advance_oldest(rules, stretches, event, written)
            if why == LISTED:
                why, met, moved, left = advance_listed(rules, stretches, event, written)
            if why != DONE:
                count_stretches(state, i, steps, made, expired, begun, live, most_live)
                return why
            begins = (moves >> BEGIN) & 1
            steps, made, begun = steps + met, made + moved, begun + begins
            live += left - met + begins
            most_live = max(most_live, live)
            for column in range(MOST_COMPARED):
                if column < columns:
                    keys[key + VALUES + column] = room[COMPARED + column * PIECE + at]
            keys[key + ROW], keys[key + SEEN], keys[key + FRESH] = row, rank, begins
            keys[key + RANK] = rank + 1
        first += count
    count_stretches(state, behind, steps, made, expired, begun, live, most_live)
    return DONE


@kernel
def expire_stretches(
    rules: StretchRules, stream: LineStream, stretches: Stretches, bound: int, row: int
) -> None:
    """Remove the runs that the window has ended, or that contiguity has ended before a row."""
    keys, state = stretches.keys, stretches.state
    for key in range(0, keys.shape[0], KEY_FIELDS + rules.width):
        if keys[key + FRESH] | keys[oldest_of(key) + SIZE] | keys[key + YOUNGEST]:
            is_left = rules.is_strict == 1 and keys[key + ROW] + 1 < row
            ended = end_runs(rules, stream, stretches, key, bound, is_left)
            state[nodes.EXPIRED] += ended
            state[nodes.LIVE] -= ended
