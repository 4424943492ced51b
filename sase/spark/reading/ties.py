"""Refuse events that tie in time and `seq` if the result depends on their order.

Elsewhere, the row decides (docs/semantics.md, Order and ties), and rows of DataFrames have no
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sase.binding.bound import EquivalenceTest
from sase.errors import DataError
from sase.lang.ast import StrategyName
from sase.planning.engine_plan import EnginePlan
from sase.spark.reading.row_layout import RowLayout


class Ties:
    """Checks rows without splitting a time; ties matter in the partitions of tests `within`."""

    def __init__(
        self,
        plan: EnginePlan,
        shape: RowLayout,
        within: Sequence[EquivalenceTest] | None = None,
    ) -> None:
        self._shape = shape
        self._names = shape.order(plan.schema)
        # If events are not counted, only those that may be in a match and have a key matter.
        self._type, self._types, self._skips_null = plan.schema.type, _types_in(plan), False
        if not plan.counts_events:
            assert within is not None
            self._keys = _own_keys(plan, within)
            self._skips_null = len(plan.positives) + len(plan.negatives) > 1
        else:
            self._types = None
            self._keys = _counting_keys(plan)
            if within is not None:
                both = _own_keys(plan, within)
                self._keys = [name for name in self._keys if name in both]

    def check(self, rows: pa.Table, bad: pa.Table | None = None, *, is_sorted: bool = True) -> None:
        """Refuse two events in undecided order; rows in `bad`, from a report, are ignored."""
        if bad is not None and bad.num_rows:
            keep = np.ones(rows.num_rows, np.bool_)
            keep[bad.column(0).to_numpy()] = False
            rows = rows.filter(pa.array(keep))
        if not is_sorted:
            rows = rows.sort_by([(name, "ascending") for name in self._names])
        known = [_numbers(rows.column(name)) for name in self._names]
        equal = np.ones(max(rows.num_rows - 1, 0), np.bool_)
        for column in known:
            equal &= column[1:] == column[:-1]
        for first, last in _stretches(equal):
            self._compare(rows.slice(first, last - first + 1))

    def _compare(self, rows: pa.Table) -> None:
        """Refuse two of these tied rows if they are in one partition."""
        seen: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self._shape.shown(rows):
            if not self._counts(row):
                continue
            key = tuple(row.get(name) for name in self._keys)
            if key in seen:
                names = " and ".join(f"`{name}`" for name in self._names)
                raise DataError(
                    f"two events are equal in {names}, and it matters which comes before the other:"
                    f" {seen[key]} and {row}; give a `seq` that numbers events without repeating,"
                    " or where time is imprecise leave LIMIT out"
                )
            seen[key] = row

    def _counts(self, row: dict[str, Any]) -> bool:
        """Whether an event, as messages show it, may be in a match."""
        of_type = "type" if self._shape.types else self._type
        if self._types is not None and of_type is not None:
            name = row[of_type]
            name = str(name).lower() if isinstance(name, bool) else str(name)
            if name not in self._types:
                return False
        return not self._skips_null or all(row.get(name) is not None for name in self._keys)


def _types_in(plan: EnginePlan) -> frozenset[str] | None:
    """The types of the events of matches; None if they are not known here."""
    if plan.definitions or any(each.types is None for each in plan.positives):
        return None
    return frozenset(name for each in plan.positives for name in each.types or ())


def _counting_keys(plan: EnginePlan) -> list[str]:
    """The keys of the partitions in which events are counted, or in which runs take events."""
    if plan.branches:
        every = [_counting_keys(each) for each in plan.branches if _goes_by_order(each)]
        return [name for name in (every or [[]])[0] if all(name in keys for keys in every)]
    runs, ranked = plan.runs, [test.attribute for test in plan.ranked]
    if ranked or runs is None or runs.strategy is StrategyName.STRICT_CONTIGUITY:
        return ranked
    return [test.attribute for test in runs.partitions]


def _goes_by_order(branch: EnginePlan) -> bool:
    return branch.counts_events and not (branch.runs is not None and branch.runs.is_alone)


def agreed_by_results(plan: EnginePlan) -> tuple[EquivalenceTest, ...]:
    """The tests of the partitions in which earlier events decide which results LIMIT returns."""
    return tuple(test for test in plan.split.keys if not test.attributes and not test.by_type)


def _own_keys(plan: EnginePlan, tests: Sequence[EquivalenceTest]) -> list[str]:
    """The attributes of tests that every event of a match has."""
    own = (test for test in tests if test.value is None and test.is_declared_by(plan.positives))
    return [test.attribute for test in own]


def _numbers(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """A column of times or numbers; seconds as floats in microseconds."""
    if pa.types.is_floating(column.type):
        return np.asarray(np.rint(column.to_numpy() * 1e6))
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy())


def _stretches(equal: np.ndarray[Any, np.dtype[np.bool_]]) -> Iterator[tuple[int, int]]:
    """The first and the last place of each stretch of equal rows."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
