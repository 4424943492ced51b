"""The worked figures of the papers with series, by every way of evaluating runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sase
from tests.drawing.ways import OF_RUNS
from tests.test_naive import LEVELS_1_AND_2

RECIPES = ("optimized", *OF_RUNS)
# Those without a series are run by every plan in `tests/engine/test_figures.py`.
WITH_SERIES = [case for case in LEVELS_1_AND_2 if case["level"] == 2]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("case", WITH_SERIES, ids=lambda case: case["id"])
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


def counted(types: str, where: str, values: tuple[float, ...], recipe: str) -> dict[str, Any]:
    """The matches and the counters of a pattern of SASE++ (2014)."""
    events = [
        {"ts": n, "type": kind, "task": 1, "val": value}
        for n, (kind, value) in enumerate(zip(types, values, strict=True), 1)
    ]
    query = f"EVENT SEQ(A a, B+ b[], C c) WHERE {where} WITHIN 10"
    found = sase.match(query, events, plan=recipe)
    return {**dict(found.report.counters)["RunEvaluation"], "found": len(found)}


def test_the_runs_of_figure_3() -> None:
    """SASE++, Figure 3: 14 runs under skip till any match, of which 6 make matches."""
    of_runs = counted("AABBC", "[task]", (0,) * 5, "nfab")
    assert (of_runs["runs"], of_runs["found"]) == (14, 6)


def test_the_runs_and_the_walk_of_figure_4() -> None:
    """SASE++, Figure 4: 15 runs, or one postponed, and 7 matches."""
    where, values = "[task] AND b[i].val >= b[i-1].val", (0, 6, 7, 9, 0)
    of_runs = counted("ABBBC", where, values, "nfab")
    assert (of_runs["runs"], of_runs["found"]) == (15, 7)
    for recipe in ("postponed", "postponed_filters"):
        walked = counted("ABBBC", where, values, recipe)
        assert (walked["walks"], walked["found"]) == (1, 7)


@pytest.mark.parametrize("recipe", ["nfab", "nfab_merged", "backtrack", "backtrack_reread"])
@pytest.mark.parametrize("lines", [True, False])
def test_the_runs_of_figure_3_of_sase_plus(recipe: str, lines: bool) -> None:
    """SASE+, Figure 3: e1 and e3 begin runs, both take and end with e6, and the first with e8."""
    (case,) = (each for each in LEVELS_1_AND_2 if each["id"] == "S014")
    plan = sase.compile(case["query"], case["events"], plan=recipe, time_unit="s")
    plan = replace(plan, options=replace(plan.options, lines=lines))
    matches = plan.run(case["events"])
    of_runs = dict(matches.report.counters)["RunEvaluation"]
    assert (of_runs["initiated"], of_runs["split"], len(matches)) == (2, 3, 3)
