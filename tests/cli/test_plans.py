"""`sase plans`: the recipes, the rewrites, and the plans of a query side by side."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.api import explain
from sase.cli.main import main
from sase.cli.queries import Terminated
from sase.errors import TimeLimitError
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites import REWRITES

ROWS, RANDOM = 300, Random(5)
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": [RANDOM.choice("ABC") for _ in range(ROWS)],
        "id": [RANDOM.randrange(5) for _ in range(ROWS)],
        "v": [RANDOM.randrange(100) for _ in range(ROWS)],
    }
)
QUERY = "EVENT SEQ(A a, C c) WHERE [id] AND a.v < c.v WITHIN 60"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(EVENTS, "events.parquet")


def plans(*arguments: str) -> int:
    return main(["plans", *arguments])


def compared(text: str) -> tuple[dict[str, str], list[list[str]]]:
    """The shapes by the names of their recipes, and the lines of the table as cells."""
    *shapes, table = text.rstrip("\n").split("\n\n")
    found = dict(shape.split(":\n", 1) for shape in shapes)
    header, *lines = table.splitlines()
    starts = [header.index(each) for each in ("plan", "expected time", "results")]
    starts += [header.index("time", starts[2])] if header.count("results") > 1 else []
    starts += [header.rindex("results")] if header.count("results") > 1 else []
    ends = [*starts[1:], None]
    return found, [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines
    ]


def test_every_recipe_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == recipe_names()
    for line in lines:
        name, summary = line.split(maxsplit=1)
        assert summary == read_recipe(name).summary


def test_every_rewrite_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans("--rewrites") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split(maxsplit=1)) for line in lines] == [
        (name, rule.summary) for name, rule in REWRITES.items()
    ]


def test_without_events_the_shapes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans("-q", QUERY) == 0
    text = capsys.readouterr().out
    assert "expected time" not in text
    shapes = dict(shape.split(":\n", 1) for shape in text.rstrip("\n").split("\n\n"))
    names = [name for names in shapes for name in names.split(", ")]
    assert sorted(names) == recipe_names()
    assert len(set(shapes.values())) == len(shapes), "those that are alike are shown once"
    (basic,) = (shape for alike, shape in shapes.items() if "basic" in alike.split(", "))
    assert "SS→ runtime stack of the NFA" in basic


def test_with_events_what_each_is_expected_to_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans("-q", QUERY, "--events", "events.parquet") == 0
    shapes, lines = compared(capsys.readouterr().out)
    assert [line[0] for line in lines] == list(shapes)
    results = [float(line[2]) for line in lines]
    # Those of runs are estimated event by event, and not by the volume of sequences.
    assert max(results) < 1.2 * min(results), "every plan has the same results"
    for names, expected, results in lines:
        first = names.split(", ")[0]
        explanation = sase.explain(QUERY, EVENTS, plan=first)
        told = sum(each.expected.nanoseconds for each in explanation.operators if each.expected)
        assert float(expected.split()[0]) == pytest.approx(
            told / {"µs": 1e3, "ms": 1e6}[expected.split()[1]], rel=0.01
        )
        assert float(results) == pytest.approx(explanation.expected_results, rel=0.01)


def test_run_measures_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans("-q", QUERY, "--events", "events.parquet", "--run") == 0
    _, lines = compared(capsys.readouterr().out)
    assert sorted(name for line in lines for name in line[0].split(", ")) == recipe_names()
    found = str(len(sase.match(QUERY, EVENTS)))
    assert {line[4] for line in lines} == {found}
    assert all(line[3].split()[1] in ("µs", "ms", "s") for line in lines)


def test_a_recipe_of_ones_own_beside_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(
        "rewrites = ['use_active_instance_stacks', 'push_limit', 'push_window_into_scan']",
        encoding="utf-8",
    )
    assert plans("-q", QUERY, "--events", "events.parquet", "--plan", "mine.toml") == 0
    shapes, lines = compared(capsys.readouterr().out)
    assert "drops instances older than 60" in shapes["mine"]
    assert "WD window" in shapes["mine"]
    assert [line[0] for line in lines][-1] == "mine"


def test_statistics_that_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    explain = ["explain", "-q", QUERY, "--events", "events.parquet"]
    assert main([*explain, "--save-stats", "stats.json"]) == 0
    capsys.readouterr()
    assert plans("-q", QUERY, "--events", "events.parquet") == 0
    text = capsys.readouterr().out
    assert plans("-q", QUERY, "--events", "events.parquet", "--stats", "stats.json") == 0
    assert capsys.readouterr().out == text
    assert plans("-q", QUERY, "--stats", "stats.json") == 0
    assert compared(capsys.readouterr().out)[1] == compared(text)[1]
    statistics = json.loads(Path("stats.json").read_text(encoding="utf-8"))
    statistics["statistics"]["rows"] = 10**9
    Path("stats.json").write_text(json.dumps(statistics), encoding="utf-8")
    assert plans("-q", QUERY, "--events", "events.parquet", "--stats", "stats.json") == 0
    assert compared(capsys.readouterr().out)[1] != compared(text)[1]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-q", QUERY, "--run"], 2, "--run runs the query: give it --events"),
        (["--run"], 2, "there is no query to compare plans of: give FILE or -q TEXT"),
        (["--events", "events.parquet"], 2, "there is no query to compare plans of"),
        (["no.sase"], 2, "no.sase cannot be read"),
        (["-q", QUERY, "--events", "no.parquet"], 1, "no.parquet: there is no such file"),
        (["-q", QUERY, "--stats", "no.json"], 2, "no.json: the statistics cannot be read"),
        (["-q", QUERY, "--plan", "pias"], 2, "no recipe `pias`; did you mean `pais`?"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plans(*arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sase plans: error: ")
    assert message in err


def test_a_typo_in_the_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert plans("-q", "EVENT SEQ(A a, C c) WHERE [ad]", "--events", "events.parquet") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[unknown-attribute]" in err
    assert "did you mean `id`?" in err


def test_limits_are_of_what_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-q", "EVENT A a", "--events", "events.parquet"]
    assert plans(*given, "--max-memory", "2GB") == 2
    assert "a command that runs nothing without --run" in capsys.readouterr().err
    assert plans(*given, "--run", "--timeout", "0.000001") == 0
    _, lines = compared(capsys.readouterr().out)
    assert {tuple(line[3:]) for line in lines} == {("over 0.000001", "")}


def test_a_plan_that_takes_too_long_is_over_its_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = explain.PlanByRecipe.analyzed

    def slow(plan: explain.PlanByRecipe, guard: Any) -> Any:
        assert guard.limits.time == 60 * 10**9
        if plan.query.recipe.name == "basic":
            raise TimeLimitError("it takes too long")
        return ran(plan, guard)

    monkeypatch.setattr(explain.PlanByRecipe, "analyzed", slow)
    assert plans("-q", QUERY, "--events", "events.parquet", "--run") == 0
    _, lines = compared(capsys.readouterr().out)
    times = {line[0].split(", ")[0]: line[3:] for line in lines}
    assert times.pop("basic") == ["over 1min", ""]
    assert {each[1] for each in times.values()} == {str(len(sase.match(QUERY, EVENTS)))}


@pytest.mark.parametrize(("end", "status"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_an_interrupt_leaves_the_plans_that_were_run(
    end: type[BaseException],
    status: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran, runs = explain.PlanByRecipe.analyzed, list[str]()

    def interrupted(plan: explain.PlanByRecipe, guard: Any) -> Any:
        runs.append(plan.query.recipe.name)
        if len(runs) == 3:
            raise end
        return ran(plan, guard)

    monkeypatch.setattr(explain.PlanByRecipe, "analyzed", interrupted)
    assert plans("-q", QUERY, "--events", "events.parquet", "--run") == status
    out, err = capsys.readouterr()
    assert [line[0].split(", ")[0] for line in compared(out)[1]] == runs[:2]
    assert "plans have no time" in err
