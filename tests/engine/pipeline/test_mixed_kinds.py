"""Pushes of a column that no schema declares, of mixed kinds: snapshots change no result."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from tests.seeds import draw_numbers, share

OPEN = pa.schema({"ts": pa.int64(), "type": pa.string(), "v": pa.null()})
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
QUERIES = (
    "EVENT SEQ(A a, B b) WITHIN 10",
    "EVENT SEQ(A a, B b) WHERE [v] WITHIN 10",
    "EVENT SEQ(A a, B b) WHERE a.v <= b.v WITHIN 10",
    "EVENT SEQ(A a, !(B x), A b) WHERE [v] WITHIN 10",
    "EVENT SEQ(A a, B+ b[], A c) WHERE b[i].v >= b[i-1].v WITHIN 8",
    "EVENT SEQ(A a, B+ b[], A c) WHERE b[i].v >= min(b[..i-1].v) WITHIN 8",
    "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 10 RETURN a.v AS v, b.ts AS t",
)


def counts(kind: pa.DataType, factor: int = 1) -> Callable[[int], pa.Array]:
    return lambda rows: pa.array([n % 3 * factor for n in range(rows)], kind)


def texts(kind: pa.DataType) -> Callable[[int], pa.Array]:
    return lambda rows: pa.array(["abc"[n % 3] for n in range(rows)], kind)


NONE = {"nothing": pa.nulls}
NUMBERS = NONE | {
    str(kind): counts(kind)
    for kind in (
        pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(21, 2),
        pa.decimal64(18, 5), pa.decimal256(40, 7), pa.dictionary(pa.int8(), pa.int64()),
    )
}  # fmt: skip
NUMBERS["NULL"] = lambda rows: pa.nulls(rows, pa.int64())
TEXTS = NONE | {
    str(kind): texts(kind)
    for kind in (
        pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
    )
}  # fmt: skip
TIMES = NONE | {unit: counts(pa.timestamp(unit), 86_400 * each) for unit, each in UNITS.items()}
TIMES["date"] = lambda rows: pa.array([date(1970, 1, 1 + n % 3) for n in range(rows)])
INTERVALS = NONE | {unit: counts(pa.duration(unit), 60 * each) for unit, each in UNITS.items()}


def pushes(random: Random) -> list[Any]:
    """Batches of a few rows, or dicts, with values of any kinds that compare."""
    found, begin = [], 0
    makers = random.choice((NUMBERS, NUMBERS, NUMBERS, TEXTS, TIMES, INTERVALS))
    for _ in range(random.randint(2, 6)):
        rows = random.choice((1, 2, 3, 6))
        types = [random.choice("AB") for _ in range(rows)]
        values = random.choice(list(makers.values()))(rows)
        batch = pa.record_batch({"ts": range(begin, begin + rows), "type": types, "v": values})
        found.append(batch.to_pylist() if random.random() < 0.3 else batch)
        begin += rows
    return found


def outcome(plan: Any, batches: list[Any], *, restarts: bool) -> list[Any] | str:
    """The results, or the message about the batches.

    A date is shown as its midnight while the matcher holds timestamps, so both are the same here.
    """
    matcher, found = plan.open(), []
    try:
        for batch in batches:
            found += matcher.push(batch).to_pylist()
            if restarts:
                matcher = plan.restore(matcher.snapshot())
        return midnights(found + matcher.finish().to_pylist())
    except sase.SchemaError as problem:
        return str(problem)


def midnights(value: Any) -> Any:
    """The value, with midnights for dates anywhere in it."""
    match value:
        case list():
            return [midnights(each) for each in value]
        case dict():
            return {name: midnights(each) for name, each in value.items()}
        case date() if not isinstance(value, datetime):
            return datetime.combine(value, time())
    return value


def fault(number: int) -> str | None:
    """The changes by snapshots in the results of an example, if there are any."""
    random = Random(number)
    query, batches = random.choice(QUERIES), pushes(random)
    lateness = random.choice((None, 3))
    on_bad_row = random.choice(("error", "quarantine"))
    plan = sase.compile(query, OPEN, lateness=lateness, on_bad_row=on_bad_row)
    one, other = (outcome(plan, batches, restarts=each) for each in (False, True))
    return None if one == other else f"{number}: {query}\n{batches}\n{one}\n{other}"


@pytest.mark.random
def test_snapshots_change_no_result() -> None:
    faults = [fault(number) for number in draw_numbers(share(250))]
    assert not any(faults), next(filter(None, faults))


@pytest.mark.parametrize("later", [[1], [1.5]], ids=["integers", "floats"])
def test_a_decimal_beside_other_numbers(later: list[Any]) -> None:
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE a.v <= b.v WITHIN 10", OPEN)
    matcher = plan.open()
    matcher.push([{"ts": 1, "type": "A", "v": Decimal("0.25")}])
    matcher.push([{"ts": 2, "type": "A", "v": each} for each in later])
    matcher = plan.restore(matcher.snapshot())
    found = matcher.push([{"ts": 3, "type": "B", "v": 1.75}]).to_pylist()
    assert [float(row["a"]["v"]) for row in found] == [later[0], 0.25]
