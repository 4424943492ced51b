"""Events that are equal in time and `seq` where a window counts one before the other: an error.

On one machine the row decides (LANGUAGE.md section 1). The rows of a DataFrame have no order, so
the answer would depend on how they are cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sase.engine.plan import EnginePlan
from sase.errors import DataError
from sase.lang.ast import StrategyName
from sase.spark.shape import Shape


class Ties:
    """Looks at the rows of a part as they come in order."""

    def __init__(self, plan: EnginePlan, shape: Shape) -> None:
        self._shape = shape
        self._names = shape.order(plan.schema)
        # Within partitions only events of the same one are counted, or taken by a run.
        runs = plan.runs
        is_strict = runs is None or runs.strategy is StrategyName.STRICT_CONTIGUITY
        self._keys = [test.attribute for test in plan.ranked]
        if not is_strict and runs is not None and not self._keys:
            self._keys = [test.attribute for test in runs.partitions]
        # The rows that are equal to the last one.
        self._last: pa.Table | None = None

    def check(self, rows: pa.Table, bad: pa.Table | None = None) -> None:
        """Refuse two events whose order is not decided; bad rows, as in a report, are none."""
        if bad is not None and bad.num_rows:
            keep = np.ones(rows.num_rows, np.bool_)
            keep[bad.column(0).to_numpy()] = False
            rows = rows.filter(pa.array(keep))
        if self._last is not None:
            rows = pa.concat_tables([self._last, rows])
        known = [_numbers(rows.column(name)) for name in self._names]
        equal = np.ones(max(rows.num_rows - 1, 0), np.bool_)
        for column in known:
            equal &= column[1:] == column[:-1]
        for first, last in _stretches(equal):
            self._compare(rows.slice(first, last - first + 1))
        differs = np.flatnonzero(~equal)
        self._last = rows.slice(int(differs[-1]) + 1 if len(differs) else 0)

    def _compare(self, rows: pa.Table) -> None:
        """Refuse two of the rows, which are all equal, that are in one partition."""
        seen: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self._shape.shown(rows):
            key = tuple(row.get(name) for name in self._keys)
            if key in seen:
                names = " and ".join(f"`{name}`" for name in self._names)
                raise DataError(
                    f"two events are equal in {names}, and it matters which comes before the other:"
                    f" {seen[key]} and {row}; give a `seq` that numbers events without repeating"
                )
            seen[key] = row


def _numbers(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """A column of times or numbers; seconds as floats in microseconds."""
    if pa.types.is_floating(column.type):
        return np.asarray(np.rint(column.to_numpy() * 1e6))
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy())


def _stretches(equal: np.ndarray[Any, np.dtype[np.bool_]]) -> Iterator[tuple[int, int]]:
    """The first and the last place of each stretch of rows that are equal to the next."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
