"""Series of events that a run has bound, as nodes that share earlier events (SASE+, 4 and 5).

A node is an event at its place in a run. It refers to the node before it, so runs that begin alike
share their beginning. Beside the event, a node stores the values that later conditions read of all
events up to it: the events that they name, lengths, and the aggregates so far.

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

# The head of a node: its event; the node before it; its level; its number in its component, and
# among all events; the measure and the number of the first event; its own order and place. Then,
# for runs: the group of runs with the same events; the number of nodes and runs that need the node;
# the next run of the partition; the last match that was written with the node.
EVENT, PREVIOUS, LEVEL, LENGTH, DEPTH, START, FIRST, TIE, SPOT, GROUP, NEEDED, NEXT, SHOWN = range(
    13
)
HEAD = 13
ROOT, NO_EVENT = 0, NOTHING

# The changes that binding an event makes, and the values that are made of them.
FIRST_EVENT, LAST_EVENT, COUNT, NUMBERS, SUM, LEAST, MOST, SPREAD, LACKS = range(9)
AVERAGE, DEVIATION = 9, 10
# The aggregates that users define have numbers from here on.
DEFINED = 11
WORDS_OF_DEFINED = 5
# The number of words of each change.
WORDS = {
    FIRST_EVENT: 1, LAST_EVENT: 1, COUNT: 1, NUMBERS: 1, SUM: 5, LEAST: 2, MOST: 2, SPREAD: 3,
    LACKS: 1,
}  # fmt: skip
MADE_OF = {AVERAGE: SUM, DEVIATION: SPREAD}
LOW_BITS, LOW_MASK = 32, 2**32 - 1

# The sources of a program's rows: an event or a value that the newest node stores; the event of the
# node of a loop, or a value as of this node; both of the node before; the event to be judged.
KNOWN_EVENT, KNOWN_VALUE, EVENT_AT, VALUE_AT, EVENT_BEFORE, VALUE_BEFORE, JUDGED = range(7)

# The moments of conditions: the first event of a component, a further event, its end.
BEGIN, TAKE, FINISH = range(3)
MOMENTS = 3


class Pattern(NamedTuple):
    """For each level the least and the most events, NOTHING for any, and whether it is Kleene."""

    least: Ints
    most: Ints
    kleene: Ints


# The tables of a machine. The first row says where each begins:
#
#   - LEVELS: the least and the most events, and whether it is a series.
#   - TESTS: the rows of `codes` of the equivalence tests that are decided event by event.
#   - CHANGES_OF, CHANGES: where the changes of each level begin; a change has its kind, word,
#     column and table, and the address of the function that it calls.
#   - MOMENTS_AT, CHECKS: where the conditions of each moment begin; a condition has the start of
#     its program, its loops and its fills. From PLAIN on it has the orders that a plain comparison
#     accepts, or 0; the column of the new event; the source, word and column of the other side; and
#     the address of the comparison.
#   - LOOPS: a level, and whether its first event is exempt; see `predicates` for the other fields.
#   - FILLS: the source, loop, word, kind and target; the word of the node to go back to, if any.
#   - COLUMNS: the columns of users' aggregates. A change has the first of them in place of its
#     column, and their number in place of its table.
#   - VALUES: for each of users' aggregates, the address of the function that makes its value.
LEVELS, TESTS, CHANGES_OF, CHANGES, MOMENTS_AT, CHECKS, LOOPS, FILLS, COLUMNS, VALUES = range(10)
PLAIN = 5
# In place of the orders that a plain comparison accepts: the condition is not checked.
NOT_ASKED = -1
TABLE_WIDTH = 11


class Machine(NamedTuple):
    """Levels, the changes that binding an event makes, the conditions, and compared columns.

    Constants are in one table, because each array costs time at every call. `condition` and
    `aggregate` are the addresses of the kernels for other conditions and changes, or 0. `arrays` is
    the address of the arrays that these read.
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
    """The arrays that programs of conditions and aggregates read."""

    mask: int
    tables: IntRows
    lacking: ByteRows
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts
    cursors: OutInts


# The events that a run may ignore. For contiguity in partitions, either the ranks are known, or the
# kernel applies every event. Under `earliest_maximal` a run ignores an event with which no move is
# possible (see `runs.step`).
ANY, NEXT_MATCH, STRICT, RANKED, WATCHED, EARLIEST_MAXIMAL = range(6)

# The reasons why a kernel stops: it has applied all events, the results need more room, the nodes
# need more room, or it pauses.
DONE, FULL, CROWDED, PAUSED = range(4)
# A kernel pauses after this number of steps of runs, so that an interrupt is noticed.
PATIENCE = 1 << 20


class Incoming(NamedTuple):
    """The events of a block: the levels at which they may begin or be taken as bits, and places.

    `keys` are partitions, `spots` are the positions that contiguity compares.
    """

    numbers: OutInts
    begins: OutInts
    takes: OutInts
    keys: OutInts
    measures: OutInts
    ties: OutInts
    spots: OutInts


# The choice among overlapping matches: all; the first one that is found; or the first one that is
# taken, which the evaluation learns later.
ALL, FIRST_ALONE, FIRST_TAKEN = range(3)


class Rules(NamedTuple):
    """The strategy, the span of the window, whether it ends runs, and the levels of first events.

    `apart` is the choice among overlapping matches.
    """

    strategy: int
    span: int
    prunes: int
    first: int
    apart: int


class Runs(NamedTuple):
    """The nodes of all runs, and their counters.

    For each partition, `heads` has the first run and `counts` the number of runs. `taken` has the
    order of the last event that was taken, if matches must not overlap.
    """

    rules: Rules
    cells: OutIntRows
    heads: OutInts
    counts: OutInts
    taken: OutInts
    fresh: OutInts
    state: OutInts


class Merging(NamedTuple):
    """The words that make runs alike, the edges of merged nodes, and the last measures.

    A row of `needed` has for a level the number of columns of nodes that must be equal, and these
    columns. `buckets` find nodes of an event that are alike. `seen` has the last measure of each
    partition. `frames` and `ways` are those of `merged_enumeration`.
    """

    needed: IntRows
    links: OutIntRows
    edges: OutIntRows
    buckets: OutIntRows
    seen: OutInts
    frames: OutIntRows
    ways: OutIntRows
    state: OutInts


# The state of runs: the next event; the fresh nodes, and the next one to write; nodes ever used,
# the first free node, and the number of free nodes; groups. Then the counters: all runs, live runs,
# most live runs, expired runs, events applied to runs, runs begun, and further runs that an event
# made of one run.
AT, FRESH, LOOKED, USED, FREE, SPARE, GROUPS = range(7)
MADE, LIVE, MOST_LIVE, EXPIRED, STEPS, INITIATED, SPLIT = range(7, 14)
STATE = 14
# A merged node has its first and its last edge. An edge has the node that it leads to, and the next
# edge.
HEAD_EDGE, LAST_EDGE = range(2)
TO, AFTER = range(2)
# The state of merging: edges ever used, the first free edge, and the number of free edges; runs
# merged into others, and those of them that may go on; frames and ways of the enumeration, and
# whether it is under way.
EDGES, FREE_EDGE, SPARE_EDGES, MERGED, MERGED_ALIVE, FRAMES, WAYS, ENUMERATING = range(8)
MERGING_STATE = 8


@inlined
def entry(machine: Machine | PredicateArrays, table: int, row: int, column: int) -> int:
    """Return a number of one of the tables."""
    return int(machine.tables[machine.tables[0, table] + row, column])


@inlined
def levels_of(machine: Machine) -> int:
    """Return the number of levels; their rows are the first of the tables."""
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
    """Return the number of equivalence tests that are decided event by event."""
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
    """Return the number of nodes that an event may make."""
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
    """Take a run out of the list of its partition, after the run `ahead` or at the head."""
    cells = runs.cells
    if ahead == NOTHING:
        runs.heads[key] = cells[node, NEXT]
    else:
        cells[ahead, NEXT] = cells[node, NEXT]
    runs.counts[key] -= 1
    runs.state[LIVE] -= 1


@inlined
def remove_run(runs: Runs, merging: Merging | None, key: int, ahead: int, node: int) -> None:
    """Remove a run from its partition; free the nodes that only it needed."""
    cells = runs.cells
    unlink_run(runs, key, ahead, node)
    cells[node, NEEDED] -= 1
    if cells[node, NEEDED] > 0:
        return
    if merging is None:
        free_branch(runs, node)
    else:
        free_merged(runs, merging, node)
