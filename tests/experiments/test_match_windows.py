"""The figures of match windows, and their support for the findings of the paper."""

from __future__ import annotations

import pytest

from experiments import match_windows
from experiments.window_findings import PLAIN, Point, findings


def point(label: str, **gained: float) -> Point:
    """A point at which methods gain by a factor, and save ten times as many steps."""
    made = Point(label)
    made.add(PLAIN, 1.0, {"RunEvaluation": {"steps": 100_000}})
    for method, factor in gained.items():
        steps = round(10_000 / factor)
        counted = {"MatchWindow": {"windows": 1, "out": 2}, "RunEvaluation": {"steps": steps}}
        made.add(method, 1 / factor, counted)
    return made


def test_sets_that_gain_much_and_sequences_that_lose_little() -> None:
    figures = {
        "6a": [point("k=2", f=1.0, fpc=0.96), point("k=10", f=1.0, fpc=2.0)],
        "6b": [point("k=2", f=1.0, fp=0.8, fpc=5.0), point("k=10", f=1.0, fp=30.0, fpc=200.0)],
    }
    assert list(findings(figures)) == [
        "6a: fpc >= fp >= f >= 1 (each at least 0.9 times the one before) at 2 of 2 points",
        "6b: fpc >= fp >= f >= 1 (each at least 0.9 times the one before) at 1 of 2 points",
        "6b: sets of 6 members and more gain 100 times: yes, 200.00 … 200.00, 200.00 at least",
        "6b: sets of 6 members and more take 100 times fewer steps: yes,"
        " 2,000.00 … 2,000.00, 2,000.00 at least",
        "6a: none is 1.05 times slower: yes, 1.00 … 2.00, 1.00 at least",
        "6b: the largest set gains ten times what a sequence does: yes,"
        " 2.00 … 200.00, 2.00 at least",
    ]


def test_what_is_not_found() -> None:
    figures = {
        "6c": [point("k=2", fc=0.9), point("k=10", fc=0.5)],
        "6d": [point("k=6", fc=3.0), point("k=10", fc=4.0)],
        "7c": [point("k=2", fc=0.8), point("k=10", fc=0.8)],
        "6e": [point("5 days", fpc=3.0), point("50 days", fpc=2.0)],
        "8a": [point("100", fpc=9.0), point("10,000", fpc=1.0), point("100,000", fpc=1.6)],
    }
    told = list(findings(figures))[len(figures) :]
    assert [": no, " in each for each in told] == [True, True, True, True, False, True, True]
    assert "7c: runs gain more than a tree at 1 of 2 points" in told


@pytest.mark.heavy
def test_every_method_finds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Which `measured` asserts."""
    given = ["--figures", "7d,8a,8b", "--events", "1000", "--patterns", "1", "--by-itself"]
    match_windows.main(given)
    told = capsys.readouterr().out
    assert all(f"\n{figure}  " in told for figure in ("7d", "8a", "8b"))
    assert "best over plain windows" in told and "(1,000 of 17,496)" in told
    assert "8a: fpc >= fp >= f >= 1 (each at least 0.9 times the one before) at" in told
