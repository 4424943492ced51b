"""(NFAb) Runs by contiguity that no event forks, each a stretch of the events of its key.

Such a run takes every event of its key or ends, so what it has bound is told by where its levels
begin: no event is kept but in the chain that leads from each event to the one before it of its key.

    key     HEAD ──► run of a7 ──► run of a4 ──► …       a run    levels begin at ranks 4 5 7
    chain   c9 ──► c8 ──► b7 ──► b5 ──► a4

What a run may do with an event is the same for all runs at a level: a bit for each move, of which
comparisons with the event before it leave some. The runs of a key stand in the order of results,
the youngest first. Where a run has to leave its first level at the event after it, as most do not,
the last event of the key is marked as fresh, and only the next one makes a run of it.
"""

# long because: it is one loop over the records of keys and runs

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import copy_numbers
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.line_scan import (
    BY_PLACE,
    BY_TIME,
    CODE,
    MANY,
    PIECE,
    READ,
    LineStream,
    read_codes,
)
from sase.engine.kernels.kleene.line_store import NO_LINE
from sase.engine.kernels.kleene.lines import sortable
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.runs import DONE, FULL
from sase.engine.kernels.scan.fused_scan import ADDRESS, FORM
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# Of a key: its youngest run, how many events it had, the rank and the row of the last one that may
# be in a run, its oldest run if it has any, and what is compared of that event.
HEAD, RANK, SEEN, ROW, TAIL, VALUES = range(6)
KEY_FIELDS = 8
MOST_COMPARED = KEY_FIELDS - VALUES
# Of a run: the next one of its key, the measure of its first event, its level, how many runs the
# key has, told by the oldest of them alone, and the ranks at which its levels begin.
NEXT, START, LEVEL, COUNT, BEGINS = range(5)
# The first run: 0 is none.
FIRST_RUN = 16
# Added to a head: the last event of the key is the first of a run, which is none yet.
FRESH = 1
# What a move is: a further event of a level, or from here on the first one of it.
BEGIN = 8
# What is compared is read behind the other parts of a piece.
COMPARED = READ
ROOM = READ + MOST_COMPARED * PIECE
# Where the runs used end, and the first that is free.
USED, FREE = range(2)


class StretchRules(NamedTuple):
    """The plan: contiguity of all events or of those of a key, window, levels, and their bounds.

    A run has so many numbers. `moves` are those that the pattern allows at all, as bits, and those
    that a row of `orders` for what is compared leaves where it is less, equal, or more than before.
    `floats` are those of which it is a float.
    """

    is_strict: int
    span: int
    measure: int
    levels: int
    width: int
    moves: int
    floats: int
    least: Ints
    most: Ints
    orders: Ints


class Stretches(NamedTuple):
    """Keys and runs, by row the row of the event before of the same key, and the ends of runs.

    `state` has what an evaluation counts, and the event to go on with, as that of runs in nodes.
    """

    keys: OutInts
    cells: OutInts
    chain: OutInts
    ends: OutInts
    state: OutInts


# ---------------------------------------------------------------- columns


@inlined
def read_piece(
    rules: StretchRules, stream: LineStream, keys: OutInts, begin: int, count: int, room: OutInts
) -> None:
    """Decode the keys and what is compared of the events of a piece; fetch far keys."""
    read_codes(stream, begin, count, KEY_FIELDS, room)
    if keys.shape[0] >= MANY * KEY_FIELDS:
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
def measure_of(rules: StretchRules, stream: LineStream, i: int, rank: int) -> int:
    """Return what the window measures of an event."""
    if rules.measure == BY_TIME:
        return int(stream.times[stream.row + i])
    return stream.position + i if rules.measure == BY_PLACE else rank


@inlined
def moves_of(
    rules: StretchRules, stream: LineStream, keys: OutInts, key: int, room: OutInts, i: int, at: int
) -> int:
    """Return what runs may do with an event, as bits, by its levels and what it compares with."""
    moves = (int(stream.takes[i]) | int(stream.begins[i]) << BEGIN) & rules.moves
    for column in range(stream.compared.shape[0]):
        value, other = room[COMPARED + column * PIECE + at], keys[key + VALUES + column]
        order = int(value > other) - int(value < other) + 1
        moves &= rules.orders[3 * column + order]
    return moves


# ---------------------------------------------------------------- runs


@inlined
def free_run(cells: OutInts, ends: OutInts, run: int) -> None:
    """Free a run that is in no list any more."""
    cells[run + NEXT], ends[FREE] = ends[FREE], run


@inlined
def begin_run(
    rules: StretchRules, keys: OutInts, cells: OutInts, ends: OutInts, key: int, rank: int,
    measure: int,
) -> None:  # fmt: skip
    """Begin a run with an event, before the others of its key."""
    run = ends[FREE]
    if run == NOTHING:
        run = ends[USED]
        ends[USED] += rules.width
    else:
        ends[FREE] = cells[run + NEXT]
    cells[run + NEXT], cells[run + START], cells[run + LEVEL] = keys[key + HEAD], measure, 0
    cells[run + BEGINS] = rank
    if keys[key + HEAD] == 0:
        keys[key + TAIL], cells[run + COUNT] = run, 0
    cells[keys[key + TAIL] + COUNT] += 1
    keys[key + HEAD] = run


@inlined
def begin(rules: StretchRules, stretches: Stretches, key: int, measure: int) -> None:
    """Begin a run with the event at hand, or mark it as fresh if the run needs another one next."""
    keys = stretches.keys
    if rules.levels > 1 and rules.least[0] == 1 and rules.most[0] == 1:
        keys[key + HEAD] += FRESH
    else:
        rank = keys[key + RANK]
        begin_run(rules, keys, stretches.cells, stretches.ends, key, rank, measure)


@inlined
def settle_fresh(
    rules: StretchRules, stream: LineStream, stretches: Stretches, key: int, moves: int, bound: int
) -> tuple[int, int]:
    """Make a run of a fresh event, if the next one is behind it; return what ended and expired."""
    keys, rank = stretches.keys, stretches.keys[key + RANK]
    keys[key + HEAD] -= FRESH
    row = keys[key + ROW]
    measure = measure_of(rules, stream, row - stream.row, rank - 1)
    if keys[key + SEEN] + 1 != rank or measure < bound:
        return 1, 1
    if (moves >> (BEGIN + 1)) & 1 == 0:
        return 1, 0
    begin_run(rules, keys, stretches.cells, stretches.ends, key, rank - 1, measure)
    return 0, 0


@linked
def lacks_output(
    cells: OutInts, head: int, rank: int, written: MatchBuffer
) -> bool:  # fmt: skip
    """Whether there is no room for a match of each run of a key."""
    count, events, run = 0, 0, head
    while run != 0:
        count, events, run = count + 1, events + rank - cells[run + BEGINS] + 1, cells[run + NEXT]
    sizes = written.sizes
    return bool(
        sizes[0] + count > written.ends.shape[0] or sizes[1] + events > written.events.shape[0]
    )


@inlined
def lacks_run(rules: StretchRules, stretches: Stretches, head: int, moves: int) -> bool:
    """Whether there is no room for a run that an event may begin, or a fresh one become."""
    ends = stretches.ends
    is_full = ends[FREE] == NOTHING and ends[USED] + rules.width > stretches.cells.shape[0]
    return is_full and (moves >> BEGIN | head) & 1 == 1


@inlined
def lacks_matches(
    rules: StretchRules, stretches: Stretches, written: MatchBuffer, key: int, moves: int
) -> bool:
    """Whether an event may complete more matches than there is room for."""
    keys, last = stretches.keys, rules.levels - 1
    if (moves >> last) & (1 << BEGIN | 1) and keys[key + HEAD] != 0:
        oldest, sizes = stretches.cells[keys[key + TAIL] + BEGINS], written.sizes
        most = keys[key + RANK] - oldest + 1
        is_enough = written.ends.shape[0] - sizes[0] >= most
        is_enough = is_enough and written.events.shape[0] - sizes[1] >= most * most
        return not is_enough and lacks_output(
            stretches.cells, keys[key + HEAD], keys[key + RANK], written
        )
    return False


@inlined
def write_stretch(
    levels: int, cells: OutInts, run: int, rank: int, row: int, shift: int, known: int,
    chain: OutInts, events: OutInts, ends: OutInts, lengths: OutIntRows, sizes: OutInts,
) -> int:  # fmt: skip
    """Write a match that ends with an event; return the row before those that were written.

    The match before it, if there is one, ends with the same event and has the `known` last ones,
    of which `row` is that before the first. The events of rows are as far as the `shift` behind.
    """
    count, begin = sizes[0], sizes[1]
    total = rank - cells[run + BEGINS] + 1
    end = begin + total
    for place in range(known):
        events[end - known + place] = events[begin - known + place]
    for place in range(end - known - 1, begin - 1, -1):
        events[place] = row + shift
        row = chain[row]
    for level in range(levels - 1):
        lengths[level, count] = cells[run + BEGINS + level + 1] - cells[run + BEGINS + level]
    lengths[levels - 1, count] = rank - cells[run + BEGINS + levels - 1] + 1
    sizes[0], sizes[1], ends[count] = count + 1, end, end
    return row


@inlined
def advance_alike(
    rules: StretchRules, stretches: Stretches, key: int, moves: int
) -> tuple[int, int]:
    """Have all runs of a key go on or end, if they are at one level and complete no match.

    Return how many there were, 0 if each has to be looked at, and how many go on. The oldest run is
    ahead of the others, or beside them with most events of its level.
    """
    keys, cells, ends = stretches.keys, stretches.cells, stretches.ends
    first, tail = keys[key + HEAD], keys[key + TAIL]
    count, level = cells[tail + COUNT], cells[tail + LEVEL]
    if cells[first + LEVEL] != level:
        return 0, 0
    if (moves >> level) & 1:
        size = keys[key + RANK] - cells[tail + BEGINS + level]
        is_on = level < rules.levels - 1 and size < rules.most[level]
        return (count, count) if is_on else (0, 0)
    if (moves >> (BEGIN + 1 + level)) & 1:
        return 0, 0
    cells[tail + NEXT], ends[FREE], keys[key + HEAD] = ends[FREE], first, 0
    return count, 0


@inlined
def advance_stretches(
    rules: StretchRules, stretches: Stretches, written: MatchBuffer, key: int, moves: int,
    measure: int, row: int, shift: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Have the runs of a key move with an event, or end; write the matches that they become.

    Return how many runs there were, how many moved, how many the window or a gap ended, and how
    many are left.
    """
    keys, cells, chain = stretches.keys, stretches.cells, stretches.chain
    least, most, last, rank = rules.least, rules.most, rules.levels - 1, keys[key + RANK]
    bound, is_gap = window_start(measure, rules.span), keys[key + SEEN] + 1 != rank
    if not is_gap and cells[keys[key + TAIL] + START] >= bound:
        count, stay = advance_alike(rules, stretches, key, moves)
        if count > 0:
            return count, stay, 0, stay
    ahead, run, known, at = 0, keys[key + HEAD], 0, row
    steps = made = expired = left = 0
    while run != 0:
        after, level = cells[run + NEXT], cells[run + LEVEL]
        size = rank - cells[run + BEGINS + level]
        moved, stays = (moves >> level) & 1 == 1 and size < most[level], True
        if is_gap or cells[run + START] < bound:
            moved, stays = False, False
            expired += 1
        elif moved:
            size += 1
        elif (moves >> (BEGIN + 1 + level)) & 1 == 1 and size >= least[level]:
            moved, level, size = True, level + 1, 1
            cells[run + LEVEL], cells[run + BEGINS + level] = level, rank
        else:
            stays = False
        if moved and level == last:
            if size >= least[last]:
                at = write_stretch(
                    rules.levels, cells, run, rank, at, shift, known, chain, written.events,
                    written.ends, written.lengths, written.sizes,
                )  # fmt: skip
                known = rank - cells[run + BEGINS] + 1
            stays = size < most[last]
        steps += 1
        made += moved
        if stays:
            ahead, left = run, left + 1
        else:
            if ahead == 0:
                keys[key + HEAD] = after
            else:
                cells[ahead + NEXT] = after
            free_run(cells, stretches.ends, run)
        run = after
    keys[key + TAIL], cells[ahead + COUNT] = ahead, left
    return steps, made, expired, left


# ---------------------------------------------------------------- the loop


@inlined
def count_stretches(
    state: OutInts, at: int, steps: int, made: int, expired: int, begun: int, live: int, most: int
) -> None:
    """Count what was done up to the event to go on with."""
    state[nodes.AT], state[nodes.LIVE], state[nodes.MOST_LIVE] = at, live, most
    state[nodes.STEPS] += steps
    state[nodes.MADE] += made + begun
    state[nodes.EXPIRED] += expired
    state[nodes.INITIATED] += begun


@kernel
def fused_stretches(
    rules: StretchRules, stream: LineStream, stretches: Stretches, written: MatchBuffer,
    room: OutInts, behind: int,
) -> int:  # fmt: skip
    """Apply events of columns, on from where it stopped, and write the matches they complete."""
    keys, state, first = stretches.keys, stretches.state, stretches.state[nodes.AT]
    columns, shift = stream.compared.shape[0], stream.position - stream.row
    has_ties = stream.ties.shape[0] > 0
    steps = made = expired = begun = 0
    live, most_live = state[nodes.LIVE], state[nodes.MOST_LIVE]
    while first < behind:
        count = min(PIECE, behind - first)
        read_piece(rules, stream, keys, first, count, room)
        for at in range(count):
            i, key = first + at, room[CODE + at]
            prefetch(keys, room[CODE + min(at + 16, count - 1)])
            prefetch(stretches.cells, keys[room[CODE + min(at + 8, count - 1)] + HEAD])
            if stream.takes[i] == 0:
                keys[key + RANK] += 1
                continue
            moves = moves_of(rules, stream, keys, key, room, i, at)
            row, before = stream.row + i, keys[key + ROW]
            if rules.is_strict and before + 1 != row:
                keys[key + SEEN] = NOTHING
            if has_ties and keys[key + HEAD] != 0 and stream.ties[before] == stream.ties[row]:
                moves &= 1 << BEGIN
            if lacks_run(rules, stretches, keys[key + HEAD], moves):
                count_stretches(state, i, steps, made, expired, begun, live, most_live)
                return NO_LINE
            measure = measure_of(rules, stream, i, keys[key + RANK])
            if keys[key + HEAD] & FRESH:
                ended, over = settle_fresh(
                    rules, stream, stretches, key, moves, window_start(measure, rules.span)
                )
                steps, expired, live = steps + ended, expired + over, live - ended
            if lacks_matches(rules, stretches, written, key, moves):
                count_stretches(state, i, steps, made, expired, begun, live, most_live)
                return FULL
            stretches.chain[row] = before
            if keys[key + HEAD] != 0:
                met, moved, over, left = advance_stretches(
                    rules, stretches, written, key, moves, measure, row, shift
                )
                steps, made, expired, live = (
                    steps + met, made + moved, expired + over, live + left - met
                )  # fmt: skip
            if (moves >> BEGIN) & 1:
                begin(rules, stretches, key, measure)
                begun, live = begun + 1, live + 1
            most_live = max(most_live, live)
            for column in range(columns):
                keys[key + VALUES + column] = room[COMPARED + column * PIECE + at]
            keys[key + ROW], keys[key + SEEN] = row, keys[key + RANK]
            keys[key + RANK] += 1
        first += count
    count_stretches(state, behind, steps, made, expired, begun, live, most_live)
    return DONE


@kernel
def expire_stretches(
    rules: StretchRules, stream: LineStream, stretches: Stretches, bound: int, row: int
) -> None:
    """Remove the runs that a window has ended, or contiguity before a row."""
    keys, cells = stretches.keys, stretches.cells
    for key in range(0, keys.shape[0], KEY_FIELDS):
        is_left = rules.is_strict and keys[key + ROW] + 1 < row
        is_fresh = keys[key + HEAD] & FRESH
        keys[key + HEAD] -= is_fresh
        if is_fresh:
            before = keys[key + ROW] - stream.row
            if is_left or measure_of(rules, stream, before, keys[key + SEEN]) < bound:
                stretches.state[nodes.EXPIRED] += 1
                stretches.state[nodes.LIVE] -= 1
                is_fresh = 0
        ahead, run, left = 0, keys[key + HEAD], 0
        while run != 0:
            after = cells[run + NEXT]
            if is_left or cells[run + START] < bound:
                if ahead == 0:
                    keys[key + HEAD] = after
                else:
                    cells[ahead + NEXT] = after
                free_run(cells, stretches.ends, run)
                stretches.state[nodes.EXPIRED] += 1
                stretches.state[nodes.LIVE] -= 1
            else:
                ahead, left = run, left + 1
            run = after
        keys[key + TAIL], cells[ahead + COUNT] = ahead, left
        keys[key + HEAD] += is_fresh
