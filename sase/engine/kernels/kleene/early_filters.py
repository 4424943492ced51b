"""Conditions that a walk back decides as soon as their events are chosen, by address.

Their loop is not that of `predicates`: a way leads on to later events, and only the last of each
level is at hand, while a node leads back to all events before it.
"""

from __future__ import annotations

from sase.engine.kernels.expressions.program import evaluate_tuple
from sase.engine.kernels.jit.compiler import by_address, inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene.candidates import WAY, WAY_EVENT, WAY_LEVEL, WAY_ON, WalkBack
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
def allow(address: int, ways: OutIntRows, condition: int, place: int) -> bool:
    """Whether a condition holds for every choice of an event of each series that it ranges over."""
    arrays = predicates_at(address)
    cursors, check = arrays.cursors, arrays.tables[arrays.tables[0, CHECKS] + condition]
    start, first, end = check[0], check[1], check[2]
    for loop in range(first, end):
        cursors[loop - first] = on_level(ways, entry(arrays, LOOPS, loop, 0), ways[place, WAY_ON])
        if cursors[loop - first] == NOTHING:
            return True
    while True:
        fill_early(arrays, ways, condition, place)
        if not evaluate_tuple(
            arrays.program, start, arrays.columns, arrays.rows, arrays.stack, None
        ):
            return False
        loop = first
        while loop < end:
            level, at = entry(arrays, LOOPS, loop, 0), loop - first
            following = ways[cursors[at], WAY_ON]
            if following != NOTHING and ways[following, WAY_LEVEL] == level:
                cursors[at] = following
                break
            cursors[at] = on_level(ways, level, ways[place, WAY_ON])
            loop += 1
        if loop == end:
            return True


@linked
def on_level(ways: OutIntRows, level: int, place: int) -> int:
    """Return the first of a way and those it goes on in that is of a level."""
    while place != NOTHING and ways[place, WAY_LEVEL] < level:
        place = ways[place, WAY_ON]
    if place != NOTHING and ways[place, WAY_LEVEL] != level:
        return NOTHING
    return place


@linked
def fill_early(arrays: PredicateArrays, ways: OutIntRows, condition: int, place: int) -> None:
    """Fill the rows of a program."""
    chosen = ways[place, WAY_EVENT]
    arrays.rows[0] = chosen & arrays.mask
    check = arrays.tables[arrays.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = arrays.tables[arrays.tables[0, FILLS] + number]
        source, which = row[0], row[1]
        event = chosen
        if source == BEHIND:
            event = ways[ways[place, WAY_ON], WAY_EVENT]
        elif source == LAST_OF:
            event = ways[place, WAY + which]
        elif source == LOOP:
            event = ways[arrays.cursors[which], WAY_EVENT]
        arrays.rows[row[4]] = event & arrays.mask


allow_at = by_address(allow)


@inlined
def allowed(early: Machine, walk: WalkBack, place: int, moment: int) -> bool:
    """Whether the early conditions on the event that a way chose last hold."""
    first = 2 * walk.ways[place, WAY_LEVEL] + moment
    for condition in range(
        entry(early, MOMENTS_AT, first, 0), entry(early, MOMENTS_AT, first + 1, 0)
    ):
        if not allow_at(early.condition, early.arrays, walk.ways, condition, place):
            return False
    return True
