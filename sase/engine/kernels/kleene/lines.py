"""(NFAb) Runs that never fork: an event makes one run of a run, or none (SASE+, 4 and 5).

That is so where runs ignore no event that they can bind, and only the last component can follow a
series. This is what is known of lines and asked of an event, and how it is bound; `line_steps` is
what an event does to the lines of its key.

Without `conditions` nothing is asked of an event but its levels and one comparison with the event
before it in its series, or the first one; what is compared are integers of which the greater one
passes.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.operations import FLOAT
from sase.engine.kernels.jit.arrow_memory import copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene.comparisons import hold_besides, may_bind, met
from sase.engine.kernels.kleene.line_store import (
    AT,
    MADE,
    MET,
    NODE_SHIFT,
    SIZE,
    SPOT,
    TIE,
    TRIAL,
    LineMatches,
    Lines,
    append,
    drop,
    new_line,
)
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    FINISH,
    MOMENTS,
    NO_EVENT,
    PLAIN,
    ROOT,
    TAKE,
    Machine,
)
from sase.engine.kernels.kleene.transitions import bind, hold
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING

# The orders that are accepted, as bits: less, equal, more.
BELOW, NOT_ABOVE, ABOVE, NOT_BELOW = 0b001, 0b011, 0b100, 0b110


class LineRules(NamedTuple):
    """The plan: strategy, window, levels, and the comparison for a further event of the series.

    The window spans `span` of a measure; `ranked` says whether events are ranked in partitions.
    `series` is its level, or the number of levels if there is none, with the least and the most
    events. A further event of it is accepted in some orders to another one, as bits, or 0 if that
    is not asked: to the one before it, if what is met is renewed, or to the first one. What is
    compared is of a `kind`; it is `turned` where the lesser one is more. Events of levels before
    `listed` are single in results, and the last one too unless the list is `whole`.
    """

    strategy: int
    span: int
    measure: int
    ranked: int
    levels: int
    series: int
    least: int
    most: int
    accepted: int
    renews: int
    kind: int
    turned: int
    listed: int
    whole: int


class LineConditions(NamedTuple):
    """What more there is to ask of an event, and the nodes of lines, which that reads.

    `gate` is the row of the comparison for a further event of the series, or `NOTHING`, and
    `values` what it compares of the events of a block, or empty where they are of several kinds;
    `asks` says whether there is more than plain comparisons.
    """

    machine: Machine
    nodes: OutIntRows
    gate: int
    asks: int
    values: Ints


class LineEvent(NamedTuple):
    """An event; `bound` is the least measure of the first event of a match with it."""

    number: int
    key: int
    begins: int
    takes: int
    value: int
    tie: int
    spot: int
    measure: int
    bound: int


# ---------------------------------------------------------------- by the number of events


@inlined
def is_last(rules: LineRules) -> bool:
    """Whether the series is the last component."""
    return rules.series == rules.levels - 1


@inlined
def level_of(rules: LineRules, size: int) -> int:
    """Return the level that a line of so many events is at."""
    return min(size - 1, rules.series)


@inlined
def may_end(rules: LineRules, size: int) -> bool:
    """Whether a line of so many events may leave the level that it is at."""
    return size <= rules.series or size - rules.series >= rules.least


@inlined
def may_take(rules: LineRules, size: int) -> bool:
    """Whether a line of so many events, in its series, may have one more."""
    return rules.most < 0 or size - rules.series < rules.most


@inlined
def goes_on(rules: LineRules, size: int) -> bool:
    """Whether a line of so many events may have more of them."""
    if size > rules.series and is_last(rules):
        return may_take(rules, size)
    return size < rules.levels or size > rules.series


# ---------------------------------------------------------------- conditions


@linked
def hold_on_trial(
    machine: Machine, nodes: OutIntRows, node: int, level: int, moment: int, event: int
) -> bool:
    """Whether the conditions hold that need to see an event bound after a node."""
    bind(machine, nodes, TRIAL, node, level, event)
    return hold_besides(machine, nodes, MOMENTS * level + moment, TRIAL)


@inlined
def accept(conditions: LineConditions, node: int, level: int, moment: int, event: int) -> bool:
    """Whether all conditions of a moment hold for an event after a node."""
    machine, nodes = conditions.machine, conditions.nodes
    if not may_bind(machine, nodes, MOMENTS * level + moment, node, event):
        return False
    return conditions.asks == 0 or hold_on_trial(machine, nodes, node, level, moment, event)


@inlined
def may_leave(conditions: LineConditions | None, node: int, level: int) -> bool:
    """Whether the conditions on a component as a whole hold at a node."""
    if conditions is None:
        return True
    return conditions.asks == 0 or hold(
        conditions.machine, conditions.nodes, MOMENTS * level + FINISH, node, NO_EVENT
    )


@inlined
def is_accepted(rules: LineRules, value: int, other: int) -> bool:
    """Whether a further event of the series may come, as it compares with another one."""
    if value > other:
        return rules.accepted == 0 or rules.accepted & ABOVE != 0
    side = int(value == other)
    return rules.accepted == 0 or (rules.accepted >> side) & 1 == 1


@inlined
def may_bind_at(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, event: LineEvent, line: int,
    level: int, moment: int,
) -> bool:  # fmt: skip
    """Whether an event may be bound next, at a level of a line."""
    other = lines.cells[line + MET]
    if conditions is None:
        return moment == BEGIN or is_accepted(rules, event.value, other)
    is_known = moment == TAKE and conditions.values.shape[0] > 0 and other != EARLIEST
    if is_known and not is_accepted(rules, event.value, other):
        return False
    return accept(conditions, line >> NODE_SHIFT, level, moment, event.number)


@inlined
def may_complete(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, event: LineEvent, line: int
) -> bool:
    """Whether a line is a match with an event of the last level, which binds no more; count it."""
    last = rules.levels - 1
    if conditions is not None and not accept(
        conditions, line >> NODE_SHIFT, last, BEGIN, event.number
    ):
        return False
    lines.counts[MADE] += 1
    return may_leave(conditions, TRIAL, last)


# ---------------------------------------------------------------- binding


@inlined
def write(rules: LineRules, lines: Lines, output: LineMatches, line: int, last: int) -> None:
    """Write a match: the events of a line, and one more unless that is `NOTHING`."""
    heap, sizes = lines.heap, output.sizes
    count, to, at, size = sizes[0], sizes[1], lines.cells[line + AT], lines.cells[line + SIZE]
    single = min(rules.listed, size)
    for level in range(single):
        output.singles[level, count] = heap[at + level]
    copy_blocks(heap, at + single, output.events, to, size - single)
    to += size - single
    if last != NOTHING:
        output.singles[rules.levels - 1, count] = last
        if rules.whole:
            output.events[to] = last
            to += 1
    sizes[0], sizes[1] = count + 1, to
    output.ends[count] = to


@inlined
def sortable(bits: int) -> int:
    """Return the bits of a float as an integer in the same order."""
    bits = 0 if bits == EARLIEST else bits  # which is -0.0
    return bits ^ ((bits >> 63) & LATEST)


@inlined
def bind_node(rules: LineRules, conditions: LineConditions, lines: Lines, line: int) -> None:
    """Bind the last event of a line in its node; note what the next one of its series meets.

    That is `EARLIEST` where it is of another kind than what is compared: then no event is skipped.
    """
    cells, nodes, node = lines.cells, conditions.nodes, line >> NODE_SHIFT
    size = cells[line + SIZE]
    event, before = lines.heap[cells[line + AT] + size - 1], node if size > 1 else ROOT
    bind(conditions.machine, nodes, node, before, level_of(rules, size), event)
    if conditions.gate != NOTHING and size > rules.series:
        check = conditions.machine.tables[conditions.gate, PLAIN:]
        kind, value = met(conditions.machine, nodes, check, node)
        if kind != rules.kind:
            cells[line + MET] = EARLIEST
        else:
            value = sortable(value) if kind == FLOAT else value
            cells[line + MET] = ~value if rules.turned else value


@inlined
def bind_event(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent, line: int,
) -> bool:  # fmt: skip
    """Bind an event, and write the match that the line may be then; whether it goes on."""
    cells = lines.cells
    append(lines, line, event.number)
    cells[line + TIE], cells[line + SPOT] = event.tie, event.spot
    size = cells[line + SIZE]
    if conditions is not None:
        bind_node(rules, conditions, lines, line)
    elif size == rules.series + 1 or (size > rules.series and rules.renews == 1):
        cells[line + MET] = event.value
    lines.counts[MADE] += 1
    is_whole = level_of(rules, size) == rules.levels - 1 and may_end(rules, size)
    if is_whole and may_leave(conditions, line >> NODE_SHIFT, rules.levels - 1):
        write(rules, lines, output, line, NOTHING)
    return goes_on(rules, size)


@linked
def begun(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent,
) -> int:  # fmt: skip
    """Return the line that begins with an event, if one does and goes on."""
    if conditions is not None and not accept(conditions, ROOT, 0, BEGIN, event.number):
        return NOTHING
    line = new_line(lines, event.key, event.measure)
    if bind_event(rules, conditions, lines, output, event, line):
        return line
    drop(lines, event.key, line)
    return NOTHING
