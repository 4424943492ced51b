"""A `sase.Matches` against the matches of the naive matcher: rows, times and values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sase
from tests import naive
from tests.drawing.examples import NEAR, Example
from tests.drawing.patterns import Written
from tests.drawing.streams import DEFINED, TABLES, Row

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
    """The shown form of matches."""
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
    """The matches that came piece by piece."""
    return parts[-1]._replace(
        rows=[row for part in parts for row in part.rows],
        results=[result for part in parts for result in part.results],
    )


def shown(example: Example, match: naive.Match) -> tuple[Any, ...]:
    """The rows of a match as the engine shows them; with iterations, as the naive matcher does."""
    if isinstance(example.query.tree, Written):
        return tuple(map(tupled, match.events))
    bound = zip(example.query.positives, match.events, strict=True)
    return tuple([*rows] if part.is_list else rows[0] if rows else None for part, rows in bound)


def tupled(rows: Any) -> Any:
    return tuple(map(tupled, rows)) if isinstance(rows, list | tuple) else rows


def bound(column: Any) -> Any:
    """The events of a variable, or its iterations with the events of the variables inside."""
    if not isinstance(column, list):
        return () if column is None else (column,)
    if any(isinstance(each, dict) for each in column):
        return tuple(tuple(map(bound, each.values())) for each in column)
    return tuple(column)


def differences(example: Example, got: Found) -> Iterator[str]:
    """The differences from the result of the naive matcher, the coarsest first."""
    expected = example.expected
    if example.query.confidence:
        expected = [each for each in expected if not example.is_doubtful(each.confidence)]
        got = _clear(example, got)
    names = [*expected[0].names] if expected else got.names
    is_nested = isinstance(example.query.tree, Written)
    kinds = got.types if is_nested else [part.column for part in example.query.positives]
    if got.names != names:
        yield f"variables: expected {names}, got {got.names}"
    if got.types != kinds:
        yield f"types of the rows: expected {kinds}, got {got.types}"
    rows = [shown(example, match) for match in expected]
    if is_nested:
        got = got._replace(rows=[tuple(map(bound, row)) for row in got.rows])
    if got.rows != rows:
        yield f"rows: expected {rows}\n    got {got.rows}"
        return
    for match, result in zip(expected, got.results, strict=True):
        yield from _in_result(example, match, result)


def _clear(example: Example, got: Found) -> Found:
    """Without the matches that the threshold may keep or not."""
    pairs = zip(got.rows, got.results, strict=True)
    kept = [pair for pair in pairs if not example.is_doubtful(pair[1]["confidence"])]
    return got._replace(rows=[rows for rows, _ in kept], results=[result for _, result in kept])


def _in_result(example: Example, match: naive.Match, result: dict[str, Any]) -> Iterator[str]:
    for name in TIMES:
        if not same(getattr(match, name), _counted(example, result[name])):
            yield f"{name} of {match.events}: expected {getattr(match, name)}, got {result[name]}"
    is_imprecise, times = example.setting.is_imprecise, [*TIMES]
    if is_imprecise:
        times.append("confidence")
        if not near(float(match.confidence or 0), result["confidence"]):
            yield f"confidence: expected {match.confidence}, got {result['confidence']}"
    is_given = match.values is not None
    if not is_given and isinstance(example.query.tree, Written):
        return
    wanted = match.values if match.values is not None else payload(example, match, result)
    if [*result] != [*wanted, *times]:
        yield f"columns: expected {[*wanted, *times]}, got {[*result]}"
        return
    alike = near if is_imprecise else exact if is_given else same_events
    for name, value in wanted.items():
        if not alike(value, result[name]):
            yield f"{name} of {match.events}: expected {value!r}, got {result[name]!r}"


def _counted(example: Example, shown: Any) -> Any:
    """A time; one that Python has no date for, which is shown as text, as its number."""
    if not isinstance(shown, str):
        return shown
    text = shown.removesuffix("Z")
    if text in GREATEST:
        return 2**63 - 1
    kind = example.setting.clock.arrow
    unit = "D" if pa.types.is_date(kind) else kind.unit
    return int(np.datetime64(text, unit).astype(np.int64))


def payload(example: Example, match: naive.Match, result: Mapping[str, Any]) -> dict[str, Any]:
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
    if isinstance(expected, list):
        return same(expected, got)
    if isinstance(expected, float) and math.isnan(expected):
        expected = None
    if isinstance(got, float) and isinstance(expected, int | float):
        return float(expected).hex() == got.hex()
    return same(expected, got)


def near(expected: Any, got: Any) -> bool:
    """The same value, a number with a fraction within 1e-9 of it."""
    if isinstance(expected, list):
        return same(expected, got)
    if None not in (expected, got) and float in (type(expected), type(got)):
        return abs(expected - got) < NEAR * max(1, abs(expected))
    return same(expected, got)


def attributes_of(example: Example, row: Row, shown: Row) -> Row:
    """Those of the event's type. ANY also shows the attributes of other types, here as NULL."""
    setting = example.setting
    names = {setting.time: None} | ({setting.seq: None} if setting.seq else {})
    if setting.layout == DEFINED or not setting.type or setting.type not in row:
        names |= dict.fromkeys(setting.columns)
    else:
        names |= {setting.type: None} | dict.fromkeys(setting.declared[row[setting.type]])
    if setting.layout == TABLES and "type" not in shown:
        del names["type"]
    made = {name: None for name in shown} | {name: row[name] for name in names}
    return made | {setting.time: setting.clock.shown(row[setting.time])}


def same(expected: Any, got: Any) -> bool:
    """Equal; NaN, given or computed, is NULL; an integer may have become a float beside floats."""
    if isinstance(expected, list):
        pairs = isinstance(got, list) and zip(expected, got, strict=False)
        return pairs and len(expected) == len(got) and all(same(*each) for each in pairs)
    if isinstance(expected, dict):
        return {*expected} == {*got} and all(same(expected[name], got[name]) for name in expected)
    if isinstance(expected, float) and math.isnan(expected):
        expected = None
    if isinstance(got, float) and math.isnan(got):
        got = None
    if None in (expected, got) or isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(got, float) and isinstance(expected, int):
        expected = float(expected)
    return bool(expected == got)


def check_certain(example: Example, told: Found, floor: int) -> None:
    """Check that a match of imprecise time is returned once no event may come before its time.

    A match of two branches waits until it is known which one it is of.
    """
    query, times = example.query, [each["detected_at"] for each in told.results]
    assert all(each < floor for each in times), "a match is told before its time"
    if not example.is_judged or query.limit or " OR " in query.text.partition(" W")[0]:
        return
    known = sum(each.detected_at < floor for each in example.expected)  # type: ignore[operator]
    assert abs(len(times) - known) <= example.doubtful, f"{len(times)} of {known} told at {floor}"
