"""(NFAb) Keep the events of runs in a versioned buffer, which the runs share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.baselines import versioned_buffer as of
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.run_operator import NodeStore, RunStep
from sase.engine.operators.kleene.saved_runs import check_runs
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved


class VersionedStore(NodeStore):
    """Runs that share entries of a buffer; a run is one row, with a version."""

    layout = NodeStore.layout | dict(
        entries=Array(None, SAME, path=None),
        pointers=Array(None, SAME, low=NOTHING, high=MOST_COUNTED, path=None),
        versions=Array(None, SAME, low=NOTHING, high=MOST_COUNTED, path=None),
        buffer=Array(SAME, low=0, high=MOST_COUNTED, path="_buffer.state"),
    )

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        super().__init__(code, step, room)
        self.kernel = of.advance_versioned
        size, levels = code.context.options.stack, code.context.levels
        self._most = max(self._most, levels)  # a run may write an entry for each level
        width = of.VERSION + 1 + levels
        self._buffer = of.VersionedBuffer(
            np.zeros((max(size, levels), of.ENTRY_WIDTH), np.int64),
            np.zeros((size, width), np.int64),
            np.zeros((len(self._runs.cells), width), np.int64),
            np.full(levels, NOTHING, np.int64),
            np.zeros(of.STATE, np.int64),
        )

    def step(self, machine: nodes.Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; return the reason."""
        return of.advance_versioned(
            machine, self._graph, self._runs, self._buffer, incoming, self._room.written
        )

    # ------------------------------------------------------------ room

    def make_room(self, incoming: Incoming) -> None:
        """Make room for all runs that those of a partition may become by the current event."""
        super().make_room(incoming)
        self.expire(EARLIEST)
        levels, state = self._code.context.levels, self._buffer.state
        key = incoming.keys[self._runs.state[nodes.AT]]
        needed = (int(self._runs.counts[key]) + 1) * levels
        held = state[of.ENTRIES] - state[of.FIRST_ENTRY]
        led = state[of.POINTERS] - state[of.FIRST_POINTER]
        # With so little free room the runs would soon be scanned again.
        self._buffer = self._buffer._replace(
            entries=self._with_room(self._buffer.entries, int(held), levels),
            pointers=self._with_room(self._buffer.pointers, int(led), needed),
            versions=grown(self._buffer.versions, len(self._runs.cells)),
        )

    def _with_room(self, rows: Numbers, used: int, needed: int) -> Numbers:
        size = len(rows)
        while size - used < max(needed, size // 4):
            size *= 2
        if size == len(rows):
            return rows
        self._code.check_memory(8 * size * rows.shape[1])
        return grown(rows, size)

    def expire(self, bound: int) -> int:
        """Expire runs, and drop the entries of events before all remaining ones."""
        first = super().expire(bound)
        self._forget(first, least=len(self._buffer.entries) // 4)
        return first

    def _forget(self, first: int, least: int) -> None:
        """Drop entries of events before the first that is needed, if there are many."""
        entries, pointers, _, _, state = self._buffer
        kept, led = self._kept()
        gone = len(kept) if first == NOTHING else int(np.searchsorted(kept[:, of.EVENT], first))
        if gone <= least and gone < len(kept) or gone == 0:
            return
        before = int(kept[gone, of.BEFORE]) if gone < len(kept) else int(state[of.POINTERS])
        lost = before - int(state[of.FIRST_POINTER])
        entries[: len(kept) - gone] = kept[gone:].copy()
        pointers[: len(led) - lost] = led[lost:].copy()
        state[of.FIRST_ENTRY] += gone
        state[of.FIRST_POINTER] = before

    def _kept(self) -> tuple[Numbers, Numbers]:
        """The entries and pointers to keep."""
        entries, pointers, _, _, state = self._buffer
        return (
            entries[: int(state[of.ENTRIES] - state[of.FIRST_ENTRY])],
            pointers[: int(state[of.POINTERS] - state[of.FIRST_POINTER])],
        )

    # ------------------------------------------------------------ state

    @property
    def bytes_held(self) -> int:
        """The bytes of the runs and of the buffer."""
        buffer = self._buffer
        rows = (self._runs.cells, buffer.entries, buffer.pointers, buffer.versions)
        return sum(each.nbytes for each in rows)

    def counters(self) -> Counters:
        """Count the entries and pointers that were written."""
        entries, pointers = map(int, self._buffer.state[[of.ENTRIES, of.POINTERS]])
        return {"entries": entries, "pointers": pointers}

    def _encoded(self) -> dict[str, Any]:
        self._forget(super().expire(EARLIEST), least=0)
        entries, pointers = self._kept()
        versions = self._buffer.versions[: int(self._runs.state[nodes.USED])]
        rows = {"entries": entries, "pointers": pointers, "versions": versions}
        return super()._encoded() | rows

    def _take(self, saved: Saved, values: Any) -> None:
        entries, pointers, state = values.entries, values.pointers, values.buffer
        first, end, first_pointer, pointer_end, _ = map(int, state)
        saved.check(len(entries) == end - first, "there is not a row for each entry")
        saved.check(len(pointers) == pointer_end - first_pointer, "not a row for each pointer")
        _check_entries(saved, entries, first_pointer, pointer_end, self._code.context.levels)
        _check_pointers(saved, entries, pointers, first_pointer)
        buffer, rows = self._buffer, max(len(values.versions), len(self._runs.cells))
        self._buffer = buffer._replace(
            entries=grown(entries, max(len(entries), len(buffer.entries))),
            pointers=grown(pointers, max(len(pointers), len(buffer.pointers))),
            versions=grown(values.versions, rows),
            state=state,
        )
        super()._take(saved, values)

    def _check(self, saved: Saved, built: int) -> None:
        """Refuse runs that do not lead to exactly their events."""
        runs, versions = self._runs, self._buffer.versions
        saved.check(len(versions) >= int(runs.state[nodes.USED]), "fewer versions than runs")
        used = check_runs(saved, runs, self._code.context.levels, built)
        saved.check((runs.cells[used, nodes.PREVIOUS] == nodes.ROOT).all(), "a run has one before")
        saved.check_events(runs.cells[used, nodes.FIRST])
        if len(versions) < len(runs.cells):
            self._buffer = self._buffer._replace(versions=grown(versions, len(runs.cells)))
        is_there = all(of.is_retrieved(runs, self._buffer, int(run)) for run in used)
        saved.check(is_there, "the events of a run are not there")
        level = runs.cells[used, nodes.LEVEL]
        _check_versions(saved, versions[used, of.ENTRY], level, versions[used])
        is_begun = versions[used, of.VERSION] < self._buffer.state[of.INITIATIONS]
        saved.check(is_begun.all(), "a run is of no initiation")


def _check_entries(saved: Saved, entries: Numbers, first: int, end: int, levels: int) -> None:
    """Check that entries are of existing events, in order, and have pointers."""
    events, pointer, before = (entries[:, each] for each in (of.EVENT, of.POINTER, of.BEFORE))
    saved.check_events(events)
    saved.check((np.diff(events) >= 0).all(), "entries are not in the order of events")
    level = entries[:, of.LEVEL]
    saved.check(((level >= 0) & (level < levels)).all(), "there is no such level")
    saved.check(((pointer >= first) & (pointer < end)).all(), "an entry has no pointer")
    is_between = (before >= first) & (before < end)
    saved.check(is_between.all() and (np.diff(before) >= 0).all(), "pointers are not in order")


def _check_pointers(saved: Saved, entries: Numbers, pointers: Numbers, first: int) -> None:
    """Check that each pointer is of one entry, that chains end, and that a run has one."""
    owners, own = np.full(len(pointers), NOTHING), np.arange(len(entries))
    at = entries[:, of.POINTER] - first
    while len(at):
        is_free = (owners[at] == NOTHING).all() and len(np.unique(at)) == len(at)
        saved.check(is_free, "a pointer is of another entry")
        owners[at] = own
        after = pointers[at, of.AFTER]
        is_back = (after >= first) & (after - first < at)
        is_chained = is_back | (after == NOTHING)
        saved.check(is_chained.all(), "a pointer comes before none of its entry")
        at, own = after[is_back] - first, own[is_back]
    saved.check((owners != NOTHING).all(), "a pointer is of no entry")
    _check_versions(saved, owners, entries[owners, of.LEVEL], pointers)


def _check_versions(saved: Saved, groups: Numbers, levels: Numbers, rows: Numbers) -> None:
    """Check that any two versions of a group differ in more than the digit of their level."""
    digits = rows[:, of.VERSION :].copy()
    digits[np.arange(digits.shape[1]) > levels[:, np.newaxis]] = 0
    known = np.column_stack([groups, digits])
    saved.check(len(np.unique(known, axis=0)) == len(known), "two runs have the same version")
