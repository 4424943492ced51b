"""The worked figures of the papers, by every way of evaluating runs."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from tests.engine.series.routes import OF_RUNS
from tests.test_naive import LEVELS_1_AND_2

RECIPES = ("optimized", *OF_RUNS)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("case", LEVELS_1_AND_2, ids=lambda case: case["id"])
def test_the_papers(case: dict[str, Any], recipe: str) -> None:
    options = {name: case[name] for name in ("types", "time_unit") if name in case}
    found = sase.match(case["query"], case["events"], plan=recipe, **options).rows.to_pylist()
    matches = [[row for rows in match.values() for row in listed(rows)] for match in found]
    if "partial" in case:  # matches that end at position 8
        matches = [match for match in matches if match[-1] == 8]
    assert sorted(matches) == case["expected"]


def listed(rows: int | list[int] | None) -> list[int]:
    if rows is None:
        return []
    return rows if isinstance(rows, list) else [rows]
