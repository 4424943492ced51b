"""Queries compiled without knowing the types of columns, and events that have them."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pytest

import sase
from sase.binding.schema import EventType
from sase.binding.schema_file import schema_from
from sase.errors import BindingError, SchemaError

EVENTS = pa.table(
    {
        "ts": [0, 1],
        "type": ["A", "B"],
        "k": [1, 1],
        "s": ["y", "x"],
        "f": [True, False],
        "d": [Decimal("1.25"), Decimal("2.50")],
        "m": pa.array([5, 6], pa.timestamp("ms")),
        "day": pa.array([5, 6], pa.date32()),
    }
)


@pytest.mark.parametrize("again", [False, True], ids=["", "restored"])
def test_a_stream_keeps_the_kind_of_a_column(again: bool) -> None:
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [k] WITHIN 9", sase.Schema())
    matcher = plan.open()
    matcher.push(pa.table({"ts": [0], "type": ["A"], "k": [0]}))
    if again:
        matcher = plan.restore(matcher.snapshot())
    with pytest.raises(SchemaError, match=r"`k` is a string here, .* had it as an integer"):
        matcher.push(pa.table({"ts": [1], "type": ["B"], "k": ["x"]}))
    # It was not taken, and neither does a refused one count.
    assert len(matcher.push(pa.table({"ts": [1], "type": ["B"], "k": [0.0]})).rows) == 1


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("a.k = 'x'", "`a.k` is an integer and `'x'` is a string"),
        ("a.k = b.m", "`a.k` is an integer and `b.m` is a string"),
        ("b.m < 3", "`b.m` is a string and `3` is an integer"),
        ("a.f = 1", "`a.f` is a boolean and `1` is an integer"),
        ("a.k BETWEEN 1 AND 'x'", "`a.k` is an integer and `'x'` is a string"),
        ("a.k IN (1, 'x')", "`a.k` is an integer and `'x'` is a string"),
        ("a.k LIKE 'x%'", "LIKE is for texts, and `a.k` is an integer"),
        ("a.k + b.m > 0", "`a.k` is an integer and `b.m` is a string: `+` does not take that"),
        ("-a.m > 0", "`a.m` is a string: `-` does not take that"),
        ("length(a.k) > 1", "`a.k` is an integer: `length` does not take that"),
        ("least(a.k, b.m) > 0", "`least` does not take that"),
        ("abs(a.k + 1) = 'x'", "`abs(a.k + 1)` is an integer and `'x'` is a string"),
        ("[k = 'x']", "`a.k` is an integer and `'x'` is a string"),
        ("b.ts - a.ts < 5 minutes", "an integer and `5 minutes` is an interval"),
        ("a.k > 0 AND (a.k < 5 OR a.m = 1)", "`a.m` is a string and `1` is an integer"),
    ],
)
def test_what_cannot_be_compared_is_refused_when_events_show_it(where: str, why: str) -> None:
    """The query is compiled without knowing the columns, and means nothing for these."""
    plan = sase.compile(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 9", sase.Schema())
    columns = {"k": [1, 2], "m": ["x", "y"], "f": [True, False]}
    events = pa.table({"ts": [0, 1], "type": ["A", "B"], **columns})
    with pytest.raises(SchemaError, match=re.escape(why)):
        plan.run(events)
    with pytest.raises(SchemaError, match=re.escape(why)):
        plan.open().push(events)


@pytest.mark.parametrize(
    "where",
    ["sum(a[].m) > 1", "a[i].k > a[i-1].m", "b.m > max(a[].k)"],
)
def test_nor_over_series(where: str) -> None:
    plan = sase.compile(f"EVENT SEQ(A+ a[], B b) WHERE {where} WITHIN 9", sase.Schema())
    with pytest.raises(SchemaError, match="without knowing the types of columns"):
        plan.run(pa.table({"ts": [0, 1], "type": ["A", "B"], "k": [1, 2], "m": ["x", "y"]}))


def test_columns_of_types_that_are_of_several_kinds() -> None:
    types = (EventType("A"), EventType("B"))
    events = {"A": pa.table({"ts": [0], "k": [1]}), "B": pa.table({"ts": [1], "k": ["x"]})}
    schema = sase.Schema(types=types)
    for where in ("[k]", "a.k = b.k"):
        plan = sase.compile(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 9", schema)
        with pytest.raises(SchemaError, match="`a.k` is an integer and `b.k` is a string"):
            plan.run(events)
    plan = sase.compile("EVENT SEQ(ANY(A, B) a) WHERE a.k = 1", schema)
    with pytest.raises(SchemaError, match="`a.k` is an integer in one type and a string in"):
        plan.run(events)
    apart = sase.compile("EVENT SEQ(A a, B b) WHERE a.k = 1 AND b.k = 'x' WITHIN 9", schema)
    assert len(apart.run(events).rows) == 1


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("a.s < b.s", "`a.s` is a string, which `<` must know"),
        ("a.s BETWEEN b.s AND b.s", "`a.s` is a string, which `BETWEEN` must know"),
        ("least(a.s, b.s) = 'x'", "`a.s` is a string, which `least` must know"),
        ("b.m - a.m < 5 minutes", "`b.m` is a timestamp(ms), which `-` must know"),
    ],
)
def test_what_must_be_known_when_a_query_is_compiled(where: str, why: str) -> None:
    """Texts are in another order than their codes, and times are added otherwise than numbers."""
    query = f"EVENT SEQ(A a, B b) WHERE {where}"
    with pytest.raises(SchemaError, match=re.escape(why)):
        sase.compile(query, sase.Schema()).run(EVENTS)
    sase.compile(query, EVENTS).run(EVENTS)
    with pytest.raises(SchemaError, match="`max` must know"):
        sase.compile("EVENT SEQ(A+ a[], B b) WHERE max(a[].s) = 'x' WITHIN 9", sase.Schema()).run(
            EVENTS
        )


@pytest.mark.parametrize(
    "where",
    [
        "a.s < 'z'",
        "a.s BETWEEN b.s AND 'z'",
        "b.m > a.m",
        "b.day > a.m",
        "a.day + 1 day > b.m",
        "a.k < a.d AND a.d < b.d",
        "a.f != b.f",
        "a.s LIKE 'y%'",
        "lower(b.s) < a.s",
    ],
)
def test_what_needs_no_types_is_found_without(where: str) -> None:
    query = f"EVENT SEQ(A a, B b) WHERE {where}"
    known, unknown = (sase.compile(query, given).run(EVENTS) for given in (EVENTS, sase.Schema()))
    assert len(known) == 1
    assert unknown.to_pylist() == known.to_pylist()


def test_a_type_without_events_says_nothing() -> None:
    """No condition is on its columns as long as there are none."""
    query = "EVENT SEQ(A a, B+ b[]) WHERE max(b[].s) > 'x' OR a.s < b[1].s WITHIN 9"
    first, none = [{"ts": 0, "s": "w"}], list[dict[str, object]]()
    assert len(sase.match(query, {"A": first, "B": none})) == 0
    plan = sase.compile(query, {"A": first, "B": none})
    matcher = plan.open()
    matcher.push({"A": first, "B": none})
    with pytest.raises(SchemaError, match="`max` must know"):
        matcher.push({"A": none, "B": [{"ts": 1, "s": "y"}]})


def test_a_column_keeps_its_kind_in_one_table_and_several() -> None:
    plan = sase.compile(
        "EVENT SEQ(A a, B b) WHERE [k]", sase.Schema(types=(EventType("A"), EventType("B")))
    )
    matcher = plan.open()
    matcher.push(pa.table({"ts": [0], "type": ["A"], "k": [0]}))
    with pytest.raises(SchemaError, match="`k` is a string here"):
        matcher.push({"A": pa.table({"ts": [1], "k": ["x"]})})


RETURNED = """coalesce(a.d, 1) AS one, greatest(b.d, 1) + 1 AS two, least(a.s, 'z') AS z,
    a.s AS s, b.k AS k, coalesce(a.s, b.s) AS c, lower(b.s) AS l, a.f AS f, b.d AS d,
    a.m AS m, b.day AS day, a.k / 2 AS h, -a.d AS n, least(a.k, b.d) AS least, b.m + 1 day AS t,
    abs(a.d) AS abs, a.k + b.d AS sum, a.day + 2 days AS later"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("window", ["", "WITHIN 1 EVENTS INCLUSIVE"])
def test_what_is_returned_has_the_types_of_the_columns(threads: int, window: str) -> None:
    """Whether parts are cut by key, or by time."""
    query = f"EVENT SEQ(A a, B b) WHERE [k] {window} RETURN {RETURNED}"
    known, unknown = (
        sase.compile(query, given).run(EVENTS, threads=threads).to_arrow()
        for given in (EVENTS, sase.Schema())
    )
    assert unknown.equals(known)


@pytest.mark.parametrize("again", [False, True], ids=["", "restored"])
def test_also_of_events_that_are_pushed(again: bool) -> None:
    query = f"EVENT SEQ(A a, B b) WHERE [k] RETURN {RETURNED}"
    plan = sase.compile(query, sase.Schema())
    matcher = plan.open()
    matcher.push(EVENTS.slice(0, 1))
    if again:
        matcher = plan.restore(matcher.snapshot())
    found = matcher.push(EVENTS.slice(1)).to_arrow()
    assert found.equals(sase.match(query, EVENTS).to_arrow())


def test_numbers_of_several_pushes_are_shown_as_what_holds_them() -> None:
    matcher = sase.compile("EVENT SEQ(A a, B b) RETURN a.k AS x, b.k AS y", sase.Schema()).open()
    found = []
    for ts, (name, k) in enumerate([("A", 1), ("B", 2), ("A", 2.5), ("B", 7)]):
        found += matcher.push(pa.table({"ts": [ts], "type": [name], "k": [k]})).to_pylist()
    values = [(row["x"], row["y"]) for row in found]
    assert values == [(1, 2), (2.5, 7.0), (1.0, 7.0)]
    assert [type(x) for x, _ in values] == [int, float, float]


@pytest.mark.parametrize("unit", ["seconds", "milliseconds"])
def test_time_and_type_are_known_of_every_event(unit: str) -> None:
    """Whatever else a type declares: an interval beside the time is as many raw units."""
    rows = [{"ts": ts, "type": "AB"[ts % 2]} for ts in range(8)]
    query = f"EVENT SEQ(A a, B b) WHERE b.ts - a.ts < 3 {unit} AND a.type < b.type"
    unknown = sase.compile(query, sase.Schema(time_unit=unit)).run(rows)
    assert unknown.to_pylist() == sase.match(query, rows, time_unit=unit).to_pylist()
    assert len(unknown) == 4
    assert len(sase.match(query, {"A": rows[:1], "B": []}, time_unit=unit)) == 0


def test_averages_are_of_numbers() -> None:
    """Also where nothing else in the query has a type that is not known."""
    for query in (
        "EVENT SEQ(A a, B+ b[]) WITHIN 9 RETURN avg(b[].s) AS x",
        "EVENT SEQ(A a, B+ b[]) WHERE stddev(b[..i].s) >= 0 WITHIN 9 RETURN 1 AS x",
    ):
        with pytest.raises(SchemaError, match="does not take a string"):
            sase.compile(query, sase.Schema()).run(EVENTS)
    means = "EVENT SEQ(A a, B+ b[]) WITHIN 9 RETURN avg(b[].d) AS x"
    assert [row["x"] for row in sase.compile(means, sase.Schema()).run(EVENTS)] == [2.5]


@pytest.mark.parametrize("pattern", ["A a, ANY y", "A a, ANY(B, C) y", "A a, !ANY(B, C), C c"])
def test_the_types_of_one_component_must_agree_too(pattern: str) -> None:
    schema = sase.Schema(types=(EventType("A"), EventType("B"), EventType("C")))
    events = {
        "A": pa.table({"ts": [0], "k": [1]}),
        "B": pa.table({"ts": [1, 2, 3], "k": ["x", "y", "z"]}),
        "C": pa.table({"ts": [9], "k": [1]}),
    }
    with pytest.raises(SchemaError, match="they cannot be compared"):
        sase.compile(f"EVENT SEQ({pattern}) WHERE [k]", schema).run(events)


def test_times_are_shown_as_they_were_given() -> None:
    times = pa.array([5, 6], pa.timestamp("ms", "UTC"))
    events = pa.table({"ts": times, "type": ["A", "B"]})
    query = "EVENT SEQ(A a, B b) RETURN b.ts AS ts"
    unknown = sase.compile(query, sase.Schema()).run(events).to_arrow()
    assert unknown.equals(sase.match(query, events).to_arrow())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_a_schema_that_names_no_unit(unit: str) -> None:
    """They are shown as they come; where none came there is nothing to show."""
    schema = schema_from({"columns": {"ts": "timestamp", "type": "string"}})
    plan = sase.compile("EVENT A a", schema)
    events = pa.table({"ts": pa.array([5, 6], pa.timestamp(unit)), "type": ["A", "A"]})
    for found in (plan.run(events), plan.open().push(events)):
        assert found.to_arrow()["ts_start"].to_pylist() == events["ts"].to_pylist()
    assert plan.run(events.slice(0, 0)).to_pylist() == []
    assert plan.open().finish().to_pylist() == []


@pytest.mark.parametrize(
    ("times", "proposed"),
    [
        (pa.array([0, 1], pa.timestamp("s")), "60 seconds"),
        (pa.array([0, 1], pa.timestamp("ns", "UTC")), "60 seconds"),
        (pa.array([0, 1], pa.date32()), "60 days"),
        (pa.array([0.0, 1.0]), "60 seconds"),
    ],
    ids=str,
)
def test_a_window_without_a_unit_counts_integer_times_only(times: pa.Array, proposed: str) -> None:
    """The moments that a number counts in others depend on storage, however the events come."""
    query = "EVENT SEQ(A a, B b) WITHIN 60 INCLUSIVE"
    table = pa.table({"ts": times, "type": ["A", "B"]})
    plan = sase.compile(query, sase.Schema())
    assert len(plan.run(EVENTS)) == 1
    with pytest.raises(SchemaError, match=f"write  WITHIN {proposed} INCLUSIVE  and compile"):
        plan.run(table)
    matcher = plan.open()
    matcher.advance(-1)
    for batch in (table, table.to_pylist()):
        with pytest.raises(SchemaError, match=f"write  WITHIN {proposed} INCLUSIVE  and compile"):
            matcher.push(batch)
    for events in (table, table.schema):
        with pytest.raises(BindingError, match=f"write  WITHIN {proposed} INCLUSIVE"):
            sase.compile(query, events)
    with pytest.raises(BindingError, match=f"write  WITHIN {proposed} INCLUSIVE"):
        sase.match(query, table)
    stored = sase.compile(query, EVENTS).to_json()
    assert len(sase.Plan.from_json(stored).run(EVENTS)) == 1
    with pytest.raises(SchemaError, match="`ts` has the type"):
        sase.Plan.from_json(stored).run(table)


@pytest.mark.parametrize("value", ["min(a[].s)", "least(a[1].s, 'x')"])
def test_what_no_type_declares_is_of_no_kind(value: str) -> None:
    """It has no value, whatever other types have in the column."""
    rows = pa.table({"ts": [1, 2], "type": ["A", "C"], "k": [1, None], "s": [None, "text"]})
    types = {"A": ["k"], "B": ["k"], "C": ["s"]}
    found = sase.match(f"EVENT ANY(A, B)+ a[] RETURN a.len, {value} AS v", rows, types=types)
    assert found.to_pylist()[0]["v"] == (None if "min" in value else "x")


@pytest.mark.parametrize(
    ("condition", "of_the_other"),
    [
        ("last(b[].s) > first(b[1..i-1].s)", True),  # no condition is on the first event
        ("NOT (last(b[].s) > first(b[1..i-1].s))", True),
        ("b[i].s > 'm'", True),
        ("NOT (b[i].s > 'm')", False),
        ("min(b[].s) BETWEEN 'a' AND 'm'", False),
        ("b[i].s LIKE 't%'", True),
        ("b[i].at - first(b[].at) < 5 minutes", True),
        ("NOT (b[i].at - first(b[].at) < 5 minutes)", False),
        ("last(b[].at) + 5 minutes > first(b[].at)", True),
        ("b[i].k + 1 > 5", False),
        ("greatest(last(b[].s), 'a') > 'b'", True),
    ],
)
def test_a_branch_may_declare_what_another_does_not(condition: str, of_the_other: bool) -> None:
    """A condition on an attribute that no type of a branch declares holds there."""
    columns = {
        "ts": [1, 2, 3],
        "type": ["A", "D", "C"],
        "s": [None, None, "text"],
        "k": [None, None, 1],
        "at": pa.array([None, None, 3], pa.timestamp("us")),
    }
    types = {"A": [], "C": ["s", "k", "at"], "D": []}
    query = f"EVENT SEQ(A a, D+ b) ∪ C+ b WHERE {condition} RETURN first(b[].type) AS kind"
    found = sase.match(query, pa.table(columns), types=types)
    assert [row["kind"] for row in found.to_pylist()] == ["D", "C"][: 1 + of_the_other]
