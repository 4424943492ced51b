"""A queue of sequences by time: those of a negated end, whose absence only time can show."""

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

# Runs from which on they are joined into one, so that each sequence is moved a few times at most.
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

    def __init__(
        self, levels: int, *, of_series: bool = False, form: MatchForm | None = None
    ) -> None:
        self._levels, self._of_series, self._form = levels, of_series, form
        # The bytes of a sequence and its timer.
        self.width = 8 * (levels + 1)
        # The first is due first: to look whether any is takes no look at the others.
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
        """All that waits, in the order of arrival of its runs, and when it is due."""
        runs = sorted(self._runs, key=lambda run: run.number)
        due = np.concatenate([np.empty(0, np.int64), *(run.due[run.start :] for run in runs)])
        return self._joined([run.waiting for run in runs]), due

    def released(self, watermark: Watermark, *, inclusive: bool) -> Any:
        """Pop the sequences whose time has come; if `inclusive`, has passed."""
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
        return released if self._of_series else np.ascontiguousarray(released)

    def _joined(self, parts: list[Any]) -> Any:
        if self._form is not None:
            return Bindings.joined([self._form.none(), *parts], self._levels)
        if self._of_series:
            return Bindings.joined(parts, self._levels)
        empty = np.empty((self._levels, 0), np.int64)
        return np.concatenate([empty, *parts], axis=1)

    def next_timer(self, *, inclusive: bool) -> int | None:
        """The time at which the next ones are released."""
        return int(self._runs[0].key[0]) + inclusive if self._runs else None

    def oldest(self) -> int | None:
        """An event that is not after any of those that wait."""
        return min((run.oldest for run in self._runs), default=None)

    def _encoded(self) -> dict[str, Any]:
        waiting, due = self._all()
        return {"sequences": waiting.checkpoint() if self._of_series else waiting, "due": due}

    def _restored(self, saved: Saved) -> Any:
        if self._form is not None:
            return self._form.restored(saved)
        if self._of_series:
            return Bindings.restored(saved, self._levels)
        return saved.events(self._levels, None)

    def _take(self, saved: Saved, values: Any) -> None:
        is_each = values.sequences.shape[1] == len(values.due)
        saved.part("sequences").check(is_each, "there is not a timer for each")
        self._runs.clear()
        self.add(values.sequences, values.due)
