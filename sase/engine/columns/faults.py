"""Bad rows: noted while the columns are read, judged when all are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.columns.origin import Origin
from sase.errors import DataError


class Fault(NamedTuple):
    """Input rows, ascending, that are bad by one column and for one reason."""

    column: str
    why: str
    rows: Numbers
    value: object  # of the first of the rows


@dataclass(frozen=True, eq=False)
class Refused:
    """The bad rows, ascending, and for each one the number of its column and reason."""

    rows: Numbers
    codes: NDArray[np.int64]
    reasons: tuple[tuple[str, str], ...]

    def others(self, count: int) -> Numbers:
        """The rows that are good, of so many."""
        good = np.ones(count, np.bool_)
        good[self.rows] = False
        return np.flatnonzero(good)


class Faults:
    """Collects what is wrong with the rows of an input."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._found: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def refuse(self, column: str, rows: NDArray[Any], why: str, value: object = None) -> None:
        """Note input rows as bad; there may be none."""
        if len(rows):
            self._found.append(Fault(column, why, rows, value))

    def error(self, columns: Sequence[str]) -> DataError:
        """The error for the first bad row, by the first of the columns that makes it one."""
        fault = min(self._sorted(columns), key=lambda fault: int(fault.rows[0]))
        return self._origin.error(int(fault.rows[0]), fault.column, fault.value, fault.why)

    def refused(self, columns: Sequence[str], count: int) -> Refused:
        """The bad rows among so many, each with its first reason in the order of the columns."""
        found = self._sorted(columns)
        reasons = tuple(dict.fromkeys((fault.column, fault.why) for fault in found))
        number = {reason: code for code, reason in enumerate(reasons)}
        first = np.full(count, -1, np.int64)
        for fault in reversed(found):
            first[fault.rows] = number[fault.column, fault.why]
        rows = np.flatnonzero(first >= 0)
        return Refused(rows, first[rows], reasons)

    def _sorted(self, columns: Sequence[str]) -> list[Fault]:
        """By the places of the columns; what was noted of one stays in the order of noting."""
        places = {name: place for place, name in reversed(list(enumerate(columns)))}
        return sorted(self._found, key=lambda fault: places[fault.column])
