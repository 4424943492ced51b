"""Arguments that callers give beside a Schema, which has all of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) WITHIN 5"
SCHEMA = sase.Schema(time="when", type="kind", time_unit="ms")


def explained(query: str, schema: sase.Schema, **said: Any) -> sase.Explanation:
    return sase.explain(query, schema=schema, **said)


@pytest.mark.parametrize("run", [sase.compile, explained])
@pytest.mark.parametrize("said", [{}, {"time": "when"}, {"type": "kind", "time_unit": "ms"}])
def test_what_a_schema_says_may_be_said_again(run: Any, said: dict[str, Any]) -> None:
    assert run(QUERY, SCHEMA, **said)


@pytest.mark.parametrize("run", [sase.compile, explained])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"time": "at"}, "time='at' differs from the Schema, which has time='when'"),
        ({"type": None}, "type=None differs from the Schema, which has type='kind'"),
        ({"seq": "id"}, "seq='id' differs from the Schema, which has seq=None"),
        ({"time_unit": "s"}, "time_unit='s' differs from the Schema"),
        ({"types": {"A": "x > 1"}}, "types= says which events of a table are of which type"),
    ],
)
def test_what_would_have_no_effect_is_refused(run: Any, said: dict[str, Any], told: str) -> None:
    with pytest.raises(sase.PlanError) as caught:
        run(QUERY, SCHEMA, **said)
    assert told in str(caught.value)


EVENTS = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
EITHER = pytest.mark.parametrize("run", [sase.match, sase.compile])


@EITHER
@pytest.mark.parametrize(
    ("option", "given", "told"),
    [
        ("limit", 1.5, "limit=1.5: give a whole number from 0, or None"),
        ("limit", True, "limit=True: give a whole number"),
        ("limit", -1, "limit=-1: a number of matches is not negative"),
        ("time", None, "time=None: give a name as text"),
        ("type", 5, "type=5: give a name as text, or None"),
        ("seq", b"n", "seq=b'n': give a name as text, or None"),
        ("time_unit", 5, "time_unit=5: give a name as text, or None"),
        ("types", 5, "types=5: give a list of names, or a dict"),
        ("params", 5, "params=5: give a dict of name → value"),
        ("params", {1: 2}, "params={1: 2}: give a dict of name → value"),
        ("plan", None, "plan=None: give a name as text"),
        ("time", ("ts", "\udcff"), "time='\\udcff': this is no text: it has surrogates"),
        ("type", "\udcff", "type='\\udcff': this is no text: it has surrogates"),
        ("seq", "\udcff", "seq='\\udcff': this is no text: it has surrogates"),
        ("null", ["x", "\udcff"], "null='\\udcff': this is no text: it has surrogates"),
        ("text", "\udcff", "text='\\udcff': this is no text: it has surrogates"),
    ],
)
def test_options_of_another_kind_are_refused(run: Any, option: str, given: Any, told: str) -> None:
    with pytest.raises(sase.PlanError) as caught:
        run(QUERY, EVENTS, **{option: given})
    assert told in str(caught.value)


def ran(query: str, events: Any, **options: Any) -> Any:
    return sase.compile(query, events).run(events, **options)


def in_form(output: str) -> Any:
    return lambda *given, **options: sase.match(*given, output=output, **options)


@pytest.mark.parametrize("run", [sase.match, ran, in_form("count"), in_form("compressed")])
@pytest.mark.parametrize(
    ("option", "given"),
    [("threads", "two"), ("threads", 1.5), ("threads", 0), ("threads", True)]
    + [("max_matches", -1), ("max_matches", 1.5), ("max_matches", "x")],
)
def test_bounds_that_are_no_numbers_are_refused(run: Any, option: str, given: Any) -> None:
    with pytest.raises(sase.PlanError, match=f"{option}=.*: (give|a run takes|a number of)"):
        run(QUERY, EVENTS, **{option: given})


def test_numbers_of_numpy_are_numbers() -> None:
    options: dict[str, Any] = {"threads": np.int32(1), "max_matches": np.int64(5)}
    assert len(sase.match(QUERY, EVENTS, limit=np.int64(5), **options)) == 1


@pytest.mark.parametrize("run", [sase.match, sase.compile, sase.explain, sase.why, sase.compare])
@pytest.mark.parametrize("query", [QUERY.encode(), None])
def test_a_query_is_text(run: Any, query: Any) -> None:
    with pytest.raises(sase.PlanError, match="a query is text, and this is of type (bytes|None)"):
        run(query, EVENTS)


@pytest.mark.parametrize("on_bad_row", ["error", "quarantine"])
@pytest.mark.parametrize("key", [7, b"id", None])
def test_keys_of_events_are_text(key: Any, on_bad_row: str) -> None:
    rows = [*EVENTS, {"ts": 3, "type": "B", key: 1}]
    with pytest.raises(sase.DataError, match=r"row 2 \(from 0\): the key .* as text") as caught:
        sase.match(QUERY, rows, on_bad_row=on_bad_row)
    assert caught.value.row == 2
    with pytest.raises(sase.DataError, match="the key"):
        sase.compile(QUERY, EVENTS).open().push(rows)


def test_a_file_in_place_of_a_query(tmp_path: Path) -> None:
    path = tmp_path / "query.sase"
    path.write_text("EVENT A a", encoding="utf-8")
    with pytest.raises(sase.PlanError, match=r"query\.sase is a file, and the text of a query"):
        sase.match(str(path), [{"ts": 1, "type": "A"}])
    with pytest.raises(sase.DataError, match="this is a query, and the path of events should"):
        sase.match([{"ts": 1, "type": "A"}], "EVENT A a")  # type: ignore[call-overload]
