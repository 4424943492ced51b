"""(NFAb) Versioned evaluation: what runs have bound is shared in a versioned buffer."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.baselines import versioned_buffer as of
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Checkpoint, Context, Counters
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.kleene.saved_runs import check_runs
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.nodes import RunEvaluation


class VersionedState(RunEvaluationState):
    """A running evaluation whose runs share entries; a run is one row, with a version."""

    kernel = staticmethod(of.advance_versioned)

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        size, levels = context.options.stack, context.levels
        self._most = max(self._most, levels)  # a run may write an entry for each level
        width = of.VERSION + 1 + levels
        self._buffer = of.VersionedBuffer(
            np.zeros((max(size, levels), of.ENTRY_WIDTH), np.int64),
            np.zeros((size, width), np.int64),
            np.zeros((len(self._runs.cells), width), np.int64),
            np.full(levels, NOTHING, np.int64),
            np.zeros(of.STATE, np.int64),
        )

    def _step(self, machine: nodes.Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; why it did."""
        return of.advance_versioned(
            machine, self._graph, self._runs, self._buffer, incoming, self._room.written
        )

    # ------------------------------------------------------------ room

    def _make_room_for_event(self, key: int) -> None:
        """Make room for all that the runs of a partition may become by an event."""
        super()._make_room_for_event(key)
        self._expire(EARLIEST)
        levels, state = self._context.levels, self._buffer.state
        needed = (int(self._runs.counts[key]) + 1) * levels
        held = state[of.ENTRIES] - state[of.FIRST_ENTRY]
        led = state[of.POINTERS] - state[of.FIRST_POINTER]
        # Where so few are free, runs would soon be looked through again.
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
        self._check_memory(8 * size * rows.shape[1])
        return grown(rows, size)

    def _expire(self, bound: int) -> int:
        """Expire runs, and give up the entries of events before all that are left."""
        first = super()._expire(bound)
        self._forget(first, least=len(self._buffer.entries) // 4)
        return first

    def _forget(self, first: int, least: int) -> None:
        """Give up entries of events before the first that is needed, if there are so many."""
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
        """The entries and pointers that are kept."""
        entries, pointers, _, _, state = self._buffer
        return (
            entries[: int(state[of.ENTRIES] - state[of.FIRST_ENTRY])],
            pointers[: int(state[of.POINTERS] - state[of.FIRST_POINTER])],
        )

    # ------------------------------------------------------------ state

    def counters(self) -> Counters:
        """The counters of runs, and how many entries and pointers were written."""
        entries, pointers = map(int, self._buffer.state[[of.ENTRIES, of.POINTERS]])
        return {**super().counters(), "entries": entries, "pointers": pointers}

    def _counted(self, bytes_held: int) -> Counters:
        buffer = self._buffer
        rows = (buffer.entries, buffer.pointers, buffer.versions)
        return super()._counted(bytes_held + sum(each.nbytes for each in rows))

    def checkpoint(self) -> Checkpoint:
        """The runs, and what of the buffer they need."""
        self._forget(super()._expire(EARLIEST), least=0)
        entries, pointers = self._kept()
        return {
            **super().checkpoint(),
            "entries": entries,
            "pointers": pointers,
            "versions": self._buffer.versions[: int(self._runs.state[nodes.USED])],
            "buffer": self._buffer.state,
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        width = of.VERSION + 1 + self._context.levels
        entries = saved.part("entries").array(None, of.ENTRY_WIDTH)
        pointers, versions = (
            saved.part(name).array(None, width, low=NOTHING, high=MOST_COUNTED)
            for name in ("pointers", "versions")
        )
        state = saved.part("buffer").array(of.STATE, low=0, high=MOST_COUNTED)
        first, end, first_pointer, pointer_end, _ = map(int, state)
        saved.check(len(entries) == end - first, "there is not a row for each entry")
        saved.check(len(pointers) == pointer_end - first_pointer, "not a row for each pointer")
        _check_entries(saved, entries, first_pointer, pointer_end, self._context.levels)
        _check_pointers(saved, entries, pointers, first_pointer)
        self._buffer = self._buffer._replace(
            entries=grown(entries, max(len(entries), len(self._buffer.entries))),
            pointers=grown(pointers, max(len(pointers), len(self._buffer.pointers))),
            versions=grown(versions, max(len(versions), len(self._runs.cells))),
            state=state,
        )
        super().restore(saved)

    def _check(self, saved: Saved) -> None:
        """Refuse runs that lead anywhere else than to all of their events."""
        runs, versions = self._runs, self._buffer.versions
        saved.check(len(versions) >= int(runs.state[nodes.USED]), "fewer versions than runs")
        used = check_runs(saved, runs, self._context.levels, self._built)
        saved.check((runs.cells[used, nodes.PREVIOUS] == nodes.ROOT).all(), "a run has one before")
        saved.check_events(runs.cells[used, nodes.FIRST])
        if len(versions) < len(runs.cells):
            self._buffer = self._buffer._replace(versions=grown(versions, len(runs.cells)))
        is_there = all(of.is_retrieved(runs, self._buffer, int(run)) for run in used)
        saved.check(is_there, "the events of a run are not there")
        level = runs.cells[used, nodes.LEVEL]
        _check_versions(saved, level, level, versions[used])
        is_begun = versions[used, of.VERSION] < self._buffer.state[of.INITIATIONS]
        saved.check(is_begun.all(), "a run is of no initiation")


def _check_entries(saved: Saved, entries: Numbers, first: int, end: int, levels: int) -> None:
    """Check that entries are of events that there are, in order, and have pointers."""
    events, pointer, before = (entries[:, each] for each in (of.EVENT, of.POINTER, of.BEFORE))
    saved.check_events(events)
    saved.check((np.diff(events) >= 0).all(), "entries are not in the order of events")
    level = entries[:, of.LEVEL]
    saved.check(((level >= 0) & (level < levels)).all(), "there is no such level")
    saved.check(((pointer >= first) & (pointer < end)).all(), "an entry has no pointer")
    is_between = (before >= first) & (before < end)
    saved.check(is_between.all() and (np.diff(before) >= 0).all(), "pointers are not in order")


def _check_pointers(saved: Saved, entries: Numbers, pointers: Numbers, first: int) -> None:
    """Check that the pointers of an entry are its own, that they end, and that a run has one."""
    begins = entries[:, of.BEFORE] - first
    sizes = np.diff(begins, append=len(pointers))
    owners = np.repeat(np.arange(len(entries)), sizes)
    own = pointers[len(pointers) - len(owners) :]
    level = entries[owners, of.LEVEL]
    _check_versions(saved, owners, level, own)
    at = entries[:, of.POINTER] - first
    saved.check(((at >= begins) & (at < begins + sizes)).all(), "a pointer is of another entry")
    after = own[:, of.AFTER]
    is_own = (after == NOTHING) | (after - first >= begins[owners])
    saved.check(is_own.all(), "a pointer is of another entry")
    after = pointers[:, of.AFTER]
    is_back = (after >= first) & (after < first + np.arange(len(pointers)))
    saved.check((is_back | (after == NOTHING)).all(), "a pointer comes before none of its entry")


def _check_versions(saved: Saved, groups: Numbers, levels: Numbers, rows: Numbers) -> None:
    """Check that no two versions of a group differ by the digit of their level at most."""
    digits = rows[:, of.VERSION :].copy()
    digits[np.arange(digits.shape[1]) > levels[:, np.newaxis]] = 0
    known = np.column_stack([groups, digits])
    saved.check(len(np.unique(known, axis=0)) == len(known), "two runs have the same version")
