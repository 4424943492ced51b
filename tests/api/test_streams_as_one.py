"""Statements that read several streams: the order, the attributes and the times of events."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sase

Rows = list[dict[str, Any]]


def events(text: str) -> Rows:
    """`A1 B2x` is a row of type A at time 1 and one of type B at time 2 with `v` "x"."""
    return [{"type": word[0], "ts": int(word[1]), "v": word[2:] or None} for word in text.split()]


def places(script: str, **streams: object) -> dict[str, list[list[int]]]:
    """The places of the events of each match in the streams that its statement reads."""
    found = sase.Script(script).run(streams=streams)
    return {
        name: [list(each.values()) for each in matches.rows.to_pylist()]
        for name, matches in found.items()
    }


def problem(script: str, streams: dict[str, object], **options: Any) -> sase.Diagnostic:
    """The one thing that is wrong with a script."""
    with pytest.raises(sase.BindingError) as caught:
        sase.Script(script, strict=True, **options).run(streams=streams)
    (found,) = caught.value.diagnostics
    return found


def test_primitive_events_come_before_composite_ones_of_the_same_time() -> None:
    script = """CREATE STREAM s AS EVENT A a;
                FROM s, raw EVENT SEQ(s x, A y); FROM s, raw EVENT SEQ(A y, s x)"""
    assert places(script, raw=events("A1")) == {"s": [[0]], "query_2": [], "query_3": [[0, 1]]}


def test_from_keeps_its_order_at_the_same_time() -> None:
    script = "FROM p, q EVENT SEQ(A a, B b); FROM q, p EVENT SEQ(A a, B b)"
    found = places(script, p=events("A1"), q=events("B1"))
    assert found == {"query_1": [[0, 1]], "query_2": []}


def test_events_of_one_input_stay_simultaneous() -> None:
    script = "FROM p, q EVENT SEQ(A a, B b)"
    assert places(script, p=events("A1 B1"), q=events("C1")) == {"query_1": []}
    numbered = [{**each, "n": place} for place, each in enumerate(events("A1 B1"))]
    streams = {"p": numbered, "q": [{**each, "n": 0} for each in events("C1")]}
    found = sase.Script(script, seq="n").run(streams=streams)["query_1"]
    assert found.rows.to_pylist() == [{"a": 0, "b": 1}]


@pytest.mark.parametrize("names", [["x", None], [f"n{each}" for each in range(100)]])
def test_dictionaries_that_arrow_does_not_unify(names: list[str | None]) -> None:
    """One has NULL among its values, or both have too many for their indexes."""
    streams = {}
    for stream, letter in (("p", "A"), ("q", "B")):
        values = [name and letter + name for name in names]
        codes = pa.array(range(len(values)), pa.int8())
        texts = pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))
        columns = {"ts": range(len(values)), "type": [letter] * len(values), "s": texts}
        streams[stream] = pa.table(columns)
    script = "FROM p, q EVENT SEQ(A a, B b) WITHIN 1 RETURN a.s AS s, b.s AS t"
    found = sase.Script(script).run(streams=streams)["query_1"].to_pylist()
    wanted = [(name and f"A{name}", name and f"B{name}") for name in names]
    assert [(match["s"], match["t"]) for match in found] == wanted


def test_nested_dictionaries_that_arrow_does_not_unify_are_named() -> None:
    streams = {}
    for stream, letter in (("p", "A"), ("q", "B")):
        codes, texts = (
            pa.array(range(100), pa.int8()),
            pa.array([f"{letter}{n}" for n in range(100)]),
        )
        lists = pa.ListArray.from_arrays(range(101), pa.DictionaryArray.from_arrays(codes, texts))
        streams[stream] = pa.table({"ts": range(100), "type": [letter] * 100, "s": lists})
    script = sase.Script("FROM p, q EVENT SEQ(A a, B b) WITHIN 1 RETURN a.s AS s")
    with pytest.raises(sase.DataError, match="no rows of `s` can be shown.*cast the column"):
        script.run(streams=streams)


def test_events_that_come_in_several_pushes_stay_simultaneous() -> None:
    matcher = sase.Script("FROM p, q EVENT SEQ(A a, B b)").open()
    matcher.push("q", events("C9"))
    parts = [matcher.push("p", events(text)) for text in ("A1", "B1", "B2")] + [matcher.finish()]
    found = [row for part in parts for each in part.values() for row in each.rows.to_pylist()]
    assert found == [{"a": 0, "b": 2}]


def test_an_event_waits_until_nothing_can_come_before_it() -> None:
    matcher = sase.Script("FROM p, q EVENT A a").open()
    assert matcher.push("p", events("A1 A3")) == {}
    # Of the time 3 one of p may still come, which is before it.
    assert len(matcher.push("q", events("A3"))["query_1"]) == 2
    assert len(matcher.advance(4, "p")["query_1"]) == 1
    assert matcher.finish() == {}


def test_composite_events_of_a_late_absence_are_waited_for() -> None:
    script = """CREATE STREAM alone AS EVENT SEQ(A a, !(B b)) WITHIN 3;
                FROM alone, raw EVENT SEQ(alone x, C y)"""
    every = events("A1 C3 C5")
    assert places(script, raw=every)["query_2"] == [[2, 3]]
    matcher = sase.Script(script).open()
    parts = [matcher.push("raw", [each]) for each in every] + [matcher.finish()]
    assert [len(part["query_2"]) for part in parts if "query_2" in part] == [1]


def test_types_have_the_attributes_that_their_stream_gives_them() -> None:
    script = """CREATE STREAM s AS EVENT B b RETURN Found(b.v AS w);
                FROM s, raw EVENT ANY(Found, A) x WHERE x.w = 'y';
                FROM s, raw EVENT ANY x"""
    found = sase.Script(script, streams={"raw": declared(events("A1 B2 B3y"))}).run(
        streams={"raw": declared(events("A1 B2 B3y"))}
    )
    # A does not declare `w`: a condition on it does not apply to events of A.
    assert [each["x"]["ts"] for each in found["query_2"]] == [1, 3]
    assert list(found["query_3"][0]["x"]) == ["w", "ts", "type", "v"]


def declared(rows: Rows) -> pa.Table:
    """Rows with a dictionary of types, so that these are known."""
    table = pa.Table.from_pylist(rows)
    return table.set_column(0, "type", table["type"].dictionary_encode())


def test_a_name_of_no_type_is_found_where_types_are_known() -> None:
    script = "CREATE STREAM s AS EVENT A a; FROM s, raw EVENT SEQ(s x, D y)"
    found = problem(script, {"raw": declared(events("A1 B2"))})
    assert (found.code, found.message) == ("unknown-type", "there is no event type `D`")


def test_diamonds_and_limits() -> None:
    script = """CREATE STREAM a AS EVENT A x LIMIT 2; CREATE STREAM l AS FROM a EVENT a x;
                CREATE STREAM r AS FROM a EVENT a x RETURN R(x.x_v AS v);
                FROM r, l EVENT SEQ(R x, l y)"""
    found = places(script, raw=events("A1 A2 A3"))
    assert found == {
        "a": [[0], [1]],
        "l": [[0], [1]],
        "r": [[0], [1]],
        "query_4": [[0, 1], [2, 3], [0, 3]],
    }


def test_two_streams_may_make_one_type() -> None:
    script = """CREATE STREAM a AS EVENT A x RETURN Alert(x.v AS v);
                CREATE STREAM b AS EVENT B x RETURN Alert(x.v AS w);
                FROM a, b EVENT SEQ(Alert x, Alert y) RETURN x.v AS v, y.w AS w"""
    found = sase.Script(script).run(events("A1p B2q"))["query_3"]
    assert [(each["v"], each["w"]) for each in found] == [("p", "q")]


def test_inputs_are_brought_to_the_finest_unit() -> None:
    streams = {
        "days": [{"type": "A", "day": date(2024, 1, 1)}],
        "moments": [{"type": "B", "at": datetime(2024, 1, 1, 5, tzinfo=UTC)}],
    }
    script = "FROM days, moments EVENT SEQ(A a, B b) WITHIN 5 hours"
    time = {"days": "day", "moments": "at"}
    within = [sase.Script(f"{script}{more}", time=time) for more in ("", " INCLUSIVE")]
    assert [len(each.run(streams=streams)["query_1"]) for each in within] == [0, 1]
    found = within[1].run(streams=streams)["query_1"]
    assert found[0]["detected_at"] == datetime(2024, 1, 1, 5, tzinfo=UTC)
    assert found[0]["a"]["day"] == date(2024, 1, 1)


def test_integers_count_what_is_said_of_each_input() -> None:
    script = sase.Script(
        "CREATE STREAM s AS FROM p, q EVENT SEQ(A a, B b) WITHIN 1 second; FROM s EVENT s x",
        time_unit={"p": "s", "q": "ms"},
    )
    found = script.run(streams={"p": events("A1"), "q": [{"type": "B", "ts": 1999}]})
    assert found["query_2"][0]["x"]["ts"] == 1999
    assert found["query_2"][0]["x"]["a_ts"] == 1


def test_seconds_in_floats_are_seconds_in_composite_events() -> None:
    script = """CREATE STREAM s AS FROM p, q EVENT SEQ(A a, B b) WITHIN 1 second;
                FROM s, p EVENT SEQ(s x, A y) WHERE x.ts = 1750000 AND x.a_ts = 1500000"""
    p = [{"type": "A", "ts": 1.5}, {"type": "A", "ts": 2.25}]
    found = sase.Script(script).run(streams={"p": p, "q": [{"type": "B", "ts": 1.75}]})
    assert [each["detected_at"] for each in found["query_2"]] == [2250000]


def test_what_is_found_on_imprecise_time_is_at_one_time() -> None:
    raw = [
        {"type": kind, "lo": lo, "hi": hi}
        for kind, lo, hi in [("A", 1, 3), ("B", 2, 6), ("A", 4, 4), ("B", 5, 9), ("A", 12, 12)]
    ]
    script = sase.Script(
        """CREATE STREAM s AS EVENT SEQ(A a, B b) WITHIN 6 WITH CONFIDENCE > 0.5
             RETURN S(a.lo AS begun, confidence AS likely);
           CREATE STREAM t AS EVENT A a;
           FROM s, t EVENT SEQ(t y, S x) WHERE x.likely >= 0.6""",
        streams={"raw": raw},
        time=("lo", "hi"),
    )
    found = script.run(streams={"raw": raw})
    assert [(each["begun"], each["detected_at"]) for each in found["s"]] == [(1, 6), (4, 9), (1, 9)]
    shown = [(each["y"]["lo"], each["x"]["lo"]) for each in found["query_3"]]
    assert shown == [(4, 6), (3, 6), (4, 9), (3, 9), (4, 9), (3, 9)]
    assert set(found["query_3"][0]["y"]) == {"a_type", "a_lo", "a_hi", "lo"}
    matcher = script.open()
    parts = [*(matcher.push("raw", [each]) for each in raw), matcher.finish()]
    pushed = [each for part in parts if "query_3" in part for each in part["query_3"]]
    assert pushed == found["query_3"].to_pylist()


@pytest.mark.parametrize(
    ("p", "q", "options", "words"),
    [
        ([{"type": "A", "ts": 1}], [{"type": "B", "ts": 1.5}], {},
         "integers and those of `q` floats"),
        ([{"type": "A", "ts": 1}], [{"type": "B", "ts": 1}], {"time_unit": {"p": "s"}},
         "the integer times of `q` have no unit"),
        ([{"type": "A", "ts": 1, "v": 1}], [{"type": "B", "ts": 1, "v": "x"}], {},
         "`v` is an integer in `p` and a string in `q`"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_one(p: Rows, q: Rows, options: Any, words: str) -> None:
    found = problem("FROM p, q EVENT SEQ(A a, B b)", {"p": p, "q": q}, **options)
    assert (found.code, found.column) == ("streams-apart", 9)
    assert words in found.message


def test_a_result_that_is_read_has_no_column_of_the_name_of_its_time() -> None:
    script = "CREATE STREAM s AS EVENT A a RETURN a.v AS ts"
    assert len(sase.Script(script).run(events("A1"))["s"]) == 1
    found = problem(f"{script}; FROM s EVENT s x", {"raw": events("A1")})
    assert found.code == "column-clash"


def test_times_that_do_not_fit_the_finest_unit_are_refused() -> None:
    script = sase.Script("FROM p, q EVENT A a", time_unit={"p": "weeks", "q": "ns"})
    with pytest.raises(sase.DataError, match="a time of `p` does not fit 64 bits"):
        script.run(streams={"p": [{"type": "A", "ts": 2**60}], "q": events("A1")})


def test_messages_about_time_name_no_column_that_is_not_there() -> None:
    script = "FROM p, q EVENT SEQ(A a, B b) WITHIN 2 seconds"
    found = problem(script, {"p": events("A1"), "q": events("B2")})
    assert found.message == (
        "the time columns of these streams hold integers, and their unit is not known"
    )
    ties = sase.Script("FROM p, q EVENT SEQ(A a, B b)").run(
        streams={"p": events("A1 B1"), "q": events("B2")}
    )
    (warning,) = ties["query_1"].report.warnings
    assert "67 % of the 3 events that the query sees share their time with another" in warning


@pytest.mark.parametrize("zone", ["Europe/Berlin", None])
def test_a_column_of_several_zones_keeps_its_instants(zone: str | None) -> None:
    stamps = {"p": pa.array([0], pa.timestamp("s", "UTC")), "q": pa.array([10**6])}
    stamps["q"] = stamps["q"].cast(pa.timestamp("us", zone))
    streams = {
        name: pa.table({"type": [kind], "ts": stamps[name]})
        for name, kind in (("p", "A"), ("q", "B"))
    }
    script = """FROM p, q EVENT SEQ(A a, B b) WITHIN 1 hour;
                FROM p, q EVENT SEQ(A a, B b) WHERE b.ts - a.ts = 1 second RETURN b.ts AS at"""
    found = sase.Script(script).run(streams=streams)
    second = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    (whole,), (part,) = (matches.to_pylist() for matches in found.values())
    assert [whole["b"]["ts"], part["at"]] == [second, second]


@pytest.mark.parametrize("kind", ["view", "runs", "views within"])
def test_columns_of_which_arrow_takes_no_values(kind: str) -> None:
    text = pa.array(["x", "y"], pa.string_view())
    column = {
        "view": text,
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), ["x", "y"]),
        "views within": pa.StructArray.from_arrays([text], ["w"]),
    }[kind]
    streams = {
        "p": pa.table({"type": ["A", "A"], "ts": [3, 1], "s": column}),
        "q": pa.table({"type": ["B", "B"], "ts": [2, 4], "s": column}),
    }
    script = "FROM p, q EVENT SEQ(A a, B b) RETURN a.ts AS a, b.ts AS b"
    if kind != "views within":
        script = script.replace("RETURN", "WHERE a.s = b.s RETURN")
    found = sase.match(script, streams=streams).to_pylist()
    wanted = {(1, 4), (1, 2), (3, 4)} if kind == "views within" else {(1, 4)}
    assert {(each["a"], each["b"]) for each in found} == wanted
    shown = sase.match("FROM p, q EVENT SEQ(A a, B b)", streams=streams).to_pylist()
    assert [each["b"]["s"] for each in shown] == [column.to_pylist()[at] for at in (0, 1, 1)]


def test_decimals_that_no_float_has_are_bad_beside_floats_of_another_stream() -> None:
    """None is 0.1, which rounding would make equal."""
    decimals = pa.array([Decimal("0.25"), Decimal("0.10"), None], pa.decimal128(18, 2))
    streams = {
        "p": pa.table({"type": ["A"] * 3, "ts": [1, 2, 3], "v": decimals}),
        "q": pa.table({"type": ["B", "B"], "ts": [4, 5], "v": [0.25, 0.1]}),
    }
    script = "FROM p, q EVENT SEQ(A a, B b) WHERE a.v = b.v RETURN a.ts AS a, b.ts AS b"
    with pytest.raises(sase.DataError, match=r"`v` is 0\.10: no float has this value"):
        sase.Script(script).run(streams=streams)
    options = {"p": "quarantine", "q": "quarantine"}
    found = sase.Script(script, on_bad_row=options).run(streams=streams)["query_1"]
    assert [(each["a"], each["b"]) for each in found.to_pylist()] == [(1, 4)]


def test_integers_that_no_float_has_are_bad_beside_floats_of_another_stream() -> None:
    great = pa.table({"type": ["A", "A"], "ts": [1, 2], "v": [2**53 + 1, 1]})
    floats = pa.table({"type": ["B", "B"], "ts": [3, 4], "v": [2.0**53, 1.0]})
    streams = {"p": great, "q": floats}
    script = "FROM p, q EVENT SEQ(A a, B b) WHERE a.v = b.v RETURN a.ts AS a, b.ts AS b"
    with pytest.raises(sase.DataError, match=f"`v` is {2**53 + 1}: no float has this value"):
        sase.match(script, streams=streams)
    found = sase.match(script, streams=streams, on_bad_row="quarantine")
    assert [(each["a"], each["b"]) for each in found.to_pylist()] == [(2, 4)]
    (bad,) = found.report.quarantined.select(["sase_row", "sase_column", "v"]).to_pylist()
    assert bad == {"sase_row": 0, "sase_column": "v", "v": str(2**53 + 1)}
    shown = sase.match("FROM p, q EVENT SEQ(A a, B b) RETURN a.ts AS a", streams=streams)
    assert len(shown) == 4  # which asks nothing of the numbers


def two_streams(one: pa.Array, two: pa.Array) -> dict[str, pa.Table]:
    """An A of the one stream before a B of the other one, for each of the values."""
    times = (range(0, 2 * len(one), 2), range(1, 2 * len(two), 2))
    return {
        name: pa.table({"ts": ts, "type": [type_name] * len(column), "v": column})
        for name, type_name, ts, column in zip("pq", "AB", times, (one, two), strict=True)
    }


MOMENTS = [datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 3, tzinfo=UTC)]
DAYS = pa.array([date(2026, 1, 2), date(2026, 1, 2)])
EXACT = 10**15 + 1
PAIRS = {
    "decimals of integers": (
        pa.array([EXACT, EXACT + 1]),
        pa.array([Decimal(EXACT), Decimal(EXACT) + Decimal("0.5")], pa.decimal128(18, 2)),
    ),
    "decimals without a fraction": (
        pa.array([EXACT, EXACT], pa.uint64()),
        pa.array([Decimal(EXACT), Decimal(EXACT + 1)], pa.decimal128(16, 0)),
    ),
    "floats of decimals": (
        pa.array([Decimal("0.5"), Decimal("0.25")], pa.decimal128(9, 4)),
        pa.array([0.5, 0.5], pa.float32()),
    ),
    "timestamps of dates": (DAYS, pa.array(MOMENTS, pa.timestamp("ms", "UTC"))),
    "timestamps of dates without zones": (
        DAYS,
        pa.array([each.replace(tzinfo=None) for each in MOMENTS], pa.timestamp("ns")),
    ),
}


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_values_of_two_kinds_that_compare(pair: tuple[pa.Array, ...], *, is_turned: bool) -> None:
    """Integers beside decimals were "the type decimal here", and dates "the type string here"."""
    streams = two_streams(*reversed(pair) if is_turned else pair)
    script = sase.Script("FROM p, q EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 2", streams=streams)
    found = script.run(streams=streams)["query_1"]
    assert [each["a"]["ts"] for each in found] == [0]
    matcher, told = script.open(), 0
    for place in range(2):
        for name, table in streams.items():
            parts = matcher.push(name, table.slice(place, 1))
            told += sum(map(len, parts.values()))
    assert told + sum(map(len, matcher.finish().values())) == 1


def test_integers_too_long_beside_decimals_are_bad_rows() -> None:
    """Decimals have eighteen digits: the row says so, where it was the type of its column."""
    streams = two_streams(
        pa.array([10**18]), pa.array([Decimal("1.5")], pa.decimal128(9, 2))
    )  # fmt: skip
    with pytest.raises(sase.DataError) as caught:
        sase.Script("FROM p, q EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 2").run(streams=streams)
    assert "`v` is 1000000000000000000.00: at most 18 digits can be read" in str(caught.value)


def test_moments_too_far_away_for_the_unit_beside_them() -> None:
    """The year 33,658 has no nanoseconds of 64 bits: those of another moment were compared."""
    streams = two_streams(
        pa.array([10**12], pa.timestamp("s")), pa.array([3875820019684212736], pa.timestamp("ns"))
    )
    with pytest.raises(sase.SaseError, match="compiled for timestamp"):
        sase.Script("FROM p, q EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 2").run(streams=streams)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("test", ["a.v = b.v", "[v]", "a.v < 0 AND b.v = b.v"])
def test_integers_beyond_int64_are_bad_beside_negative_ones(test: str, *, coded: bool) -> None:
    """They were the number 2^64 below, and equal to that."""
    great = pa.array([2**63 + 5, 7, None], pa.uint64())
    streams = two_streams(
        great.dictionary_encode() if coded else great, pa.array([5 - 2**63, 7, 7], pa.int64())
    )
    text = f"FROM p, q EVENT SEQ(A a, B b) WHERE {test} WITHIN 2"
    with pytest.raises(sase.DataError, match="row 0 .*: `v` is 9223372036854775813: the greatest"):
        sase.match(text, streams=streams)
    found = sase.match(text, streams=streams, on_bad_row="quarantine")
    assert [each["a"]["ts"] for each in found] == ([] if "<" in test else [2])
    assert found.report.bad == 1
    assert found.report.quarantined["v"].to_pylist() == [str(2**63 + 5)]
