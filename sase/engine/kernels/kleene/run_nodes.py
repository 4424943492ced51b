"""Series of events that a run has bound, as nodes that share what comes before (SASE+, 4 and 5).

A node is an event in its place: it names the node before it, so that runs which begin alike share
their beginning. Beside the event it holds what later conditions need to know of all up to it: the
events that they name, lengths, and aggregates as far as they have come.

    root ◄── x1 ◄── a2 ◄── a3 ◄── z5          x1 a2 a3 z5  and  x1 a2 z4
                     ▲
                     └───── z4

Node 0 is the root: nothing is bound. Node `n` is row `n` of the cells.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.program import Columns, Program, Stack
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import ByteRows, IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# The head of a node: its event, the node before, the level, which event of its component it is and
# of all, the measure and number of the first event, its own order and place, and for runs: the
# events that lead to it, how many nodes and runs need it, the next run of the partition, and the
# last match that was written of what it leads to.
EVENT, PREVIOUS, LEVEL, LENGTH, DEPTH, START, FIRST, TIE, SPOT, GROUP, NEEDED, NEXT, SHOWN = range(
    13
)
HEAD = 13
ROOT, NO_EVENT = 0, NOTHING

# What binding an event changes, and what values are made of that.
FIRST_EVENT, LAST_EVENT, COUNT, NUMBERS, SUM, LEAST, MOST, SPREAD, LACKS = range(9)
AVERAGE, DEVIATION = 9, 10
# From here on the aggregates that users defined, by number.
DEFINED = 11
WORDS_OF_DEFINED = 5
# The words of each.
WORDS = {
    FIRST_EVENT: 1, LAST_EVENT: 1, COUNT: 1, NUMBERS: 1, SUM: 5, LEAST: 2, MOST: 2, SPREAD: 3,
    LACKS: 1,
}  # fmt: skip
MADE_OF = {AVERAGE: SUM, DEVIATION: SPREAD}
LOW_BITS, LOW_MASK = 32, 2**32 - 1

# Where a program's rows come from: an event or value that the newest node knows; the event of the
# node that a loop is at, or a value as of it; both of the node before; the event to be judged.
KNOWN_EVENT, KNOWN_VALUE, EVENT_AT, VALUE_AT, EVENT_BEFORE, VALUE_BEFORE, JUDGED = range(7)

# When conditions are checked: at the first event of a component, at a further one, at its end.
BEGIN, TAKE, FINISH = range(3)
MOMENTS = 3


class Pattern(NamedTuple):
    """Of each level the least and the most events, NOTHING for any, and whether it is Kleene."""

    least: Ints
    most: Ints
    kleene: Ints


# The parts of the tables of a machine; the first row says where each begins. Of each level the
# least and the most events, and whether it is a series; the rows of `codes` of the equivalence
# tests that are decided event by event; where the changes of each level begin, and the changes
# (kind, word, column, table, and the address of what they call); where the conditions of each
# moment begin, and the conditions (where the program begins, its loops, its fills, and from PLAIN
# on what a plain comparison accepts, or 0, the column of the new event, of the other side where
# from, word and column, and the address of what compares them); the loops (a level, and whether its
# first event is exempt; those over iterations have more, see `predicates`); the fills (where
# from, which loop, word, kind, where to, and the word of the node to go back to first, if any); the
# columns of what users defined, which have of a change the first in the place of its column, and in
# that of its table how many; and by number the address of what makes its value.
LEVELS, TESTS, CHANGES_OF, CHANGES, MOMENTS_AT, CHECKS, LOOPS, FILLS, COLUMNS, VALUES = range(10)
PLAIN = 5
# In place of what a plain comparison accepts: the condition is not asked.
NOT_ASKED = -1
TABLE_WIDTH = 11


class Machine(NamedTuple):
    """Levels, what binding an event changes, the conditions, and what comparisons read.

    Constants stand in one table, since each array costs at every call. `condition` and `aggregate`
    are the addresses of the kernels for other conditions and changes, or 0, and `arrays` that of
    what these read.
    """

    mask: int
    condition: int
    aggregate: int
    arrays: int
    tables: IntRows
    codes: IntRows
    columns: IntRows
    tags: ByteRows


class PredicateArrays(NamedTuple):
    """What programs of conditions and aggregates read."""

    mask: int
    tables: IntRows
    lacking: ByteRows
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts
    cursors: OutInts


# What a run may ignore. Of a contiguous partition either the ranks are known, or every event comes.
# Under `earliest_maximal` it is what no move is possible with (see `runs.step`).
ANY, NEXT_MATCH, STRICT, RANKED, WATCHED, EARLIEST_MAXIMAL = range(6)

# Why the kernel stops: at the end, because the results need more room, or the nodes.
DONE, FULL, CROWDED, PAUSED = range(4)
# After so many steps of runs a kernel pauses, though nothing is full: an interrupt is heard then.
PATIENCE = 1 << 20


class Incoming(NamedTuple):
    """The events of a block: the levels they may begin and be taken at as bits, and their places.

    `keys` are partitions, `spots` what contiguity counts.
    """

    numbers: OutInts
    begins: OutInts
    takes: OutInts
    keys: OutInts
    measures: OutInts
    ties: OutInts
    spots: OutInts


# Which matches are wanted of those that overlap: all, the first that is found, or the first that
# is taken, which is told when it is known.
ALL, FIRST_ALONE, FIRST_TAKEN = range(3)


class Rules(NamedTuple):
    """The strategy, what the window spans, whether that ends runs, and the levels to begin at.

    `apart` says which matches are wanted of those that overlap.
    """

    strategy: int
    span: int
    prunes: int
    first: int
    apart: int


class Runs(NamedTuple):
    """The nodes of all runs, and the counts of them.

    By partition the first run, how many there are, and the order of the last event that was taken
    where matches are to lie apart.
    """

    rules: Rules
    cells: OutIntRows
    heads: OutInts
    counts: OutInts
    taken: OutInts
    fresh: OutInts
    state: OutInts


class Merging(NamedTuple):
    """What makes runs alike, the edges of merged nodes, and by partition the last measure.

    A row of `needed` has for a level the number of columns of nodes that must be the same, and
    these. `buckets` find nodes of an event that are alike. `frames` and `ways` are those of
    `merged_enumeration`.
    """

    needed: IntRows
    links: OutIntRows
    edges: OutIntRows
    buckets: OutIntRows
    seen: OutInts
    frames: OutIntRows
    ways: OutIntRows
    state: OutInts


# Of the state of runs: the event to go on with, fresh nodes and which of them is next to be
# written; nodes ever used, the first free one, nodes free; groups; runs ever and live ones; events
# shown to runs; runs begun, and how many more runs an event made of one.
AT, FRESH, LOOKED, USED, FREE, SPARE, GROUPS = range(7)
MADE, LIVE, MOST_LIVE, EXPIRED, STEPS, INITIATED, SPLIT = range(7, 14)
STATE = 14
# Of a merged node its first and last edge; of an edge the node that it leads to, and the next edge.
HEAD_EDGE, LAST_EDGE = range(2)
TO, AFTER = range(2)
# Of the state of merging: edges ever used, the first free one, edges free; runs merged into others,
# and those of them that go on; frames and ways of the enumeration, and whether it is under way.
EDGES, FREE_EDGE, SPARE_EDGES, MERGED, MERGED_ALIVE, FRAMES, WAYS, ENUMERATING = range(8)
MERGING_STATE = 8


@inlined
def entry(machine: Machine | PredicateArrays, table: int, row: int, column: int) -> int:
    """Return a number of one of the tables."""
    return int(machine.tables[machine.tables[0, table] + row, column])


@inlined
def levels_of(machine: Machine) -> int:
    """Return the number of levels, whose rows are the first of the tables."""
    return int(machine.tables[0, TESTS] - 1)


@inlined
def least_of(machine: Machine, level: int) -> int:
    """Return the least number of events of a level."""
    return int(machine.tables[1 + level, 0])


@inlined
def most_of(machine: Machine, level: int) -> int:
    """Return the greatest number of events of a level, or `NOTHING`."""
    return int(machine.tables[1 + level, 1])


@inlined
def is_series(machine: Machine, level: int) -> bool:
    """Whether a level is a Kleene component."""
    return bool(machine.tables[1 + level, 2] == 1)


@inlined
def tests_of(machine: Machine) -> int:
    """Return how many equivalence tests are decided event by event."""
    return int(machine.tables[0, CHANGES_OF] - machine.tables[0, TESTS])


# ---------------------------------------------------------------- the store of nodes


@inlined
def new_node(runs: Runs) -> int:
    """Take a free node."""
    state, cells = runs.state, runs.cells
    node = state[FREE]
    if node == NOTHING:
        node = state[USED]
        state[USED] += 1
    else:
        state[FREE] = cells[node, NEXT]
        state[SPARE] -= 1
    cells[node, NEEDED], cells[node, SHOWN] = 0, NOTHING
    return int(node)


@inlined
def free_node(runs: Runs, node: int) -> None:
    """Free a node that nothing needs."""
    cells, state = runs.cells, runs.state
    cells[node, NEXT], state[FREE] = state[FREE], node
    cells[node, EVENT] = NOTHING
    state[SPARE] += 1


@inlined
def room_of(runs: Runs) -> int:
    """How many nodes an event may make."""
    cells, state = runs.cells, runs.state
    return int(min(cells.shape[0] - state[USED] + state[SPARE], runs.fresh.shape[0]))


@inlined
def free_edge(merging: Merging, edge: int) -> None:
    """Free an edge."""
    merging.edges[edge, AFTER], merging.state[FREE_EDGE] = merging.state[FREE_EDGE], edge
    merging.state[SPARE_EDGES] += 1


@linked
def free_branch(runs: Runs, node: int) -> None:
    """Free a node that nothing needs, and those before it that only it needed."""
    cells = runs.cells
    while node != ROOT and cells[node, NEEDED] == 0:
        before = cells[node, PREVIOUS]
        free_node(runs, node)
        cells[before, NEEDED] -= 1
        node = before


@linked
def free_merged(runs: Runs, merging: Merging, node: int) -> None:
    """Free a merged node that nothing needs, and those before it that only it needed."""
    cells, edges = runs.cells, merging.edges
    if node == ROOT or cells[node, NEEDED] > 0:
        return
    cells[node, NEXT] = NOTHING
    top = node
    while top != NOTHING:
        gone = top
        top = cells[gone, NEXT]
        before, edge = cells[gone, PREVIOUS], merging.links[gone, HEAD_EDGE]
        free_node(runs, gone)
        while before != NOTHING:
            if before != ROOT:
                cells[before, NEEDED] -= 1
                if cells[before, NEEDED] == 0:
                    cells[before, NEXT], top = top, before
            before = NOTHING
            if edge != NOTHING:
                before, after = edges[edge, TO], edges[edge, AFTER]
                free_edge(merging, edge)
                edge = after


@inlined
def link_run(runs: Runs, key: int, node: int) -> None:
    """Put a run before the others of its partition."""
    cells = runs.cells
    cells[node, NEEDED] += 1
    cells[node, NEXT], runs.heads[key] = runs.heads[key], node
    runs.counts[key] += 1
    runs.state[LIVE] += 1


@inlined
def unlink_run(runs: Runs, key: int, ahead: int, node: int) -> None:
    """Take a run out of those of its partition, where it is behind another one or first."""
    cells = runs.cells
    if ahead == NOTHING:
        runs.heads[key] = cells[node, NEXT]
    else:
        cells[ahead, NEXT] = cells[node, NEXT]
    runs.counts[key] -= 1
    runs.state[LIVE] -= 1


@inlined
def remove_run(runs: Runs, merging: Merging | None, key: int, ahead: int, node: int) -> None:
    """Remove a run from those of its partition; free what only it needed."""
    cells = runs.cells
    unlink_run(runs, key, ahead, node)
    cells[node, NEEDED] -= 1
    if cells[node, NEEDED] > 0:
        return
    if merging is None:
        free_branch(runs, node)
    else:
        free_merged(runs, merging, node)
