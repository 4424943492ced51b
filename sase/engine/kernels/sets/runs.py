"""(SES) The runs of a pattern with sets, or of `earliest_maximal`, event by event.

Runs are kept as those of `runs` are: the last node that they have bound, in the list of their
partition, in the order of results. Of runs that have bound the same events, that comes first whose
variables, from the last event back, are written first. Under `earliest_maximal` a run that may
grow is a match when it ends; then it waits in a list of `ended` runs to be written.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    Machine,
    Runs,
    free_branch,
    free_node,
    link_run,
    new_node,
    remove_run,
    room_of,
    unlink_run,
)
from sase.engine.kernels.kleene.runs import (
    ANY,
    CROWDED,
    DONE,
    EARLIEST_MAXIMAL,
    FULL,
    NEXT_MATCH,
    PATIENCE,
    PAUSED,
    STRICT,
    WATCHED,
    Incoming,
    add_fresh,
    is_over,
    prune,
)
from sase.engine.kernels.kleene.transitions import differs, fits
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import nodes as of
from sase.engine.kernels.sets.nodes import (
    SetBuffer,
    SetGraph,
    bind_member,
    comparisons_accept,
    has_simultaneous,
    is_complete,
    may_bind_more,
    may_leave,
    may_skip,
    programs_accept,
    write_bound,
)
from sase.engine.kernels.window import window_start

# Of `ended`: the first run that has ended and is to be written; the key that is looked at; whether
# an event that nothing admits may end runs of its partition, too.
HEAD, KEY, WATCHES = range(3)

# ---------------------------------------------------------------- one run


@inlined
def try_member(
    machine: Machine, graph: SetGraph, runs: Runs, incoming: Incoming, i: int, before: int,
    level: int, moment: int,
) -> bool:  # fmt: skip
    """Bind an event at a level after a node, if the conditions of the moment allow it."""
    cells, at = runs.cells, nodes.MOMENTS * level + moment
    if not comparisons_accept(machine, graph, cells, at, before, incoming.numbers[i]):
        return False
    node = new_node(runs)
    bind_member(machine, graph, cells, node, before, level, incoming.numbers[i])
    held = int(cells[node, graph.at + of.HELD])
    if not programs_accept(machine, graph.awaited, held, cells, at, node):
        free_node(runs, node)
        return False
    add_fresh(runs, incoming, i, before, node)
    return True


@inlined
def extend(
    machine: Machine, graph: SetGraph, runs: Runs, incoming: Incoming, i: int, node: int
) -> bool:
    """Bind an event in every way after a run or the root; return whether it does what it waits for.

    While a member of the element can bind something a run waits for that, else for the next one.
    """
    cells, begins, takes = runs.cells, incoming.begins[i], incoming.takes[i]
    if not fits(machine, cells, node, incoming.numbers[i]):
        return False
    own = grows = False
    element = -1
    if node != nodes.ROOT:
        element = graph.levels[cells[node, nodes.LEVEL], of.ELEMENT]
        row, held = graph.elements[element], cells[node, graph.at + of.HELD]
        open_levels = cells[node, graph.at + of.OPEN] & row[of.MEMBERS]
        grows = open_levels != 0
        inside = open_levels & ((takes & held) | (begins & ~held))
        is_tied = cells[node, nodes.TIE] == incoming.ties[i]
        if inside != 0:
            for level in range(row[of.FIRST_LEVEL], row[of.END_LEVEL]):
                if (inside >> level) & 1 == 0:
                    continue
                is_take = (held >> level) & 1 == 1
                if is_take and is_tied and has_simultaneous(cells, node, level):
                    continue
                moment = nodes.TAKE if is_take else nodes.BEGIN
                if try_member(machine, graph, runs, incoming, i, node, level, moment):
                    own = True
        if is_tied or begins & row[of.ONWARD] == 0 or not may_leave(machine, graph, cells, node):
            return own
    later = element + 1
    while later < graph.elements.shape[0]:
        following = graph.elements[later]
        if begins & following[of.MEMBERS] != 0:
            for level in range(following[of.FIRST_LEVEL], following[of.END_LEVEL]):
                if (begins >> level) & 1 == 1 and try_member(
                    machine, graph, runs, incoming, i, node, level, nodes.BEGIN
                ):
                    own = own or (later == element + 1 and not grows)
        if not may_skip(machine, graph, cells, node, later):
            break
        later += 1
    return own


@inlined
def ignores(
    machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, own: bool, moved: bool
) -> bool:
    """Whether a run also stays as it is."""
    strategy = runs.rules.strategy
    if strategy == ANY:
        return True
    if strategy == NEXT_MATCH:
        return not own
    if strategy == EARLIEST_MAXIMAL:
        return not moved
    return strategy != STRICT and differs(machine, runs.cells, node, incoming.numbers[i])


@inlined
def has_ended(
    machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, bound: int
) -> bool:
    """Whether a run can bind nothing any more, from this event on."""
    if is_over(machine, runs, incoming, i, node, bound):
        return True
    # Its window counts the events of its own partition, and others have none of its tests.
    is_late = runs.rules.strategy == EARLIEST_MAXIMAL and runs.cells[node, nodes.START] < bound
    return is_late and not differs(machine, runs.cells, node, incoming.numbers[i])


@inlined
def apply(
    machine: Machine, graph: SetGraph, runs: Runs, incoming: Incoming, i: int, node: int,
    bound: int,
) -> bool:  # fmt: skip
    """Apply an event to a run; return whether the run also stays as it is."""
    state, own = runs.state, False
    fresh = state[nodes.FRESH]
    if (incoming.begins[i] | incoming.takes[i]) != 0 and runs.cells[node, nodes.START] >= bound:
        own = extend(machine, graph, runs, incoming, i, node)
    moved = state[nodes.FRESH] > fresh
    stays = ignores(machine, runs, incoming, i, node, own, moved)
    state[nodes.SPLIT] += max(state[nodes.FRESH] - fresh - 1 + int(stays), 0)
    return stays


# ---------------------------------------------------------------- the runs of a partition


@inlined
def sort_by_rank(graph: SetGraph, runs: Runs, begin: int) -> None:
    """Sort the fresh nodes of a group by what is written first."""
    cells, fresh, levels = runs.cells, runs.fresh, graph.levels
    for place in range(begin + 1, runs.state[nodes.FRESH]):
        node, to = fresh[place], place
        rank = levels[cells[node, nodes.LEVEL], of.RANK]
        while to > begin and levels[cells[fresh[to - 1], nodes.LEVEL], of.RANK] > rank:
            fresh[to] = fresh[to - 1]
            to -= 1
        fresh[to] = node


@inlined
def set_aside(runs: Runs, ended: OutInts, key: int, ahead: int, node: int) -> None:
    """Move a run from those of its partition to those that have ended."""
    unlink_run(runs, key, ahead, node)
    runs.cells[node, nodes.NEXT], ended[HEAD] = ended[HEAD], node


@inlined
def end_run(
    machine: Machine, graph: SetGraph, runs: Runs, ended: OutInts, key: int, ahead: int, node: int
) -> None:
    """End a run, which may be a match by that."""
    runs.state[nodes.EXPIRED] += 1
    is_match = runs.rules.strategy == EARLIEST_MAXIMAL and is_complete(
        machine, graph, runs.cells, node
    )
    if is_match:
        set_aside(runs, ended, key, ahead, node)
    else:
        remove_run(runs, None, key, ahead, node)


@inlined
def step(
    machine: Machine, graph: SetGraph, runs: Runs, ended: OutInts, incoming: Incoming, i: int
) -> None:
    """Apply an event to all runs of its partition; remove those that it ends."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    if incoming.begins[i] & runs.rules.first:
        state[nodes.GROUPS] += 1
        extend(machine, graph, runs, incoming, i, nodes.ROOT)
        state[nodes.INITIATED] += state[nodes.FRESH]
        sort_by_rank(graph, runs, 0)
    bound = window_start(incoming.measures[i], runs.rules.span)
    ahead, node, group, begin = NOTHING, runs.heads[key], NOTHING, state[nodes.FRESH]
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        if cells[node, nodes.GROUP] != group:
            sort_by_rank(graph, runs, begin)
            group, begin = cells[node, nodes.GROUP], state[nodes.FRESH]
            state[nodes.GROUPS] += 1
        state[nodes.STEPS] += 1
        if has_ended(machine, runs, incoming, i, node, bound):
            end_run(machine, graph, runs, ended, key, ahead, node)
        elif apply(machine, graph, runs, incoming, i, node, bound):
            ahead = node
        else:
            remove_run(runs, None, key, ahead, node)
        node = after
    sort_by_rank(graph, runs, begin)


@inlined
def commit(graph: SetGraph, runs: Runs, key: int) -> None:
    """Make runs of the fresh nodes that may grow, before those there were; free the others."""
    state = runs.state
    for place in range(state[nodes.FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if may_bind_more(graph, runs.cells, node):
            link_run(runs, key, node)
        else:
            free_branch(runs, node)
    state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0


@inlined
def is_shown(machine: Machine, graph: SetGraph, runs: Runs, node: int) -> bool:
    """Whether a fresh node is a match by now."""
    is_to_end = runs.rules.strategy == EARLIEST_MAXIMAL and may_bind_more(graph, runs.cells, node)
    return not is_to_end and is_complete(machine, graph, runs.cells, node)


@inlined
def write_ended(runs: Runs, ended: OutInts, close: int, written: SetBuffer) -> bool:
    """Write the runs that have ended, if there is room, and free them."""
    cells = runs.cells
    while ended[HEAD] != NOTHING:
        node = ended[HEAD]
        if not write_bound(cells, node, close, written):
            return False
        ended[HEAD] = cells[node, nodes.NEXT]
        cells[node, nodes.NEEDED] -= 1
        free_branch(runs, node)
    return True


@kernel
def advance_sets(
    machine: Machine, graph: SetGraph, runs: Runs, ended: OutInts, incoming: Incoming,
    written: SetBuffer,
) -> int:  # fmt: skip
    """Apply events, on from where it stopped, and write the matches they complete or end."""
    cells, state, levels = runs.cells, runs.state, graph.levels.shape[0]
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        key = incoming.keys[i]
        is_watched = runs.rules.strategy == WATCHED or ended[WATCHES] == 1
        is_watched = is_watched or (incoming.begins[i] | incoming.takes[i]) != 0
        is_new = state[nodes.FRESH] == 0 and ended[HEAD] == NOTHING
        is_needed = key >= 0 and is_watched
        if is_needed and runs.rules.apart != nodes.ALL:
            is_needed = incoming.ties[i] > runs.taken[key]
        if is_needed:
            if is_new and (
                runs.heads[key] != NOTHING or incoming.begins[i] & runs.rules.first != 0
            ):
                if (runs.counts[key] + 1) * levels > room_of(runs):
                    return CROWDED
                step(machine, graph, runs, ended, incoming, i)
            if not write_ended(runs, ended, i, written):
                return FULL
            while state[nodes.LOOKED] < state[nodes.FRESH]:
                node = runs.fresh[state[nodes.LOOKED]]
                is_whole = is_shown(machine, graph, runs, node)
                if is_whole and not write_bound(cells, node, NOTHING, written):
                    return FULL
                state[nodes.LOOKED] += 1
                if is_whole and runs.rules.apart == nodes.FIRST_ALONE:
                    prune(runs, key, incoming.ties[i])
            if state[nodes.FRESH] > 0:
                commit(graph, runs, key)
        state[nodes.AT] += 1
    return DONE


@kernel
def end_runs(
    machine: Machine, graph: SetGraph, runs: Runs, ended: OutInts, bound: int, spot: int,
    is_final: bool, written: SetBuffer,
) -> int:  # fmt: skip
    """End the runs that a window or contiguity has ended, on from a key; write those that match."""
    cells, rules = runs.cells, runs.rules
    while ended[KEY] < runs.heads.shape[0]:
        key = ended[KEY]
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, nodes.NEXT]
            is_late = rules.prunes == 1 and cells[node, nodes.START] < bound
            is_cut = rules.strategy == STRICT and cells[node, nodes.SPOT] + 1 < spot
            if is_final or is_late or is_cut:
                end_run(machine, graph, runs, ended, key, ahead, node)
            else:
                ahead = node
            node = after
        if not write_ended(runs, ended, NOTHING, written):
            return FULL
        ended[KEY] += 1
    return DONE


@kernel
def oldest_of(cells: OutIntRows, heads: OutInts, found: OutInts) -> None:
    """The first event of any run, and the least measure of one, or `NOTHING` for both."""
    found[0] = found[1] = NOTHING
    for key in range(heads.shape[0]):
        node = heads[key]
        while node != NOTHING:
            if found[0] == NOTHING or cells[node, nodes.FIRST] < found[0]:
                found[0], found[1] = cells[node, nodes.FIRST], cells[node, nodes.START]
            node = cells[node, nodes.NEXT]
