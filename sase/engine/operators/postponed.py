"""Sequences that wait until a time: those of a negated end, whose absence only time can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.engine.block import Clock
from sase.engine.operators.contract import Saved, Sequences

# With more runs than this they are made one: so each sequence is moved a few times at most.
MOST_RUNS = 32


@dataclass
class _Run:
    """Sequences in the order in which they are due; those before `start` are gone."""

    due: NDArray[np.int64]
    sequences: Sequences
    oldest: int
    start: int = 0


class Postponed:
    """Waiting sequences. What is due at one time comes out in the order in which it went in."""

    def __init__(self, levels: int) -> None:
        self._levels = levels
        # The bytes of a sequence and the time at which it is due.
        self.width = 8 * (levels + 1)
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(len(run.due) - run.start for run in self._runs)

    def add(self, sequences: Sequences, due: NDArray[np.int64]) -> None:
        """Let sequences wait."""
        self._runs.append(_run(sequences, due))
        if len(self._runs) > MOST_RUNS:
            self._runs = [
                _run(
                    np.concatenate([run.sequences[:, run.start :] for run in self._runs], axis=1),
                    np.concatenate([run.due[run.start :] for run in self._runs]),
                )
            ]

    def released(self, clock: Clock, *, inclusive: bool) -> Sequences:
        """Those whose time has come; where the window is inclusive, has passed."""
        found, due = [], []
        side = "left" if inclusive else "right"
        for run in self._runs:
            end = len(run.due)
            if not clock.is_final:
                end = int(np.searchsorted(run.due, clock.ts, side=side))  # type: ignore[call-overload]
            if end > run.start:
                found.append(run.sequences[:, run.start : end])
                due.append(run.due[run.start : end])
                run.start = end
        self._runs = [run for run in self._runs if run.start < len(run.due)]
        if not found:
            return np.empty((self._levels, 0), np.int64)
        order = np.argsort(np.concatenate(due), kind="stable")
        return np.ascontiguousarray(np.concatenate(found, axis=1)[:, order])

    def due(self, *, inclusive: bool) -> int | None:
        """The time at which the next ones are released."""
        first = min((int(run.due[run.start]) for run in self._runs), default=None)
        return first if first is None or not inclusive else first + 1

    def oldest(self) -> int | None:
        """An event that is not after any of those that wait."""
        return min((run.oldest for run in self._runs), default=None)

    def saved(self) -> Saved:
        """All that waits, as one run."""
        empty = np.empty((self._levels, 0), np.int64)
        return {
            "sequences": np.concatenate(
                [empty, *(run.sequences[:, run.start :] for run in self._runs)], axis=1
            ),
            "due": np.concatenate(
                [np.empty(0, np.int64), *(run.due[run.start :] for run in self._runs)]
            ),
        }

    def restore(self, saved: Saved) -> None:
        """Go on from a state that was saved."""
        self._runs = []
        if len(saved["due"]):
            self.add(saved["sequences"], saved["due"])


def _run(sequences: Sequences, due: NDArray[np.int64]) -> _Run:
    order = np.argsort(due, kind="stable")
    return _Run(due[order], sequences[:, order], int(sequences[0].min()))
