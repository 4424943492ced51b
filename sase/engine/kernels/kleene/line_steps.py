"""Apply an event to the lines of its key, which are in the order of results.

What an event has changed comes before what it has not. With each key stands what tells most of its
events that they change nothing: the bar, which is the least value that any of its lines may accept,
and the end of their first window.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.kleene.line_store import (
    BAR,
    COUNT,
    EXPIRED,
    HEAD,
    LIVE,
    MADE,
    MET,
    MOST_LIVE,
    NEXT,
    NODE_SHIFT,
    OUTSIDE,
    SIZE,
    SPOT,
    START,
    STEPS,
    TIE,
    UNTIL,
    LineMatches,
    Lines,
    append,
    drop,
    link,
)
from sase.engine.kernels.kleene.lines import (
    ABOVE,
    NOT_BELOW,
    LineConditions,
    LineEvent,
    LineRules,
    begun,
    bind_event,
    is_accepted,
    is_last,
    level_of,
    may_bind_at,
    may_complete,
    may_end,
    may_leave,
    may_take,
    write,
)
from sase.engine.kernels.kleene.run_nodes import BEGIN, TAKE
from sase.engine.kernels.kleene.runs import NEXT_MATCH
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.kernels.window import window_end

# What becomes of a line.
STAYS, MOVES, OVER = range(3)


# ---------------------------------------------------------------- the bar


@inlined
def is_ordered(rules: LineRules) -> bool:
    """Whether a bar tells which events certainly leave all lines of a key alone."""
    return rules.strategy == NEXT_MATCH and rules.accepted in (ABOVE, NOT_BELOW)


@inlined
def passing(rules: LineRules, other: int) -> int:
    """Return the least value that is accepted after another one; not above either end."""
    return other + int(rules.accepted == ABOVE and EARLIEST < other < LATEST)


@inlined
def lowered(rules: LineRules, lines: Lines, line: int, bar: int) -> int:
    """Return the bar with one more line: the least value that further events of a series have.

    It is lower than all where anything may change a line.
    """
    if not is_ordered(rules):
        return EARLIEST
    if lines.cells[line + SIZE] <= rules.series:
        return bar
    return min(bar, passing(rules, lines.cells[line + MET]))


# ---------------------------------------------------------------- the step


@inlined
def fate(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent, line: int,
) -> int:  # fmt: skip
    """Apply an event to a line, write the match that it completes, and return what becomes of it.

    An event ends a series that it may also go on with, or begins another component, or goes on.
    """
    cells, stays = lines.cells, rules.strategy == NEXT_MATCH
    is_behind = stays or event.spot == cells[line + SPOT] + 1
    if cells[line + START] < event.bound or not is_behind:
        lines.counts[EXPIRED] += 1
        return OVER
    if cells[line + TIE] == event.tie:
        return STAYS if stays else OVER
    size = cells[line + SIZE]
    inside, level = size > rules.series, level_of(rules, size)
    is_ended = (event.begins >> (level + 1)) & 1 == 1 and may_end(rules, size)
    goes = False
    if is_ended and may_leave(conditions, line >> NODE_SHIFT, level):
        if level + 2 < rules.levels or is_last(rules):
            goes = may_bind_at(rules, conditions, lines, event, line, level + 1, BEGIN)
        elif may_complete(rules, conditions, lines, event, line):
            write(rules, lines, output, line, event.number)
            stays = stays and inside
    if inside and (event.takes >> level) & 1 and may_take(rules, size):
        goes = may_bind_at(rules, conditions, lines, event, line, level, TAKE)
    if not goes:
        return STAYS if stays else OVER
    return MOVES if bind_event(rules, conditions, lines, output, event, line) else OVER


@inlined
def moved(lines: Lines, key: int, line: int, ahead: int, changed: int) -> None:
    """Have a line come behind the last one that was changed, or first, of a key."""
    cells = lines.cells
    link(lines, key, ahead, cells[line + NEXT])
    cells[line + NEXT] = lines.keys[key + HEAD] if changed == NOTHING else cells[changed + NEXT]
    link(lines, key, changed, line)


@inlined
def step(
    rules: LineRules, conditions: LineConditions | None, lines: Lines, output: LineMatches,
    event: LineEvent,
) -> None:  # fmt: skip
    """Apply an event to each line of its key; the lines that it changes come first."""
    cells, keys, counts, key = lines.cells, lines.keys, lines.counts, event.key
    # Counting ends the loop sooner than the list shows its end, which keeps the processor waiting.
    line, shown, bar, first = keys[key + HEAD], keys[key + COUNT], LATEST, LATEST
    new = changed = ahead = NOTHING
    outside, stays = 0, False
    if event.begins & 1:
        new = begun(rules, conditions, lines, output, event)
        if new != NOTHING:
            bar, first = lowered(rules, lines, new, bar), event.measure
            outside += int(cells[new + SIZE] <= rules.series)
    for _ in range(shown):
        after = cells[line + NEXT]
        what = fate(rules, conditions, lines, output, event, line)
        if what == OVER:
            link(lines, key, ahead, after)
            drop(lines, key, line)
        else:
            bar, first = lowered(rules, lines, line, bar), min(first, cells[line + START])
            outside += int(cells[line + SIZE] <= rules.series)
            if what == STAYS:
                ahead, stays = line, True
            elif not stays:
                changed = ahead = line  # it is where it belongs
            else:
                moved(lines, key, line, ahead, changed)
                changed = line
        line = after
    keys[key + BAR], keys[key + UNTIL] = bar, window_end(first, rules.span)
    keys[key + OUTSIDE] = outside
    counts[STEPS] += shown
    if new != NOTHING:
        cells[new + NEXT], keys[key + HEAD] = keys[key + HEAD], new
    if new != NOTHING or changed != NOTHING:
        counts[MOST_LIVE] = max(counts[MOST_LIVE], counts[LIVE])


@inlined
def is_simple(rules: LineRules) -> bool:
    """Whether lines in their series only wait for one more event of it, or for the last one."""
    is_second_last = rules.series == rules.levels - 2
    return rules.strategy == NEXT_MATCH and is_second_last and rules.most < 0


@inlined
def step_inside(rules: LineRules, lines: Lines, output: LineMatches, event: LineEvent) -> None:
    """Do as `step` where no line begins or ends, all are in their series, and no two events tie.

    Most that `step` asks of each line is known then, which takes a fifth of the time of all.
    """
    cells, keys, key = lines.cells, lines.keys, event.key
    completes = (event.begins >> (rules.levels - 1)) & 1
    takes, enough = (event.takes >> rules.series) & 1, rules.series + rules.least
    line, shown, bar = keys[key + HEAD], keys[key + COUNT], LATEST
    changed = ahead = NOTHING
    made, stays = 0, False
    for _ in range(shown):
        after, other = cells[line + NEXT], cells[line + MET]
        if completes and cells[line + SIZE] >= enough:
            made += 1
            write(rules, lines, output, line, event.number)
        if takes and is_accepted(rules, event.value, other):
            made += 1
            append(lines, line, event.number)
            if rules.renews == 1:
                cells[line + MET] = other = event.value
            if stays:
                moved(lines, key, line, ahead, changed)
            else:
                ahead = line
            changed = line
        else:
            ahead, stays = line, True
        bar = min(bar, other)
        line = after
    keys[key + BAR] = passing(rules, bar) if is_ordered(rules) or shown == 0 else EARLIEST
    lines.counts[STEPS] += shown
    lines.counts[MADE] += made
