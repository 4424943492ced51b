"""(NFAb) The runs of a pattern with series or a strategy, event by event (SASE+, 4 and 5).

A run is the last node that it has bound (see `series`), in the list of its partition. The list is
kept in the order of results: what a new event makes comes before what there was, and among itself
in the order of the runs it comes from, so that matches need no sorting. Runs that have bound the
same events differ in the components alone: they are of one group, and a lower level comes first.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.comparisons import hold_besides, may_bind
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    EVENT,
    FIRST,
    GROUP,
    LENGTH,
    LEVEL,
    MOMENTS,
    NEEDED,
    NEXT,
    PREVIOUS,
    ROOT,
    SHOWN,
    SPOT,
    START,
    TAKE,
    TIE,
    Machine,
    Pattern,
)
from sase.engine.kernels.kleene.transitions import (
    bind,
    differs,
    fits,
    is_match,
    may_pass,
    may_proceed,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# What a run may ignore. Of a contiguous partition either the ranks are known, or every event comes.
ANY, NEXT_MATCH, STRICT, RANKED, WATCHED = range(5)

# Why the kernel stops: at the end, because the results need more room, or the nodes.
DONE, FULL, CROWDED, PAUSED = range(4)
# After so many steps of runs a kernel pauses, though nothing is full: an interrupt is heard then.
PATIENCE = 1 << 20

# Of the state: the event to go on with, how many fresh nodes it has made and which of them is to be
# looked at next; nodes ever used, the first free one, nodes free; groups; runs ever and live ones;
# how often an event was shown to a run.
AT, FRESH, LOOKED, USED, FREE, SPARE, GROUPS, MADE, LIVE, MOST_LIVE, EXPIRED, STEPS = range(12)
STATE = 12


class Rules(NamedTuple):
    """The strategy, what the window spans, whether that ends runs, and the levels to begin at."""

    strategy: int
    span: int
    prunes: int
    first: int


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


class Runs(NamedTuple):
    """The nodes, the first run of each partition and how many it has, and what has come of it."""

    cells: OutIntRows
    heads: OutInts
    counts: OutInts
    fresh: OutInts
    state: OutInts


# ---------------------------------------------------------------- nodes


@inlined
def new_node(runs: Runs) -> int:
    """A node that nothing needs yet."""
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
    """A node that nothing needs may be used for another event."""
    cells, state = runs.cells, runs.state
    cells[node, NEXT], state[FREE] = state[FREE], node
    cells[node, EVENT] = NOTHING
    state[SPARE] += 1


@linked
def free_branch(runs: Runs, node: int) -> None:
    """Let a node go that nothing needs, and those before it that only it needed."""
    cells = runs.cells
    while node != ROOT and cells[node, NEEDED] == 0:
        before = cells[node, PREVIOUS]
        free_node(runs, node)
        cells[before, NEEDED] -= 1
        node = before


@inlined
def link_run(runs: Runs, key: int, node: int) -> None:
    """A run comes before the others of its partition."""
    cells = runs.cells
    cells[node, NEEDED] += 1
    cells[node, NEXT], runs.heads[key] = runs.heads[key], node
    runs.counts[key] += 1
    runs.state[LIVE] += 1


@inlined
def unlink(runs: Runs, key: int, ahead: int, node: int) -> None:
    """A run leaves the list of its partition, where it comes behind another one if any."""
    cells = runs.cells
    if ahead == NOTHING:
        runs.heads[key] = cells[node, NEXT]
    else:
        cells[ahead, NEXT] = cells[node, NEXT]


@inlined
def remove_run(runs: Runs, key: int, ahead: int, node: int) -> None:
    """A run goes from those of its partition, where it comes behind another one if any."""
    unlink(runs, key, ahead, node)
    cells = runs.cells
    runs.counts[key] -= 1
    runs.state[LIVE] -= 1
    cells[node, NEEDED] -= 1


@inlined
def moved(
    machine: Machine, runs: Runs, incoming: Incoming, i: int, before: int, level: int, moment: int
) -> bool:
    """Bind an event at a level after a node, if the conditions of the moment allow it."""
    cells, state, at = runs.cells, runs.state, MOMENTS * level + moment
    if not may_bind(machine, cells, at, before, incoming.numbers[i]):
        return False
    node = new_node(runs)
    bind(machine, cells, node, before, level, incoming.numbers[i])
    if not hold_besides(machine, cells, at, node):
        free_node(runs, node)
        return False
    cells[before, NEEDED] += 1
    cells[node, TIE], cells[node, SPOT] = incoming.ties[i], incoming.spots[i]
    cells[node, START] = incoming.measures[i] if before == ROOT else cells[before, START]
    cells[node, GROUP] = state[GROUPS]
    runs.fresh[state[FRESH]] = node
    state[FRESH] += 1
    state[MADE] += 1
    return True


# ---------------------------------------------------------------- moves


@inlined
def go_on(
    machine: Machine, pattern: Pattern, runs: Runs, incoming: Incoming, i: int, node: int
) -> bool:
    """All that a run becomes by an event, or the root: the runs that begin with it.

    Whether the component moved that the run waits for or is inside.
    """
    cells = runs.cells
    is_simultaneous = node != ROOT and cells[node, TIE] == incoming.ties[i]
    if is_simultaneous or not fits(machine, cells, node, incoming.numbers[i]):
        return False
    level, own = cells[node, LEVEL], False
    inside = node != ROOT and pattern.kleene[level] == 1
    can_take = inside and (pattern.most[level] < 0 or cells[node, LENGTH] < pattern.most[level])
    at = level if can_take and (incoming.takes[i] >> level) & 1 else level + 1
    if at > level and node != ROOT and not may_proceed(machine, pattern, cells, node):
        return False
    while at < pattern.least.shape[0]:
        is_take = at == level
        bits, moment = (incoming.takes[i], TAKE) if is_take else (incoming.begins[i], BEGIN)
        if (bits >> at) & 1 and moved(machine, runs, incoming, i, node, at, moment):
            own = own or is_take or (at == level + 1 and not inside)
        at += 1
        if (incoming.begins[i] >> at) == 0:
            break
        if is_take:
            if not may_proceed(machine, pattern, cells, node):
                break
        elif not may_pass(machine, pattern, cells, node, at - 1):
            break
    return own


@inlined
def is_over(
    machine: Machine, rules: Rules, runs: Runs, incoming: Incoming, i: int, node: int
) -> bool:
    """Whether a run can bind nothing any more, from this event on."""
    cells, strategy = runs.cells, rules.strategy
    if rules.prunes == 1 and cells[node, START] < window_start(incoming.measures[i], rules.span):
        return True
    if strategy == STRICT:
        return bool(incoming.spots[i] != cells[node, SPOT] + 1)
    if strategy == RANKED and incoming.spots[i] != cells[node, SPOT] + 1:
        return not differs(machine, cells, node, incoming.numbers[i])
    return False


@inlined
def ignores(
    machine: Machine, rules: Rules, runs: Runs, incoming: Incoming, i: int, node: int, own: bool
) -> bool:
    """Whether a run also stays as it is."""
    strategy = rules.strategy
    if strategy == ANY:
        return True
    if strategy == NEXT_MATCH:
        return not own
    if strategy == STRICT:
        return False
    return differs(machine, runs.cells, node, incoming.numbers[i])


@inlined
def in_order(runs: Runs, begin: int) -> None:
    """Bring the fresh nodes of a group into the order of their levels."""
    cells, fresh = runs.cells, runs.fresh
    for place in range(begin + 1, runs.state[FRESH]):
        node, to = fresh[place], place
        while to > begin and cells[fresh[to - 1], LEVEL] > cells[node, LEVEL]:
            fresh[to] = fresh[to - 1]
            to -= 1
        fresh[to] = node


@inlined
def step(
    machine: Machine, pattern: Pattern, rules: Rules, runs: Runs, incoming: Incoming, i: int
) -> None:
    """All moves of all runs of a partition by an event; what is over goes."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    if incoming.begins[i] & rules.first:
        state[GROUPS] += 1
        go_on(machine, pattern, runs, incoming, i, ROOT)
    bound = window_start(incoming.measures[i], rules.span)
    ahead, node, group, begin = NOTHING, runs.heads[key], NOTHING, state[FRESH]
    while node != NOTHING:
        after = cells[node, NEXT]
        stays = False
        state[STEPS] += 1
        if is_over(machine, rules, runs, incoming, i, node):
            state[EXPIRED] += 1
        else:
            if cells[node, GROUP] != group:
                in_order(runs, begin)
                group, begin = cells[node, GROUP], state[FRESH]
                state[GROUPS] += 1
            own = False
            outside = cells[node, START] < bound
            if (incoming.begins[i] | incoming.takes[i]) != 0 and not outside:
                own = go_on(machine, pattern, runs, incoming, i, node)
            stays = ignores(machine, rules, runs, incoming, i, node, own)
        if stays:
            ahead = node
        else:
            remove_run(runs, key, ahead, node)
            free_branch(runs, node)
        node = after
    in_order(runs, begin)


@inlined
def goes_on(pattern: Pattern, cells: OutIntRows, node: int) -> bool:
    """Whether a node is a run: whether it may bind anything more."""
    last = pattern.least.shape[0] - 1
    most = pattern.most[last]
    can_take = pattern.kleene[last] == 1 and (most < 0 or cells[node, LENGTH] < most)
    return bool(cells[node, LEVEL] < last or can_take)


@inlined
def commit(pattern: Pattern, runs: Runs, key: int) -> None:
    """The fresh nodes become runs, before those there were, if they can go on."""
    cells, state = runs.cells, runs.state
    for place in range(state[FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if goes_on(pattern, cells, node):
            link_run(runs, key, node)
        else:
            free_branch(runs, node)
    state[MOST_LIVE] = max(state[MOST_LIVE], state[LIVE])
    state[FRESH] = state[LOOKED] = 0


# ---------------------------------------------------------------- the loop


@kernel
def advance_runs(
    machine: Machine,
    pattern: Pattern,
    rules: Rules,
    runs: Runs,
    incoming: Incoming,
    written: MatchBuffer,
) -> int:
    """Take in events, on from where it stopped, and write the matches they complete."""
    cells, state, levels = runs.cells, runs.state, pattern.least.shape[0]
    until = state[STEPS] + PATIENCE
    while state[AT] < incoming.numbers.shape[0]:
        if state[STEPS] >= until:
            return PAUSED
        i = state[AT]
        key = incoming.keys[i]
        is_watched = rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_needed = key >= 0 and is_watched
        # With fresh nodes it goes on where it was full: there may be no other runs any more.
        is_met = is_needed and (state[FRESH] > 0 or runs.heads[key] != NOTHING)
        if is_met or (is_needed and incoming.begins[i] & rules.first):
            if state[FRESH] == 0:
                needed = (runs.counts[key] + 1) * levels
                room = cells.shape[0] - state[USED] + state[SPARE]
                if needed > room or needed > runs.fresh.shape[0]:
                    return CROWDED
                step(machine, pattern, rules, runs, incoming, i)
            while state[LOOKED] < state[FRESH]:
                node = runs.fresh[state[LOOKED]]
                if is_match(machine, pattern, cells, node) and not write_match(
                    cells, node, written
                ):
                    return FULL
                state[LOOKED] += 1
            if state[FRESH] > 0:
                commit(pattern, runs, key)
        state[AT] += 1
    return DONE


@inlined
def is_ended(rules: Rules, runs: Runs, node: int, bound: int, spot: int) -> bool:
    """Whether a window or contiguity has ended a run, whatever comes."""
    cells = runs.cells
    is_late = rules.prunes == 1 and cells[node, START] < bound
    return bool(is_late or (rules.strategy == STRICT and cells[node, SPOT] + 1 < spot))


@kernel
def expire(runs: Runs, rules: Rules, bound: int, spot: int) -> int:
    """Let the runs go that a window or contiguity has ended; the first event still needed."""
    cells, state, first = runs.cells, runs.state, NOTHING
    for key in range(runs.heads.shape[0]):
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, NEXT]
            if is_ended(rules, runs, node, bound, spot):
                state[EXPIRED] += 1
                remove_run(runs, key, ahead, node)
                free_branch(runs, node)
            else:
                ahead = node
                if first == NOTHING or cells[node, FIRST] < first:
                    first = cells[node, FIRST]
            node = after
    return first
