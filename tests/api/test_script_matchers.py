"""Matchers of scripts: late and bad rows, reports, snapshots, and ends."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sase

Rows = list[dict[str, Any]]
MIXED = """CREATE STREAM pairs AS FROM raw EVENT SEQ(A a, B b) WITHIN 4 RETURN Pair(a.ts AS at);
           CREATE STREAM alone AS FROM raw EVENT SEQ(A a, !(B b)) WITHIN 3;
           FROM pairs, alone, other EVENT SEQ(ANY(Pair, alone) x, C y);
           FROM pairs EVENT SEQ(Pair x, Pair y) WITHIN 3 EVENTS LIMIT 2"""
SIMULTANEOUS = """CREATE STREAM first AS FROM raw EVENT SEQ(A a, B b) RETURN First(b.v AS v);
                  CREATE STREAM second AS FROM raw EVENT SEQ(A a, C c) RETURN Second(c.v AS v);
                  FROM first, second EVENT ANY(First, Second) x"""
RAW, OTHER = "A1 B2 A3 A4 B4 B6 A9 B9 B10 A11 B13 A20", "C2 C4 C6 C6 C12 C14 C30"


def events(text: str) -> Rows:
    """`A1 B2x` is a row of type A at time 1 and one of type B at time 2 with `v` "x"."""
    return [
        {"type": word[0], "ts": int(word[1:].rstrip("xy")), "v": word[-1]} for word in text.split()
    ]


def shown(*parts: dict[str, sase.Matches]) -> dict[str, list[str]]:
    """All matches by statement, with their places."""
    found: dict[str, list[str]] = {}
    for name, matches in [item for part in parts for item in part.items()]:
        rows = zip(matches.rows.to_pylist(), matches.to_pylist(), strict=True)
        found.setdefault(name, []).extend(map(str, rows))
    return {name: rows for name, rows in found.items() if rows}


def test_a_matcher_goes_on_from_any_snapshot() -> None:
    streams = {"raw": events(RAW), "other": events(OTHER)}
    script = sase.Script(MIXED, streams=streams)
    expected = shown(script.run(streams=streams))
    assert expected.keys() == {"pairs", "alone", "query_3", "query_4"}
    batches = [("raw", each) for each in streams["raw"]]
    for place, each in enumerate(streams["other"]):
        batches.insert(2 * place + 1, ("other", each))
    matcher, parts = script.open(), []
    for name, each in batches:
        parts.append(matcher.push(name, [each]))
        matcher = script.restore(matcher.snapshot(key=b"k" * 16), key=b"k" * 16)
    assert shown(*parts, matcher.finish()) == expected


def test_a_call_that_exceeds_its_limits_is_an_error_and_the_next_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory that was taken before a call ends nothing that was in its midst."""
    taken = [0]
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", lambda: taken[0])
    script = sase.Script(SIMULTANEOUS, streams={"raw": events("A1")})
    matcher = script.open(max_memory=1000, timeout="1 h")
    assert not matcher.push("raw", events("A1"))
    again = script.restore(matcher.snapshot(), max_memory=1000)
    taken[0] = 2000
    for each in (matcher, again):
        with pytest.raises(sase.MemoryLimitError, match="the call to this matcher needs more"):
            each.push("raw", events("B2"))
    taken[0] = 1000
    for each in (matcher, again):
        assert shown(each.push("raw", events("B2")), each.finish()).keys() == {"first", "query_3"}
    with pytest.raises(sase.PlanError, match="timeout='soon': give a number of seconds"):
        script.open(timeout="soon")


def test_what_exceeds_its_limits_in_its_midst_ends_the_matcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = iter(range(0, 10**9, 400))
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", taken.__next__)
    script = sase.Script(SIMULTANEOUS, streams={"raw": events("A1")})
    matcher = script.open(max_memory=1000)
    with pytest.raises(sase.MemoryLimitError, match="needs more than its max_memory of 1,000"):
        matcher.push("raw", events("A1 B2 C3 A4 B5"))
    with pytest.raises(sase.SaseError, match="ended by a MemoryLimitError in the midst of a call"):
        matcher.push("raw", events("B6"))


def test_what_streams_find_at_one_time_waits_for_the_earlier_stream() -> None:
    raw = events("A1 C2y B2x C4y A4 B4x B5x C5y B5x")
    script = sase.Script(SIMULTANEOUS, streams={"raw": raw})
    expected = shown(script.run(streams={"raw": raw}))
    matcher = script.open()
    parts = [matcher.push("raw", [each]) for each in raw]
    assert shown(*parts, matcher.finish()) == expected
    assert [row.count("'v': 'x'") for row in expected["query_3"][:2]] == [1, 0]


def test_snapshots_of_other_scripts_are_refused() -> None:
    script = sase.Script(MIXED)
    data = script.open().snapshot()
    other = sase.Script("FROM raw EVENT A a; FROM other EVENT B b")
    with pytest.raises(sase.SnapshotError, match="its statements are not the same"):
        other.restore(data)
    changed = sase.Script(MIXED.replace("WITHIN 4", "WITHIN 5"))
    with pytest.raises(sase.SnapshotError, match="another plan"):
        changed.restore(data)
    with pytest.raises(sase.SnapshotError, match="sign"):
        script.restore(data, key=b"k" * 16)
    with pytest.raises(sase.SnapshotError, match="of type str"):
        script.restore("data")  # type: ignore[arg-type]


def test_rows_are_late_by_the_rows_of_their_input() -> None:
    script = sase.Script("FROM p EVENT A a; FROM p, q EVENT SEQ(A a, B b)", lateness={"p": 2})
    matcher = script.open()
    parts = [matcher.push("p", events("A5 A3 A2 A8")), matcher.push("q", events("B4 B9 B3"))]
    assert [(name, each["#row"].to_pylist()) for name, each in matcher.late.items()] == [
        ("p", [2]),
        ("q", [2]),
    ]
    assert {name: each.late for name, each in matcher.reports.items()} == {
        "query_1": 1,
        "query_2": 2,
    }
    assert matcher.take_late()["q"].num_rows == 1 == matcher.input_reports["q"].late
    assert matcher.late["p"].num_rows == 0
    assert len(shown(*parts, matcher.finish())["query_2"]) == 4


def test_bad_rows_are_counted_for_each_input_and_each_query() -> None:
    rows = pa.table({"type": ["A", "A", None, "B"], "ts": [1, None, 2, 3], "v": [1, 1, 2, None]})
    script = sase.Script("EVENT A a; EVENT B b", streams={"p": rows}, on_bad_row="quarantine")
    matcher = script.open()
    found = shown(matcher.push("p", rows), matcher.push("p", rows.slice(3)))
    assert {name: len(each) for name, each in found.items()} == {"query_1": 1, "query_2": 2}
    assert matcher.take_quarantined()["p"]["sase_row"].to_pylist() == [1, 2]
    assert matcher.take_quarantined()["p"] is None
    assert matcher.input_reports["p"].bad == 2 == matcher.reports["query_1"].bad


@pytest.mark.parametrize("lateness", [None, 2])
def test_rows_bad_by_what_a_statement_names_are_those_of_its_input(lateness: int | None) -> None:
    text = "EVENT A a WHERE a.v > 0; EVENT A b WHERE b.v > 1; EVENT B b"
    known = pa.table({"type": ["A"], "ts": [1], "v": [1]})
    given: Any = {"on_bad_row": "quarantine", "lateness": lateness}
    matcher = sase.Script(text, streams={"p": known}, **given).open()
    matcher.push("p", [{"type": "A", "ts": "x", "v": 1}, {"type": "A", "ts": 2, "v": "bad"}])
    matcher.push("p", [{"type": "A", "ts": 3, "v": "worse"}, {"type": "A", "ts": 3, "v": 2}])
    matcher.push("p", [{"type": "A", "ts": 9, "v": 7}])
    matcher.finish()
    found = matcher.take_quarantined()["p"].to_pylist()
    assert [[each[f"sase_{of}"] for of in ("row", "column")] for each in found] == [
        [0, "ts"],
        [1, "v"],
        [2, "v"],
    ]
    assert [(str(each["ts"]), str(each["v"])) for each in found] == [
        ("x", "1"),
        ("2", "bad"),
        ("3", "worse"),
    ]
    assert matcher.take_quarantined()["p"] is None


def test_a_bad_batch_leaves_a_matcher_as_it_was() -> None:
    matcher = sase.Script("EVENT A a; EVENT SEQ(A a, B b)").open()
    matcher.push(None, events("A1"))
    with pytest.raises(sase.DataError):
        matcher.push(None, [{"type": "B", "ts": None}])
    assert len(matcher.push(None, events("B2"))["query_2"]) == 1


def test_a_call_that_ended_in_its_midst_ends_the_matcher() -> None:
    known = pa.table({"type": ["A"], "ts": [1], "v": [1.5]})
    text = (
        "FROM p EVENT A a; CREATE STREAM s AS FROM p EVENT A a WHERE a.v > 1; FROM s, p EVENT s x"
    )
    matcher = sase.Script(text, streams={"p": known}).open()
    with pytest.raises(sase.SaseError):
        matcher.push("p", known.set_column(2, "v", [["x"]]))
    with pytest.raises(sase.SaseError, match="in the midst of a call"):
        matcher.push("p", known)


def test_matchers_are_not_copied_and_know_their_names() -> None:
    matcher = sase.Script("FROM p EVENT A a; CREATE STREAM s AS EVENT A a").open()
    matcher.push("p", events("A1 A2"))
    assert repr(matcher) == "<matcher of query_1, s: 2 rows>"
    assert (matcher.statements, matcher.inputs) == (("query_1", "s"), ("p",))
    with pytest.raises(sase.SaseError, match="snapshot"):
        matcher.__reduce__()


def test_a_finished_matcher_is_finished() -> None:
    matcher = sase.Script("EVENT A a").open()
    matcher.finish()
    with pytest.raises(sase.SaseError, match="finished"):
        matcher.snapshot()
    with pytest.raises(sase.SaseError, match="finished"):
        matcher.push(None, events("A1"))


def test_statements_are_added_to_a_matcher_and_removed() -> None:
    streams = {"raw": events("A1 B2 A3 B4 A5 B6 C7 A8 B9 C10")}
    script = sase.Script(
        """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WITHIN 3 RETURN Pair(a.ts AS at);
           EVENT C c; -- a comment
           EVENT B b -- another""",
        streams=streams,
    )
    matcher, parts = script.open(), []
    parts.append(matcher.push("raw", streams["raw"][:3]))
    added = matcher.add("FROM pairs, raw EVENT SEQ(Pair x, C y); EVENT A a -- the last one")
    assert added == ("query_4", "query_5")
    parts.append(matcher.push("raw", streams["raw"][3:5]))
    matcher.remove("query_2")
    matcher = matcher.script.restore(matcher.snapshot())
    assert matcher.statements == ("pairs", "query_3", "query_4", "query_5")
    parts.append(matcher.push("raw", streams["raw"][5:8]))
    matcher.add("EVENT D d")
    matcher.remove("query_6")
    matcher = matcher.script.restore(matcher.snapshot())
    assert matcher.add("EVENT C c; EVENT B b") == ("query_7", "query_8")
    parts += [matcher.push("raw", streams["raw"][8:]), matcher.finish()]
    found = shown(*parts)
    whole = shown(script.run(streams=streams))
    # Statements from before have lost nothing; later ones know the events that came since.
    assert {name: found[name] for name in ("pairs", "query_3")} == {
        name: whole[name] for name in ("pairs", "query_3")
    }
    assert {name: len(found[name]) for name in ("query_4", "query_5", "query_7", "query_8")} == {
        "query_4": 5,
        "query_5": 2,
        "query_7": 1,
        "query_8": 1,
    }
    assert "query_2" not in found


def test_a_statement_is_added_behind_one_that_is_over() -> None:
    matcher = sase.Script("CREATE STREAM s AS FROM raw EVENT A a LIMIT 1").open()
    matcher.push("raw", events("A1 A2"))
    matcher.add("FROM s, raw EVENT A a")
    assert len(matcher.push("raw", events("A3"))["query_2"]) == 1


def test_an_added_statement_knows_the_time_of_inputs_that_rest() -> None:
    matcher = sase.Script("FROM p, q EVENT SEQ(A a, B b)").open()
    matcher.push("q", events("B9"))
    matcher.push("p", events("A1"))
    matcher.add("FROM p, q EVENT A a")
    assert len(matcher.push("p", events("A5"))["query_2"]) == 1


def test_what_cannot_be_added_or_removed() -> None:
    matcher = sase.Script("CREATE STREAM s AS FROM raw EVENT A a; FROM s EVENT s x").open()
    with pytest.raises(sase.BindingError, match="there is no stream `row`"):
        matcher.add("FROM row EVENT A a")
    with pytest.raises(sase.BindingError, match="`s` is the name of another stream"):
        matcher.add("CREATE STREAM s AS FROM raw EVENT A a")
    with pytest.raises(sase.PlanError, match="`s` is read by query_2"):
        matcher.remove("s")
    with pytest.raises(sase.PlanError, match="did you mean `query_2`"):
        matcher.remove("query_3")
    with pytest.raises(sase.PlanError, match="name=None: give a name as text"):
        matcher.remove(None)  # type: ignore[arg-type]
    matcher.remove("query_2")
    with pytest.raises(sase.PlanError, match="the only statement"):
        matcher.remove("s")
    assert len(matcher.push("raw", events("A1"))["s"]) == 1


def test_a_number_of_units_is_no_time_of_inputs_that_count_differently() -> None:
    schema, other = sase.Schema(time_unit="s"), sase.Schema(time_unit="ms")
    script = sase.Script("FROM p, q EVENT SEQ(A a, B b)", streams={"p": schema, "q": other})
    matcher = script.open()
    with pytest.raises(sase.PlanError, match=r"advance\(5\): .* \(p s, q ms\): advance each"):
        matcher.advance(5)
    matcher.advance(5, "p")
    alike = sase.Script("FROM p, q EVENT SEQ(A a, B b)", streams={"p": schema, "q": schema})
    alike.open().advance(5)


BAD: Rows = [
    {"type": "A", "ts": 1, "v": 1},
    {"type": "A", "ts": 2, "v": "x"},
    {"type": "B", "ts": 3, "v": 1.5},
    {"type": "A", "ts": 4, "v": {1, 2}},
    {"type": "B", "ts": 5, "v": datetime(2026, 1, 1, tzinfo=UTC)},
    {"type": "B", "ts": 6, "v": 4, "w": [1, "of two kinds"]},
    {"type": "A", "ts": 7},
    {"type": "B", "ts": 8, "v": Decimal("2.50")},
]


@pytest.mark.parametrize("cut", range(1, len(BAD) + 1))
def test_bad_values_that_wait_are_in_a_snapshot(cut: int) -> None:
    schema = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("v", pa.int64())])
    text = "EVENT SEQ(A a, B b) WHERE a.v > 0; EVENT B b WHERE b.v > 1"
    script = sase.Script(text, schema, on_bad_row="quarantine", lateness=50)
    told = []
    for restarts in (False, True):
        matcher, parts = script.open(), []
        for rows in (BAD[:cut], BAD[cut:], [{"type": "B", "ts": 100, "v": 3}]):
            parts.append(matcher.push(None, rows))
            if restarts:
                matcher = script.restore(matcher.snapshot())
        parts.append(matcher.finish())
        bad = matcher.take_quarantined()[None]
        reports = {name: (each.rows, each.bad) for name, each in matcher.reports.items()}
        told.append((shown(*parts), [*map(str, bad.to_pylist())], reports))
    assert told[0] == told[1]
    assert len(told[0][1]) == 5
    assert told[0][2]["query_2"] == (9, 5)
