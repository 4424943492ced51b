"""The types of RETURN's columns follow from the query, whatever values come."""

from __future__ import annotations

import io
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pytest

import sase
from sase.engine.results.arrow_columns import python_values
from sase.engine.results.sinks import stream_writer

DAY = date(2026, 1, 1)
MIDNIGHT = datetime(2026, 1, 1)  # noqa: DTZ001 - without a zone
DAYS, STEP = timedelta(days=1), timedelta(milliseconds=5)
PRICES = [Decimal("1.50"), None, Decimal("-0.07"), Decimal("4.80")]
EVENTS = pa.table({
    "ts": [1, 2, 3, 4],
    "type": ["A"] * 4,
    "day": pa.array([DAY, None, DAY, DAY], pa.date32()),
    "second": pa.array([0, 1, None, 3], pa.timestamp("s")),
    "long": pa.array([0, 86400, None, 3600], pa.duration("s")),
    "price": pa.array(PRICES, pa.decimal128(7, 2)),
    "whole": [1, None, 3, 4],
    "real": [0.5, None, 2.5, 1.0],
    "name": ["x", None, "y", "x"],
})  # fmt: skip
TYPES = {
    "x.day": pa.date32(),
    "x.day + 1 day": pa.date32(),
    "least(x.day, DATE '2026-01-01')": pa.date32(),
    "x.day + 1 hour": pa.timestamp("s"),
    "x.day + x.long": pa.timestamp("s"),
    "x.second": pa.timestamp("s"),
    "x.second + 5 ms": pa.timestamp("ms"),
    "coalesce(x.second, TIMESTAMP '2026-01-01 00:00:00.000001')": pa.timestamp("us"),
    "greatest(x.day, x.second) - 1 ns": pa.timestamp("ns"),
    "TIMESTAMP '2026-01-01 00:00:00.5'": pa.timestamp("ms"),
    "x.second - x.day": pa.duration("s"),
    "abs(x.second - x.day)": pa.duration("s"),
    "1500 ms": pa.duration("ms"),
    "x.long": pa.duration("s"),
    "x.price": pa.decimal128(38, 2),
    "-x.price": pa.float64(),
    "x.price + 1": pa.float64(),
    "coalesce(x.price, 3)": pa.decimal128(38, 2),
    "greatest(x.whole, x.price)": pa.decimal128(38, 2),
    "least(x.price, x.real)": pa.float64(),
    "x.whole": pa.int64(),
    "x.whole / 2": pa.float64(),
    "coalesce(x.real, x.whole)": pa.float64(),
    "length(x.name)": pa.int64(),
    "upper(x.name)": pa.string(),
    "NULL": pa.null(),
}


def query(value: str, where: str = "") -> str:
    return f"EVENT A x{where} RETURN {value} AS c"


@pytest.mark.parametrize("value", TYPES)
def test_the_type_is_that_of_the_query(value: str) -> None:
    """With all rows, with none, and one push after the other."""
    text, kind = query(value), TYPES[value]
    assert sase.match(text, EVENTS).to_arrow().schema.field("c").type == kind
    none = query(value, " WHERE x.whole > 9")
    assert sase.match(none, EVENTS).to_arrow().schema.field("c").type == kind
    matcher = sase.compile(text, EVENTS).open()
    for batch in EVENTS.to_batches(max_chunksize=1):
        assert matcher.push(batch).to_arrow().schema.field("c").type == kind


@pytest.mark.parametrize("value", TYPES)
def test_the_values_are_the_same_by_every_way_out(value: str) -> None:
    text = query(value)
    values = sase.match(text, EVENTS).to_arrow()["c"].to_pylist()
    assert [each["c"] for each in sase.match(text, EVENTS)] == values
    assert sase.match(text, EVENTS).to_reader().read_all()["c"].to_pylist() == values
    streamed = sase.compile(text, EVENTS).open().stream(EVENTS.to_reader(max_chunksize=1))
    assert streamed.read_all()["c"].to_pylist() == values
    absent = query(value).replace("EVENT A x", "EVENT SEQ(A x, !(B y)) WITHIN 1")
    for threads in (1, 2):
        found = sase.match(absent, EVENTS, threads=threads).to_arrow()["c"]
        assert found.to_pylist() == values


@pytest.mark.parametrize(("value", "expected"), [
    ("x.day + x.long", [MIDNIGHT, None, None, MIDNIGHT + timedelta(hours=1)]),
    ("x.price", PRICES),
    ("greatest(x.whole, x.price)", [Decimal("1.5"), None, Decimal(3), Decimal("4.8")]),
    ("least(x.price, x.real)", [0.5, None, -0.07, 1.0]),
    ("x.long + 5 ms", [STEP, DAYS + STEP, None, timedelta(hours=1) + STEP]),
    ("x.long", [timedelta(0), DAYS, None, timedelta(hours=1)]),
    ("coalesce(x.price, 9000000000000000001)", [
        Decimal("1.50"), Decimal(9000000000000000001), Decimal("-0.07"), Decimal("4.80"),
    ]),
])  # fmt: skip
def test_values(value: str, expected: list[Any]) -> None:
    assert sase.match(query(value), EVENTS).to_arrow()["c"].to_pylist() == expected


def test_a_moment_beyond_the_unit_is_an_error() -> None:
    far = pa.table({"ts": [1], "type": ["A"], "at": pa.array([2**40], pa.timestamp("s"))})
    text = query("greatest(x.at, TIMESTAMP '2026-01-01 00:00:00.000000001')")
    with pytest.raises(sase.DataError, match=r"leaves the range of timestamp\[ns\]"):
        sase.match(text, far).to_arrow()


def test_dates_end() -> None:
    """Where theirs do, not where those of int64 do: results saturate, and values are no others."""
    last = date(9999, 12, 31)
    days = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    events = pa.table({"ts": days, "type": ["A"]})
    found = sase.match("EVENT SEQ(A a, !(B b)) WITHIN 2 days", events).to_arrow()
    assert found["detected_at"].cast(pa.int32()).to_pylist() == [2**31 - 1]
    with pytest.raises(sase.DataError, match="leaves the range of date32"):
        sase.match("EVENT A a RETURN a.ts + 1 day AS c", events).to_arrow()
    events = pa.table({"ts": pa.array([last]), "type": ["A"]})
    assert sase.match("EVENT A a RETURN a.ts AS c", events).to_pylist()[0]["c"] == last


def test_what_has_nothing_in_common_is_no_column() -> None:
    events = {"A": [{"ts": 1, "k": "a"}], "B": [{"ts": 2, "k": 7}]}
    with pytest.raises(sase.QueryError, match="`a.k` cannot be a column"):
        sase.match("EVENT ANY a RETURN a.k", events)
    shown = [match["a"]["k"] for match in sase.match("EVENT ANY a", events)]
    assert shown == ["a", "7"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_in_text_are_seconds(unit: str) -> None:
    """Whatever the times are counted in, also inside of events and series."""
    times = pa.array([0, 90_000, 180_500], pa.timestamp("ms"))
    times = times.cast(pa.timestamp(unit), safe=False)
    events = pa.table({"ts": times, "type": ["A", "B", "B"], "took": pc.subtract(times, times[0])})
    matches = sase.match("EVENT SEQ(A a, B b) RETURN b.ts - a.ts AS gap, b.took AS took", events)
    shown = sase.match("EVENT SEQ(A a, B b)", events)
    series = sase.match("EVENT SEQ(A a, B+ b[])", events)
    last = 180 if unit == "s" else 180.5
    for form in ("csv", "jsonl"):
        out = io.BytesIO()
        writer = stream_writer(form, out, matches.to_arrow().schema)
        for batch in matches.to_arrow().to_batches():
            writer.write_batch(batch)
        writer.close()
        out.seek(0)
        found = pyarrow.csv.read_csv(out) if form == "csv" else pyarrow.json.read_json(out)
        assert [float(each) for each in found["gap"].to_pylist()] == [90, last]
        assert [float(each) for each in found["took"].to_pylist()] == [90, last]
        out = io.BytesIO()
        for table in (shown.to_arrow(), series.to_arrow()):
            writer = stream_writer(form, out, table.schema)
            for batch in table.to_batches():
                writer.write_batch(batch)
            writer.close()
        assert str(last).encode() in out.getvalue()
        assert b'"0:01:30"' not in out.getvalue()


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_pandas_has_times_in_events_as_moments(unit: str) -> None:
    pandas = pytest.importorskip("pandas")
    moments = [datetime.fromisoformat(f"2026-01-0{day}") for day in (1, 2)]
    events = pa.table({"ts": pa.array(moments, pa.timestamp(unit)), "type": ["A", "B"]})
    frame = sase.match("EVENT SEQ(A a, B+ b[])", events).to_pandas()
    assert list(frame.columns) == ["a", "b", "ts_start", "ts_end", "detected_at"]
    assert frame["a"][0] == {"ts": moments[0], "type": "A"}
    assert frame["b"][0] == [{"ts": moments[1], "type": "B"}]
    assert frame["ts_start"][0] == pandas.Timestamp(moments[0])
    none = sase.match("EVENT SEQ(A a, B+ b[], A c)", events).to_pandas()
    assert (len(none), list(none.columns)[:3]) == (0, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("kind", "count", "shown"),
    [
        (pa.timestamp("s"), 253_402_300_800, "10000-01-01T00:00:00"),
        (pa.timestamp("ms", "Europe/Berlin"), 253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
        (pa.timestamp("us"), -62_135_596_800_000_001, "0000-12-31T23:59:59.999999"),
        (pa.date32(), 2**31 - 1, "5881580-07-11"),
        (pa.duration("s"), 2**50, 2.0**50),
        (pa.time64("us"), 2**62, 2**62 / 10**6),
    ],
)
def test_times_that_python_has_not_are_shown(kind: pa.DataType, count: int, shown: object) -> None:
    """In tables, messages and `why` alike, alone or within others."""
    width = pa.int32() if kind == pa.date32() else pa.int64()
    column = pa.array([count, 5, None], width).view(kind)
    arrays = [column, column.dictionary_encode()]
    if not pa.types.is_time(kind):  # of which Arrow proves that they are of a day
        arrays.append(pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3]), column))
    for array in arrays:
        assert python_values(pa.chunked_array([array])) == [shown, column[1].as_py(), None]
    events = pa.table({"ts": [1, 2, 3], "type": [*"ABB"], "t": column})
    found = sase.match("EVENT A a", events)
    assert str(shown) in repr(found)
    first = {"ts": 1, "type": "A", "t": shown}
    assert found.to_pylist() == [*found] == found[:1] == [found[0]]
    assert found[0]["a"] == first
    assert found.to_pandas()["a"].tolist() == [first]
    asked = "[ts]" if pa.types.is_time(kind) else "a.t = b.t"  # no condition reads times of day
    near = str(sase.why(f"EVENT SEQ(A a, B b) WHERE {asked}", events))
    assert "no match" in near, near


@pytest.mark.parametrize("number", [-120, 0, 99])
def test_decimals_that_arrow_does_not_write_are_shown(number: int) -> None:
    digits = pa.py_buffer(number.to_bytes(8, "little", signed=True) * 3)
    column = pa.Array.from_buffers(pa.decimal64(9, 255), 3, [None, digits])
    found = sase.match("EVENT A a", pa.table({"ts": [1, 2, 3], "type": [*"ABB"], "x": column}))
    assert found.to_pylist()[0]["a"]["x"] == Decimal(number).scaleb(-255)


# ---------------------------------------------------------------- encoded columns


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode])
def test_times_of_an_encoded_column_keep_their_zone(encode: Any) -> None:
    berlin = pa.timestamp("us", "Europe/Berlin")
    plain = {"ts": pa.array([0, 10**6], berlin), "type": ["A", "B"], "v": pa.array([5, 6], berlin)}
    coded = plain | {"ts": encode(plain["ts"]), "v": encode(plain["v"])}
    query = "EVENT SEQ(A a, B b) RETURN a.ts AS t, a.v AS v, date_trunc('day', b.v) AS d"
    wanted = sase.match(query, pa.table(plain)).to_arrow()
    assert sase.match(query, pa.table(coded)).to_arrow() == wanted
    for name in ("ts_start", "t", "v", "d"):
        assert wanted.schema.field(name).type == berlin


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode])
def test_streams_with_encoded_times_keep_their_zone(encode: Any) -> None:
    berlin = pa.timestamp("us", "Europe/Berlin")
    streams = {
        name: pa.table({"ts": encode(pa.array([place], berlin)), "type": [name]})
        for place, name in enumerate("AB")
    }
    found = sase.Script("FROM A, B EVENT SEQ(A a, B b)").run(streams=streams)["query_1"].to_arrow()
    assert found.schema.field("ts_start").type == berlin
    assert found.num_rows == 1


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode])
def test_sums_over_all_matches_of_an_encoded_column(encode: Any) -> None:
    rows = {"ts": range(4), "type": [*"ABBB"], "n": encode(pa.array([1, 5, None, 5]))}
    matches = sase.match("EVENT SEQ(A a, B b)", pa.table(rows), output="compressed")
    assert matches.aggregate("sum", "b.n") == 10
