"""The comparison with other systems: its pure parts, and ours as the only way on a tiny stream."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pytest

from experiments.rivals import results, running
from experiments.rivals.__main__ import of_module, report
from experiments.rivals.catalogue import ENGINE, Difference, Form, Rival, rivals
from experiments.rivals.comparing import Comparison, Plan
from experiments.rivals.install import CannotInstall, install, interpreter, python
from experiments.rivals.protocol import Run, Task
from experiments.rivals.results import Place, Way
from experiments.rivals.running import Outcome
from experiments.rivals.streams import CONTESTS, Contest, users, with_codes
from sase.generate import stock_events, uniform_events

pytestmark = pytest.mark.heavy

PLACE = Place("2026-01-02", "a processor", "2", "abc")
OURS = Way("ours", "this engine", "plan", 1)
OTHER = Rival("other", "Other", forms=(Form("plain", ("Q1",)), Form("fast", ("Q1",))))
PLAIN, FAST = (Way("other", "Other", form, 1) for form in ("plain", "fast"))


def tiny() -> pa.Table:
    return uniform_events(events=2_000, domains=(50, 20), seed=1)


@pytest.fixture
def contest() -> Contest:
    """Q1 with the right number, which the engine's naive twin is judged by elsewhere."""
    first = CONTESTS[0]
    taken = with_codes(tiny()).select(["ts", "code", "attr1"]).to_pylist()
    steps = [[row for row in taken if row["code"] == number] for number in (1, 2, 3)]
    found = [
        (a["ts"], b["ts"], c["ts"])
        for a in steps[0]
        for b in steps[1]
        for c in steps[2]
        if a["attr1"] == b["attr1"] == c["attr1"] and a["ts"] < b["ts"] < c["ts"]
    ]
    return Contest(first.name, first.text, tiny, len(found), sum(map(sum, found)), first.asked)


def run(number: int = 1, seconds: float = 0.5, matches: int = 3, check: int | None = 6) -> Run:
    return Run(number, seconds, 0.4, 100.0, matches, check, 2, 1, "plan", "1.0")


def compared(outcomes: dict[str, Outcome], folder: Path, known: tuple[int, int]) -> Comparison:
    """One round of made-up outcomes, by form."""
    first = CONTESTS[0]
    contest = Contest(first.name, first.text, tiny, *known, first.asked)
    runner = {name: lambda task, limit: outcomes[task.form] for name in ("ours", "other")}
    comparison = Comparison(Plan((1,), rounds=2), PLACE, folder, runner)
    comparison.cell(contest, [OTHER])
    return comparison


def test_ours_by_the_protocol_on_a_tiny_stream(contest: Contest, tmp_path: Path) -> None:
    plan = Plan((1,), rounds=1, repeats=2)
    runners = {"ours": of_module(sys.executable, ENGINE)}
    comparison = Comparison(plan, PLACE, tmp_path / "data", runners)
    comparison.cell(contest, [])
    assert comparison.failures == []
    assert contest.matches > 0
    assert [line.run for line in comparison.lines] == ["0", "1", "2"]
    assert [line.counts for line in comparison.lines] == ["", "yes", "yes"]
    assert {line.matches for line in comparison.lines} == {str(contest.matches)}
    assert all(float(line.seconds) > 0 and float(line.peak_mb) > 1 for line in comparison.lines)
    assert "| this engine" in report(comparison.lines, [])


@pytest.mark.parametrize(
    ("program", "limit", "expected"),
    [
        ("raise ValueError('no such thing')", 5.0, (0, False, "ValueError: no such thing")),
        ("print('its own words'); print(READY); print(RUN)", 5.0, (1, False, None)),
        ("print(READY); print(RUN, flush=True); time.sleep(60)", 0.2, (1, True, None)),
        ("print(READY, flush=True); time.sleep(60)", 0.2, (0, True, None)),
        ("print(READY)", 5.0, (0, False, "it told of no run")),
        ("print(RUN); raise SystemExit(3)", 5.0, (1, False, "exit status 3: no word")),
    ],
)
def test_what_a_process_tells_and_how_it_ends(
    program: str, limit: float, expected: tuple[int, bool, str | None]
) -> None:
    given = {"READY": json.dumps({"ready": "1.0"}), "RUN": json.dumps(asdict(run()))}
    lines = [f"{name} = {text!r}" for name, text in given.items()]
    script = "\n".join(["import time", *lines, program])
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,
        )
        try:
            outcome = running.followed(process, limit, complaints)
        finally:
            running.stop(process)
    runs, over, error = expected
    assert (len(outcome.runs), outcome.over) == (runs, over)
    assert outcome.error == error or (error and error in (outcome.error or ""))


def test_a_way_that_is_not_there_fails() -> None:
    task = CONTESTS[0].task(Path("nowhere.arrow"), "plain", 1, 3, 10.0)
    failed = running.outcome(sys.executable, "experiments.rivals.no_such_way", task, 5.0)
    assert failed.runs == ()
    assert failed.error is not None and "No module named" in failed.error


def test_a_task_goes_through_json() -> None:
    for contest in CONTESTS:
        task = contest.task(Path("x.arrow"), "plain", 2, 3, 10.0)
        assert Task.read(task.line) == task
    assert CONTESTS[4].task(Path("x"), "plain", 1, 1, 1.0).bound == "ac"


def test_the_file_has_the_codes_beside_the_types(contest: Contest, tmp_path: Path) -> None:
    path = contest.write(tmp_path, share=10)
    with pa.OSFile(str(path), "rb") as file:
        table = pa.ipc.open_file(file).read_all()
    assert len(table) == 200
    types = table["type"].to_pylist()
    assert table["code"].to_pylist() == [int(name.removeprefix("E")) for name in types]


def test_right_answers_of_all(tmp_path: Path) -> None:
    outcomes = {
        "plan": Outcome((run(0, 9.0), run(1, 0.5))),
        "plain": Outcome((run(0, 9.0), run(1, 2.0), run(2, 2.0))),
        "fast": Outcome((run(0, 20.0),)),
    }
    comparison = compared(outcomes, tmp_path, (3, 6))
    assert comparison.failures == []
    assert results.shown(comparison.lines, OURS, "Q1/D1") == "0.5"
    assert results.shown(comparison.lines, PLAIN, "Q1/D1") == "2.00 (4)"
    assert results.shown(comparison.lines, FAST, "Q1/D1") == "20.00 (40)"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Outcome((run(matches=4),)), "4 matches, right are 3"),
        (Outcome((run(check=7),)), "as many matches as it should, and not those"),
        (Outcome((run(1), run(2, matches=4))), "differ from run to run"),
        (Outcome(error="exit status 1: no word"), "exit status 1"),
    ],
)
def test_what_is_wrong_fails(wrong: Outcome, why: str, tmp_path: Path) -> None:
    outcomes = {"plan": Outcome((run(),)), "plain": wrong, "fast": Outcome((run(),))}
    comparison = compared(outcomes, tmp_path, (3, 6))
    (failure,) = comparison.failures  # it does not run in the second round
    assert failure.startswith("Q1/D1: Other, plain:") and why in failure
    assert results.shown(comparison.lines, PLAIN, "Q1/D1") == "failed"
    assert results.shown(comparison.lines, FAST, "Q1/D1") == "0.5 (1)"


def test_our_own_answer_is_held_against_what_is_known(tmp_path: Path) -> None:
    outcomes = {form: Outcome((run(),)) for form in ("plan", "plain", "fast")}
    comparison = compared(outcomes, tmp_path, (4, 6))
    assert all("not those that are known" in failure for failure in comparison.failures)
    assert len(comparison.failures) == 3


def test_who_takes_too_long_is_not_asked_again(tmp_path: Path) -> None:
    asked = []
    outcomes = {"plan": Outcome((run(),)), "plain": Outcome(over=True), "fast": Outcome((run(),))}

    def runner(task: Task, limit: float) -> Outcome:
        asked.append(task.form)
        return outcomes[task.form]

    first = CONTESTS[0]
    contest = Contest(first.name, first.text, tiny, 3, 6, first.asked)
    comparison = Comparison(
        Plan((1,), rounds=2), PLACE, tmp_path, dict.fromkeys(("ours", "other"), runner)
    )
    comparison.cell(contest, [OTHER])
    assert asked == ["plan", "plain", "fast", "plan", "fast"]
    assert comparison.failures == []
    assert results.shown(comparison.lines, PLAIN, "Q1/D1") == "> 60"


def test_another_meaning_is_judged_by_itself_and_said(tmp_path: Path) -> None:
    difference = Difference("starts", "It finds one match from each start.")
    other = Rival("other", "Other", forms=(Form("clause", ("Q1",), difference=difference),))
    first = CONTESTS[0]
    contest = Contest(first.name, first.text, tiny, 3, 6, first.asked)

    def judged(matches: int) -> Comparison:
        outcomes = {"plan": Outcome((run(),)), "clause": Outcome((run(1, 1.0, matches, None),))}
        runner = dict.fromkeys(("ours", "other"), lambda task, limit: outcomes[task.form])
        comparison = Comparison(Plan((1,), rounds=1), PLACE, tmp_path, runner)
        comparison.cell(contest, [other])
        return comparison

    assert judged(3).failures == ["Q1/D1: Other, clause: 3 matches, right are 2"]
    right = judged(2)
    assert right.failures == []
    assert "- Other, clause: It finds one match from each start." in report(right.lines, [other])


def test_lines_go_through_the_file_into_a_document(tmp_path: Path) -> None:
    outcomes = {
        "plan": Outcome((run(),)),
        "plain": Outcome((run(seconds=1.0),)),
        "fast": Outcome(over=True),
    }
    lines = compared(outcomes, tmp_path, (3, 6)).lines
    results.write(tmp_path / "lines.csv", lines)
    assert results.read(tmp_path / "lines.csv") == lines
    document = f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n"
    told = results.into(document, results.table(lines))
    assert told == f"before\n{results.BEGIN}\n\n{results.table(lines)}\n\n{results.END}\nafter\n"
    assert results.table(lines).splitlines() == [
        "| 1 thread | form | Q1/D1 |",
        "| --- | --- | --- |",
        "| this engine 1.0 | plan | 0.5 |",
        "| Other 1.0 | plain | 1.00 (2) |",
        "| Other | fast | > 60 |",
    ]
    with pytest.raises(SystemExit, match="has no"):
        results.into("nothing", "text")


def test_cells_of_another_commit_say_so(tmp_path: Path) -> None:
    outcomes = dict.fromkeys(("plan", "plain", "fast"), Outcome((run(),)))
    lines = compared(outcomes, tmp_path, (3, 6)).lines
    assert results.described(lines).endswith(f" commit {lines[0].commit}.")
    later = [replace(each, commit="later", cell="Q1/D2") for each in lines]
    told = results.described([*lines, *later])
    assert f"commit {lines[0].commit} (Q1/D1); " in told
    assert told.endswith("commit later (Q1/D2).")


def test_the_catalogue_pins_every_package_and_has_a_program_for_each() -> None:
    found = rivals()
    folder = Path(results.__file__).parent
    assert len(found) >= 8
    for rival in found.values():
        assert all("==" in package for package in rival.packages), rival.name
        assert (folder / f"{rival.name}.py").exists()
        for form in rival.forms:
            assert set(form.queries) <= {contest.query for contest in CONTESTS}
            assert set(form.without) <= {contest.stream for contest in CONTESTS}


def test_no_way_but_ours_imports_the_engine() -> None:
    shared = ("protocol", "columns", "keys", "sql", "trees")
    folder = Path(results.__file__).parent
    for name in [*rivals(), *shared]:
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        assert "import sase" not in source and "from sase" not in source, name


def test_forms_of_sql_find_what_ours_finds(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="an experiment's package")
    database = importlib.import_module("experiments.rivals.duckdb")
    ours = importlib.import_module("experiments.rivals.ours")
    asked = rivals()["duckdb"].forms
    for contest in CONTESTS:
        small = stock_events(events=2_000, seed=3) if contest.query == "Q5" else tiny()
        if contest.stream.startswith("K"):
            small = users(50, 2_000)
        data = replace(contest, table=lambda table=small: table).write(tmp_path)
        for form in asked:
            if contest.query in form.queries:
                task = contest.task(data, form.name, 1, 1, 1.0)
                way, right = database.prepare(task), ours.prepare(task)
                found, expected = way.count(way.run()), right.count(right.run())
                assert found == expected, (contest.name, form.name)
                assert found.matches > 0 or contest.query in ("Q2", "Q4"), contest.name


def test_pythons_and_environments(tmp_path: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert python(None) == python(here) == sys.executable
    with pytest.raises(CannotInstall, match=r"Python 2\.1 is needed"):
        python("2.1")
    assert interpreter(tmp_path, OTHER) is None
    needy = replace(OTHER, needs="a-program-that-nobody-has")
    with pytest.raises(CannotInstall, match="which is not on the PATH"):
        install(tmp_path, needy)
