"""Lines: runs that share nothing, as rows with the events of each in pieces, and their matches.

    row   a40, 40 events, …        pieces   a1 … a32 ──► a33 … a40

A row says what the last node of a run says (see `nodes`), and changes in place. Row 0 is the root,
and row 1 has an event on trial.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import copy
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import DEPTH, GROUP, NEEDED, PREVIOUS, SHOWN
from sase.engine.kernels.kleene.runs import LIVE, SPARE, USED, Runs, shelve
from sase.engine.kernels.sentinels import NOTHING

TRIAL, FIRST_LINE = 1, 2
# Where a node says what lines have no use for, a line says: its first piece and its last one, and
# what the first comparison meets that a further event of the series has to pass.
HEAD_PIECE, TAIL_PIECE, MET_TAG, MET_VALUE = GROUP, SHOWN, PREVIOUS, NEEDED
# A piece has so many events, which are a power of two, and then the number of the next one.
PIECE = 32

# Of the pieces: how many were ever used, the first free one, and how many are free.
USED_PIECES, FREE_PIECE, SPARE_PIECES = range(3)


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


class Output(NamedTuple):
    """Matches: the event of each level that binds one, and the others one after the other.

    `ends` is where those of each match end, `sizes` how many matches there are and how many events.
    """

    singles: OutIntRows
    events: OutInts
    ends: OutInts
    sizes: OutInts


# ---------------------------------------------------------------- rows and pieces


@inlined
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


@inlined
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


@linked
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


# ---------------------------------------------------------------- room, and matches


@inlined
def has_room(lines: Lines, output: Output, key: int) -> bool:
    """Whether there is room for all matches that an event may complete."""
    sizes, count = output.sizes, lines.runs.counts[key] + 1
    is_enough = sizes[0] + count <= output.ends.shape[0]
    return bool(is_enough and sizes[1] + lines.held[key] + count <= output.events.shape[0])


@inlined
def wrote(form: Form, lines: Lines, output: Output, row: int, last: int) -> None:
    """Write a match: the events of a line, and one more unless that is `NOTHING`.

    Those of the levels that stand before and behind the listed ones are single.
    """
    line, pieces = lines.runs.cells[row], lines.pieces
    singles, begin, end = output.singles, form.begin, form.end
    count, to = output.sizes[0], output.sizes[1]
    piece, taken, depth = line[HEAD_PIECE], 0, line[DEPTH]
    while taken < depth:
        place = taken & (PIECE - 1)
        if place == 0 and taken > 0:
            piece = pieces[piece, PIECE]
        if taken < begin:
            singles[taken, count] = pieces[piece, place]
            taken += 1
        else:
            size = min(PIECE - place, depth - taken)
            copy(pieces[piece], place, output.events, to, size)
            to += size
            taken += size
    if last != NOTHING:
        levels = singles.shape[0]
        singles[levels - 1, count] = last
        if end == levels and begin < levels:
            output.events[to] = last
            to += 1
    output.ends[count] = to
    output.sizes[0], output.sizes[1] = count + 1, to


@inlined
def is_crowded(lines: Lines, key: int) -> bool:
    """Whether there may be no room for what an event changes."""
    runs, sizes = lines.runs, lines.sizes
    rows = runs.cells.shape[0] - runs.state[USED] + runs.state[SPARE]
    pieces = lines.pieces.shape[0] - sizes[USED_PIECES] + sizes[SPARE_PIECES]
    return bool(rows < 1 or pieces < runs.counts[key] + 1)
