"""A queue of sequences by time: with a negated end they wait for the end of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from sase.engine.blocks.block import Watermark
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import MatchForm, Sequences
from sase.engine.snapshots.layout import Array, By, Declared
from sase.engine.snapshots.saved_state import Saved

# With more runs these are joined to one, so that each sequence is moved only a few times.
MOST_RUNS = 32


@dataclass
class _TimerRun:
    """A numbered run of sequences in the order of their timers, released before `start`."""

    number: int
    due: NDArray[np.int64]
    sequences: Any
    oldest: int
    start: int = 0

    def __len__(self) -> int:
        return len(self.due) - self.start

    @property
    def key(self) -> tuple[int, int]:
        """The first timer that is not released, and the number."""
        return int(self.due[self.start]), self.number

    @property
    def waiting(self) -> Any:
        """The sequences that are not released."""
        return self.sequences[:, self.start :]


class TimerQueue(Declared):
    """Sequences by time; those of the same time leave in the order in which they came."""

    layout = dict(sequences=By("_restored", path=None), due=Array(None, path=None))

    def __init__(self, levels: int, form: MatchForm | None = None) -> None:
        self._levels, self._form = levels, form
        # The bytes of a sequence and its timer.
        self.width = 8 * (levels + 1)
        # The run with the first timer is first, so a test for due sequences reads only that run.
        self._runs: SortedKeyList = SortedKeyList(key=lambda run: run.key)
        self._number = 0

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    @property
    def nbytes(self) -> int:
        """The bytes of the sequences."""
        return sum(int(run.sequences.nbytes) for run in self._runs)

    def add(self, sequences: Sequences | Bindings, due: NDArray[np.int64]) -> None:
        """Queue sequences."""
        if not len(due):
            return
        self._add(sequences, due)
        if len(self._runs) > MOST_RUNS:
            sequences, due = self._all()
            self._runs.clear()
            self._add(sequences, due)

    def _add(self, sequences: Sequences | Bindings, due: NDArray[np.int64]) -> None:
        order = np.argsort(due, kind="stable")
        first = sequences.oldest if isinstance(sequences, Bindings) else sequences[0]
        self._number += 1
        run = _TimerRun(self._number, due[order], sequences[:, order], int(first.min()))
        self._runs.add(run)

    def _all(self) -> tuple[Any, NDArray[np.int64]]:
        """All waiting sequences, in the order of arrival of their runs, and their times."""
        runs = sorted(self._runs, key=lambda run: run.number)
        due = np.concatenate([np.empty(0, np.int64), *(run.due[run.start :] for run in runs)])
        return self._joined([run.waiting for run in runs]), due

    def released(self, watermark: Watermark, *, inclusive: bool) -> Any:
        """Pop the sequences that are due at the watermark; if `inclusive`, before it."""
        side = "left" if inclusive else "right"
        runs: list[_TimerRun] = []
        while self._runs and (
            watermark.is_final or self._runs[0].key[0] + inclusive <= watermark.ts
        ):
            runs.append(self._runs.pop(0))
        if not runs:
            return self._joined([])
        runs.sort(key=lambda run: run.number)
        found, due = [], []
        for run in runs:
            end = len(run.due)
            if not watermark.is_final:
                end = int(np.searchsorted(run.due, watermark.ts, side=side))  # type: ignore[call-overload]
            found.append(run.sequences[:, run.start : end])
            due.append(run.due[run.start : end])
            run.start = end
            if len(run):
                self._runs.add(run)
        order = np.argsort(np.concatenate(due), kind="stable")
        released = self._joined(found)[:, order]
        return np.ascontiguousarray(released) if self._form is None else released

    def _joined(self, parts: list[Any]) -> Any:
        if self._form is not None:
            return Bindings.joined(parts or [self._form.none()])
        empty = np.empty((self._levels, 0), np.int64)
        return np.concatenate([empty, *parts], axis=1)

    def next_timer(self, *, inclusive: bool) -> int | None:
        """The time at which the next sequences are released."""
        return int(self._runs[0].key[0]) + inclusive if self._runs else None

    def oldest(self) -> int | None:
        """An event that is not after any event of a waiting sequence."""
        return min((run.oldest for run in self._runs), default=None)

    def _encoded(self) -> dict[str, Any]:
        waiting, due = self._all()
        return {"sequences": self._form.checkpoint(waiting) if self._form else waiting, "due": due}

    def _restored(self, saved: Saved) -> Any:
        if self._form is not None:
            return self._form.restored(saved)
        return saved.events(self._levels, None)

    def _take(self, saved: Saved, values: Any) -> None:
        is_each = values.sequences.shape[1] == len(values.due)
        saved.part("sequences").check(is_each, "there is not a timer for each")
        self._runs.clear()
        self.add(values.sequences, values.due)
