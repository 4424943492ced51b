"""(NFAb) Groups of runs by contiguity that go on alike: how they move with an event, and end.

Such a run takes every event of its key or ends, so what it has bound is told by where its levels
begin: no event is kept but in the chain that leads from each event to the one before it of its key.
Runs that began one event after the other and go on alike are one group, which has them all told by
its oldest: where prices fall, each further one adds a run to the group that a rise has move on.

    key     its oldest group ◄── … ◄── its youngest     a group   two runs, of a4 and a5,
    chain   c9 ──► c8 ──► b7 ──► b6 ──► a5 ──► a4                 levels begin at ranks 4 6 8

What a run may do with an event is the same for all runs at a level: a bit for each move. The first
event of a run has to be followed by one that the run takes, and most are not, so that a key just
knows that its last event is fresh: the first of a run which the next event makes one. Nearly always
a key has one group at most, which moves without a branch that depends on the event; what is
otherwise is in a list of further groups.
"""

# long because: it is all that is done to a group

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.line_scan import BY_PLACE, BY_TIME, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.sentinels import LATEST, NOTHING

# Of a key: how many events it had, the rank and the row of the last one that may be in a run,
# whether that is fresh, the youngest group beside the oldest, and what is compared of the event.
RANK, SEEN, ROW, FRESH, YOUNGEST, VALUES = range(6)
KEY_FIELDS = 8
MOST_COMPARED = KEY_FIELDS - VALUES
# Behind it is the oldest group. Of a group: the next older one in the list, the measure of the
# first event of its oldest run, the level, how many runs it has, and at which ranks the levels of
# the oldest begin: the first ones, as many as are `sliding`, of each younger run one rank later.
NEXT, START, LEVEL, SIZE, BEGINS = range(5)
# The first group of a list: 0 is none.
FIRST_GROUP = 16
# What a move is: a further event of a level, or from here on the first one of it.
BEGIN = 8
# Where the groups used end, and the first that is free.
USED, FREE = range(2)
# Groups are to be told apart before they move.
LISTED = NOTHING


class StretchRules(NamedTuple):
    """The plan: contiguity of all events or of those of a key, window, levels, and their bounds.

    A group has so many numbers, and a key as many more. `moves` are those that the pattern allows
    at all, as bits, and those that a row of `orders` for what is compared leaves where it is less,
    equal, or more than before. `floats` are those of which it is a float. Runs `join` where the
    last of the `sliding` levels has any number of events.
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
    """Keys and groups, by row the row of the event before of the same key, and the ends of groups.

    `state` has what an evaluation counts, and the event to go on with, as that of runs in nodes.
    """

    keys: OutInts
    cells: OutInts
    chain: OutInts
    ends: OutInts
    state: OutInts


class StretchMatches(NamedTuple):
    """Matches: the events of each level, one behind the other, and where those of each match stop.

    `sizes` are how many matches there are, and how many events of each level.
    """

    bound: OutIntRows
    stops: OutIntRows
    sizes: OutInts


class StretchEvent(NamedTuple):
    """An event of a key: what runs may do with it, its rank and row, and the start of a fresh run.

    The rows of results are as far as the shift behind.
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
    """Return what the window measures of an event."""
    if rules.measure == BY_TIME:
        return int(stream.times[row])
    return stream.position + row - stream.row if rules.measure == BY_PLACE else rank


@inlined
def prospects(
    rules: StretchRules, groups: OutInts, group: int, moves: int, rank: int
) -> tuple[int, int]:
    """Return whether the runs of a group take an event, and else whether they go on by it."""
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
    """Write the matches of a group, the youngest first, whose levels are parts of one walk back.

    That is written behind all matches, and copied in blocks: nearly all levels have few events, of
    some number or other.
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
    """Drop the runs of a group that began before a bound; return how many."""
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
    """Return where the oldest group of a key is."""
    return key + KEY_FIELDS


@inlined
def free_group(stretches: Stretches, key: int, ahead: int, group: int) -> int:
    """Take a group out of the list of a key, behind another one; return the next one."""
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
    """End the runs of a key that began before a bound, or all if they are left; return how many."""
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
    """Whether there is room for a match of each of some runs, none of them longer, and a walk."""
    used = 0
    for level in range(written.bound.shape[0]):
        used = max(used, written.sizes[1 + level])
    is_room = written.bound.shape[1] - used - 2 * BLOCK >= (runs + 1) * length
    return bool(is_room and written.stops.shape[1] - written.sizes[0] >= runs)


@inlined
def level_of_fresh(rules: StretchRules, moves: int) -> int:
    """Return the level at which an event has a fresh run, or that it ends it."""
    takes = moves & int(rules.most[0] > 1)
    goes = (moves >> (BEGIN + 1)) & int(rules.least[0] == 1)
    return 0 if takes else 1 if goes else NOTHING


@inlined
def complete(
    rules: StretchRules, groups: OutInts, group: int, event: StretchEvent, chain: OutInts,
    written: StretchMatches,
) -> None:  # fmt: skip
    """Write the matches that a group is, if it is any; it ends where it may have no more events."""
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
    """Have the only group of a key move with an event, and a fresh run join it; write its matches.

    Return how many runs there were, how many moved, and how many are left; or why none moved: there
    would be more than one group, or there is no room for matches.
    """
    keys, group = stretches.keys, oldest_of(event.key)
    takes, goes = prospects(rules, keys, group, event.moves, event.rank)
    runs, fresh = keys[group + SIZE] * (takes | goes), level_of_fresh(rules, event.moves)
    begun = keys[event.key + FRESH] & int(fresh != NOTHING)
    level, begin = keys[group + LEVEL] + goes, keys[group + BEGINS]
    # Bit by bit, as each of these is told by the event: a branch would be mispredicted.
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
    # Nothing reads the next one of the oldest group.
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
    """Have the runs of a group move with an event, or end; write its matches.

    Return how many there were, how many moved, and how many are left.
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
    """Return what there is no room for: a group, matches of all runs of a key; or that there is."""
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
    """Join the youngest group of a key with the next one, if alike; leave none listed alone."""
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
    """Have all groups of a key move with an event, the youngest first; as with its only one."""
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
