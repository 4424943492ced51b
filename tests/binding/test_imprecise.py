"""Imprecise time as callers give it, and the bound query on it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sase
from sase.binding import Schema, bind_text
from sase.binding.bound import BoundConfidence, BoundQuery, MatchConfidence, Placeholder
from sase.binding.input_options import InputOptions
from sase.binding.schema_file import read_schema, schema_from
from sase.binding.types import FLOAT, INTEGER
from sase.errors import PlanError, SchemaError

INTERVALS = Schema(columns=(("v", INTEGER),), time="lo", until="hi", time_unit="ms")
EVENTS = [{"lo": 1, "hi": 2, "type": "A"}]


def bound(text: str, **parameters: object) -> BoundQuery:
    """Bind a query on imprecise time."""
    return bind_text(text, INTERVALS, parameters=parameters)


def test_both_times_are_attributes_of_every_event() -> None:
    assert INTERVALS.roles == ("lo", "hi", "type")
    assert INTERVALS.common["lo"] == INTERVALS.common["hi"] == INTEGER
    assert INTERVALS.is_imprecise and not replace(INTERVALS, until=None).is_imprecise


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", BoundConfidence(None, strict=False)),
        ("WITH CONFIDENCE >= 0.9", BoundConfidence(Fraction(9, 10), strict=False)),
        ("WITH CONFIDENCE > 1e-3", BoundConfidence(Fraction(1, 1000), strict=True)),
        ("WITH CONFIDENCE >= 1", BoundConfidence(Fraction(1), strict=False)),
        ("WITH CONFIDENCE > :c", BoundConfidence(Fraction(1, 4), strict=True)),
    ],
)
def test_thresholds(clause: str, expected: BoundConfidence) -> None:
    assert bound(f"EVENT SEQ(A a, B b) {clause}", c=0.25).confidence == expected


def test_a_threshold_may_stay_open() -> None:
    query = bind_text("EVENT SEQ(A a, B b) WITH CONFIDENCE > :c", INTERVALS)
    assert query.confidence is not None
    assert isinstance(query.confidence.threshold, Placeholder)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("WHERE b[i].v > 1 AND count(b[]) > 1 AND sum(b[].v) > 3", False),
        ("WHERE b[i].v > b[i-1].v", True),
        ("WHERE b[1].v > 1", True),
        ("WHERE b[b.len].v > 1", True),
        ("WHERE avg(b[..i-1].v) < b[i].v", True),
        ("WHERE sum(b[..i].v) < 9", True),
        ("WHERE a.v < 3 OR first(b[].v) = 1", True),
        ("HAVING last(b[].v) > 2", True),
        ("RETURN a.v, b[1].v", True),
        ("HAVING max(b[].v) > 2 RETURN avg(b[].v), b.len", False),
    ],
)
@pytest.mark.parametrize("pattern", ["SEQ(A a, B+ b[])", "SEQ(A a, B+ b[]) OR SEQ(B+ b[], A a)"])
def test_which_series_are_sequences(pattern: str, clauses: str, expected: bool) -> None:
    query = bound(f"EVENT {pattern} {clauses}")
    for one in (query, *query.branches):
        series = [each.is_sequence for each in one.components if each.is_series]
        assert series == [expected]
        assert not any(each.is_sequence for each in one.components if not each.is_series)


def test_the_confidence_is_a_float_of_the_match() -> None:
    query = bound("EVENT SEQ(A a, B b) HAVING confidence > 0.5 RETURN confidence AS c, a.v")
    assert query.columns[0].value == MatchConfidence(FLOAT)
    assert query.having.left == MatchConfidence(FLOAT)


def test_an_attribute_of_that_name_keeps_it_where_it_is_qualified() -> None:
    schema = replace(INTERVALS, columns=(("confidence", INTEGER),))
    query = bind_text("EVENT A a WHERE confidence > 1 HAVING a.confidence > confidence", schema)
    (comparison,) = (each.condition for each in query.conjuncts)
    assert comparison.left.attribute == "confidence"  # type: ignore[union-attr]
    assert query.having.right == MatchConfidence(FLOAT)  # type: ignore[union-attr]


def test_schema_files_name_both(tmp_path: Path) -> None:
    path = tmp_path / "events.toml"
    path.write_text('time = ["lo", "hi"]\ntime_unit = "ms"\n[columns]\nv = "integer"\n')
    assert read_schema(path) == INTERVALS
    for wrong in (["lo"], ["lo", "hi", "x"], 3, ["lo", 1]):
        with pytest.raises(SchemaError, match="a list of two"):
            schema_from({"time": wrong})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"until": "lo"}, "earliest and the latest"), ({"until": "hi", "seq": "n"}, "no such order")],
)
def test_schemas_that_contradict_themselves(options: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(time="lo", **options)


@pytest.mark.parametrize("time", [("lo",), ("lo", "hi", "x"), ["lo", "hi"], None, ("lo", 3)])
def test_what_is_no_time(time: Any) -> None:
    with pytest.raises(PlanError, match="give a name as text"):
        InputOptions(time)


def test_what_has_no_meaning_with_two_times() -> None:
    with pytest.raises(PlanError, match="differs from the Schema"):
        sase.compile("EVENT A a", INTERVALS, time=("lo", "until"))
    with pytest.raises(SchemaError, match="no such order"):
        sase.match("EVENT A a", EVENTS, time=("lo", "hi"), seq="#row")
    with pytest.raises(PlanError, match="with imprecise time that differs from world to world"):
        sase.match("EVENT A a", EVENTS, time=("lo", "hi"), output="non_overlap")
