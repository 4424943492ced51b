"""The comparison of patterns with choices with their branches alone."""

from __future__ import annotations

import pytest

from experiments import branches


@pytest.mark.heavy
def test_it_compares_what_finds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    branches.main(["--events", "60000", "--rounds", "1"])
    two, ten = capsys.readouterr().out.splitlines()[-2:]
    assert two.startswith("two branches") and "at most 1.3" in two
    assert ten.startswith("ten branches") and "at most 2.5" in ten


def test_the_branches_are_those_of_the_pattern() -> None:
    two, _ = branches.CHOICES
    assert "SEQ(E1 a, (E2 x2 OR E3 x3), E4 z)" in two.query
    assert [query.split("E1 a, ")[1][:4] for query in two.branches] == ["E2 x", "E3 x"]
