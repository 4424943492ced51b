"""Conditions that a walk through the collapsed events decides as early as it can.

A kernel of their own, which the walk calls by address: only some queries have any.
"""

from __future__ import annotations

from sase.engine.kernels.expressions.program import evaluate_tuple
from sase.engine.kernels.jit.compiler import by_address, inlined, kernel, linked
from sase.engine.kernels.kleene.candidates import WAY, WAY_EVENT, WAY_LEVEL, WAY_ON, Collapsed
from sase.engine.kernels.kleene.predicates import predicates_at
from sase.engine.kernels.kleene.run_nodes import (
    CHECKS,
    FILLS,
    LOOPS,
    MOMENTS_AT,
    Machine,
    PredicateArrays,
    entry,
)
from sase.engine.kernels.sentinels import NOTHING

# Where an early condition reads from: the event that is chosen, the one behind it, the last one of
# a level, and the one that a loop is at.
CHOSEN, BEHIND, LAST_OF, LOOP = range(4)
# When: as the last event of its level, or as a further one.
ENTER, EXTEND = range(2)


@kernel
def allow(address: int, collapsed: Collapsed, condition: int, place: int) -> bool:
    """Whether a condition holds for every choice of an event of each series it ranges over."""
    judge = predicates_at(address)
    cursors, ways = judge.cursors, collapsed.ways
    check = judge.tables[judge.tables[0, CHECKS] + condition]
    start, first, end = check[0], check[1], check[2]
    for loop in range(first, end):
        cursors[loop - first] = on_level(
            collapsed, entry(judge, LOOPS, loop, 0), ways[place, WAY_ON]
        )
        if cursors[loop - first] == NOTHING:
            return True
    while True:
        fill_early(judge, collapsed, condition, place)
        if not evaluate_tuple(judge.program, start, judge.columns, judge.rows, judge.stack, None):
            return False
        loop = first
        while loop < end:
            level, at = entry(judge, LOOPS, loop, 0), loop - first
            following = ways[cursors[at], WAY_ON]
            if following != NOTHING and ways[following, WAY_LEVEL] == level:
                cursors[at] = following
                break
            cursors[at] = on_level(collapsed, level, ways[place, WAY_ON])
            loop += 1
        if loop == end:
            return True


@linked
def on_level(collapsed: Collapsed, level: int, place: int) -> int:
    """The first step on along a way that is of a level."""
    while place != NOTHING and collapsed.ways[place, WAY_LEVEL] < level:
        place = collapsed.ways[place, WAY_ON]
    if place != NOTHING and collapsed.ways[place, WAY_LEVEL] != level:
        return NOTHING
    return place


@linked
def fill_early(judge: PredicateArrays, collapsed: Collapsed, condition: int, place: int) -> None:
    """Put the events that a program reads where it reads them."""
    ways = collapsed.ways
    chosen = ways[place, WAY_EVENT]
    judge.rows[0] = chosen & judge.mask
    check = judge.tables[judge.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = judge.tables[judge.tables[0, FILLS] + number]
        source, which = row[0], row[1]
        event = chosen
        if source == BEHIND:
            event = ways[ways[place, WAY_ON], WAY_EVENT]
        elif source == LAST_OF:
            event = ways[place, WAY + which]
        elif source == LOOP:
            event = ways[judge.cursors[which], WAY_EVENT]
        judge.rows[row[4]] = event & judge.mask


allow_at = by_address(allow)


@inlined
def allowed(early: Machine, collapsed: Collapsed, place: int, moment: int) -> bool:
    """Whether the early conditions on the event chosen last hold in a way."""
    first = 2 * collapsed.ways[place, WAY_LEVEL] + moment
    for condition in range(
        entry(early, MOMENTS_AT, first, 0), entry(early, MOMENTS_AT, first + 1, 0)
    ):
        if not allow_at(early.decide, early.judge, collapsed, condition, place):
            return False
    return True
