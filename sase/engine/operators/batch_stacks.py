"""The stacks of a whole loaded input with many keys, and the kernel that fills and walks them."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers, copy_stretch
from sase.engine.columns.kept_memory import reused
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.batch_scan import (
    ALIVE,
    COUNT,
    FIELDS,
    FRESH,
    GROUP,
    LEVEL,
    VISITED,
    BatchAbsences,
    BatchRange,
    BatchStacks,
    batch_scan,
    batch_scan_between,
)
from sase.engine.kernels.scan.fused_scan import ROWS, ScanInput, ScanResult

Gaps: TypeAlias = tuple[Numbers, Numbers] | None
# Numbers are of 32 bits.
MOST_NUMBERS = 1 << 31


def widened(numbers: NDArray[np.int32], first: int, count: int, more: int) -> NDArray[np.int32]:
    """Copy a ring with the entries of a range of numbers into one for more, and half as many."""
    room = 1 << int(count - first + more + more // 2 - 1).bit_length()
    wider = np.empty((room, *numbers.shape[1:]), np.int32)
    copy_stretch(numbers, wider, first, count)
    return wider


def may_have_rows(events: int, levels: int, gaps: Gaps = None) -> bool:
    """Whether the numbers suffice for events."""
    return events * _most_of_event(levels, gaps) < MOST_NUMBERS


def _most_of_event(levels: int, gaps: Gaps) -> int:
    """The most numbers that an event takes: one per component."""
    return levels + (0 if gaps is None else len(gaps[0]))


class WholeStacks:
    """Stacks of rows for the events of one run.

    `gaps` are of negative components the level behind each gap, and the bit in a state. `measures`
    are the times of all events, or no numbers if the window counts events. `cells` is the number of
    cells at first. Events of the level `ends` and of later ones may be last.
    """

    def __init__(
        self, levels: int, gaps: Gaps, keys: int, rows: int, reading: ScanInput, measures: Numbers,
        span: int, cells: int, *, ends: int | None = None,
    ) -> None:  # fmt: skip
        self._rows, self._span = rows, span
        self._ends = levels - 1 if ends is None else ends
        self._measures = frozen(measures)
        self._arrays = BatchStacks(
            np.empty((cells, FIELDS), np.int32),
            _zeros(keys, levels - 1),
            np.empty((0, FIELDS), np.int32),
            np.empty((0, 2), np.int32),
            np.zeros(LEVEL + 1, np.int64),
            np.zeros(levels, np.int64),
            np.zeros((VISITED + 1, levels), np.int64),
        )
        self._arrays.at[LEVEL] = FRESH
        self._absences = None
        if gaps is not None:
            self._absences = BatchAbsences(
                *gaps, _zeros(keys, len(gaps[0])), np.empty(cells, np.int32)
            )
        self._reading = reading
        self._scan = partial(batch_scan if gaps is None else batch_scan_between, reading)
        self._most = _most_of_event(levels, gaps)
        self._make_room(0)

    def _make_room(self, events: int) -> None:
        """Make room for the events of a step."""
        self._room = np.empty((ROWS, events + 1), np.int64)
        self._arrays = self._arrays._replace(
            finals=np.empty((events, FIELDS), np.int32),
            origins=np.empty((self._most * events, 2), np.int32),
        )

    def push(self, begin: int, end: int, position: int, step: int, out: Numbers) -> ScanResult:
        """Push rows and write the sequences that they complete, up to a full buffer."""
        sought = self._sought(begin, end, position, step)
        found = ScanResult._make(self._scan(sought, self._arrays, self._absences, self._room, out))
        self._make_room_that_lacks(found.lacks)
        return found

    def _sought(self, begin: int, end: int, position: int, step: int) -> BatchRange:
        """The rows to push, with room for the events of a step."""
        if step >= self._room.shape[1]:
            self._make_room(step)
        # The room fits the last group of simultaneous events, some of which may be behind `end`.
        end = min(max(end, begin + self._room.shape[1] - 1), self._rows)
        return BatchRange(begin, end, position, self._span, self._measures, self._ends)

    def _make_room_that_lacks(self, lacks: int) -> None:
        """Make the room for which the kernel stopped."""
        if lacks == GROUP:
            self._make_room(2 * self._room.shape[1])
        elif lacks > 0:
            self._widen(lacks)

    def _widen(self, more: int) -> None:
        """Give the ring of cells room for more numbers."""
        arrays = self._arrays
        first, count = int(arrays.at[ALIVE]), int(arrays.at[COUNT])
        self._arrays = arrays._replace(cells=widened(arrays.cells, first, count, more))
        if self._absences is not None:
            floors = widened(self._absences.floors, first, count, more)
            self._absences = self._absences._replace(floors=floors)

    @property
    def counts(self) -> tuple[Numbers, Numbers, Numbers]:
        """By level the instances that were pushed, dropped, and visited by walks."""
        pushed, dropped, visited = self._arrays.counts
        return pushed, dropped, visited

    @property
    def finals(self) -> int:
        """The number of events that were last."""
        return int(self.counts[0][self._ends :].sum())


def _zeros(rows: int, columns: int) -> NDArray[np.int32]:
    """Zeros that are accessed at random."""
    numbers = reused(((rows * columns + 1) // 2,), is_huge=True)
    numbers[:] = 0
    return numbers.view(np.int32)[: rows * columns].reshape(rows, columns)
