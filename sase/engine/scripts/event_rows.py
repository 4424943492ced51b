"""Events as rows of numbers, which a kernel deals out, and events of such rows again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.events import EventColumn


class EventRows:
    """Events as rows of numbers, and what is made of these again.

    They are times and types, the order of those that tie, and each column, with its validity.
    """

    def __init__(self, given: Events, step: int) -> None:
        self._given = given
        self._arrays: list[NDArray[Any]] = [given.ts, given.types]
        self._arrays += [each for each in (given.until, given.tie) if each is not None]
        self._columns = _columns_of(given)
        for column in self._columns:
            values = column.values
            self._arrays.append(values.view(np.int64) if values.dtype.kind == "f" else values)
            if column.valid is not None:
                self._arrays.append(column.valid)
        self.count = len(self._arrays)
        self._buffer = np.empty((self.count, min(step, len(given))), np.int64)

    def between(self, begin: int, end: int) -> Numbers:
        """The rows of some events, until those of others are asked for."""
        for row, values in zip(self._buffer, self._arrays, strict=True):
            row[: end - begin] = values[begin:end]
        return self._buffer

    def events(self, rows: Numbers) -> Events:
        """Some of the events, of which these are the rows."""
        given, left = self._given, iter(rows)
        ts, types = next(left), next(left).astype(np.int16)
        until = None if given.until is None else next(left)
        tie = None if given.tie is None else next(left)
        if tie is not None and len(tie):
            tie = tie - tie[0]
        taken = dict[EventColumn, EventColumn]()
        for column in self._columns:
            values, valid = next(left), None
            if column.values.dtype.kind == "f":
                values = values.view(np.float64)
            if column.valid is not None:
                valid = next(left).astype(np.bool_)
            taken[column] = EventColumn(column.type, values, valid, column.dictionary)
        return Events(
            ts,
            given.resolution_ns,
            types,
            given.type_names,
            {name: taken[column] for name, column in given.columns.items()},
            {key: taken[column] for key, column in given.by_type.items()},
            tie=tie,
            until=until,
        )


def _columns_of(events: Events) -> tuple[EventColumn, ...]:
    """Every column once, though it may serve several types."""
    return tuple(dict.fromkeys((*events.columns.values(), *events.by_type.values())))
