"""The comparison of trees on random patterns with a rare component."""

from __future__ import annotations

import pytest

from experiments import trees
from experiments.trees import workload


@pytest.mark.slow
def test_it_compares_what_finds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    trees.main(["--queries", "1", "--events", "20000"])
    *lines, regret = capsys.readouterr().out.splitlines()
    assert any("walk : chosen" in line for line in lines)
    assert regret.startswith("regret: within 1.25 for")


def test_the_rare_component_is_in_each_place() -> None:
    first, middle, last = list(workload(3, 1))
    assert "SEQ(R r, E1 a" in first.text
    assert ", R r, " in middle.text
    assert "R r) WHERE" in last.text
