"""The comparison of trees on random patterns with a rare component."""

from __future__ import annotations

import pytest

from experiments import trees
from experiments.rare_streams import PLACES
from experiments.regret import Cell
from experiments.trees import workload


@pytest.mark.heavy
def test_it_compares_what_finds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    trees.main(["--queries", "1", "--events", "20000"])
    *lines, regret = capsys.readouterr().out.splitlines()
    assert any("walk : chosen" in line for line in lines)
    assert regret.startswith("regret: within 1.25 for")


def test_the_rare_component_is_in_each_place() -> None:
    first, middle, last = (
        next(q for q in workload(60, 1) if (q.place, q.negation) == (place, "none"))
        for place in PLACES
    )
    assert "SEQ(R r, E1 a" in first.text
    assert ", R r, " in middle.text
    assert "R r) W" in last.text


def test_patterns_of_every_kind_are_drawn() -> None:
    queries = list(workload(60, 1))
    assert {query.negation for query in queries} == {"none", "start", "middle", "end"}
    assert {query.tests for query in queries} == {0, 1}
    assert {query.one_in for query in queries} == set(trees.RATES)
    assert {query.conditions for query in queries} == {0, 1, 2}


def summed_up(*figures: tuple[int, float, float]) -> list[str]:
    """Explanations of queries by their results, and the seconds of the chosen plan and the walk."""
    wanted = next(q for q in workload(400, 1) if q.is_wanted)
    found = [
        (wanted, Cell(wanted, {trees.CHOSEN: chosen, trees.WALK: walk}, 0.0, results, 0.0, 0.0))
        for results, chosen, walk in figures
    ]
    return list(trees.summary(found))


def test_what_is_wanted_is_judged_apart_where_matches_are_many() -> None:
    few, many, slowest, _ = summed_up((5, 1.0, 4.0), (10, 1.0, 3.5), (10**6, 1.2, 1.0))
    assert "up to 100,000 matches: walk : chosen of 2: least 3.50, median 3.75" in few
    assert "more: walk : chosen of 1: least 0.83" in many
    assert slowest == "chosen : walk of all 3: at most 1.20 (wanted: 1.1)"
