"""(NFAb) Runs that never fork: an event makes one run of a run, or none (SASE+, 4 and 5).

This holds if runs ignore no event that they can bind, and only the last component can follow a
series. The lines of a key are in the order of results: lines that an event has changed come before
the others. Two fields of a key show for most events that they change nothing: the bar, which is the
least value that any of its lines may accept, and the end of their first window.

Without `conditions`, an event is only checked by its levels and by one comparison, with the event
before it in its series or with the first one. The compared values are integers of which the greater
one passes. Their tags are not read, and no node is bound: this is a separate path for speed.
"""

# long because: a step, and all its checks of an event and a line, are read together

from __future__ import annotations

from sase.engine.kernels.expressions.operations import FLOAT
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.kleene.line_store import (
    LineConditions,
    LineEvent,
    LineMatches,
    LineRules,
    Lines,
    append,
    drop,
    end_lines,
    event_of,
    link,
    new_line,
    write_line,
)
from sase.engine.kernels.kleene.predicates import (
    bind,
    comparisons_hold,
    known_side,
    programs_hold,
)
from sase.engine.kernels.kleene.run_nodes import (
    ALL,
    BEGIN,
    FINISH,
    FIRST_ALONE,
    MOMENTS,
    NEXT_MATCH,
    NO_EVENT,
    PLAIN,
    ROOT,
    TAKE,
    Machine,
)
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING, window_end

# The effect of an event on a line.
STAYS, MOVES, OVER = range(3)


# ---------------------------------------------------------------- by the number of events


@inlined
def is_last(rules: LineRules) -> bool:
    """Whether the series is the last component."""
    return rules.series == rules.levels - 1


@inlined
def level_of(rules: LineRules, size: int) -> int:
    """Return the level of a line with a number of events."""
    return min(size - 1, rules.series)


@inlined
def may_end(rules: LineRules, size: int) -> bool:
    """Whether a line with a number of events may leave its level."""
    return size <= rules.series or size - rules.series >= rules.least


@inlined
def may_take(rules: LineRules, size: int) -> bool:
    """Whether a line with a number of events, in its series, may have one more."""
    return rules.most < 0 or size - rules.series < rules.most


@inlined
def may_grow(rules: LineRules, size: int) -> bool:
    """Whether a line with a number of events may have more."""
    if size > rules.series and is_last(rules):
        return may_take(rules, size)
    return size < rules.levels or size > rules.series


# ---------------------------------------------------------------- conditions


@linked
def programs_hold_on_trial(
    machine: Machine, nodes: OutIntRows, node: int, level: int, moment: int, event: int
) -> bool:
    """Whether the conditions hold that read an event bound after a node."""
    bind(machine, nodes, store.TRIAL, node, level, event)
    return programs_hold(machine, nodes, MOMENTS * level + moment, store.TRIAL, NO_EVENT)


@inlined
def accept(conditions: LineConditions, node: int, level: int, moment: int, event: int) -> bool:
    """Whether all conditions of a moment hold for an event after a node."""
    machine, nodes = conditions.machine, conditions.nodes
    if conditions.asks == store.NO_QUESTION:
        return True
    if not comparisons_hold(machine, nodes, MOMENTS * level + moment, node, event):
        return False
    return conditions.asks < store.PROGRAMS or programs_hold_on_trial(
        machine, nodes, node, level, moment, event
    )


@inlined
def may_leave(conditions: LineConditions | None, node: int, level: int) -> bool:
    """Whether the conditions on a component as a whole hold at a node."""
    if conditions is None:
        return True
    return conditions.asks < store.PROGRAMS or programs_hold(
        conditions.machine, conditions.nodes, MOMENTS * level + FINISH, node, NO_EVENT
    )


@inlined
def is_accepted(rules: LineRules, value: int, other: int) -> bool:
    """Whether a further event of the series is accepted, by its comparison with another event."""
    if value > other:
        return rules.accepted == 0 or rules.accepted & store.ABOVE != 0
    side = int(value == other)
    return rules.accepted == 0 or (rules.accepted >> side) & 1 == 1


@inlined
def may_bind_at(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, event: LineEvent, line: int,
    level: int, moment: int,
) -> bool:  # fmt: skip
    """Whether an event may be bound next, at a level of a line."""
    other = lines.cells[line + store.MET]
    if conditions is None:
        return moment == BEGIN or is_accepted(rules, event.value, other)
    is_known = moment == TAKE and conditions.values.shape[0] > 0 and other != EARLIEST
    if is_known and not is_accepted(rules, event.value, other):
        return False
    return accept(conditions, line >> store.NODE_SHIFT, level, moment, event.number)


@inlined
def may_complete(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, event: LineEvent, line: int
) -> bool:
    """Whether a line is a match with an event as its last one, which is counted as a run."""
    last = rules.levels - 1
    if conditions is not None and not accept(
        conditions, line >> store.NODE_SHIFT, last, BEGIN, event.number
    ):
        return False
    lines.counts[store.MADE] += 1
    return may_leave(conditions, store.TRIAL, last)


# ---------------------------------------------------------------- binding


@inlined
def sortable(bits: int) -> int:
    """Return the bits of a float as an integer in the same order."""
    bits = 0 if bits == EARLIEST else bits  # the bits of -0.0
    return bits ^ ((bits >> 63) & LATEST)


@inlined
def bind_node(rules: LineRules, conditions: LineConditions, lines: Lines, line: int) -> None:
    """Bind the last event of a line in its node; note the value for the next event of its series.

    It is `EARLIEST` if it is of another kind than the compared values: then no event is skipped.
    """
    cells, nodes, node = lines.cells, conditions.nodes, line >> store.NODE_SHIFT
    size = cells[line + store.SIZE]
    event, before = event_of(lines, line, size - 1, size), node if size > 1 else ROOT
    bind(conditions.machine, nodes, node, before, level_of(rules, size), event)
    if conditions.gate != NOTHING and size > rules.series:
        check = conditions.machine.tables[conditions.gate, PLAIN:]
        kind, value = known_side(conditions.machine, nodes, check, node)
        if kind != rules.kind:
            cells[line + store.MET] = EARLIEST
        else:
            value = sortable(value) if kind == FLOAT else value
            cells[line + store.MET] = ~value if rules.turned else value


@inlined
def bind_event(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent, line: int,
) -> bool:  # fmt: skip
    """Bind an event, and write the match if the line is one now; return whether it may grow."""
    cells = lines.cells
    append(lines, line, event.number)
    cells[line + store.TIE], cells[line + store.SPOT] = event.tie, event.spot
    size = cells[line + store.SIZE]
    if conditions is not None and conditions.asks > store.NO_QUESTION:
        bind_node(rules, conditions, lines, line)
    elif size == rules.series + 1 or (size > rules.series and rules.renews == 1):
        cells[line + store.MET] = event.value
    lines.counts[store.MADE] += 1
    is_whole = level_of(rules, size) == rules.levels - 1 and may_end(rules, size)
    if is_whole and may_leave(conditions, line >> store.NODE_SHIFT, rules.levels - 1):
        write_line(rules, lines, output, line, NOTHING)
    return may_grow(rules, size)


@linked
def begin_line(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent,
) -> int:  # fmt: skip
    """Begin a line with an event; return it, if it may grow."""
    if conditions is not None and not accept(conditions, ROOT, 0, BEGIN, event.number):
        return NOTHING
    line = new_line(lines, event.key, event.measure, event.number)
    lines.counts[store.INITIATED] += 1
    if bind_event(rules, conditions, lines, output, event, line):
        return line
    drop(lines, event.key, line)
    return NOTHING


# ---------------------------------------------------------------- the bar


@inlined
def is_ordered(rules: LineRules) -> bool:
    """Whether a bar shows which events certainly leave all lines of a key unchanged."""
    return rules.strategy == NEXT_MATCH and rules.accepted in (store.ABOVE, store.NOT_BELOW)


@inlined
def passing(rules: LineRules, other: int) -> int:
    """Return the least value that is accepted after another one; both ends stay as they are."""
    return other + int(rules.accepted == store.ABOVE and EARLIEST < other < LATEST)


@inlined
def lowered(rules: LineRules, lines: Lines, line: int, bar: int) -> int:
    """Lower the bar to the least value that may change a line, or to the least of all."""
    if not is_ordered(rules):
        return EARLIEST
    if lines.cells[line + store.SIZE] <= rules.series:
        return bar
    return min(bar, passing(rules, lines.cells[line + store.MET]))


@inlined
def known_bar(lines: Lines, key: int, bar: int) -> int:
    """Return the bar of a key: below the greatest number if it has lines."""
    return min(bar, LATEST - int(lines.keys[key + store.COUNT] > 0))


# ---------------------------------------------------------------- the step


@inlined
def apply(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent, line: int,
) -> int:  # fmt: skip
    """Apply an event to a line, write the match that it completes, and return its effect.

    An event ends a series that it may also continue, or begins another component, or continues one.
    """
    cells, stays = lines.cells, rules.strategy == NEXT_MATCH
    is_behind = stays or event.spot == cells[line + store.SPOT] + 1
    if cells[line + store.START] < event.bound or not is_behind:
        lines.counts[store.EXPIRED] += 1
        return OVER
    if cells[line + store.TIE] == event.tie:
        return STAYS if stays else OVER
    size = cells[line + store.SIZE]
    inside, level = size > rules.series, level_of(rules, size)
    is_ended = (event.begins >> (level + 1)) & 1 == 1 and may_end(rules, size)
    goes, made = False, lines.counts[store.MADE]
    if is_ended and may_leave(conditions, line >> store.NODE_SHIFT, level):
        if level + 2 < rules.levels or is_last(rules):
            goes = may_bind_at(rules, conditions, lines, event, line, level + 1, BEGIN)
        elif may_complete(rules, conditions, lines, event, line):
            write_line(rules, lines, output, line, event.number)
            stays = stays and inside and may_take(rules, size)
    if inside and (event.takes >> level) & 1 and may_take(rules, size):
        goes = may_bind_at(rules, conditions, lines, event, line, level, TAKE)
    if goes or stays:
        lines.counts[store.SPLIT] += lines.counts[store.MADE] - made
    if not goes:
        return STAYS if stays else OVER
    return MOVES if bind_event(rules, conditions, lines, output, event, line) else OVER


@inlined
def move_forward(lines: Lines, key: int, line: int, ahead: int, changed: int) -> None:
    """Move a line behind the last changed line, or to the head of its key."""
    cells = lines.cells
    link(lines, key, ahead, cells[line + store.NEXT])
    cells[line + store.NEXT] = (
        lines.keys[key + store.HEAD] if changed == NOTHING else cells[changed + store.NEXT]
    )
    link(lines, key, changed, line)


@inlined
def leaves_others(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, event: LineEvent
) -> bool:
    """Whether an event at most begins a line, and leaves all other lines of its key unchanged."""
    keys, key = lines.keys, event.key
    if event.begins != 1 or event.takes != 1 or rules.strategy != NEXT_MATCH or rules.apart != ALL:
        return False
    is_compared = conditions is None and event.value < keys[key + store.BAR]
    return bool((rules.series > 0 or is_compared) and event.measure <= keys[key + store.UNTIL])


@inlined
def step(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent,
) -> None:  # fmt: skip
    """Apply an event to each line of its key; the lines that it changes come first.

    If only the first match of a key is wanted, it ends all of these lines.
    """
    known = output.sizes[0]
    if rules.apart != ALL and event.tie <= lines.keys[event.key + store.TAKEN]:
        return
    cells, keys, counts, key = lines.cells, lines.keys, lines.counts, event.key
    # A counted loop ends sooner than the list shows its end, for which the processor would wait.
    line, shown, bar, first = keys[key + store.HEAD], keys[key + store.COUNT], LATEST, LATEST
    new = changed = ahead = NOTHING
    outside, stays, leaves = 0, False, leaves_others(rules, conditions, lines, event)
    if event.begins & 1:
        new = begin_line(rules, conditions, lines, output, event)
        if new != NOTHING:
            bar, first = lowered(rules, lines, new, bar), event.measure
            outside += int(cells[new + store.SIZE] <= rules.series)
        if rules.apart == FIRST_ALONE and output.sizes[0] > known:
            end_lines(lines, event, new)
            return
    for _ in range(0 if leaves else shown):
        after = cells[line + store.NEXT]
        what = apply(rules, conditions, lines, output, event, line)
        if rules.apart == FIRST_ALONE and output.sizes[0] > known:
            counts[store.STEPS] += shown
            end_lines(lines, event, new)
            return
        if what == OVER:
            link(lines, key, ahead, after)
            drop(lines, key, line)
        else:
            bar, first = lowered(rules, lines, line, bar), min(first, cells[line + store.START])
            outside += int(cells[line + store.SIZE] <= rules.series)
            if what == STAYS:
                ahead, stays = line, True
            elif not stays:
                changed = ahead = line  # it is already in its place
            else:
                move_forward(lines, key, line, ahead, changed)
                changed = line
        line = after
    until = window_end(first, rules.span)
    if leaves:
        bar, until = min(bar, keys[key + store.BAR]), min(until, keys[key + store.UNTIL])
        outside += keys[key + store.OUTSIDE]
    keys[key + store.BAR], keys[key + store.UNTIL] = known_bar(lines, key, bar), until
    keys[key + store.OUTSIDE] = outside
    counts[store.STEPS] += shown
    if new != NOTHING:
        cells[new + store.NEXT], keys[key + store.HEAD] = keys[key + store.HEAD], new
    if new != NOTHING or changed != NOTHING:
        counts[store.MOST_LIVE] = max(counts[store.MOST_LIVE], counts[store.LIVE])


@inlined
def is_simple(rules: LineRules) -> bool:
    """Whether lines in their series only wait for one more event of it, or for the last event."""
    is_second_last = rules.series == rules.levels - 2 and rules.apart == ALL
    return rules.strategy == NEXT_MATCH and is_second_last and rules.most < 0


@inlined
def step_inside(rules: LineRules, lines: Lines, output: LineMatches, event: LineEvent) -> None:
    """Do the same as `step`, a fifth faster, if all lines are in their series and no events tie."""
    cells, keys, key = lines.cells, lines.keys, event.key
    completes = (event.begins >> (rules.levels - 1)) & 1
    takes, enough = (event.takes >> rules.series) & 1, rules.series + rules.least
    line, shown, bar = keys[key + store.HEAD], keys[key + store.COUNT], LATEST
    changed = ahead = NOTHING
    ended = taken = 0
    stays = False
    for _ in range(shown):
        after, other = cells[line + store.NEXT], cells[line + store.MET]
        if completes and cells[line + store.SIZE] >= enough:
            ended += 1
            write_line(rules, lines, output, line, event.number)
        if takes and is_accepted(rules, event.value, other):
            taken += 1
            append(lines, line, event.number)
            if rules.renews == 1:
                cells[line + store.MET] = other = event.value
            if stays:
                move_forward(lines, key, line, ahead, changed)
            else:
                ahead = line
            changed = line
        else:
            ahead, stays = line, True
        bar = min(bar, other)
        line = after
    bar = passing(rules, bar) if is_ordered(rules) or shown == 0 else EARLIEST
    keys[key + store.BAR] = known_bar(lines, key, bar)
    lines.counts[store.STEPS] += shown
    lines.counts[store.MADE] += ended + taken
    lines.counts[store.SPLIT] += ended  # each line also continues or stays
