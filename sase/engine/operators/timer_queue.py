"""A queue of sequences by time: those of a negated end, whose absence only time can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Watermark
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import Checkpoint, Sequences

# Runs from which on they are joined into one, so that each sequence is moved a few times at most.
MOST_RUNS = 32


@dataclass
class _TimerRun:
    """Sequences in the order of their timers, of which those before `start` are released."""

    due: NDArray[np.int64]
    sequences: Any
    oldest: int
    start: int = 0


class TimerQueue:
    """Sequences by time; those of the same time leave in the order in which they came."""

    def __init__(self, levels: int, *, of_series: bool = False) -> None:
        self._levels, self._of_series = levels, of_series
        # The bytes of a sequence and its timer.
        self.width = 8 * (levels + 1)
        self._runs: list[_TimerRun] = []

    def __len__(self) -> int:
        return sum(len(run.due) - run.start for run in self._runs)

    def add(self, sequences: Sequences | Bindings, due: NDArray[np.int64]) -> None:
        """Queue sequences."""
        self._runs.append(_run(sequences, due))
        if len(self._runs) > MOST_RUNS:
            self._runs = [
                _run(
                    self._joined([run.sequences[:, run.start :] for run in self._runs]),
                    np.concatenate([run.due[run.start :] for run in self._runs]),
                )
            ]

    def released(self, watermark: Watermark, *, inclusive: bool) -> Any:
        """Pop the sequences whose time has come; if `inclusive`, has passed."""
        found, due = [], []
        side = "left" if inclusive else "right"
        for run in self._runs:
            end = len(run.due)
            if not watermark.is_final:
                end = int(np.searchsorted(run.due, watermark.ts, side=side))  # type: ignore[call-overload]
            if end > run.start:
                found.append(run.sequences[:, run.start : end])
                due.append(run.due[run.start : end])
                run.start = end
        self._runs = [run for run in self._runs if run.start < len(run.due)]
        if not found:
            return self._joined([])
        order = np.argsort(np.concatenate(due), kind="stable")
        released = self._joined(found)[:, order]
        return released if self._of_series else np.ascontiguousarray(released)

    def _joined(self, parts: list[Any]) -> Any:
        if self._of_series:
            return Bindings.joined(parts, self._levels)
        empty = np.empty((self._levels, 0), np.int64)
        return np.concatenate([empty, *parts], axis=1)

    def next_timer(self, *, inclusive: bool) -> int | None:
        """The time of the first timer."""
        first = min((int(run.due[run.start]) for run in self._runs), default=None)
        return first if first is None or not inclusive else first + 1

    def oldest(self) -> int | None:
        """The oldest event of the queued sequences."""
        return min((run.oldest for run in self._runs), default=None)

    def checkpoint(self) -> Checkpoint:
        """The queue, as one run."""
        waiting = self._joined([run.sequences[:, run.start :] for run in self._runs])
        return {
            "sequences": waiting.checkpoint() if self._of_series else waiting,
            "due": np.concatenate(
                [np.empty(0, np.int64), *(run.due[run.start :] for run in self._runs)]
            ),
        }

    def restore(self, saved: Checkpoint) -> None:
        """Continue from a checkpoint."""
        self._runs = []
        if len(saved["due"]):
            found = saved["sequences"]
            self.add(Bindings.restored(found) if self._of_series else found, saved["due"])


def _run(sequences: Sequences | Bindings, due: NDArray[np.int64]) -> _TimerRun:
    order = np.argsort(due, kind="stable")
    first = sequences.first if isinstance(sequences, Bindings) else sequences[0]
    return _TimerRun(due[order], sequences[:, order], int(first.min()))
