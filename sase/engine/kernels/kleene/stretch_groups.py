"""(NFAb) Groups of runs by contiguity that behave alike: how they move with an event, and end.

Such a run takes every event of its key or ends. So its events are known from the places where its
levels begin. No event is stored except in the chain, which leads from each event to the event
before it of the same key. Runs that began one event after the other and behave alike are one group,
which is described by its oldest run. For example, each event with a lower price adds a run to a
group, and an event with a higher price moves the whole group on.

    key     its oldest group ◄── … ◄── its youngest     a group   two runs, of a4 and a5,
    chain   c9 ──► c8 ──► b7 ──► b6 ──► a5 ──► a4                 levels begin at ranks 4 6 8

The moves of a run with an event are the same for all runs at a level: one bit for each move. The
first event of a run must be followed by an event that the run takes, and most are not. So a key
only stores that its last event is fresh: it is the first event of a run that the next event may
make. Nearly always a key has at most one group, which moves without a branch that depends on the
event. Further groups are in a list.
"""

# long because: all operations on a group are read together

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.line_scan import BY_PLACE, BY_TIME, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.sentinels import LATEST, NOTHING

# The fields of a key: the number of its events; the rank and the row of its last event that may be
# in a run, and whether that is fresh; the youngest group beside the oldest one; the compared values
# of the event.
RANK, SEEN, ROW, FRESH, YOUNGEST, VALUES = range(6)
KEY_FIELDS = 8
MOST_COMPARED = KEY_FIELDS - VALUES
# The oldest group follows. The fields of a group: the next older group in the list; the measure of
# the first event of its oldest run; its level; the number of its runs; the ranks at which the
# levels of the oldest run begin. For each younger run, the first `sliding` of these ranks are
# greater by one.
NEXT, START, LEVEL, SIZE, BEGINS = range(5)
# The place of the first group of a list: 0 means none.
FIRST_GROUP = 16
# A move is a further event of a level, or from here on the first event of a level.
BEGIN = 8
# The end of the used groups, and the first free group.
USED, FREE = range(2)
# The reason why groups must move one by one.
LISTED = NOTHING


class StretchRules(NamedTuple):
    """The plan: contiguity of all events or of those of a key, window, levels, and their bounds.

    A group has `width` numbers, and a key has as many more. `moves` are the moves that the pattern
    allows, as bits. A row of `orders` has the moves that a compared value leaves if it is less,
    equal, or more than before. `floats` are the compared columns of floats, as bits. Runs `join` if
    the last of the `sliding` levels has any number of events.
    """

    is_strict: int
    span: int
    measure: int
    levels: int
    width: int
    sliding: int
    join: int
    moves: int
    floats: int
    least: Ints
    most: Ints
    orders: Ints


class Stretches(NamedTuple):
    """Keys and groups, for each row the row before of the same key, and the ends of groups.

    `state` has the counters of an evaluation, and the next event, as the state of runs in nodes.
    """

    keys: OutInts
    cells: OutInts
    chain: OutInts
    ends: OutInts
    state: OutInts


class StretchMatches(NamedTuple):
    """Matches: the events of each level, one after the other, and where those of each match stop.

    `sizes` are the number of matches, and the number of events of each level.
    """

    bound: OutIntRows
    stops: OutIntRows
    sizes: OutInts


class StretchEvent(NamedTuple):
    """An event of a key: the moves of runs with it, its rank and row, and the start of a fresh run.

    The rows of results are greater by `shift`.
    """

    key: int
    moves: int
    rank: int
    row: int
    shift: int
    start: int


# ---------------------------------------------------------------- one group


@inlined
def measure_of(rules: StretchRules, stream: LineStream, row: int, rank: int) -> int:
    """Return the measure of an event for the window."""
    if rules.measure == BY_TIME:
        return int(stream.times[row])
    return stream.position + row - stream.row if rules.measure == BY_PLACE else rank


@inlined
def prospects(
    rules: StretchRules, groups: OutInts, group: int, moves: int, rank: int
) -> tuple[int, int]:
    """Return whether the runs of a group take an event, and else whether they move on with it."""
    level = groups[group + LEVEL]
    size = rank - groups[group + BEGINS + level]
    takes = (moves >> level) & 1 & int(size < rules.most[level])
    goes = (moves >> (BEGIN + 1 + level)) & 1 & int(size >= rules.least[level])
    return takes, goes & (1 - takes)


@inlined
def write_group(
    rules: StretchRules, groups: OutInts, group: int, event: StretchEvent, chain: OutInts,
    written: StretchMatches,
) -> None:  # fmt: skip
    """Write the matches of a group, the youngest first; their levels are parts of one walk back.

    The walk is written after all matches, and copied in blocks: nearly all levels have few events,
    and their number varies.
    """
    rows, runs, begin = written.bound[0], groups[group + SIZE], groups[group + BEGINS]
    length, row, count = event.rank + 1 - begin, event.row, written.sizes[0]
    walked = rows.shape[0] - BLOCK - length
    for place in range(walked + length - 1, walked - 1, -1):
        rows[place] = row + event.shift
        row = chain[row]
    for older in range(runs - 1, -1, -1):
        behind = length
        for level in range(rules.levels - 1, -1, -1):
            first = groups[group + BEGINS + level] - begin + (older if level < rules.sliding else 0)
            used = written.sizes[1 + level]
            copy_blocks(rows, walked + first, written.bound[level], used, behind - first)
            used, behind = used + behind - first, first
            written.sizes[1 + level] = written.stops[level, count] = used
        count += 1
    written.sizes[0] = count


@inlined
def drop_oldest(
    rules: StretchRules, stream: LineStream, keys: OutInts, key: int, chain: OutInts,
    groups: OutInts, group: int, bound: int,
) -> int:  # fmt: skip
    """Drop the runs of a group that began before a bound; return their number."""
    runs, begin = groups[group + SIZE], groups[group + BEGINS]
    if runs == 0 or groups[group + START] >= bound:
        return 0
    rank, row, kept = keys[key + SEEN], keys[key + ROW], 0
    while rank > begin and runs > 1:
        if rank < begin + runs:
            start = measure_of(rules, stream, row, rank)
            if start < bound:
                break
            groups[group + START], kept = start, kept + 1
        rank, row = rank - 1, chain[row]
    groups[group + SIZE] = kept
    for level in range(rules.sliding):
        groups[group + BEGINS + level] += runs - kept
    return int(runs - kept)


# ---------------------------------------------------------------- all groups of a key


@inlined
def oldest_of(key: int) -> int:
    """Return the place of the oldest group of a key."""
    return key + KEY_FIELDS


@inlined
def free_group(stretches: Stretches, key: int, ahead: int, group: int) -> int:
    """Take a group out of the list of a key, after the group `ahead`; return the next group."""
    after = stretches.cells[group + NEXT]
    if ahead == 0:
        stretches.keys[key + YOUNGEST] = after
    else:
        stretches.cells[ahead + NEXT] = after
    stretches.cells[group + NEXT], stretches.ends[FREE] = stretches.ends[FREE], group
    return int(after)


@linked
def end_runs(
    rules: StretchRules, stream: LineStream, stretches: Stretches, key: int, bound: int,
    is_left: bool,
) -> int:  # fmt: skip
    """End the runs of a key that began before a bound, or all if `is_left`; return their number."""
    keys, cells, chain, oldest = stretches.keys, stretches.cells, stretches.chain, oldest_of(key)
    start = measure_of(rules, stream, keys[key + ROW], keys[key + SEEN])
    ended, ahead, group = 0, 0, keys[key + YOUNGEST]
    if is_left or start < bound:
        bound, ended, keys[key + FRESH] = LATEST, keys[key + FRESH], 0
    ended += drop_oldest(rules, stream, keys, key, chain, keys, oldest, bound)
    while group != 0:
        ended += drop_oldest(rules, stream, keys, key, chain, cells, group, bound)
        if cells[group + SIZE] == 0:
            group = free_group(stretches, key, ahead, group)
        else:
            ahead, group = group, cells[group + NEXT]
    return ended


# ---------------------------------------------------------------- an event of a key


@inlined
def has_output(written: StretchMatches, runs: int, length: int) -> bool:
    """Whether there is room for matches of `runs` runs, none longer than `length`, and a walk."""
    used = 0
    for level in range(written.bound.shape[0]):
        used = max(used, written.sizes[1 + level])
    is_room = written.bound.shape[1] - used - 2 * BLOCK >= (runs + 1) * length
    return bool(is_room and written.stops.shape[1] - written.sizes[0] >= runs)


@inlined
def level_of_fresh(rules: StretchRules, moves: int) -> int:
    """Return the level of a fresh run after an event, or `NOTHING` if the event ends it."""
    takes = moves & int(rules.most[0] > 1)
    goes = (moves >> (BEGIN + 1)) & int(rules.least[0] == 1)
    return 0 if takes else 1 if goes else NOTHING


@inlined
def complete(
    rules: StretchRules, groups: OutInts, group: int, event: StretchEvent, chain: OutInts,
    written: StretchMatches,
) -> None:  # fmt: skip
    """Write the matches of a group, if it is complete; end it if it may have no more events."""
    last = rules.levels - 1
    if groups[group + LEVEL] == last and groups[group + SIZE] > 0:
        size = event.rank - groups[group + BEGINS + last] + 1
        if size >= rules.least[last]:
            write_group(rules, groups, group, event, chain, written)
        if size >= rules.most[last]:
            groups[group + SIZE] = 0


@inlined
def advance_oldest(
    rules: StretchRules, stretches: Stretches, event: StretchEvent, written: StretchMatches
) -> tuple[int, int, int, int]:
    """Move the only group of a key with an event, let a fresh run join it, and write its matches.

    Return the numbers of runs before, of runs that moved, and of runs left. Or return why none
    moved: there would be more than one group, or there is no room for matches.
    """
    keys, group = stretches.keys, oldest_of(event.key)
    takes, goes = prospects(rules, keys, group, event.moves, event.rank)
    runs, fresh = keys[group + SIZE] * (takes | goes), level_of_fresh(rules, event.moves)
    begun = keys[event.key + FRESH] & int(fresh != NOTHING)
    level, begin = keys[group + LEVEL] + goes, keys[group + BEGINS]
    # Bit operations, because each value depends on the event: a branch would be mispredicted.
    is_apart = (level ^ fresh) | ((begin + runs) ^ (event.rank - 1)) | (rules.join ^ 1)
    is_apart |= (1 - goes) * (level ^ (rules.sliding - 1))
    if keys[event.key + YOUNGEST] | begun * runs * int(is_apart != 0):
        return LISTED, 0, 0, 0
    is_new, start = runs == 0, keys[group + START]
    level, goes = max(fresh, 0) if is_new else level, max(fresh, 0) if is_new else goes
    begin, start = event.rank - 1 if is_new else begin, event.start if is_new else start
    met, total = keys[group + SIZE] + keys[event.key + FRESH], runs + begun
    may_end = total > 0 and level == rules.levels - 1
    if may_end and not has_output(written, total, event.rank - begin + 1):
        return FULL, 0, 0, 0
    keys[group + START], keys[group + BEGINS] = start, begin
    # Nothing reads NEXT of the oldest group, so it may take a rank that is not needed.
    keys[group + (BEGINS + level if goes else NEXT)] = event.rank
    keys[group + LEVEL], keys[group + SIZE] = level, total
    if may_end:
        complete(rules, keys, group, event, stretches.chain, written)
    return DONE, met, total, keys[group + SIZE]


@inlined
def advance_group(
    rules: StretchRules, groups: OutInts, group: int, event: StretchEvent, chain: OutInts,
    written: StretchMatches,
) -> tuple[int, int, int]:  # fmt: skip
    """Move the runs of a group with an event, or end them; write its matches.

    Return the number of runs before, of those that moved, and of those left.
    """
    takes, goes = prospects(rules, groups, group, event.moves, event.rank)
    met, level = groups[group + SIZE], groups[group + LEVEL] + goes
    moved = met * (takes | goes)
    groups[group + LEVEL], groups[group + SIZE] = level, moved
    if goes:
        groups[group + BEGINS + level] = event.rank
    complete(rules, groups, group, event, chain, written)
    return met, moved, groups[group + SIZE]


@linked
def lacks_room(
    rules: StretchRules, stretches: Stretches, event: StretchEvent, written: StretchMatches
) -> int:  # fmt: skip
    """Return the missing room, for a group or for the matches of all runs of a key, or `DONE`."""
    keys, cells, ends, group = stretches.keys, stretches.cells, stretches.ends, oldest_of(event.key)
    if ends[FREE] == NOTHING and ends[USED] + rules.width > cells.shape[0]:
        return NO_LINE
    runs, begin = keys[group + SIZE] + keys[event.key + FRESH], event.rank - 1
    if keys[group + SIZE] > 0:
        begin = keys[group + BEGINS]
    group = keys[event.key + YOUNGEST]
    while group != 0:
        runs, begin = runs + cells[group + SIZE], min(begin, cells[group + BEGINS])
        group = cells[group + NEXT]
    return DONE if has_output(written, runs, event.rank - begin + 1) else FULL


@inlined
def list_fresh(rules: StretchRules, stretches: Stretches, event: StretchEvent) -> None:
    """Make the fresh run of a key its youngest group."""
    keys, cells, ends = stretches.keys, stretches.cells, stretches.ends
    group = ends[FREE]
    if group == NOTHING:
        group = ends[USED]
        ends[USED] += rules.width
    else:
        ends[FREE] = cells[group + NEXT]
    cells[group + NEXT], cells[group + START] = keys[event.key + YOUNGEST], event.start
    cells[group + LEVEL], cells[group + SIZE], cells[group + BEGINS] = 0, 1, event.rank - 1
    keys[event.key + YOUNGEST] = group


@inlined
def join_youngest(rules: StretchRules, stretches: Stretches, key: int) -> None:
    """Merge the youngest group of a key into the next one, if they are alike or that is empty."""
    keys, cells, youngest = stretches.keys, stretches.cells, stretches.keys[key + YOUNGEST]
    if youngest == 0:
        return
    others, other = cells, cells[youngest + NEXT]
    if other == 0:
        others, other = keys, oldest_of(key)
    if others[other + SIZE] == 0:
        for place in range(START, rules.width):
            others[other + place] = cells[youngest + place]
        free_group(stretches, key, 0, youngest)
        return
    level = cells[youngest + LEVEL]
    is_alike = rules.join == 1 and others[other + LEVEL] == level
    for place in range(level + 1):
        later = others[other + SIZE] if place < rules.sliding else 0
        begin = others[other + BEGINS + place] + later
        is_alike = is_alike and cells[youngest + BEGINS + place] == begin
    if is_alike:
        others[other + SIZE] += cells[youngest + SIZE]
        free_group(stretches, key, 0, youngest)


@linked
def advance_listed(
    rules: StretchRules, stretches: Stretches, event: StretchEvent, written: StretchMatches
) -> tuple[int, int, int, int]:
    """Move all groups of a key with an event, the youngest first; return the same as for one."""
    keys, cells, chain = stretches.keys, stretches.cells, stretches.chain
    why = lacks_room(rules, stretches, event, written)
    if why != DONE:
        return why, 0, 0, 0
    if keys[event.key + FRESH]:
        list_fresh(rules, stretches, event)
    met = moved = left = ahead = 0
    group = keys[event.key + YOUNGEST]
    while group != 0:
        there, on, stay = advance_group(rules, cells, group, event, chain, written)
        met, moved, left = met + there, moved + on, left + stay
        if stay == 0:
            group = free_group(stretches, event.key, ahead, group)
        else:
            ahead, group = group, cells[group + NEXT]
    there, on, stay = advance_group(rules, keys, oldest_of(event.key), event, chain, written)
    join_youngest(rules, stretches, event.key)
    return DONE, met + there, moved + on, left + stay
