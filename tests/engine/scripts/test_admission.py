"""Which events reach a query: those of which a component admits type and value."""

from __future__ import annotations

from math import inf, nextafter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.binding.types import Kind
from sase.engine.columns import Events
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.scripts import admission
from sase.engine.scripts import admission as intervals
from sase.engine.scripts.admission import AdmissionIndex
from sase.engine.scripts.asking import Asked, Asking, ValueRange

EVENTS = pa.table({
    "ts": [1, 2, 3, 4, 5, 6, 7, 8],
    "type": [*"ABABACBA"],
    "n": [5, 5, None, 70_000, 5, 1, -3, 70_000],
    "s": [*"xyxxyx", None, "x"],
    "f": [0.5] * 8,
})  # fmt: skip


def index_of(*queries: str) -> tuple[AdmissionIndex, Events]:
    plans = [sase.compile(text, EVENTS.schema).engine for text in queries]
    _, events = Pipeline(plans[0]).load(EVENTS)
    columns = {**events.columns}
    for plan in plans[1:]:
        columns |= Pipeline(plan).load(EVENTS)[1].columns
    return AdmissionIndex([*map(Asking.of, plans)]), Events(
        events.ts, None, events.types, events.type_names, columns, tie=np.arange(8)
    )


@pytest.mark.parametrize("near", [1, 1 << 20])
def test_events_go_to_those_that_admit_them(monkeypatch: pytest.MonkeyPatch, near: int) -> None:
    monkeypatch.setattr(admission, "FEW_ARE", 0)
    monkeypatch.setattr(admission, "NEAR", near)
    index, events = index_of(
        "EVENT SEQ(A a, B b) WHERE a.n = 5 AND b.n = 70000",
        "EVENT SEQ(A a, B b) WHERE a.s = 'x' AND b.f = 0.5",
        "EVENT SEQ(A a, A b) WHERE a.n = 70000 AND b.s = 'x'",
        "EVENT SEQ(A a, !(B b), C c) WHERE b.n = -3 AND a.n = 6 AND c.s != 'x'",
        "EVENT SEQ(D a, E b)",
        "EVENT SEQ(A a, B b) WHERE a.n IN (6, 5, 5) AND b.s IN ('z', 'x')",
        "EVENT SEQ(A a, B b) WHERE a.n BETWEEN 69999 AND 70001 AND b.n BETWEEN -5 AND 5",
    )
    parts = index.parts(events)
    found = [None if part is None else part.places.tolist() for part in parts]
    assert found == [[0, 3, 4], [0, 1, 2, 3, 6, 7], [0, 2, 7], [5, 6], [], [0, 3, 4], [1, 6, 7]]
    first = parts[0]
    assert first is not None
    assert first.events.ts.tolist() == [1, 4, 5]
    assert first.events.columns["n"].values.tolist() == [5, 70_000, 5]
    assert first.events.ties.tolist() == [0, 3, 4]


def integers(low: int | None, end: int | None = None) -> ValueRange:
    return ValueRange(Kind.INTEGER, low, end)


@pytest.mark.parametrize("near", [0, 1 << 20])
def test_ranges_are_cut_into_intervals(monkeypatch: pytest.MonkeyPatch, near: int) -> None:
    monkeypatch.setattr(admission, "FEW_ARE", 0)
    monkeypatch.setattr(intervals, "NEAR", near)
    index, events = index_of(
        "EVENT SEQ(A a, B b) WHERE a.n > 5 AND b.n <= 5",
        "EVENT SEQ(A a, B b) WHERE a.n >= 5 AND a.n < 70000 AND b.f > 0.5",
        "EVENT SEQ(A a, B b) WHERE a.n < 5 AND b.f <= 0.5",
        "EVENT SEQ(A a, B b) WHERE a.n > 7 AND a.n < 6 AND b.n = 5",
        "EVENT SEQ(A a, A b) WHERE a.n > 1 AND b.n > 4",
    )
    parts = index.parts(events)
    found = [None if part is None else part.places.tolist() for part in parts]
    assert found == [[1, 6, 7], [0, 4], [1, 3, 6], [1], [0, 4, 7]]


def test_who_takes_most_of_a_range_is_given_all_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "STEP", 4)
    index, events = index_of("EVENT A a WHERE a.n > 1", "EVENT A a WHERE a.n > 70000")
    for _ in range(2):
        assert [part is None for part in index.parts(events)] == [True, False]
    monkeypatch.setattr(admission, "FEW_ARE", 0)  # now all four A would differ
    (of_type, of_range) = index.parts(events)
    assert of_type is not None and of_type.places.tolist() == [0, 2, 4, 7]
    assert not of_type.is_decided
    assert of_range is not None and of_range.is_decided and not len(of_range.places)


def test_all_events_go_to_those_that_count_them_or_take_most() -> None:
    index, events = index_of(
        "EVENT SEQ(A a, B b) WITHIN 3 EVENTS",
        "EVENT SEQ(A a, B b) WHERE strict_contiguity { a.n = 5 }",
        "EVENT SEQ(ANY a, B b) WHERE b.n = 5",
        "EVENT SEQ(A a, B b) WHERE a.n = 5",
        "EVENT SEQ(A a, B b) WHERE a.n = 6 AND b.n = 6",
    )
    assert [part is None for part in index.parts(events)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("EVENT SEQ(A a, B b) WHERE a.n = 5 AND b.s = 'x'", {("A", "n", 5), ("B", "s", "x")}),
        ("EVENT SEQ(A a, B b) WHERE [n] AND a.n = 5", {("A", "n", 5), ("B", "n", 5)}),
        ("EVENT SEQ(A a, B b) WHERE a.n = b.n AND a.n > 5",
         {("A", "n", integers(6)), ("B", "n", integers(6))}),
        ("EVENT SEQ(A a, B b) WHERE a.n <= 5 AND a.n != 3 AND 1 < a.n AND 7 >= b.n",
         {("A", "n", integers(2, 6)), ("B", "n", integers(None, 8))}),
        ("EVENT SEQ(A a, B b) WHERE a.f < 0.5 AND b.f BETWEEN 1 AND 2.5",
         {("A", "f", ValueRange(Kind.FLOAT, None, 0.5)),
          ("B", "f", ValueRange(Kind.FLOAT, 1.0, nextafter(2.5, inf)))}),
        ("EVENT SEQ(A a, B b) WHERE a.n > 5 AND a.n = 7 AND b.n > 5.5", {("A", "n", 7), ("B",)}),
        ("EVENT SEQ(A a, B b) WHERE a.n + 1 > 5 AND b.n NOT BETWEEN 1 AND 99", {("A",), ("B",)}),
        ("EVENT SEQ(A a, B b) WHERE a.n IN (5, 6) AND b.s IN ('x', NULL, 'y')",
         {("A", "n", 5), ("A", "n", 6), ("B", "s", "x"), ("B", "s", "y")}),
        ("EVENT SEQ(A a, B b) WHERE a.n NOT IN (5, 6) AND b.n NOT BETWEEN 1 AND 2",
         {("A",), ("B",)}),
        ("EVENT SEQ(A a, B b) WHERE a.n BETWEEN 1 AND b.n AND b.f IN (0.5, 1)", {("A",), ("B",)}),
        ("EVENT SEQ(A+ a[], B b) WHERE a[i].n IN (5, 6) AND b.n BETWEEN 7 AND 8",
         {("A", "n", 5), ("A", "n", 6), ("B", "n", 7), ("B", "n", 8)}),
        ("EVENT SEQ(A a, B b) WHERE a.n BETWEEN 1 AND 65 AND b.s BETWEEN 'a' AND 'b'",
         {("A", "n", integers(1, 66)), ("B",)}),
        ("EVENT SEQ(A+ a[], B b) WHERE a[1].n = 5 AND b.n = 5", {("A",), ("B", "n", 5)}),
        ("EVENT SEQ(A+ a[], B+ b[]) WHERE a[i].n = 5 AND b[i].n = b[i-1].n",
         {("A", "n", 5), ("B",)}),
        ("EVENT SEQ(A+ a[], B b) WHERE a[a.len].n = 5 AND b.s = 'x'", {("A",), ("B", "s", "x")}),
        ("EVENT SEQ(A a, (B b OR C c)) WHERE a.n = 5 AND b.n = 6",
         {("A", "n", 5), ("B", "n", 6), ("C",)}),
        ("EVENT SEQ(A a, !(SEQ(B b, C c)), A d) WHERE b.n = 5", {("A",), ("B",), ("C",)}),
        ("EVENT SEQ(A a, !(B b), C c) WHERE b.n = a.n", {("A",), ("B",), ("C",)}),
    ],
)  # fmt: skip
def test_what_a_plan_asks_of_events(query: str, asked: set[tuple[Any, ...]]) -> None:
    plan = sase.compile(query + " WITHIN 5", EVENTS.schema).engine
    assert Asking.of(plan).asked == {Asked(*each) for each in asked}


@pytest.mark.parametrize(
    ("conditions", "is_all"),
    [
        ("a.n IN (5, 6) AND b.n BETWEEN 7 AND 8", True),
        ("a.n IN (5, 6) AND a.n != 7", False),
        ("a.n BETWEEN 1 AND 65", True),
        ("a.n > 5 AND b.n <= 7 AND a.n < 1000", True),
        ("a.n > 5 AND a.n != 7", False),
        ("a.n > 5 AND a.n IN (6, 7)", False),
        ("a.n > 5 AND a.f < 0.5", False),
        ("a.f > 1", False),
        ("a.f > 1.5", True),
        ("a.n IN (5, 6.5)", False),
        ("a.n BETWEEN 5 AND 6.5", False),
    ],
)
def test_the_scan_asks_no_more_than_some_values(conditions: str, is_all: bool) -> None:
    query = f"EVENT SEQ(A a, B b) WHERE [k] AND {conditions} WITHIN 5"
    schema = EVENTS.schema.append(pa.field("k", pa.int64()))
    assert Asking.of(sase.compile(query, schema).engine).is_all is is_all


def test_who_asks_the_same() -> None:
    index, _ = index_of("EVENT A a WHERE a.n = 5", "EVENT SEQ(A a, B b) WHERE a.n = 5", "EVENT B b")
    assert {str(asked): plans for asked, plans in index.shared().items()} == {
        "A n = 5": (0, 1),
        "B": (1, 2),
    }
