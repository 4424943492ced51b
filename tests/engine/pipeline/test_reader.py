"""A reader of events in, a reader of matches out."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import DataError, PlanError, SaseError
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import QUERIES, plan_of, stream

EVENTS = stream()


@pytest.mark.parametrize("query", QUERIES)
def test_the_matches_are_those_of_a_batch(query: str) -> None:
    for recipe in recipe_names()[:2]:
        plan = plan_of(query, recipe)
        expected = plan.run(EVENTS).to_pylist()
        for size in (1, 9, 100):
            read = plan.open().stream(EVENTS.to_reader(max_chunksize=size))
            assert read.read_all().to_pylist() == expected


def test_batches_are_read_when_their_matches_are() -> None:
    seen = list[int]()

    def batches() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(EVENTS.to_batches(max_chunksize=5)):
            seen.append(number)
            yield batch

    plan = plan_of("a window", "optimized")
    matcher = plan.open()
    reader = matcher.stream(pa.RecordBatchReader.from_batches(EVENTS.schema, batches()))
    assert seen == []
    first = reader.read_next_batch()
    assert 0 < len(seen) < 10
    assert matcher.rows == 5 * len(seen)
    # A restart in between: the read rows and those still to come are all.
    rest = plan.restore(matcher.snapshot()).stream(EVENTS.slice(matcher.rows))
    assert [*first.to_pylist(), *rest.read_all().to_pylist()] == plan.run(EVENTS).to_pylist()


def test_no_match_has_the_schema_too() -> None:
    plan = sase.compile("EVENT A a WHERE a.v > 100 RETURN a.v AS v, a.s AS s", EVENTS.schema)
    table = plan.open().stream(EVENTS).read_all()
    assert table.num_rows == 0
    assert table.schema.field("v").type == pa.int64()
    assert table.schema.names == ["v", "s", "ts_start", "ts_end", "detected_at"]


TYPES = {
    "i": pa.array([1, None, 3], pa.int32()),
    "f": pa.array([None, 0.5, 2.0]),
    "d": pa.array([None, Decimal("1.25"), Decimal("2.00")], pa.decimal128(9, 2)),
    "s": pa.array([None, "x", "y"]).dictionary_encode(),
    "b": pa.array([None, True, False]),
    "day": pa.array([None, 1, 2], pa.int32()).cast(pa.date32()),
    "t": pa.array([None, 1, 2]).cast(pa.timestamp("ms", "UTC")),
}


@pytest.mark.parametrize(
    "value",
    [
        *(f"a.{name}" for name in TYPES), "a.i + 1", "a.i / 2", "a.f + a.i", "a.t + 1 us",
        "a.day + 36 hours", "a.t - a.day", "coalesce(a.d, 1.5)", "upper(a.s)", "least(a.i, a.f)",
        "NULL",
    ],
)  # fmt: skip
def test_one_schema_for_all_batches(value: str) -> None:
    """Whatever the first batch has, which may be nothing but NULL."""
    events = pa.table({"ts": [1, 2, 3], "type": ["A"] * 3, **TYPES})
    plan = sase.compile(f"EVENT A a RETURN {value} AS x", events)
    expected = plan.run(events).to_pylist()
    for size in (1, 3):
        found = plan.open().stream(events.to_reader(max_chunksize=size)).read_all().to_pylist()
        assert found == expected


def test_a_stream_needs_types() -> None:
    plan = sase.compile("EVENT A a RETURN a.v + 1 AS more, a.v AS v", sase.Schema())
    with pytest.raises(PlanError, match="the type of the result `more` is not known before"):
        plan.open().stream(EVENTS)


def test_what_is_no_reader_is_refused() -> None:
    plan = plan_of("a window", "optimized")
    with pytest.raises(DataError, match="is made of a pyarrow RecordBatchReader, and this is of"):
        plan.open().stream([{"ts": 1}])
    matcher = plan.open()
    matcher.finish()
    with pytest.raises(SaseError, match="this matcher is finished"):
        matcher.stream(EVENTS)


def test_a_reader_that_breaks() -> None:
    def batches() -> Iterator[Any]:
        yield from EVENTS.slice(0, 5).to_batches()
        raise pa.ArrowInvalid("torn")

    reader = pa.RecordBatchReader.from_batches(EVENTS.schema, batches())
    with pytest.raises(DataError, match="the events cannot be read beyond row 5: torn"):
        plan_of("a window", "optimized").open().stream(reader).read_all()


def test_late_rows_of_a_stream() -> None:
    events = pa.table({"ts": [5, 3, 6], "type": ["A", "A", "B"]})
    matcher = sase.compile("EVENT SEQ(A a, B b)", events.schema).open()
    assert matcher.stream(events).read_all().num_rows == 1
    assert matcher.late["#row"].to_pylist() == [1]
