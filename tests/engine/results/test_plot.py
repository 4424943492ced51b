"""`Matches.plot`: a value over time, and the matches of a key shaded."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sase
from sase.errors import PlanError
from tests.repo.source import ROOT

matplotlib = pytest.importorskip("matplotlib", reason="the extra plot is not installed")

VALUES = [5, 7, None, 4, 1, 9, 8, 2, 6, 3, 7, 7]
ROWS = [
    {"ts": at, "type": "AB"[at % 2], "id": 1 + (at % 4 > 1), "v": value, "s": "x"}
    for at, value in enumerate(VALUES)
]
RISE = "EVENT SEQ(A a, B b) WHERE [id] AND b.v > a.v WITHIN 2"


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    yield
    pyplot.close("all")
    matplotlib.use(before)


def drawn(axes: Any) -> tuple[list[tuple[Any, float]], list[list[tuple[Any, float]]], list[Any]]:
    """The line, the points of each match, and the spans that are shaded."""
    line, *points = ([*zip(*each.get_data(orig=True), strict=True)] for each in axes.lines)
    return line, points, [(each.get_x(), each.get_x() + each.get_width()) for each in axes.patches]


def test_the_key_of_the_first_match() -> None:
    matches = sase.match(RISE, ROWS)
    assert matches.rows.to_pylist() == [{"a": 0, "b": 1}, {"a": 4, "b": 5}]
    axes = matches.plot("v")
    line, points, spans = drawn(axes)
    assert line == [(row["ts"], row["v"]) for row in ROWS[:7] if row["id"] == 1]
    assert points == [[(0, 5), (1, 7)], [(4, 1), (5, 9)]]
    assert spans == [(0, 1), (4, 5)]
    assert axes.get_title() == "2 matches of id = 1"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ts", "v")
    assert matches.plot("v", n=1).get_title() == "2 matches of id = 1, the first 1 drawn"


def test_a_line_without_events_of_other_types_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.columns.loader.MANY", 1)
    rows = [*reversed([*ROWS, {"id": 1, "type": "X", "ts": 3, "v": 50}])]
    axes = sase.match(RISE, rows).plot("v")
    assert "were not sorted" in axes.get_title()
    assert (3, 50) not in drawn(axes)[0]


def test_another_key_and_axes_that_are_given() -> None:
    from matplotlib import pyplot

    matches = sase.match(RISE.replace(">", "<="), [row for row in ROWS if row["v"] is not None])
    axes = pyplot.figure().add_subplot()
    assert matches.plot("v", key=2, axes=axes) is axes
    line, points, _ = drawn(axes)
    of_two = {(row["ts"], row["v"]) for row in ROWS if row["id"] == 2}
    assert {*line} <= of_two and len(points) == 2
    assert all({*each} <= of_two for each in points)
    assert matches.plot("v", key={"id": 3}).get_title() == "0 matches of id = 3"


def test_matches_that_overlap_are_shaded_once_and_values_that_are_null_left_out() -> None:
    matches = sase.match("EVENT SEQ(A a, B b) WITHIN 4", ROWS)
    line, points, spans = drawn(matches.plot("v"))
    assert [value for _, value in line] == [value for value in VALUES if value is not None]
    assert len(points) == len(matches) and [(2, None)] not in points
    assert spans == [(0, 11)]


@pytest.mark.parametrize("kind", [Decimal, float, bool, int])
def test_kinds_of_numbers_and_times(kind: Any) -> None:
    begin = datetime(2026, 3, 2, 9, tzinfo=UTC)
    rows = [row | {"ts": begin.replace(minute=row["ts"]), "v": kind(row["v"] or 0)} for row in ROWS]
    matches = sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 2 minutes", rows)
    line, _, _ = drawn(matches.plot("v"))
    known = [(row["ts"], float(row["v"])) for row in rows if row["id"] == 1]
    assert [(at.replace(tzinfo=UTC), value) for at, value in line] == known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": "w"}, "value: the matches hold no column `w`"),
        ({"value": "s"}, "value='s' has the type .*: a plot is of numbers"),
        ({"value": "v", "n": 0}, "n=0: from 1 to 500"),
        ({"value": "v", "key": {"ix": 1}}, "key: .* hold no column `ix`; did you mean `id`"),
    ],
)  # fmt: skip
def test_plots_that_cannot_be_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        sase.match(RISE, ROWS).plot(**arguments)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlanError, match=r"pip install 'sase\[plot\]'"):
        sase.match(RISE, ROWS).plot("v")


def test_the_example_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = (ROOT / "docs" / "pictures.md").read_text("utf-8").partition("## Matches beside")[2]
    code, said = re.findall(r"```(?:python|text)\n(.*?)```", part, re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "pictures.md", "exec"), {"sase": sase})
    assert capsys.readouterr().out == said
    assert (tmp_path / "rises.svg").stat().st_size > 1000
