"""Statistics survive JSON; a text that is wrong is refused, and says where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sase.errors import PlanError
from sase.planning.serialisation import statistics_from_json, statistics_to_json
from sase.planning.statistics import (
    Admission,
    Agreement,
    AttributeStatistics,
    Selectivity,
    Statistics,
    TypeStatistics,
)

FULL = Statistics(
    1000,
    -5,
    2**62,
    (
        TypeStatistics(
            "A",
            400,
            (AttributeStatistics("k", 0.25, 17, 1 / 3, (float("-inf"), 0.1, 1e300)),),
        ),
        TypeStatistics("B", 600),
    ),
    (Admission("a", 0.1),),
    (Agreement(("k", "m"), ("a", "b"), 1e-9),),
    (Selectivity("a.x < b.x", 0.5),),
    "a sample",
    100,
)


@pytest.mark.parametrize("statistics", [FULL, Statistics(0)])
def test_there_and_back(statistics: Statistics) -> None:
    text = statistics_to_json(statistics)
    assert statistics_from_json(text) == statistics
    assert json.loads(text)["format"] == 1


def test_what_is_found_by_name() -> None:
    assert FULL.agreement({"m", "k"}, "ba") == 1e-9
    assert FULL.agreement({"m"}, "ba") is None
    assert FULL.admission("a") == 0.1
    assert FULL.selectivity("a.x < b.x") == 0.5
    of_a = FULL.type("A")
    assert of_a is not None
    assert of_a.attribute("k") is of_a.attributes[0]
    assert of_a.attribute("m") is FULL.type("C") is None


def changed(**members: Any) -> str:
    return json.dumps({**json.loads(statistics_to_json(FULL)), **members})


def with_statistics(**members: Any) -> str:
    stored = json.loads(statistics_to_json(FULL))["statistics"]
    return changed(statistics={**stored, **members})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "these are no statistics: it is not valid JSON"),
        ("[1]", "these are no statistics: they are a JSON object that states its `format`"),
        ("[" * 100_000, "these are no statistics: it is nested too deeply"),
        (changed(format=2), "these statistics have format 2, not 1: measure them again"),
        (changed(more=1), "a file of statistics has format, statistics; this has"),
        (changed(statistics=3), "statistics: this is 3, and may be: Statistics"),
        (with_statistics(rows="9"), "statistics.rows: this is '9', and may be: int"),
        (with_statistics(row=9), "statistics: Statistics has no field 'row'; did you mean `rows`?"),
        (with_statistics(rows=-1), "a number of rows or values is not negative, and not -1"),
        (
            with_statistics(admissions=[{"is": "Admission", "variable": "a", "share": 1.5}]),
            "statistics.admissions[0]: no Admission is like this: a share is from 0 to 1, and not"
            " 1.5",
        ),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        statistics_from_json(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_are_from_0_to_1(share: float) -> None:
    makers = [
        lambda: Admission("a", share),
        lambda: Agreement(("k",), ("a", "b"), share),
        lambda: Selectivity("a.x < b.x", share),
        lambda: AttributeStatistics("k", share),
        lambda: AttributeStatistics("k", 0.0, 1, share),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="a share is from 0 to 1"):
            make()


def test_counts_are_not_negative() -> None:
    for make in (Statistics, lambda rows: TypeStatistics("A", rows)):
        with pytest.raises(ValueError, match="is not negative"):
            make(-1)
