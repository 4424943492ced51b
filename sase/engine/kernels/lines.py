"""(NFAb) Runs that never fork, each with the events of its own (SASE+, 4 and 5).

Where runs ignore no event that they can bind, and only the last component can follow a series, a
run becomes one run by an event or none: it is a line. Then nothing is shared. A line is one row,
which says what the last node of a run says and changes in place, and its events stand in pieces:

    row   a[9], 9 events, …        pieces   a1 … a7 ──► a8 a9

Row 0 is the root of `nodes`, and row 1 has an event on trial. The lines of a partition are kept in
the order of results: what an event has changed comes before what it has not.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import OutIntRows, OutInts, kernel, part, spliced
from sase.engine.kernels.copying import copy
from sase.engine.kernels.nodes import (
    BEGIN,
    DEPTH,
    EVENT,
    FIRST,
    GROUP,
    HEAD,
    LENGTH,
    LEVEL,
    MOMENTS,
    NEEDED,
    NEXT,
    PLAIN,
    PREVIOUS,
    ROOT,
    SHOWN,
    SPOT,
    START,
    TAKE,
    TIE,
    Machine,
    Pattern,
)
from sase.engine.kernels.operations import FLOAT, INTEGER, NULL, Value, number
from sase.engine.kernels.plain import hold_besides, may_bind, met
from sase.engine.kernels.runs import (
    AT,
    CROWDED,
    DONE,
    EXPIRED,
    FULL,
    LIVE,
    MADE,
    MOST_LIVE,
    NEXT_MATCH,
    SPARE,
    STEPS,
    STRICT,
    USED,
    Incoming,
    Rules,
    Runs,
    made,
    shelve,
)
from sase.engine.kernels.series import bind, may_proceed
from sase.engine.kernels.stacks import NOTHING, oldest

TRIAL, FIRST_LINE = 1, 2
# Where a node says what lines have no use for, a line says: its first piece and its last one, and
# what the first comparison meets that a further event of the series has to pass.
HEAD_PIECE, TAIL_PIECE, MET_TAG, MET_VALUE = GROUP, SHOWN, PREVIOUS, NEEDED
# A piece has so many events, which are a power of two, and then the number of the next one.
PIECE = 32

# Of the pieces: how many were ever used, the first free one, and how many are free.
USED_PIECES, FREE_PIECE, SPARE_PIECES = range(3)

# What becomes of a line.
STAYS, MOVES, OVER = range(3)


class Lines(NamedTuple):
    """The rows of lines, the pieces, how many events there are in each partition, and of pieces."""

    runs: Runs
    pieces: OutIntRows
    held: OutInts
    sizes: OutInts


class Form(NamedTuple):
    """What there is to know of a pattern besides.

    Whether it asks for more than plain comparisons; the level of its series, if any, and the first
    comparison for a further event of it, or `NOTHING`; the levels whose events are listed in
    results: the first, and the one behind.
    """

    asks: int
    series: int
    gate: int
    begin: int
    end: int


class Event(NamedTuple):
    """An event: its row in the block and what is asked of it again and again.

    `bound` is the least measure that the first event of a match with it may have.
    """

    row: int
    number: int
    key: int
    begins: int
    takes: int
    bound: int


class Listed(NamedTuple):
    """Matches: the event of each level that binds one, and the others one after the other.

    `ends` is where those of each match end, `sizes` how many matches there are and how many events.
    """

    singles: OutIntRows
    events: OutInts
    ends: OutInts
    sizes: OutInts


# ---------------------------------------------------------------- rows and pieces


@spliced
def free_piece(lines: Lines) -> int:
    """A piece for more events, the last of its line."""
    sizes = lines.sizes
    piece = sizes[FREE_PIECE]
    if piece == NOTHING:
        piece = sizes[USED_PIECES]
        sizes[USED_PIECES] += 1
    else:
        sizes[FREE_PIECE] = lines.pieces[piece, PIECE]
        sizes[SPARE_PIECES] -= 1
    lines.pieces[piece, PIECE] = NOTHING
    return int(piece)


@spliced
def added(lines: Lines, key: int, row: int, event: int) -> None:
    """An event is the last one of a line."""
    line, pieces = lines.runs.cells[row], lines.pieces
    place = (line[DEPTH] - 1) & (PIECE - 1)
    if place == 0:
        piece = free_piece(lines)
        if line[DEPTH] == 1:
            line[HEAD_PIECE] = piece
        else:
            pieces[line[TAIL_PIECE], PIECE] = piece
        line[TAIL_PIECE] = piece
    pieces[line[TAIL_PIECE], place] = event
    lines.held[key] += 1


@part
def let_go(lines: Lines, key: int, row: int) -> None:
    """A line is no more."""
    runs, sizes = lines.runs, lines.sizes
    line = runs.cells[row]
    lines.pieces[line[TAIL_PIECE], PIECE] = sizes[FREE_PIECE]
    sizes[FREE_PIECE] = line[HEAD_PIECE]
    sizes[SPARE_PIECES] += 1 + (line[DEPTH] - 1) // PIECE
    lines.held[key] -= line[DEPTH]
    runs.counts[key] -= 1
    runs.state[LIVE] -= 1
    shelve(runs, row)


# ---------------------------------------------------------------- moves


@spliced
def binds(
    machine: Machine, form: Form, lines: Lines, incoming: Incoming, i: int, row: int, before: int,
    level: int, moment: int,
) -> bool:  # fmt: skip
    """Bind an event at a level of a line, which is another one `before`, if conditions allow it."""
    cells, at, event = lines.runs.cells, MOMENTS * level + moment, incoming.numbers[i]
    if not may_bind(machine, cells, at, before, event):
        return False
    if form.asks == 0:
        bind(machine, cells, row, before, level, event)
    else:
        bind(machine, cells, TRIAL, before, level, event)
        if not hold_besides(machine, cells, at, TRIAL):
            return False
        line, trial = cells[row], cells[TRIAL]
        line[EVENT], line[PREVIOUS], line[LEVEL] = trial[EVENT], trial[PREVIOUS], trial[LEVEL]
        line[LENGTH], line[DEPTH], line[FIRST] = trial[LENGTH], trial[DEPTH], trial[FIRST]
        for word in range(HEAD, cells.shape[1]):
            line[word] = trial[word]
    cells[row, TIE], cells[row, SPOT] = incoming.ties[i], incoming.spots[i]
    if level == form.series and form.gate != NOTHING:
        check = machine.tables[form.gate, PLAIN:]
        cells[row, MET_TAG], cells[row, MET_VALUE] = met(machine, cells, check, row)
    lines.runs.state[MADE] += 1
    return True


@spliced
def begun(machine: Machine, form: Form, lines: Lines, incoming: Incoming, i: int, key: int) -> int:
    """The line that begins with an event, if one does."""
    runs = lines.runs
    row = made(runs)
    if not binds(machine, form, lines, incoming, i, row, ROOT, 0, BEGIN):
        shelve(runs, row)
        return NOTHING
    runs.cells[row, START] = incoming.measures[i]
    added(lines, key, row, incoming.numbers[i])
    runs.counts[key] += 1
    runs.state[LIVE] += 1
    return row


@spliced
def completes(
    machine: Machine, pattern: Pattern, form: Form, lines: Lines, event: int, row: int
) -> bool:
    """Whether a line is a match with an event of the last level, which binds no more."""
    cells, last = lines.runs.cells, pattern.least.shape[0] - 1
    at = MOMENTS * last + BEGIN
    if not may_bind(machine, cells, at, row, event):
        return False
    if form.asks == 1:
        bind(machine, cells, TRIAL, row, last, event)
        if not hold_besides(machine, cells, at, TRIAL):
            return False
        lines.runs.state[MADE] += 1
        return may_proceed(machine, pattern, cells, TRIAL)
    lines.runs.state[MADE] += 1
    return True


# ---------------------------------------------------------------- matches


@spliced
def has_room(lines: Lines, listed: Listed, key: int) -> bool:
    """Whether there is room for all matches that an event may complete."""
    sizes, count = listed.sizes, lines.runs.counts[key] + 1
    is_enough = sizes[0] + count <= listed.ends.shape[0]
    return bool(is_enough and sizes[1] + lines.held[key] + count <= listed.events.shape[0])


@spliced
def wrote(form: Form, lines: Lines, listed: Listed, row: int, last: int) -> None:
    """Write a match: the events of a line, and one more unless that is `NOTHING`.

    Those of the levels that stand before and behind the listed ones are single.
    """
    line, pieces = lines.runs.cells[row], lines.pieces
    singles, begin, end = listed.singles, form.begin, form.end
    count, to = listed.sizes[0], listed.sizes[1]
    piece, left = line[HEAD_PIECE], line[DEPTH]
    for level in range(begin):
        singles[level, count] = pieces[piece, level] if level < left else last
    at = begin
    while left > 0:
        size = max(min(left, PIECE), at)
        copy(pieces[piece], at, listed.events, to, size - at)
        to += size - at
        left -= size
        at = 0
        piece = pieces[piece, PIECE]
    if last != NOTHING:
        levels = singles.shape[0]
        singles[levels - 1, count] = last
        if end == levels and begin < levels:
            listed.events[to] = last
            to += 1
    listed.ends[count] = to
    listed.sizes[0], listed.sizes[1] = count + 1, to


# ---------------------------------------------------------------- the loop


@spliced
def goes_on(pattern: Pattern, cells: OutIntRows, row: int) -> bool:
    """Whether a line may bind anything more."""
    level, last = cells[row, LEVEL], pattern.least.shape[0] - 1
    if level < last:
        return True
    most = pattern.most[last]
    return bool(pattern.kleene[last] == 1 and (most < 0 or cells[row, LENGTH] < most))


@spliced
def is_untouched(
    form: Form, rules: Rules, lines: Lines, accepted: int, value: Value, event: Event, row: int
) -> bool:
    """Whether a line stays as it is, as it mostly does: what is asked first says so."""
    line = lines.runs.cells[row]
    level = line[LEVEL]
    if rules.strategy != NEXT_MATCH or (rules.prunes == 1 and line[START] < event.bound):
        return False
    if (event.begins >> (level + 1)) & 1:
        return False
    if level != form.series or not (event.takes >> level) & 1:
        return True
    # What takes more than one comparison is left to those who bind.
    other = int(line[MET_TAG]), int(line[MET_VALUE])
    if form.gate == NOTHING or value[0] != other[0] or value[0] not in (INTEGER, FLOAT):
        return False
    side = (value[1] > other[1]) - (value[1] < other[1])
    if value[0] == FLOAT:
        side = (number(value) > number(other)) - (number(value) < number(other))
    return bool((accepted >> (side + 1)) & 1 == 0)


@spliced
def fate(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, lines: Lines,
    incoming: Incoming, listed: Listed, event: Event, row: int,
) -> int:  # fmt: skip
    """What an event does to a line, once the matches are written that it completes."""
    cells, last = lines.runs.cells, pattern.least.shape[0] - 1
    line, stays = cells[row], rules.strategy == NEXT_MATCH
    is_late = rules.prunes == 1 and line[START] < event.bound
    if is_late or (not stays and incoming.spots[event.row] != line[SPOT] + 1):
        lines.runs.state[EXPIRED] += 1
        return OVER
    if line[TIE] == incoming.ties[event.row] or line[START] < event.bound:
        return STAYS if stays else OVER
    level, moves = line[LEVEL], False
    is_series, inside = pattern.kleene[last] == 1, level == form.series
    if (event.begins >> (level + 1)) & 1 and may_proceed(machine, pattern, cells, row):
        if level + 1 < last or is_series:
            moves = binds(machine, form, lines, incoming, event.row, row, row, level + 1, BEGIN)
        elif completes(machine, pattern, form, lines, event.number, row):
            wrote(form, lines, listed, row, event.number)
            stays = stays and inside
    most = pattern.most[level]
    if inside and (event.takes >> level) & 1 and (most < 0 or line[LENGTH] < most):
        moves = binds(machine, form, lines, incoming, event.row, row, row, level, TAKE)
    if not moves:
        return STAYS if stays else OVER
    added(lines, event.key, row, event.number)
    if line[LEVEL] == last and may_proceed(machine, pattern, cells, row):
        wrote(form, lines, listed, row, NOTHING)
    return MOVES if goes_on(pattern, cells, row) else OVER


@spliced
def step(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, lines: Lines,
    incoming: Incoming, listed: Listed, event: Event,
) -> None:  # fmt: skip
    """What an event does to each line of its partition; the matches that it completes."""
    runs, key = lines.runs, event.key
    cells, state = runs.cells, runs.state
    # What a further event of the series is asked first, whose own side is the same for all lines.
    accepted, value = 0, (NULL, 0)
    if form.gate != NOTHING:
        gate, place = machine.tables[form.gate, PLAIN:], event.number & machine.mask
        accepted = gate[0]
        value = int(machine.tags[gate[1], place]), int(machine.columns[gate[1], place])
    # The lines that the event changes come first, each part in the order there was.
    first = changed = ahead = NOTHING
    if event.begins & 1:
        new = begun(machine, form, lines, incoming, event.row, key)
        if new != NOTHING:
            if form.series == 0 == pattern.least.shape[0] - 1 and may_proceed(
                machine, pattern, cells, new
            ):
                wrote(form, lines, listed, new, NOTHING)
            if goes_on(pattern, cells, new):
                first = changed = new
            else:
                let_go(lines, key, new)
    row, shown = runs.heads[key], 0
    while row != NOTHING:
        after = cells[row, NEXT]
        shown += 1
        if is_untouched(form, rules, lines, accepted, value, event, row):
            ahead, row = row, after
            continue
        what = fate(machine, pattern, form, rules, lines, incoming, listed, event, row)
        if what == STAYS:
            ahead, row = row, after
            continue
        if ahead == NOTHING:
            runs.heads[key] = after
        else:
            cells[ahead, NEXT] = after
        if what == OVER:
            let_go(lines, key, row)
        else:
            if changed == NOTHING:
                first = row
            else:
                cells[changed, NEXT] = row
            changed = row
        row = after
    state[STEPS] += shown
    if changed != NOTHING:
        cells[changed, NEXT], runs.heads[key] = runs.heads[key], first
        state[MOST_LIVE] = max(state[MOST_LIVE], state[LIVE])


@spliced
def is_crowded(lines: Lines, key: int) -> bool:
    """Whether there may be no room for what an event changes."""
    runs, sizes = lines.runs, lines.sizes
    rows = runs.cells.shape[0] - runs.state[USED] + runs.state[SPARE]
    pieces = lines.pieces.shape[0] - sizes[USED_PIECES] + sizes[SPARE_PIECES]
    return bool(rows < 1 or pieces < runs.counts[key] + 1)


@kernel
def advance_lines(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, lines: Lines,
    incoming: Incoming, listed: Listed,
) -> int:  # fmt: skip
    """Take in events, on from where it stopped, and write the matches they complete."""
    runs, last = lines.runs, pattern.least.shape[0] - 1
    for i in range(runs.state[AT], incoming.numbers.shape[0]):
        key, begins, takes = incoming.keys[i], incoming.begins[i], incoming.takes[i]
        if key < 0 or (begins | takes) == 0:
            continue
        if runs.heads[key] == NOTHING and begins & 1 == 0:
            continue
        if ((begins | takes) >> last) & 1 and not has_room(lines, listed, key):
            runs.state[AT] = i
            return FULL
        if is_crowded(lines, key):
            runs.state[AT] = i
            return CROWDED
        bound = oldest(incoming.measures[i], rules.span)
        event = Event(i, incoming.numbers[i], key, begins, takes, bound)
        step(machine, pattern, form, rules, lines, incoming, listed, event)
    return DONE


@kernel
def expire_lines(lines: Lines, rules: Rules, bound: int, spot: int) -> int:
    """Let the lines go that a window or contiguity has ended; the first event still needed."""
    runs, cells, first = lines.runs, lines.runs.cells, NOTHING
    for key in range(runs.heads.shape[0]):
        ahead, row = NOTHING, runs.heads[key]
        while row != NOTHING:
            after = cells[row, NEXT]
            is_late = rules.prunes == 1 and cells[row, START] < bound
            if is_late or (rules.strategy == STRICT and cells[row, SPOT] + 1 < spot):
                runs.state[EXPIRED] += 1
                if ahead == NOTHING:
                    runs.heads[key] = after
                else:
                    cells[ahead, NEXT] = after
                let_go(lines, key, row)
            else:
                ahead = row
                if first == NOTHING or cells[row, FIRST] < first:
                    first = cells[row, FIRST]
            row = after
    return first
