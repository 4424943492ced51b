"""(NFAb) The shared versioned match buffer, for comparison with nodes (SASE+, 5.1, Figure 4).

If several runs have bound an event at the same component, it is one entry. Its pointers lead to the
events that these runs had bound before, each with the version of its run. A version is the number
of the initiation, and a digit for each component, 0 when it is entered. A run that leaves a
component begins the next digit. The run that stays behind, to take this event or another one, has
its own digit raised by one.

    e1 ◄─1.0── e2 ◄─1.0── e3 ◄─1.0── e4 ◄─1.0── e5 ◄─1.1── e6 ◄─1.1── e7       entries of a[]
                           ▲          │          ▲                     ▲
                           └────2.0───┘          └─1.0.0── e6          └─1.1.0── e8    of b

Of the pointers of an entry a run follows the compatible one: all digits before that of the entry's
component are equal, and that digit is not above the run's own. There is exactly one, since of the
runs with the same digits before it only one stays at the component.

A run is a row of its own, with all values of its events that later conditions read.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    WATCHED,
    Incoming,
    Machine,
    Runs,
    free_branch,
    levels_of,
    room_of,
)
from sase.engine.kernels.runs.graph import RunGraph, is_whole
from sase.engine.kernels.runs.step import commit, step
from sase.engine.kernels.sentinels import NOTHING

# Fields of an entry: its event and component, its last pointer, and the number of pointers before
# it.
EVENT, LEVEL, POINTER, BEFORE = range(4)
ENTRY_WIDTH = 4
# Fields of a pointer: the entry that it leads to, or NOTHING, and the next pointer of its entry.
# Fields of a run: the entry of its last event, and whether another run has left it behind. Then the
# version of either.
TO, AFTER, VERSION = range(3)
ENTRY, LEFT = range(2)
# The digit of a component that stays empty.
PASSED = -1
# Fields of the state: the first entry that is kept and the end of all; the same of pointers; the
# number of initiations.
FIRST_ENTRY, ENTRIES, FIRST_POINTER, POINTERS, INITIATIONS = range(5)
STATE = 5


class VersionedBuffer(NamedTuple):
    """Entries and pointers by number, the versions of runs, and an event's entry by component."""

    entries: OutIntRows
    pointers: OutIntRows
    versions: OutIntRows
    here: OutInts
    state: OutInts


# ---------------------------------------------------------------- versions


@inlined
def begin_version(runs: Runs, buffer: VersionedBuffer, node: int) -> None:
    """Give a fresh run the version of the run that it comes from, up to its own component."""
    before, level = runs.cells[node, nodes.PREVIOUS], runs.cells[node, nodes.LEVEL]
    version, reached = buffer.versions[node], NOTHING
    version[LEFT] = 0
    if before == nodes.ROOT:
        version[VERSION] = buffer.state[INITIATIONS]
        buffer.state[INITIATIONS] += 1
    else:
        known, reached = buffer.versions[before], runs.cells[before, nodes.LEVEL]
        for place in range(VERSION, VERSION + 2 + reached):
            version[place] = known[place]
        known[LEFT] |= int(level > reached)
    for between in range(reached + 1, level):
        version[VERSION + 1 + between] = PASSED
    if level > reached:
        version[VERSION + 1 + level] = 0


@linked
def number_versions(runs: Runs, buffer: VersionedBuffer) -> None:
    """Number the versions of fresh runs, and raise those of the runs that they leave behind."""
    cells, versions, count = runs.cells, buffer.versions, runs.state[nodes.FRESH]
    for place in range(count):
        begin_version(runs, buffer, runs.fresh[place])
    for place in range(count):
        node = runs.fresh[place]
        before, level = cells[node, nodes.PREVIOUS], cells[node, nodes.LEVEL]
        if before != nodes.ROOT and cells[before, nodes.LEVEL] == level:
            versions[node, VERSION + 1 + level] += versions[before, LEFT]
    for place in range(count):
        before = cells[runs.fresh[place], nodes.PREVIOUS]
        if before != nodes.ROOT and versions[before, LEFT] == 1:
            versions[before, VERSION + 1 + cells[before, nodes.LEVEL]] += 1
            versions[before, LEFT] = 0


# ---------------------------------------------------------------- entries and pointers


@inlined
def entry_of(buffer: VersionedBuffer, event: int, level: int) -> int:
    """Return the entry of the event that is bound at a component, a new one if it has none."""
    entry = buffer.here[level]
    if entry == NOTHING:
        entry = buffer.here[level] = buffer.state[ENTRIES]
        row = buffer.entries[entry - buffer.state[FIRST_ENTRY]]
        row[EVENT], row[LEVEL], row[POINTER] = event, level, NOTHING
        row[BEFORE] = buffer.state[POINTERS]
        buffer.state[ENTRIES] += 1
    return int(entry)


@inlined
def store(runs: Runs, buffer: VersionedBuffer, node: int, levels: int) -> None:
    """Store the event of a fresh run, which then does not need the run that it comes from."""
    cells, state, version = runs.cells, buffer.state, buffer.versions[node]
    before = cells[node, nodes.PREVIOUS]
    entry = entry_of(buffer, cells[node, nodes.EVENT], cells[node, nodes.LEVEL])
    pointer = buffer.pointers[state[POINTERS] - state[FIRST_POINTER]]
    row = buffer.entries[entry - state[FIRST_ENTRY]]
    pointer[TO] = NOTHING if before == nodes.ROOT else buffer.versions[before, ENTRY]
    pointer[AFTER], row[POINTER] = row[POINTER], state[POINTERS]
    state[POINTERS] += 1
    for place in range(VERSION, VERSION + 1 + levels):
        pointer[place] = version[place]
    version[ENTRY] = entry
    if before != nodes.ROOT:
        cells[node, nodes.PREVIOUS] = nodes.ROOT
        cells[nodes.ROOT, nodes.NEEDED] += 1
        cells[before, nodes.NEEDED] -= 1
        free_branch(runs, before)


@linked
def store_fresh(runs: Runs, buffer: VersionedBuffer, levels: int) -> None:
    """Store the event that fresh runs have bound, with a pointer for each run."""
    number_versions(runs, buffer)
    for place in range(runs.state[nodes.FRESH]):
        store(runs, buffer, runs.fresh[place], levels)
    for level in range(levels):
        buffer.here[level] = NOTHING


@inlined
def is_compatible(version: Ints, pointer: Ints, level: int) -> bool:
    """Whether a pointer of an entry belongs to the run with a version, or to one before it."""
    for place in range(VERSION, VERSION + 1 + level):
        if pointer[place] != version[place]:
            return False
    return bool(pointer[VERSION + 1 + level] <= version[VERSION + 1 + level])


@inlined
def compatible(buffer: VersionedBuffer, version: Ints, entry: int) -> int:
    """Find the place of the pointer of an entry that a version follows, or NOTHING."""
    row, first = buffer.entries[entry - buffer.state[FIRST_ENTRY]], buffer.state[FIRST_POINTER]
    number = row[POINTER]
    while number != NOTHING:
        if is_compatible(version, buffer.pointers[number - first], row[LEVEL]):
            return int(number - first)
        number = buffer.pointers[number - first, AFTER]
    return NOTHING


@linked
def wrote_match(runs: Runs, buffer: VersionedBuffer, node: int, written: MatchBuffer) -> bool:
    """Write the match of a run, if there is room for it."""
    count, used = written.sizes[0], written.sizes[1]
    end = used + runs.cells[node, nodes.DEPTH]
    if count >= written.ends.shape[0] or end > written.events.shape[0]:
        return False
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    version = buffer.versions[node]
    entry = version[ENTRY]
    for place in range(end - 1, used - 1, -1):
        row = buffer.entries[entry - buffer.state[FIRST_ENTRY]]
        written.events[place] = row[EVENT]
        written.lengths[row[LEVEL], count] += 1
        version = buffer.pointers[compatible(buffer, version, entry)]
        entry = version[TO]
    written.ends[count] = end
    written.sizes[0], written.sizes[1] = count + 1, end
    return True


@kernel
def is_retrieved(runs: Runs, buffer: VersionedBuffer, node: int) -> bool:
    """Whether the events of a restored run are there, from the last to the first."""
    cell, version, first = runs.cells[node], buffer.versions[node], buffer.state[FIRST_ENTRY]
    entry, event, level, length = version[ENTRY], NOTHING, cell[nodes.LEVEL], 0
    for place in range(cell[nodes.DEPTH]):
        if entry < first or entry >= buffer.state[ENTRIES]:
            return False
        row = buffer.entries[entry - first]
        if row[LEVEL] > level or (event != NOTHING and row[EVENT] >= event):
            return False
        if place == 0 and (row[EVENT] != cell[nodes.EVENT] or row[LEVEL] != level):
            return False
        event, level = row[EVENT], row[LEVEL]
        length += int(level == cell[nodes.LEVEL])
        at = compatible(buffer, version, entry)
        if at == NOTHING:
            return False
        version = buffer.pointers[at]
        entry = version[TO]
    is_all = event == cell[nodes.FIRST] and entry == NOTHING
    return bool(is_all and length == cell[nodes.LENGTH])


# ---------------------------------------------------------------- the loop


@inlined
def has_room(runs: Runs, buffer: VersionedBuffer, key: int, levels: int) -> bool:
    """Whether there is room for all runs that those of a partition may become by an event."""
    needed = (runs.counts[key] + 1) * levels
    entries = buffer.entries.shape[0] - buffer.state[ENTRIES] + buffer.state[FIRST_ENTRY]
    pointers = buffer.pointers.shape[0] - buffer.state[POINTERS] + buffer.state[FIRST_POINTER]
    return bool(levels <= entries and needed <= min(pointers, room_of(runs)))


@kernel
def advance_versioned(
    machine: Machine, graph: RunGraph, runs: Runs, buffer: VersionedBuffer, incoming: Incoming,
    written: MatchBuffer,
) -> int:  # fmt: skip
    """Apply events, from the last stop on, and write the matches they complete."""
    state, rules, levels = runs.state, runs.rules, levels_of(machine)
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        key = incoming.keys[i]
        is_watched = rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_new = state[nodes.FRESH] == 0 and key >= 0 and is_watched
        if is_new and (incoming.begins[i] & rules.first or runs.heads[key] != NOTHING):
            if not has_room(runs, buffer, key, levels):
                return CROWDED
            step(machine, graph, None, None, None, None, runs, incoming, i)
            store_fresh(runs, buffer, levels)
        while state[nodes.LOOKED] < state[nodes.FRESH]:
            node = runs.fresh[state[nodes.LOOKED]]
            is_match = is_whole(machine, graph, None, None, runs.cells, node)
            if is_match and not wrote_match(runs, buffer, node, written):
                return FULL
            state[nodes.LOOKED] += 1
        if state[nodes.FRESH] > 0:
            commit(graph, None, None, None, runs, key)
        state[nodes.AT] += 1
    return DONE
