"""Explanations of wrong constants, names, orders, windows, absences and NULLs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.diagnostics.why_not import budget, search
from sase.errors import BindingError, PlanError

BEGIN = datetime(2026, 1, 1, 8, tzinfo=UTC)


def shop(buyers: int = 12, *, area: str = "shelf") -> list[dict[str, Any]]:
    """Everybody takes one thing, pays for it and leaves, one minute after the other."""
    rows = []
    for number in range(buyers):
        for step, name in enumerate(("SHELF-READING", "COUNTER-READING", "EXIT-READING")):
            moment = BEGIN + timedelta(minutes=10 * number + step)
            rows.append({"ts": moment, "type": name, "tag_id": number, "area": area, "w": 0.5})
    return rows


def why(query: str, events: Any = None, **keywords: Any) -> Any:
    return sase.why(query, shop() if events is None else events, **keywords)


THEFT = (
    "EVENT SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING z) WHERE [tag_id]{} WITHIN {}"
)


def test_an_absence_that_is_there() -> None:
    """The sentence that a shop wants to read."""
    found = why(THEFT.format("", "12 hours"))
    assert found.words == (
        "there is no match",
        "12 EXIT-READING z have SHELF-READING x before, with [tag_id] WITHIN 12 hours; all 12 are"
        " stopped by !(COUNTER-READING y)",
        "without that component, !(COUNTER-READING y), there would be 12 matches",
    )
    miss = found.near_misses.to_pylist()[0]
    assert miss["stopped_by"] == "!(COUNTER-READING y)"
    assert miss["rows"] == {"x": 0, "y": 1, "z": 2}
    assert miss["y"]["tag_id"] == miss["x"]["tag_id"] == 0


def test_a_wrong_constant_leads_to_the_right_one() -> None:
    found = why(THEFT.format(" AND x.area = 'shelv'", "12 hours"))
    assert found.words[1] == (
        "none of the 12 SHELF-READING x passes x.area = 'shelv': area is 'shelf' (12); did you mean"
        " 'shelf'?"
    )
    (stopped,) = found.components[0].stopped
    assert (stopped.number, stopped.alone, stopped.seen.nearest) == (12, 12, "'shelf'")


@pytest.mark.parametrize(
    ("condition", "seen"),
    [
        ("x.tag_id > 99", "tag_id ranges from 0 to 11"),
        ("x.tag_id = 5.5", "tag_id ranges from 0 to 11, the nearest is 5"),
        ("x.w = 0.4", "w is always 0.5"),
        (
            "x.ts < TIMESTAMP '2026-01-01'",
            "ts ranges from 2026-01-01 08:00:00 to 2026-01-01 09:50:00",
        ),
        ("x.area IN ('a', 'shelve')", "area is 'shelf' (12); did you mean 'shelf'?"),
        ("x.area LIKE 'q%'", "area is 'shelf' (12)"),
        ("x.tag_id BETWEEN 20 AND 30", "tag_id ranges from 0 to 11"),
        ("x.tag_id = 40 OR x.tag_id = 50", "tag_id ranges from 0 to 11"),
    ],
)
def test_what_there_is_instead(condition: str, seen: str) -> None:
    found = why(f"EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE {condition} WITHIN 1 hour")
    assert str(found.components[0].stopped[0].seen) == seen


def test_a_value_of_two_attributes_is_shown_with_its_rows() -> None:
    found = why("EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE x.tag_id + 1 = x.w", near=1)
    assert found.components[0].stopped[0].seen is None
    (miss,) = found.near_misses.to_pylist()
    assert (miss["by"], miss["distance"]) == ("x.tag_id is 0, x.w is 0.5: by 0.5", 0.5)


def test_a_type_that_no_event_has() -> None:
    found = why("EVENT SEQ(SHELF-READING x, EXIT-READNG z, NOWHERE n) WITHIN 1 hour")
    assert found.words == (
        "there is no match",
        "no event has the type `EXIT-READNG`; did you mean `EXIT-READING` (12 events)?",
        "no event has the type `NOWHERE`; there are SHELF-READING (12), COUNTER-READING (12),"
        " EXIT-READING (12)",
    )
    assert found.left_out == ()


def test_an_absent_type_stops_nothing() -> None:
    found = why("EVENT SEQ(SHELF-READING x, !(COUNTER-READNG y), EXIT-READING z) WHERE [tag_id]")
    assert found.matches.number == 12
    assert "its absence stops nothing" in found.words[1]


def test_the_wrong_order() -> None:
    rows = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "A"}, {"ts": 3, "type": "B"}]
    found = why("EVENT SEQ(B b, A a)", rows)
    assert found.words[1] == (
        "there is one B b, and none of the 2 A a comes after it: is the order of the pattern right?"
    )


def test_simultaneous_events_have_no_order() -> None:
    rows = [{"ts": 1, "type": "A"}, {"ts": 1, "type": "B"}]
    assert "is the order of the pattern right?" in why("EVENT SEQ(A a, B b)", rows).words[2]


def test_a_window_too_short_by_how_much() -> None:
    found = why("EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE [tag_id] WITHIN 90 seconds")
    assert "all 12 are stopped by WITHIN 90 seconds" in found.words[1]
    assert found.words[2] == "the nearest candidate misses WITHIN 90 seconds by 30 seconds"
    assert found.near_misses.column("distance")[0].as_py() == pytest.approx(1 / 3, abs=1e-5)


EXACTLY = "by the last instant: a window is less than its length"


@pytest.mark.parametrize(
    ("window", "by"),
    [
        ("2 minutes", EXACTLY),
        ("119 seconds", "by 1 second"),
        ("1 minute INCLUSIVE", "by 1 minute"),
        ("1 EVENTS", "by 1 event"),
        ("2 EVENTS", EXACTLY),
        ("1 EVENTS PER PARTITION", "by 1 event"),
    ],
)
def test_by_how_much_a_window_was_missed(window: str, by: str) -> None:
    query = f"EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE [tag_id] WITHIN {window}"
    assert why(query, near=1).near_misses.column("by").to_pylist() == [by]


def test_a_window_without_a_unit() -> None:
    rows = [{"ts": 0, "type": "A"}, {"ts": 5000, "type": "B"}]
    found = why("EVENT SEQ(A a, B b) WITHIN 10", rows)
    assert found.near_misses.column("by").to_pylist() == ["by 4,990"]


def test_keys_that_are_null_agree_with_nothing() -> None:
    rows = [{**row, "tag_id": None} if row["type"][0] == "E" else row for row in shop()]
    found = why(THEFT.format("", "12 hours"), rows)
    assert found.words[1] == (
        "[tag_id] reads a NULL in all 12 EXIT-READING z, and NULL agrees with nothing"
    )
    assert "\nEXIT-READING z: [tag_id] stops 12: NULL agrees with nothing\n" in str(found)
    pair = why("EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE [tag_id]", rows, near=1)
    assert pair.near_misses.column("by").to_pylist() == ["x.tag_id is 0, z.tag_id is NULL"]


def test_types_without_the_attribute_of_a_test_agree_with_all() -> None:
    rows = [{"ts": 1, "type": "A", "id": None}, {"ts": 2, "type": "A", "id": None}]
    types = {"A": [], "B": ["id"]}
    for test in ("[id = 1]", "[id]"):
        found = why(f"EVENT SEQ(A a, ANY b) WHERE {test}", rows, types=types)
        assert (found.matches.number, found.components[1].stopped) == (1, ())


def test_values_are_those_of_the_events_that_are_shown() -> None:
    """Also where there are as many near misses as events."""
    rows = [{"ts": n, "type": name, "v": 7 - n} for n, name in enumerate("AABB")]
    found = why("EVENT SEQ(A a, B b) WHERE a.v < b.v", rows).near_misses.to_pylist()
    assert len(found) == 4
    for miss in found:
        a, b = miss["a"]["v"], miss["b"]["v"]
        assert miss["by"] == f"a.v is {a}, b.v is {b}: by {a - b}"


def test_values_of_types_with_other_numbers() -> None:
    tables = {
        "A": pa.table({"ts": [1], "id": [1]}),
        "B": pa.table({"ts": [2], "id": [2.5]}),
    }
    found = sase.why("EVENT SEQ(A a, ANY b) WHERE [id]", tables, type=None)
    assert found.near_misses.column("by").to_pylist() == ["a.id is 1, b.id is 2.5"]


def test_two_mistakes_need_two_remedies() -> None:
    found = why(THEFT.format(" AND x.area = 'shelv'", "12 hours"))
    assert found.fewest is not None
    assert [part.text for part in found.fewest.parts] == [
        "x.area = 'shelv'",
        "!(COUNTER-READING y)",
    ]
    assert found.fewest.matches.number == 12
    assert found.words[-1] == (
        "leaving out one part does not help: without x.area = 'shelv' and that component,"
        " !(COUNTER-READING y), together there would be 12 matches"
    )


def test_conditions_that_no_event_passes_together() -> None:
    query = "EVENT SHELF-READING x WHERE x.tag_id < 6 AND x.tag_id > 6"
    assert why(query).words[1] == (
        "none of the 12 SHELF-READING x passes all of x.tag_id < 6 and x.tag_id > 6, though some"
        " pass each of them"
    )


def test_where_there_are_matches() -> None:
    found = why("EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE [tag_id] AND x.tag_id < 3")
    assert found.words == (
        "there are 3 matches",
        "12 EXIT-READING z have SHELF-READING x before; 9 of them are stopped by [tag_id]",
        "without [tag_id] there would be 33 matches",
    )
    assert found.matches.number == 3
    assert {each.parts[0].text: each.matches.number for each in found.left_out} == {
        "x.tag_id < 3": 12,
        "[tag_id]": 33,
    }
    distances = found.near_misses.column("by").to_pylist()
    assert distances[0] == "x.tag_id is 3: by 0"


def test_having_and_what_is_never_true() -> None:
    query = "EVENT SEQ(SHELF-READING x, EXIT-READING z) WHERE [tag_id] HAVING x.tag_id > 20"
    found = why(query, near=1)
    assert "all 12 are stopped by HAVING x.tag_id > 20" in found.words[1]
    assert found.near_misses.column("by").to_pylist() == ["x.tag_id is 11: by 9"]
    never = why("EVENT SHELF-READING x WHERE 1 = 2")
    assert never.words[-1] == "without 1 = 2 there would be 12 matches"


# ---------------------------------------------------------------- which events


def test_only_some_events() -> None:
    found = why(THEFT.format("", "12 hours"), where="tag_id = 3")
    assert (found.rows, found.looked_at, found.components[0].events) == (36, 3, 1)
    assert found.near_misses.to_pylist()[0]["rows"] == {"x": 9, "y": 10, "z": 11}


@pytest.mark.parametrize("kind", ["text", "datetime"])
def test_times_include_both_ends(kind: str) -> None:
    first, last = BEGIN + timedelta(minutes=10), BEGIN + timedelta(minutes=12)
    given = (first, last) if kind == "datetime" else (first.isoformat(), last.isoformat())
    found = why(THEFT.format("", "12 hours"), from_=given[0], to=given[1])
    assert found.looked_at == 3


def test_times_as_numbers() -> None:
    rows = [{"ts": number, "type": "A"} for number in range(10)]
    assert why("EVENT A a", rows, from_=3, to=5).looked_at == 3
    floats = [{"ts": number / 4, "type": "A"} for number in range(10)]
    assert why("EVENT A a", floats, from_=0.5, to="1.25").looked_at == 4
    with pytest.raises(PlanError, match="is no number"):
        why("EVENT A a", rows, from_="yesterday")


def test_a_wrong_restriction_has_its_place() -> None:
    with pytest.raises(BindingError, match=r"did you mean `tag_id`\?"):
        why("EVENT SHELF-READING x", pa.Table.from_pylist(shop()), where="tag_di = 3")


def test_no_event_is_left() -> None:
    found = why(THEFT.format("", "12 hours"), where="tag_id = 99")
    assert found.words == ("there is no match", "there are no events to look at")
    assert found.near_misses.num_rows == 0
    assert str(found).endswith("There are no events to look at.")


@pytest.mark.parametrize(
    "events", [[], pa.table({"ts": pa.array([], "int64"), "type": pa.array([], "string")})]
)
def test_no_events_at_all(events: Any) -> None:
    found = why("EVENT SEQ(A a, B b) WITHIN 5", events)
    assert found.words == ("there is no match", "there are no events to look at")
    assert found.to_dict()["near_misses"] == []


# ---------------------------------------------------------------- bounds


def many(count: int = 3000) -> pa.Table:
    types = ["A", "B", "C"] * (count // 3)
    return pa.table({"ts": range(count), "type": types, "v": range(count)})


def test_what_the_number_of_partial_matches_ends() -> None:
    found = why("EVENT SEQ(A a, B b, C c) WHERE a.v < b.v", many(900), most=1000)
    assert not found.is_complete
    assert str(found.matches).startswith("at least ")
    assert found.words[-1].startswith("the budget ended some of the counting")


@pytest.mark.heavy
def test_what_the_clock_ends() -> None:
    """The clock moves on by a second whenever it is read."""
    ticks = iter(range(10**6))
    query = "EVENT SEQ(A a, B b, C c) WHERE a.v + b.v = c.v + 10000"
    found = why(query, many(), clock=lambda: float(next(ticks)), seconds=20)
    assert not found.is_complete
    assert "at least 0" in str(found)
    assert next(ticks) < 2000


def test_compiling_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every piece of the events had needed another kernel."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(budget, "compilations", lambda: next(ticks))
    found = why("EVENT SEQ(A a, B b) WITHIN 3", many(), clock=lambda: float(next(ticks)), seconds=1)
    assert found.is_complete


def test_the_answer_does_not_depend_on_the_clock_that_does_not_end_it() -> None:
    assert str(why(THEFT.format("", "90 seconds"))) == str(
        why(THEFT.format("", "90 seconds"), clock=lambda: 0.0)
    )


def test_pieces_are_cut_between_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"ts": n // 7, "type": "AB"[n % 2]} for n in range(500)]
    query = "EVENT SEQ(A a, B b) WITHIN 3"
    whole = sase.match(query, rows)
    monkeypatch.setattr(search, "FIRST", 3)
    assert why(query, rows).matches.number == len(whole)


def test_what_is_infinite_has_no_measure() -> None:
    rows = [{"ts": 1, "type": "A", "v": float("inf")}, {"ts": 2, "type": "A", "v": float("-inf")}]
    found = why("EVENT A a WHERE a.v BETWEEN 1.0 AND 2.0", rows)
    assert found.near_misses.column("by").to_pylist() == [
        "a.v is inf: by inf",
        "a.v is -inf: by inf",
    ]
    assert found.near_misses.column("distance").to_pylist() == [None, None]


def test_a_match_whose_window_begins_before_the_least_time_is_no_near_miss() -> None:
    """Nothing forbids it; the same events later are no match."""
    query = "EVENT SEQ(!(D y), !(D x), A a) WHERE [id] WITHIN 4"
    for first, count in ((-(2**63), 1), (0, 0)):
        events = [{"ts": first + n, "type": t, "id": 1} for n, t in enumerate("DA")]
        why = sase.why(query, events)
        assert why.matches.number == count == len(sase.match(query, events))
        assert why.near_misses.num_rows == 0


def test_a_match_that_absences_at_both_ends_stop_is_a_near_miss_of_neither() -> None:
    """A part that stops one end belongs to no match: the window would be shorter at the other."""
    query = "EVENT SEQ(!(D y), A a, !(D x)) WHERE [id] WITHIN 4"
    events = [{"ts": n, "type": t, "id": 1} for n, t in enumerate("DAAAAD", 1)]
    near = sase.why(query, events, near=5).near_misses.to_pylist()
    shown = {(each["stopped_by"], each["rows"]["a"]) for each in near}
    assert shown == {("!(D y)", 1), ("!(D x)", 4)}


def test_a_list_of_nothing_but_null() -> None:
    """There is no value that others could be near to."""
    found = why("EVENT EXIT-READING x WHERE x.w IN (NULL)")
    assert found.words[0] == "there is no match"
    assert {miss["stopped_by"] for miss in found.near_misses.to_pylist()} == {"x.w IN (NULL)"}
