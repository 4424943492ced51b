"""What a `sase.Matches` shows against what the naive matcher finds: rows, times and values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sase
from tests import naive
from tests.engine.matching.ways import attributes_of, same
from tests.engine.series.examples import SeriesExample

TIMES = ("ts_start", "ts_end", "detected_at")
# The end of input as text, by each unit: rows of Python have microseconds, whatever was declared.
GREATEST = {
    str(np.datetime64(2**31 - 1, "D")),
    *(str(np.datetime64(2**63 - 1, unit)) for unit in ("s", "ms", "us", "ns")),
}


class Found(NamedTuple):
    """Row numbers under the names of the variables, the types of their columns, and results."""

    names: list[str]
    types: list[pa.DataType]
    rows: list[tuple[Any, ...]]
    results: list[dict[str, Any]]


def found(matches: sase.Matches) -> Found:
    """What matches show."""
    rows = matches.rows
    columns = [column.to_pylist() for column in rows.columns]
    results = Found(
        rows.column_names,
        rows.schema.types,
        list(zip(*columns, strict=True)),
        matches.to_pylist(),
    )
    assert len(results.rows) == len(results.results) == len(matches)
    return results


def joined(parts: Sequence[Found]) -> Found:
    """What was found piece by piece."""
    return parts[-1]._replace(
        rows=[row for part in parts for row in part.rows],
        results=[result for part in parts for result in part.results],
    )


def shown(example: SeriesExample, match: naive.Match) -> tuple[Any, ...]:
    """The rows of a match as the engine shows them."""
    bound = zip(example.query.positives, match.events, strict=True)
    return tuple([*rows] if part.is_list else rows[0] if rows else None for part, rows in bound)


def differences(example: SeriesExample, got: Found) -> Iterator[str]:
    """What is not as the naive matcher has it, the coarsest first."""
    expected = example.expected
    names = [*expected[0].names] if expected else got.names
    kinds = [part.column for part in example.query.positives]
    if got.names != names:
        yield f"variables: expected {names}, got {got.names}"
    if got.types != kinds:
        yield f"types of the rows: expected {kinds}, got {got.types}"
    rows = [shown(example, match) for match in expected]
    if got.rows != rows:
        yield f"rows: expected {rows}\n    got {got.rows}"
        return
    for match, result in zip(expected, got.results, strict=True):
        yield from _in_result(example, match, result)


def _in_result(example: SeriesExample, match: naive.Match, result: dict[str, Any]) -> Iterator[str]:
    for name in TIMES:
        if not same(getattr(match, name), _counted(example, result[name])):
            yield f"{name} of {match.events}: expected {getattr(match, name)}, got {result[name]}"
    is_given = match.values is not None
    wanted = match.values if match.values is not None else payload(example, match, result)
    if {*result} != {*wanted, *TIMES}:
        yield f"columns: expected {[*wanted, *TIMES]}, got {[*result]}"
        return
    for name, value in wanted.items():
        if not (exact if is_given else same_events)(value, result[name]):
            yield f"{name} of {match.events}: expected {value!r}, got {result[name]!r}"


def _counted(example: SeriesExample, shown: Any) -> Any:
    """A time; one that Python has no date for, which is shown as text, as its number."""
    if not isinstance(shown, str):
        return shown
    text = shown.removesuffix("Z")
    if text in GREATEST:
        return 2**63 - 1
    kind = example.setting.clock.arrow
    unit = "D" if pa.types.is_date(kind) else kind.unit
    return int(np.datetime64(text, unit).astype(np.int64))


def payload(
    example: SeriesExample, match: naive.Match, result: Mapping[str, Any]
) -> dict[str, Any]:
    """All attributes of the events, under the variables."""
    made: dict[str, Any] = {}
    bound = zip(match.names, example.query.positives, match.events, strict=True)
    for name, part, rows in bound:
        given = result.get(name)
        given = given if isinstance(given, list) else [given or {}]
        several = [*given, *[{}] * (len(rows) - len(given))]
        events = [
            attributes_of(example, example.rows[row], each)
            for row, each in zip(rows, several, strict=False)
        ]
        made[name] = events if part.is_list else events[0] if events else None
    return made


def same_events(expected: Any, got: Any) -> bool:
    """The same events, one, a list of them, or none."""
    if not isinstance(expected, list):
        return expected is got if None in (expected, got) else same(expected, got)
    return (
        isinstance(got, list)
        and len(expected) == len(got)
        and all(same(*pair) for pair in zip(expected, got, strict=True))
    )


def exact(expected: Any, got: Any) -> bool:
    """The same value, a float to the bit; NaN is NULL."""
    if isinstance(expected, float) and math.isnan(expected):
        expected = None
    if isinstance(got, float) and isinstance(expected, int | float):
        return float(expected).hex() == got.hex()
    return same(expected, got)
