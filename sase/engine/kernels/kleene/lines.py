"""(NFAb) Runs that never fork: an event makes one run of a run, or none (SASE+, 4 and 5).

That is so where runs ignore no event that they can bind, and only the last component can follow a
series. The lines of a partition (see `pieces`) are kept in the order of results: what an event has
changed comes before what it has not.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.operations import FLOAT, NULL, order_simply
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene.comparisons import hold_besides, may_bind, met
from sase.engine.kernels.kleene.pieces import (
    MET_TAG,
    MET_VALUE,
    TRIAL,
    Form,
    Lines,
    Output,
    added,
    has_room,
    is_crowded,
    let_go,
    wrote,
)
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    FIRST,
    LENGTH,
    LEVEL,
    MOMENTS,
    NEXT,
    PLAIN,
    ROOT,
    SPOT,
    START,
    TAKE,
    TIE,
    Machine,
    Pattern,
)
from sase.engine.kernels.kleene.runs import (
    AT,
    CROWDED,
    DONE,
    EXPIRED,
    FULL,
    LIVE,
    MADE,
    MOST_LIVE,
    NEXT_MATCH,
    STEPS,
    Incoming,
    Rules,
    goes_on,
    is_ended,
    made,
    shelve,
    unlink,
)
from sase.engine.kernels.kleene.transitions import bind, may_proceed
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# What becomes of a line.
STAYS, MOVES, OVER = range(3)


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


class Gate(NamedTuple):
    """What a further event of the series is asked first: the orders it accepts, and of what kind.

    `values` are of the events of a block, unless they are of several kinds: then it has kind 0.
    """

    accepted: int
    kind: int
    values: Ints


# ---------------------------------------------------------------- moves


@linked
def holds_on_trial(
    machine: Machine, cells: OutIntRows, before: int, level: int, moment: int, event: int
) -> bool:
    """Whether those conditions hold that need to see an event bound after a line."""
    bind(machine, cells, TRIAL, before, level, event)
    return hold_besides(machine, cells, MOMENTS * level + moment, TRIAL)


@inlined
def binds(
    machine: Machine, form: Form, lines: Lines, incoming: Incoming, i: int, row: int, before: int,
    level: int, moment: int,
) -> bool:  # fmt: skip
    """Bind an event at a level of a line, which is another one `before`, if conditions allow it."""
    cells, event = lines.runs.cells, incoming.numbers[i]
    if not may_bind(machine, cells, MOMENTS * level + moment, before, event):
        return False
    if form.asks == 1 and not holds_on_trial(machine, cells, before, level, moment, event):
        return False
    bind(machine, cells, row, before, level, event)
    cells[row, TIE], cells[row, SPOT] = incoming.ties[i], incoming.spots[i]
    if level == form.series and form.gate != NOTHING:
        check = machine.tables[form.gate, PLAIN:]
        cells[row, MET_TAG], cells[row, MET_VALUE] = met(machine, cells, check, row)
    lines.runs.state[MADE] += 1
    return True


@linked
def begun(
    machine: Machine, pattern: Pattern, form: Form, lines: Lines, incoming: Incoming,
    output: Output, i: int,
) -> int:  # fmt: skip
    """The line that begins with an event, if one does and goes on; the match that it is."""
    runs, key, row = lines.runs, incoming.keys[i], made(lines.runs)
    if not binds(machine, form, lines, incoming, i, row, ROOT, 0, BEGIN):
        shelve(runs, row)
        return NOTHING
    runs.cells[row, START] = incoming.measures[i]
    added(lines, key, row, incoming.numbers[i])
    runs.counts[key] += 1
    runs.state[LIVE] += 1
    if pattern.least.shape[0] == 1 and may_proceed(machine, pattern, runs.cells, row):
        wrote(form, lines, output, row, NOTHING)
    if goes_on(pattern, runs.cells, row):
        return row
    let_go(lines, key, row)
    return NOTHING


@inlined
def completes(
    machine: Machine, pattern: Pattern, form: Form, lines: Lines, event: int, row: int
) -> bool:
    """Whether a line is a match with an event of the last level, which binds no more."""
    cells, last = lines.runs.cells, pattern.least.shape[0] - 1
    if not may_bind(machine, cells, MOMENTS * last + BEGIN, row, event):
        return False
    if form.asks == 1 and not holds_on_trial(machine, cells, row, last, BEGIN, event):
        return False
    lines.runs.state[MADE] += 1
    return form.asks == 0 or may_proceed(machine, pattern, cells, TRIAL)


# ---------------------------------------------------------------- the loop


@inlined
def passed(
    form: Form, rules: Rules, gate: Gate, lines: Lines, key: int, bound: int, value: int
) -> int:
    """How many lines there are of a partition if all stay as they are, or `NOTHING`.

    An event that may only be a further one of a series does nothing where it is not accepted, and
    mostly it is not: that takes one comparison for each line.
    """
    cells, row, count = lines.runs.cells, lines.runs.heads[key], 0
    while row != NOTHING:
        line = cells[row]
        if line[LEVEL] != form.series or line[MET_TAG] != gate.kind:
            return NOTHING
        if rules.prunes == 1 and line[START] < bound:
            return NOTHING
        other = line[MET_VALUE]
        side = int(value > other) - int(value < other)
        if gate.kind == FLOAT:
            side = order_simply((FLOAT, value), (FLOAT, int(other)))
        if (gate.accepted >> (side + 1)) & 1 == 1:
            return NOTHING
        count += 1
        row = line[NEXT]
    return count


@inlined
def fate(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, lines: Lines,
    incoming: Incoming, output: Output, event: Event, row: int,
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
    # An event ends a series that it may also go on with, or begins another component, or goes on.
    level, to, moment = line[LEVEL], NOTHING, BEGIN
    inside, most = level == form.series, pattern.most[level]
    if (event.begins >> (level + 1)) & 1 and may_proceed(machine, pattern, cells, row):
        if level + 1 < last or pattern.kleene[last] == 1:
            to = level + 1
        elif completes(machine, pattern, form, lines, event.number, row):
            wrote(form, lines, output, row, event.number)
            stays = stays and inside
    if inside and (event.takes >> level) & 1 and (most < 0 or line[LENGTH] < most):
        to, moment = level, TAKE
    if to == NOTHING or not binds(machine, form, lines, incoming, event.row, row, row, to, moment):
        return STAYS if stays else OVER
    added(lines, event.key, row, event.number)
    if line[LEVEL] == last and may_proceed(machine, pattern, cells, row):
        wrote(form, lines, output, row, NOTHING)
    return MOVES if goes_on(pattern, cells, row) else OVER


@inlined
def step(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, lines: Lines,
    incoming: Incoming, output: Output, event: Event,
) -> None:  # fmt: skip
    """What an event does to each line of its partition; the matches that it completes."""
    runs, key = lines.runs, event.key
    cells, state = runs.cells, runs.state
    # The lines that the event changes come first, each part in the order there was.
    first = changed = ahead = NOTHING
    if event.begins & 1:
        first = changed = begun(machine, pattern, form, lines, incoming, output, event.row)
    row, shown = runs.heads[key], 0
    while row != NOTHING:
        after = cells[row, NEXT]
        shown += 1
        what = fate(machine, pattern, form, rules, lines, incoming, output, event, row)
        if what == STAYS:
            ahead, row = row, after
            continue
        unlink(runs, key, ahead, row)
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


@kernel
def advance_lines(
    machine: Machine, pattern: Pattern, form: Form, rules: Rules, gate: Gate, lines: Lines,
    incoming: Incoming, output: Output,
) -> int:  # fmt: skip
    """Take in events, on from where it stopped, and write the matches they complete."""
    runs, last = lines.runs, pattern.least.shape[0] - 1
    for i in range(runs.state[AT], incoming.numbers.shape[0]):
        key, begins, takes = incoming.keys[i], incoming.begins[i], incoming.takes[i]
        if key < 0 or (begins | takes) == 0:
            continue
        if runs.heads[key] == NOTHING and begins & 1 == 0:
            continue
        bound = window_start(incoming.measures[i], rules.span)
        if begins == 0 and gate.kind != NULL:
            count = passed(form, rules, gate, lines, key, bound, gate.values[i])
            if count != NOTHING:
                runs.state[STEPS] += count
                continue
        if ((begins | takes) >> last) & 1 and not has_room(lines, output, key):
            runs.state[AT] = i
            return FULL
        if is_crowded(lines, key):
            runs.state[AT] = i
            return CROWDED
        event = Event(i, incoming.numbers[i], key, begins, takes, bound)
        step(machine, pattern, form, rules, lines, incoming, output, event)
    return DONE


@kernel
def expire_lines(lines: Lines, rules: Rules, bound: int, spot: int) -> int:
    """Let the lines go that a window or contiguity has ended; the first event still needed."""
    runs, cells, first = lines.runs, lines.runs.cells, NOTHING
    for key in range(runs.heads.shape[0]):
        ahead, row = NOTHING, runs.heads[key]
        while row != NOTHING:
            after = cells[row, NEXT]
            if is_ended(rules, runs, row, bound, spot):
                runs.state[EXPIRED] += 1
                unlink(runs, key, ahead, row)
                let_go(lines, key, row)
            else:
                ahead = row
                if first == NOTHING or cells[row, FIRST] < first:
                    first = cells[row, FIRST]
            row = after
    return first
