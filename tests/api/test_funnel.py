"""How many keys reach each step: beside Python, and as the page shows it."""

from __future__ import annotations

import re
import statistics
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import BindingError, PlanError
from tests.drawing.draw import Draw
from tests.seeds import draw_numbers

ROOT = Path(__file__).parents[2]
STEPS = ["A", "B", "C"]


def reached(
    rows: list[dict[str, Any]], count: int, within: int | None, without: str | None
) -> dict[Any, tuple[int, int, int]]:
    """The end, the begin and the step before of the first match of each key, by trying all."""
    found: dict[Any, tuple[int, int, int]] = {}
    for key in {row["k"] for row in rows} - {None}:
        own = [row for row in rows if row["k"] == key]
        times = [[row["ts"] for row in own if row["type"] == step] for step in STEPS[:count]]
        barred = [row["ts"] for row in own if row["type"] == without]
        matches = [
            (match[-1], match[0], match[max(count - 2, 0)])
            for match in product(*times)
            if all(one < two for one, two in zip(match, match[1:], strict=False))
            and (within is None or match[-1] - match[0] < within)
            and not any(match[0] < each < match[-1] for each in barred)
        ]
        if matches:
            found[key] = min(matches)
    return found


@pytest.mark.random
def test_the_counts_are_those_of_python() -> None:
    for number in draw_numbers(30):
        draw = Draw(number)
        count = draw.randrange(5, 40)
        rows = [
            {"ts": ts, "type": draw.choice("AAABBCCX"), "k": draw.one_of(1, 2, 3, 4, None)}
            for ts in sorted(draw.randrange(60) for _ in range(count))
        ]
        within, without = draw.one_of(None, 5, 20), draw.one_of(None, "X")
        schema = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64())])
        found = sase.funnel(
            pa.Table.from_pylist(rows, schema=schema), STEPS, by="k", within=within,
            without=[without] if without else (), strategies="skip_till_any_match",
        )  # fmt: skip
        for at, step in enumerate(found.steps, 1):
            wanted = reached(rows, at, within, without)
            assert step.keys == len(wanted), (number, at)
            if at > 1 and wanted:
                waits = statistics.median(end - before for end, _, before in wanted.values())
                whole = statistics.median(end - begin for end, begin, _ in wanted.values())
                assert (step.from_previous, step.from_first) == (waits, whole), (number, at)
            if at > 1:
                previous = found.steps[at - 2].keys
                assert step.lost == previous - step.keys
                assert step.of_previous == (step.keys / previous if previous else 0)


ROWS = [
    {"ts": n * 60, "type": kind, "user": {"id": user}, "page": f"/{kind}"}
    for n, (kind, user) in enumerate([("A", 1), ("A", 2), ("B", 1), ("X", 2), ("B", 2), ("C", 1)])
]


def counts(**options: Any) -> list[int]:
    given = {"steps": STEPS, "by": "user.id", "time_unit": "s", **options}
    return [each.keys for each in sase.funnel(ROWS, **given).steps]


def test_arguments() -> None:
    assert counts() == [2, 2, 1]
    assert counts(without="X") == [2, 1, 1]
    assert counts(within="4 minutes") == [2, 2, 0]
    assert counts(within=timedelta(minutes=4)) == [2, 2, 0]
    assert counts(steps={"start": "page = '/A'", "end": "page IN ('/B', '/C')"}) == [2, 2]
    assert counts(by=["user.id", "page"]) == [2, 0, 0]
    found = sase.funnel(
        ROWS, STEPS, by="user.id", time_unit="s",
        strategies=["skip_till_next_match", "strict_contiguity"],
    )  # fmt: skip
    assert [dict(each.by_strategy)["strict_contiguity"] for each in found.steps] == [2, 0, 0]
    assert found.steps[1].from_previous == timedelta(minutes=2, seconds=30)
    assert found.to_arrow()["strict_contiguity"].to_pylist() == [2, 0, 0]
    assert found.to_dict()["steps"][1]["from_previous"] == 150.0


def test_a_step_without_events_is_named() -> None:
    found = sase.funnel(ROWS, ["A", "Bee", "C"], by="user.id")
    assert found.missing == ("Bee",)
    assert str(found).endswith("No event is of the step 'Bee'.")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": ["A"]}, "at least two steps"),
        ({"steps": []}, "there is none"),
        ({"by": "usr"}, "by='usr': the events have no column `usr`; did you mean `user`"),
        ({"by": ["user.id", "user.id"]}, "one is there twice"),
        ({"strategies": "next"}, "there is no strategy 'next'"),
        ({"within": object()}, "is no time"),
        ({"steps": {"a": "page = '/A'", "b": "page = '/B'"}, "without": "X"}, "give types="),
        ({"steps": ["A", "D"], "types": ["A", "B"]}, "no event has the type 'D'"),
    ],
)
def test_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=re.escape(said)):
        counts(**options)


def test_a_window_that_is_none_is_an_error_of_the_query() -> None:
    with pytest.raises(BindingError, match="did you mean `hour`"):
        counts(within="1 huor")


def test_the_picture_has_the_numbers_and_a_text() -> None:
    picture = sase.funnel(ROWS, ["A", "B<"], by="user.id", types=["A", "B<"])._repr_html_()
    assert 'role="img" aria-label="A: 2 (100.0%); B&lt;: 0 (0.0%)"' in picture
    assert picture.count("<rect") == 2


def test_the_page_shows_the_funnel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "funnel.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].partition("```")[0]
    exec(compile(code, "funnel.md", "exec"), {})
    assert capsys.readouterr().out == page.split("```text\n")[1].partition("```")[0]


def test_names_in_the_picture_have_room() -> None:
    rows = [{"ts": n, "type": name, "id": 1} for n, name in enumerate(["a", "b" * 38, "c" * 50])]
    picture = sase.funnel(rows, ["a", "b" * 38, "c" * 50], by="id")._repr_html_()
    texts = re.findall(r'<text x="(\d+)" y="\d+" text-anchor="end">(.*?)</text>', picture)
    assert [name for _, name in texts] == ["a", "b" * 38, "c" * 39 + "…"]
    assert {int(place) for place, _ in texts} == {40 * 8}
