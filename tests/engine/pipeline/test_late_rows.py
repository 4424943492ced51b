"""Late rows: which they are, where they are kept, and which values the lateness may have."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.columns.arrow.gate import Gate
from sase.engine.columns.decode.batch_decoder import BatchDecoder
from sase.engine.pipeline.reorder_buffer import MOST_PIECES
from sase.errors import BindingError, PlanError
from tests.seeds import draw_numbers

PAIRS = "EVENT SEQ(A a, B b)"
QUERY = f"{PAIRS} WITHIN 10"


def rows(*events: tuple[int, str], **more: Any) -> list[dict[str, Any]]:
    return [{"ts": ts, "type": name, **more} for ts, name in events]


def pushed(matcher: Any, events: Any, size: int) -> list[tuple[int, ...]]:
    """The row numbers of all matches, and of those at the end."""
    parts = [matcher.push(events[start : start + size]) for start in range(0, len(events), size)]
    parts.append(matcher.finish())
    return [tuple(row.values()) for part in parts for row in part.rows.to_pylist()]


STREAM = rows((5, "A"), (6, "B"), (3, "A"), (9, "B"), (2, "B"), (7, "B"))


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_within_the_lateness_rows_find_their_place(size: int) -> None:
    matcher = sase.compile(QUERY, STREAM, lateness=3).open()
    assert pushed(matcher, STREAM, size) == [(0, 1), (2, 1), (0, 5), (2, 5), (0, 3), (2, 3)]
    assert matcher.late.to_pylist() == [{"#row": 4, "ts": 2, "type": "B"}]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_without_lateness_what_goes_back_is_late(size: int) -> None:
    matcher = sase.compile(QUERY, STREAM).open()
    assert pushed(matcher, STREAM, size) == [(0, 1), (0, 3)]
    assert matcher.late["#row"].to_pylist() == [2, 4, 5]
    assert matcher.rows == 6


def test_the_report_counts_late_rows() -> None:
    matcher = sase.compile(QUERY, STREAM).open()
    assert matcher.push(STREAM[:3]).report.late == 1
    report = matcher.finish().report
    assert (report.rows, report.late) == (3, 1)
    assert str(report).startswith("3 rows read, 1 of them late")


def test_late_rows_are_taken_once() -> None:
    matcher = sase.compile(QUERY, STREAM).open()
    assert matcher.late.num_rows == 0
    matcher.push(STREAM[:3])
    assert matcher.take_late()["#row"].to_pylist() == [2]
    assert matcher.late.num_rows == 0
    assert matcher.push(STREAM[4:]).report.late == 2
    assert matcher.late["#row"].to_pylist() == [3]


def test_without_lateness_the_sequence_counts_as_time() -> None:
    """A row with the time of another and a lesser number comes too late to stand before it."""
    events = [{"ts": 1, "type": "A", "n": n} for n in (1, 3, 3, 2, 4)]
    plan = sase.compile("EVENT SEQ(A a, A b)", events, seq="n")
    for size in (1, 2, 5):
        matcher = plan.open()
        found = pushed(matcher, events, size)
        assert found == [(0, 1), (0, 2), (2, 4), (1, 4), (0, 4)], size
        assert matcher.late["#row"].to_pylist() == [3]


def test_with_a_lateness_of_nothing_a_lesser_number_may_still_come() -> None:
    """So rows of the greatest time wait for each other."""
    events = [{"ts": 1, "type": "A", "n": n} for n in (1, 3, 3, 2, 4)]
    plan = sase.compile("EVENT SEQ(A a, A b)", events, seq="n", lateness=0)
    expected = sase.match("EVENT SEQ(A a, A b)", events, seq="n").rows
    rows = list(zip(*(expected.column(name).to_pylist() for name in "ab"), strict=True))
    for size in (1, 2, 5):
        matcher = plan.open()
        assert pushed(matcher, events, size) == rows, size
        assert len(matcher.late) == 0


def test_what_waits_for_a_lesser_number_goes_on_with_time() -> None:
    rows = [{"ts": 1, "type": "A", "n": n} for n in (2, 1)]
    matcher = sase.compile("EVENT SEQ(A a, A b)", rows, seq="n", lateness=0).open()
    assert len(matcher.push(rows)) == 0
    assert matcher.advance(2).rows.to_pylist() == [{"a": 1, "b": 0}]
    matcher.push(rows)
    assert matcher.late["#row"].to_pylist() == [2, 3]


def test_with_lateness_a_lesser_number_may_still_come() -> None:
    events = [{"ts": ts, "type": "A", "n": n} for ts, n in [(1, 2), (3, 1), (1, 1), (4, 0), (1, 3)]]
    plan = sase.compile("EVENT SEQ(A a, A b) WITHIN 1 EVENTS INCLUSIVE", events, seq="n")
    plan = sase.compile("EVENT SEQ(A a, A b) WITHIN 2 EVENTS", events, seq="n", lateness=2)
    for size in (1, 2, 5):
        matcher = plan.open()
        assert pushed(matcher, events, size) == [(2, 0), (0, 1), (1, 3)], size
        assert matcher.late["#row"].to_pylist() == [4]


def test_the_tables_of_a_dict_follow_each_other() -> None:
    """With lateness they may overlap, and rows of one time keep the order in which they came."""
    first = {"A": [{"ts": 1}, {"ts": 5}], "B": [{"ts": 2}, {"ts": 6}]}
    second = {"A": [{"ts": 6}, {"ts": 9}], "B": [{"ts": 7}]}
    plan = sase.compile(QUERY, first, lateness=4)
    matcher = plan.open()
    found = [matcher.push(first), matcher.push(second), matcher.finish()]
    pairs = [tuple(row.values()) for part in found for row in part.rows.to_pylist()]
    assert pairs == [(0, 2), (1, 3), (0, 3), (4, 6), (1, 6), (0, 6)]
    late = sase.compile(QUERY, first).open()
    late.push(first)
    assert late.late.to_pylist() == [{"#row": 2, "#type": "B", "ts": 2}]


def test_pushes_of_different_columns_wait_together() -> None:
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE a.v <= b.v", sase.Schema(), lateness=5)
    pushes = [
        [{"ts": 1, "type": "A", "v": 1}],
        [{"ts": 3, "type": "B", "v": 2.5}, {"ts": 2, "type": "A", "v": 1.5}],
        [{"ts": 2, "type": "B", "v": 1}, {"ts": 4, "type": "B", "v": 9, "note": "x"}],
        [{"ts": 20, "type": "B", "v": 0}, {"ts": 3, "type": "B", "v": 1, "#row": "mine"}],
    ]
    matcher = plan.open()
    parts = [*(matcher.push(each) for each in pushes), matcher.finish()]
    found = [tuple(row.values()) for part in parts for row in part.rows.to_pylist()]
    assert found == [(0, 3), (2, 1), (0, 1), (2, 4), (0, 4)]
    assert matcher.late.to_pylist() == [{"##row": 6, "ts": 3, "type": "B", "v": 1, "#row": "mine"}]


def test_small_dictionaries_may_be_many() -> None:
    """Each batch has values of its own, and an index that cannot count all of them."""
    kind = pa.dictionary(pa.int8(), pa.string())
    batches = [
        pa.record_batch(
            {
                "ts": [start, start - 3, start + 1],
                "type": pa.array(["A", "A", "A"]).dictionary_encode().cast(kind),
                "id": pa.array([f"x{start}", f"x{start - 40}", None])
                .dictionary_encode()
                .cast(kind),
            }
        )
        for start in range(0, 4000, 10)
    ]
    plan = sase.compile(
        "EVENT SEQ(A a, A b) WHERE [id] WITHIN 50", batches[0].schema, lateness=1500
    )
    matcher = plan.open()
    found = [len(matcher.push(batch)) for batch in batches]
    assert sum(found) + len(matcher.finish()) == 400 - 4
    assert matcher.late.num_rows == 0


def test_a_bad_row_leaves_the_stream_as_it_was() -> None:
    for lateness in (0, 3):
        matcher = sase.compile(QUERY, STREAM, lateness=lateness).open()
        matcher.push(STREAM[:1])
        with pytest.raises(sase.DataError, match="row 1"):
            matcher.push([*rows((50, "A")), {"ts": None, "type": "A"}])
        assert matcher.rows == 1
        found = matcher.push(STREAM[1:2]).rows.to_pylist() + matcher.finish().rows.to_pylist()
        assert found == [{"a": 0, "b": 1}]


def test_columns_of_which_arrow_takes_no_rows() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 6], pa.int32()), pa.array([1, 2]))
    names = pa.array([each["type"] for each in STREAM], pa.string_view())
    batch = pa.record_batch({"ts": [e["ts"] for e in STREAM], "type": names, "v": runs})
    matcher = sase.compile(f"{QUERY} RETURN b.v AS v", batch.schema, lateness=3).open()
    found = [*matcher.push(batch).to_pylist(), *matcher.finish().to_pylist()]
    assert [row["v"] for row in found] == [1, 1, 2, 2, 2, 2]
    assert matcher.late["v"].to_pylist() == [2]


# ---------------------------------------------------------------- time


def test_a_negated_end_fires_when_time_has_come_and_once() -> None:
    query = "EVENT SEQ(A a, !(B b)) WITHIN 10"
    matcher = sase.compile(query, STREAM).open()
    assert len(matcher.push(rows((5, "A")))) == 0
    assert len(matcher.advance(14)) == 0
    assert matcher.advance(15).rows.to_pylist() == [{"a": 0}]
    assert len(matcher.advance(15)) == len(matcher.advance(40)) == 0
    assert len(matcher.push(rows((14, "B"), (39, "A"), (40, "A")))) == 0
    assert matcher.late["#row"].to_pylist() == [1, 2]
    assert matcher.finish().rows.to_pylist() == [{"a": 3}]


def test_time_goes_on_with_rows_that_wait_themselves() -> None:
    """At 30 less 5 it is known that no B came up to 15, though the event at 30 waits."""
    matcher = sase.compile("EVENT SEQ(A a, !(B b)) WITHIN 10", STREAM, lateness=5).open()
    assert len(matcher.push(rows((5, "A"), (12, "C")))) == 0
    assert matcher.push(rows((30, "A"))).rows.to_pylist() == [{"a": 0}]
    assert matcher.advance(41).rows.to_pylist() == [{"a": 2}]
    assert len(matcher.finish()) == 0


def test_advance_releases_what_waits() -> None:
    matcher = sase.compile(QUERY, STREAM, lateness=100).open()
    assert len(matcher.push(STREAM)) == 0
    assert len(matcher.advance(6)) == 2
    more = matcher.push(rows((5, "B"), (6, "B")))
    assert more.rows.to_pylist() == [{"a": 0, "b": 7}, {"a": 2, "b": 7}]
    assert (more.report.late, matcher.late["#row"].to_pylist()) == (1, [6])
    assert len(matcher.finish()) == 4


def test_state_stays_flat() -> None:
    """A long stream with disorder and ever new strings: waiting and kept rows are bounded."""
    random, count = np.random.default_rng(0), 15_000
    ts = np.arange(count) + random.integers(-30, 30, count)
    table = pa.table({"ts": ts, "type": random.choice(["A", "B"], count), "id": ts // 7})
    table = table.append_column("s", pa.array([f"s{t // 9}" for t in ts]).dictionary_encode())
    query = "EVENT SEQ(A a, B b) WHERE [id, s] WITHIN 20"
    matcher = sase.compile(query, table.schema, lateness=40).open()
    sizes, late = [], 0
    for start in range(0, count, 50):
        matcher.push(table.slice(start, 50))
        late += matcher.take_late().num_rows
        if start % 3000 == 0 and start:
            sizes.append(len(matcher.snapshot()))
    assert max(sizes[1:]) < 1.2 * sizes[1]
    assert late == matcher.finish().report.late > 0
    assert len(matcher.pipeline.reorder_buffer._waiting) == 0


def test_a_push_in_order_is_loaded_by_the_batch_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of one schema, with and without a late row; a condition keeps from going straight."""
    quick, loaded = BatchDecoder.decoded, list[bool]()

    def watched(self: BatchDecoder, batch: pa.RecordBatch, gate: Gate) -> Any:
        decoded = quick(self, batch, gate)
        loaded.append(decoded is not None)
        return decoded

    monkeypatch.setattr(BatchDecoder, "decoded", watched)
    names = pa.array(["A", "B"]).dictionary_encode()
    batches = [pa.record_batch({"ts": [t, t + 1], "type": names}) for t in (0, 2, 4, 4, 6)]
    for lateness in (0, 3):
        loaded.clear()
        query = "EVENT SEQ(A a, B b) WHERE a.ts >= 0 WITHIN 10"
        matcher = sase.compile(query, batches[0].schema, lateness=lateness).open()
        for batch in batches:
            matcher.push(batch)
        assert loaded == [True] * 4
        assert matcher.late.num_rows == (lateness == 0)


def test_times_of_dicts_without_a_fraction() -> None:
    """JSON writes 2 for 2.0; a column of integers is another kind of time."""
    query = "EVENT SEQ(A a, B b) WITHIN 5 seconds RETURN b.ts AS at"
    matcher = sase.compile(query, [{"ts": 0.5, "type": "A"}]).open()
    matcher.push([{"ts": 1.5, "type": "A"}])
    assert matcher.push([{"ts": 2, "type": "B"}]).to_pylist()[0]["at"] == 2_000_000
    with pytest.raises(sase.SaseError, match="compiled for times of the type float"):
        matcher.push(pa.table({"ts": [3], "type": ["B"]}))


# ---------------------------------------------------------------- its values


MOMENTS = pa.schema([("ts", pa.timestamp("ms")), ("type", pa.string())])
COUNTS = pa.schema([("ts", pa.int64()), ("type", pa.string())])


@pytest.mark.parametrize(
    ("given", "raw"),
    [
        (None, None), (0, 0), ("0", 0), ("5 seconds", 5000), ("1.5 min", 90_000),
        ("1 us", 1), (timedelta(seconds=2, microseconds=1), 2001),
        ("1000000000000 weeks", 2**63 - 1),
    ],
)  # fmt: skip
def test_lateness_in_raw_units(given: object, raw: int | None) -> None:
    assert sase.compile(PAIRS, MOMENTS, lateness=given).lateness == raw


@pytest.mark.parametrize("given", [7, "7"])
def test_lateness_without_a_unit_counts_integer_times(given: object) -> None:
    """The moments that a number counts depend on storage: 7 s here, 7 µs there."""
    assert sase.compile(QUERY, COUNTS, lateness=given).lateness == 7
    dates = pa.schema([("ts", pa.date32()), ("type", pa.string())])
    floats = pa.schema([("ts", pa.float64()), ("type", pa.string())])
    for schema, proposed in [(MOMENTS, "7 seconds"), (dates, "7 days"), (floats, "7 seconds")]:
        with pytest.raises(PlanError, match=f'give a unit, such as  "{proposed}"'):
            sase.compile(PAIRS, schema, lateness=given)
    matcher = sase.compile(PAIRS, sase.Schema(), lateness=given).open()
    with pytest.raises(PlanError, match='such as  "7 seconds"'):
        matcher.push(MOMENTS.empty_table())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-1, "cannot be less than no time late"),
        ("-5 s", "cannot be less than no time late"),
        (timedelta(-1), "cannot be less than no time late"),
        (2.5, "give raw units of the time column as an integer"),
        (True, "is no amount of time"),
        ("soon", "is no amount of time"),
        ("", "is no amount of time"),
        ("5 seconds", "give the unit of `ts`"),
        (timedelta(1), "give the unit of `ts`"),
    ],
)
def test_lateness_that_cannot_be(given: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        sase.compile(QUERY, COUNTS, lateness=given)


def test_a_unit_that_there_is_not() -> None:
    with pytest.raises(BindingError, match="did you mean `seconds`"):
        sase.compile(PAIRS, MOMENTS, lateness="5 secnds")
    with pytest.raises(PlanError, match="compile the query with the schema of the events"):
        sase.compile("EVENT A a", sase.Schema(), lateness="5 s")


def test_lateness_is_part_of_the_plan() -> None:
    plan = sase.compile(QUERY, COUNTS, lateness=5)
    assert sase.Plan.from_json(plan.to_json()) == plan
    assert plan != sase.compile(QUERY, COUNTS)


def test_a_batch_has_no_late_rows() -> None:
    matches = sase.compile(QUERY, STREAM, lateness=1).run(STREAM)
    assert (len(matches), matches.report.late) == (6, 0)


def test_moments() -> None:
    def at(*seconds: int) -> list[dict[str, Any]]:
        moments = [datetime.fromisoformat(f"2026-01-01T00:00:{s:02}") for s in seconds]
        return [{"ts": moment, "type": "A"} for moment in moments]

    matcher = sase.compile("EVENT A a", at(0), lateness="5 seconds").open()
    matcher.push(at(10, 5, 4, 20, 15))
    assert matcher.late["#row"].to_pylist() == [2]
    matcher.advance(at(17)[0]["ts"])
    matcher.push(at(17, 16))
    assert matcher.late["ts"].to_pylist() == [each["ts"] for each in at(4, 16)]


def test_overflows_name_the_row_as_it_was_pushed() -> None:
    """Also where its table is long given up, and the matcher another one."""
    events = rows((5, "C"), (3, "B"), (5, "A"), (6, "B"), v=2**62) + rows(
        *((t, "C") for t in range(7, 60)), v=0
    )
    query = "EVENT SEQ(A a, B b) WHERE a.v + b.v > 0 WITHIN 10"
    plan = sase.compile(query, events)
    matcher = plan.open()
    for event in events:
        matcher.push([event])
        matcher = plan.restore(matcher.snapshot())
    (warning,) = matcher.finish().report.warnings
    assert warning.endswith("1 times and was NULL there, for example in row 2")


@pytest.mark.random
@pytest.mark.parametrize("seq", [None, "n"])
@pytest.mark.parametrize(("size", "jitter"), [(1, 5), (1, 200), (3, 40), (70, 100), (400, 1000)])
def test_what_waits_in_many_pieces_comes_in_order(size: int, jitter: int, seq: str | None) -> None:
    """Where no row is late the stream is the batch, which is sorted; row numbers and all."""
    random, count = np.random.default_rng(draw_numbers(401)[size]), 600
    ts = np.arange(count) // 2 + random.integers(0, jitter, count)
    table = pa.table({"ts": ts, "type": random.choice([*"ABCD"], count), "n": ts * 7 % 5})
    table = table.append_column("id", pa.array([f"k{t % 9}" for t in ts]).dictionary_encode())
    plan = sase.compile(
        "EVENT SEQ(A a, B b) WHERE [id] WITHIN 30 EVENTS", table, seq=seq, lateness=jitter
    )
    expected = [tuple(row.values()) for row in plan.run(table).rows.to_pylist()]
    matcher = plan.open()
    found, held = list[Any](), list[int]()
    for start in range(0, count, size):
        more = matcher.push(table.slice(start, size))
        if len(more):
            found += [tuple(row.values()) for row in more.rows.to_pylist()]
        waiting = matcher.pipeline.reorder_buffer._waiting
        held.append(sum(len(piece.rows) for piece in waiting))
        assert held[-1] <= 2 * sum(map(len, waiting))
        assert len(waiting) <= MOST_PIECES + 10
        if start % 140 == 0:
            matcher = plan.restore(matcher.snapshot())
    found += [tuple(row.values()) for row in matcher.finish().rows.to_pylist()]
    assert found == expected != []
    assert matcher.late.num_rows == 0
