"""Sweep over time through the worlds of a candidate and its joint negations, state by state.

Between two bounds the possible events differ only in their order, and `L` times hold `j` of them in
a given order in C(L, j) ways. The sweep sums the probability of each state: which events have
occurred, and the progress of each sequence that would forbid the match. All terms are positive.

    a  ───────                 segments  │  │    │ │  │
    n     ──────────           states    {} → {a}, {n}, {a, n}, …
    b            ─────

A sweep may stop before any state: its position and all states are in arrays.
"""

from __future__ import annotations

from sase.engine.kernels.confidence.joint_candidates import (
    ABSENT,
    FIRST_ABSENCE,
    FIRST_MEMBER,
    GAP,
    LAST_ABSENCE,
    LAST_MEMBER,
    PLACE,
    STEPS,
    UNBOUND,
    JointCandidates,
    earlier,
    later,
)
from sase.engine.kernels.confidence.joint_states import (
    AT,
    BEGUN,
    CROWDED,
    CUTS,
    DONE,
    FIRST,
    FOLLOWING,
    FRESH,
    HAS_FIRST,
    HAS_LAST,
    HERE,
    KEY,
    LAST,
    LAYER,
    MOST,
    MOST_AT_ONCE,
    MOST_OF_A_SET,
    NEEDED,
    OVER,
    PATIENCE,
    PAUSED,
    REACH,
    SEGMENT,
    TIMES,
    TOO_MANY,
    TOTAL,
    TRIED,
    WORDS,
    Sweep,
    over_of,
    phase,
    read_orders,
    write_orders,
)
from sase.engine.kernels.confidence.order import insert_cut
from sase.engine.kernels.confidence.sweep_states import (
    add_state,
    clear,
    has,
    mark,
)
from sase.engine.kernels.jit.compiler import linked
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.sentinels import LATEST


@linked
def begin_sweep(one: JointCandidates, sweep: Sweep) -> None:
    """Restrict the candidate's events to fixed ends, cut time, and begin before all of it."""
    at, count = sweep.at, 0
    for number in range(3):
        clear(sweep.sets, number)
    at[LAYER], at[FOLLOWING], at[SEGMENT], at[BEGUN], at[CUTS] = 0, 1, 0, 0, 0
    for event in range(one.lo.shape[0]):
        low, high = one.lo[event], one.hi[event]
        if one.step[event] != UNBOUND and at[HAS_FIRST]:
            low, high = max(low, at[FIRST]), min(high, later(at[FIRST], at[REACH]))
        if one.step[event] != UNBOUND and at[HAS_LAST]:
            low, high = max(low, earlier(at[LAST], at[REACH])), min(high, at[LAST])
        if low > high:
            return
        sweep.low[event], sweep.high[event] = low, high
        count = insert_cut(sweep.cuts, count, low)
        count = insert_cut(sweep.cuts, count, high + 1)
    if at[HAS_FIRST]:
        count = insert_cut(sweep.cuts, count, at[FIRST])
        count = insert_cut(sweep.cuts, count, at[FIRST] + 1)
        if later(at[FIRST], at[REACH]) < LATEST:
            count = insert_cut(sweep.cuts, count, at[FIRST] + at[REACH] + 1)
    if at[HAS_LAST]:
        count = insert_cut(sweep.cuts, count, at[LAST])
        count = insert_cut(sweep.cuts, count, at[LAST] + 1)
        count = insert_cut(sweep.cuts, count, earlier(at[LAST], at[REACH]))
    for word in range(at[KEY]):
        sweep.key[word] = 0
    add_state(sweep.sets, at[LAYER], sweep.key, at[KEY], 1.0)
    at[CUTS] = count


@linked
def begin_segment(one: JointCandidates, sweep: Sweep, begin: int, end: int) -> bool:
    """Write the possible events of a segment and copy the states; return whether they fit."""
    at, steps = sweep.at, one.heads[0, STEPS]
    for word in range(at[WORDS]):
        sweep.marks[HERE, word] = sweep.marks[OVER, word] = 0
    for event in range(one.lo.shape[0]):
        if sweep.low[event] <= begin and end - 1 <= sweep.high[event]:
            mark(sweep.marks[HERE], event)
        if sweep.high[event] < end:
            mark(sweep.marks[OVER], event)
    clear(sweep.sets, at[FOLLOWING])
    for entry in range(sweep.sets.sizes[at[LAYER]]):
        key = sweep.sets.keys[at[LAYER], entry]
        if at[HAS_LAST] and begin == at[LAST] and phase(sweep, steps, key)[0] == steps:
            continue  # the last event has this fixed time
        value = sweep.sets.values[at[LAYER], entry]
        for number in (at[FOLLOWING], TOTAL):
            if not add_state(sweep.sets, number, key, at[KEY], value):
                return False
    at[LAYER], at[FOLLOWING] = at[FOLLOWING], at[LAYER]
    clear(sweep.sets, at[FOLLOWING])
    at[TIMES], at[AT], at[BEGUN] = 0, 0, 1
    return True


@linked
def order_after(
    one: JointCandidates, sweep: Sweep, order: int, reached: int, is_inside: bool
) -> int:
    """Return the progress of an order after a time at which events are placed."""
    bounds, hits, is_next = one.orders[order], 0, False
    for place in range(bounds[FIRST_MEMBER], bounds[LAST_MEMBER]):
        if sweep.placed[one.members[place]]:
            hits += 1
            is_next = is_next or place - bounds[FIRST_MEMBER] == reached
    if hits > 0:
        return reached + 1 if is_inside and hits == 1 and is_next else over_of(sweep.at)
    if reached > 0 and not is_inside:
        return over_of(sweep.at)
    for place in range(bounds[FIRST_ABSENCE], bounds[LAST_ABSENCE] if reached > 0 else 0):
        if one.absences[place, PLACE] == reached and sweep.placed[one.absences[place, ABSENT]]:
            return over_of(sweep.at)
    return reached


@linked
def orders_after(one: JointCandidates, sweep: Sweep, gap: int) -> bool:
    """Write the progress of each order after a time in a gap; return whether none is complete."""
    for order in range(one.orders.shape[0]):
        reached = sweep.before[order]
        if reached != over_of(sweep.at):
            reached = order_after(one, sweep, order, reached, one.orders[order, GAP] == gap)
            if reached == one.orders[order, LAST_MEMBER] - one.orders[order, FIRST_MEMBER]:
                return False
        sweep.after[order] = reached
    return True


@linked
def is_closed(at: OutInts, gap: int, steps: int, begin: int) -> bool:
    """Whether a gap at an end is outside of the window in a segment."""
    if gap == 0:
        return not (at[HAS_LAST] and begin >= earlier(at[LAST], at[REACH]))
    if gap == steps:
        return not (at[HAS_FIRST] and begin <= later(at[FIRST], at[REACH]))
    return False


@linked
def write_free(
    one: JointCandidates, sweep: Sweep, key: OutInts, step: int, gap: int
) -> tuple[int, int, int]:
    """Write the events that may be next; return how many are of the step, and how many are not.

    Those that may only occur without an event of the step come last; the third number counts all
    that may then occur.
    """
    events, own = one.lo.shape[0], 0
    for event in range(events):
        if one.step[event] == step and has(sweep.marks[HERE], event) and not has(key, event):
            sweep.free[own] = event
            own += 1
    apart = written = own
    for is_apart in (True, False):
        for event in range(events):
            if one.step[event] != UNBOUND or has(key, event) or not has(sweep.marks[HERE], event):
                continue
            if (gap == UNBOUND or not has(sweep.forbids[gap], event)) == is_apart:
                sweep.free[written] = event
                written += 1
        if is_apart:
            apart = written
    return own, written - own, apart - own


@linked
def add_following(
    one: JointCandidates, sweep: Sweep, key: OutInts, chosen: int, gap: int, value: float
) -> bool:
    """Add the state with some of the free events at the next time; return whether it fits.

    `chosen` has a bit for each free event.
    """
    for word in range(sweep.at[WORDS]):
        sweep.key[word] = key[word]
    number, left = 0, chosen
    while left > 0:
        if left & 1:
            event = sweep.free[number]
            value /= float(one.hi[event] - one.lo[event]) + 1.0
            mark(sweep.key, event)
            sweep.placed[event] = 1
        number, left = number + 1, left >> 1
    is_allowed = orders_after(one, sweep, gap)
    number, left = 0, chosen
    while left > 0:
        sweep.placed[sweep.free[number]] = 0
        number, left = number + 1, left >> 1
    if not is_allowed:
        return True
    write_orders(sweep, one.orders.shape[0])
    return add_state(sweep.sets, sweep.at[FOLLOWING], sweep.key, sweep.at[KEY], value)


@linked
def place_next(one: JointCandidates, sweep: Sweep, begin: int, share: float) -> int:
    """Add all successors of the next state of a layer in a segment."""
    at, steps = sweep.at, one.heads[0, STEPS]
    key = sweep.sets.keys[at[LAYER], at[AT]]
    value = sweep.sets.values[at[LAYER], at[AT]] * share
    step, is_begun = phase(sweep, steps, key)
    gap = UNBOUND if is_begun or is_closed(at, step, steps, begin) else step
    own, others, apart = write_free(one, sweep, key, step, gap)
    if own > MOST_OF_A_SET or (others if own > 0 else apart) > MOST_AT_ONCE:
        return TOO_MANY
    read_orders(sweep, key, one.orders.shape[0])
    for taken in range(1 << own):
        free = others if taken > 0 else apart
        for placed in range(1 << free):
            at[TRIED] += 1
            chosen, inside = taken | (placed << own), UNBOUND if taken > 0 else gap
            if chosen > 0 and not add_following(one, sweep, key, chosen, inside, value):
                return CROWDED
        if sweep.sets.sizes[at[FOLLOWING]] > at[MOST]:
            return TOO_MANY
    return DONE


@linked
def grow_layers(one: JointCandidates, sweep: Sweep, begin: int, end: int) -> int:
    """Add the states with one time of a segment, two, and so on, as far as they exist."""
    at, sets = sweep.at, sweep.sets
    while at[TIMES] < end - begin and sets.sizes[at[LAYER]] > 0:
        share = float(end - begin - at[TIMES]) / (at[TIMES] + 1.0)
        while at[AT] < sets.sizes[at[LAYER]]:
            if at[TRIED] >= PATIENCE:
                return PAUSED
            why = place_next(one, sweep, begin, share)
            if why != DONE:
                return why
            at[AT] += 1
        for entry in range(sets.sizes[at[FOLLOWING]]):
            key = sets.keys[at[FOLLOWING], entry]
            if not add_state(sets, TOTAL, key, at[KEY], sets.values[at[FOLLOWING], entry]):
                return CROWDED
        clear(sets, at[LAYER])
        at[LAYER], at[FOLLOWING] = at[FOLLOWING], at[LAYER]
        at[TIMES], at[AT] = at[TIMES] + 1, 0
    return DONE


@linked
def write_needed(
    one: JointCandidates, sweep: Sweep, key: OutInts, step: int, is_begun: bool
) -> None:
    """Write the events that matter after a state, and the orders that can still forbid."""
    steps, needed = one.heads[0, STEPS], sweep.marks[NEEDED]
    for word in range(sweep.at[WORDS]):
        needed[word] = 0
        for each in range(steps):
            needed[word] |= sweep.steps[each, word]
        for gap in range(step + 1 if is_begun else step, steps + 1):
            needed[word] |= sweep.forbids[gap, word]
    read_orders(sweep, key, one.orders.shape[0])
    for order in range(one.orders.shape[0]):
        bounds, reached = one.orders[order], sweep.before[order]
        is_past = bounds[GAP] < step or (bounds[GAP] == step and is_begun)
        sweep.after[order] = over_of(sweep.at) if is_past else reached
        if sweep.after[order] == over_of(sweep.at):
            continue
        for place in range(bounds[FIRST_MEMBER] + reached, bounds[LAST_MEMBER]):
            mark(needed, one.members[place])
        for place in range(bounds[FIRST_ABSENCE], bounds[LAST_ABSENCE]):
            if one.absences[place, PLACE] >= reached:
                mark(needed, one.absences[place, ABSENT])


@linked
def end_segment(one: JointCandidates, sweep: Sweep, begin: int, end: int) -> bool:
    """Keep the states in which all finished events have occurred, without irrelevant parts."""
    at, sets, steps = sweep.at, sweep.sets, one.heads[0, STEPS]
    clear(sets, at[LAYER])
    for entry in range(sets.sizes[TOTAL]):
        key, value = sets.keys[TOTAL, entry], sets.values[TOTAL, entry]
        step, is_begun = phase(sweep, steps, key)
        is_left = not at[HAS_FIRST] or begin != at[FIRST] or step > 0 or is_begun
        for word in range(at[WORDS]):
            is_left = is_left and sweep.marks[OVER, word] & ~key[word] == 0
            sweep.key[word] = key[word]
        if not is_left:
            continue
        write_needed(one, sweep, key, step, is_begun)
        for event in range(one.lo.shape[0]):
            if not has(key, event) and not has(sweep.marks[NEEDED], event):
                lo, hi = one.lo[event], one.hi[event]
                value *= 1.0 if lo >= end else (float(hi - end) + 1.0) / (float(hi - lo) + 1.0)
                mark(sweep.key, event)
        write_orders(sweep, one.orders.shape[0])
        if not add_state(sets, at[LAYER], sweep.key, at[KEY], value):
            return False
    clear(sets, TOTAL)
    at[BEGUN] = 0
    return True


@linked
def sweep_time(one: JointCandidates, sweep: Sweep) -> int:
    """Continue a sweep; when done, the layer has the states of a match."""
    at = sweep.at
    if at[SEGMENT] == FRESH:
        begin_sweep(one, sweep)
    while at[SEGMENT] + 1 < at[CUTS] and (at[BEGUN] or sweep.sets.sizes[at[LAYER]] > 0):
        begin, end = sweep.cuts[at[SEGMENT]], sweep.cuts[at[SEGMENT] + 1]
        if not at[BEGUN] and not begin_segment(one, sweep, begin, end):
            return CROWDED
        why = grow_layers(one, sweep, begin, end)
        if why != DONE:
            return why
        if not end_segment(one, sweep, begin, end):
            return CROWDED
        at[SEGMENT] += 1
    return DONE
