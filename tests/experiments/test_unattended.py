"""All experiments by one command: a clean commit, a quiet machine, uneven points, and resuming."""

import itertools
import re
import shutil
import subprocess

import pytest

from experiments import __main__ as program
from experiments import machine
from experiments.core import load, results
from experiments.core.experiment import Experiment, Outcome, Plot, Point, Size, Way
from experiments.core.measuring import measured
from experiments.core.unattended import ATTEMPTS, PAUSE, UNEVEN, Unattended, unevenness

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

SIZE = Size("tiny", 5, 60.0)


def git(folder, *arguments):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, in place of ours; its results are not part of a commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "code.py").write_text("one = 1\n")
    git(folder, "add", "code.py")
    git(folder, "commit", "--quiet", "-m", "One")
    monkeypatch.setattr(machine, "ROOT", folder)
    return folder


class Counted:
    """Experiments of two points each, which name the points that they measure."""

    def __init__(self):
        self.measured = []
        self.stop_at = self.error_at = None

    def experiments(self):
        return tuple(self._experiment(name) for name in ("one", "two"))

    def _experiment(self, name):
        points = [Point(x, {"way": self._way(f"{name} {x}")}, events=100) for x in (1, 2)]
        plot = Plot("events_per_s", "events/s", "x")
        return Experiment(name, name.title(), "Ours", "said.", lambda size: points, (plot,))

    def _way(self, place):
        def run():
            if place == self.stop_at:
                raise KeyboardInterrupt
            if place == self.error_at:
                raise OSError("the disk is full")
            self.measured.append(place)
            return sum(range(100_000))

        return lambda data: Way(run, lambda found: Outcome(7))


@pytest.fixture
def counted(monkeypatch):
    counted = Counted()
    monkeypatch.setattr(program, "EXPERIMENTS", counted.experiments())
    monkeypatch.setattr(load, "SAMPLE", 0.0)
    monkeypatch.setattr(machine, "busy_seconds", lambda: 0.0)
    monkeypatch.setattr(program.reporting, "write", lambda experiments, folder: [folder / "report"])
    return counted


def run_all(folder):
    program.main(["all", "--tiny", "--results", str(folder)])


def test_all_resumes_where_it_was_interrupted(repository, counted, tmp_path, capsys):
    counted.stop_at = "two 2"
    with pytest.raises(SystemExit, match="interrupted: the same command resumes"):
        run_all(tmp_path / "results")
    assert list(dict.fromkeys(counted.measured)) == ["one 1", "one 2", "two 1"]
    counted.stop_at, counted.measured = None, []
    run_all(tmp_path / "results")
    assert list(dict.fromkeys(counted.measured)) == ["two 2"]
    told = capsys.readouterr()
    folder = tmp_path / "results"
    assert told.out.splitlines() == [str(folder / "report"), str(folder / "benchmarks.md")]
    assert re.search(r"^ +\d+\.\d s  two\n(.*\n)* +\d+\.\d minutes in all$", told.err, re.MULTILINE)
    counted.measured = []
    run_all(tmp_path / "results")
    assert counted.measured == []


def test_the_longest_experiment_is_named_first():
    told = program.times({"short": 6.0, "long": 600.0}).splitlines()
    assert told == ["   600.0 s  long", "     6.0 s  short", "    10.1 minutes in all"]


def test_other_systems_run_after_all_but_tiny_experiments(
    repository, counted, tmp_path, monkeypatch
):
    calls = []
    monkeypatch.setattr(program.rivals, "main", calls.append)
    run_all(tmp_path / "tiny")
    assert calls == []
    monkeypatch.setenv(program.VARIABLE, "limit.py")
    program.main(["all", "--quick", "--results", str(tmp_path)])
    assert calls == [["all", "--results", str(tmp_path), "--limit", "limit.py", "--quick"]]


def test_after_a_failure_of_another_system_there_is_a_report(
    repository, counted, tmp_path, monkeypatch, capsys
):
    def fail(arguments):
        raise SystemExit("DuckDB: 3 matches, right are 4")

    monkeypatch.setattr(program.rivals, "main", fail)
    with pytest.raises(SystemExit, match="right are 4"):
        program.main(["all", "--quick", "--results", str(tmp_path)])
    assert (tmp_path / "benchmarks.md").exists()
    assert "minutes in all" in capsys.readouterr().err


def test_after_an_experiment_that_failed_the_others_run_and_there_is_a_report(
    repository, counted, tmp_path
):
    counted.error_at = "one 1"
    with pytest.raises(SystemExit, match="^one: the disk is full$"):
        run_all(tmp_path)
    assert list(dict.fromkeys(counted.measured)) == ["two 1", "two 2"]
    assert (tmp_path / "benchmarks.md").exists()


def test_each_row_has_its_commit_machine_load_and_times(repository, counted, tmp_path):
    run_all(tmp_path)
    commit = git(repository, "rev-parse", "--short=10", "HEAD")
    for name in ("one", "two"):
        rows = results.read(tmp_path / f"{name}.csv").rows
        assert [row["x"] for row in rows] == [1, 2]
        for row in rows:
            assert (row["commit"], row["load"]) == (commit, 0.0)
            assert row["machine"].endswith("cores") and 1 <= row["attempts"] <= ATTEMPTS
            assert row["wall_s"] > 0 and row["cpu_low_s"] <= row["cpu_s"] <= row["cpu_high_s"]


def test_a_tree_with_changes_is_refused(repository, counted, tmp_path):
    (repository / "code.py").write_text("one = 2\n")
    with pytest.raises(SystemExit, match="the working tree has changes that no commit has"):
        run_all(tmp_path / "results")
    assert counted.measured == [] and not (tmp_path / "results").exists()


def test_a_folder_without_git_is_refused(tmp_path, counted, monkeypatch):
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="no git repository"):
        run_all(tmp_path / "results")


def test_a_tree_that_changes_while_it_is_measured_ends_the_run(repository):
    quiet = Unattended(machine.commit(), 0.3, lambda: 0.0)
    (repository / "code.py").write_text("one = 2\n")
    with pytest.raises(SystemExit, match=r"the working tree was \w+ and is \w+-dirty now"):
        quiet.wait()


def test_it_waits_while_others_use_the_machine_and_says_so(repository, capsys):
    loads, slept = iter([1.5, 0.9, 0.2]), []
    commit = machine.commit()
    Unattended(commit, 0.3, lambda: next(loads), slept.append).wait()
    told = capsys.readouterr().err.splitlines()
    assert slept == [PAUSE, PAUSE]
    assert told[0].startswith("the machine is busy: other processes use 1.5 cores, more than 0.3")
    assert told[1:] == ["the machine is quiet after 0.5 minutes"]


def test_it_does_not_wait_where_the_system_does_not_tell_its_load(repository, capsys):
    Unattended(machine.commit(), 0.3, lambda: None, pytest.fail).wait()
    assert capsys.readouterr().err == ""


def of_times(times):
    """A point, by a way that says how much CPU time each of its runs took."""
    told = iter(times)
    run = Way(lambda: next(told), lambda s: Outcome(5, None, {"cpu_s": s}))
    return Point(1, {"way": lambda data: run}, events=10)


def experiment(point):
    return Experiment("name", "Title", "Ours", "said.", lambda size: [point], ())


def test_an_uneven_point_is_measured_again_and_the_most_even_attempt_counts(repository):
    quiet = Unattended(machine.commit(), 0.3, lambda: 0.0)
    # The first run of an attempt warms up, and five count.
    point = of_times([9, 1, 1, 1, 1, 2, 9, 4, 4, 4, 4, 4])
    (row,) = quiet.measured(experiment(point), point, SIZE, set())
    assert (row["cpu_s"], row["attempts"]) == (4, 2)
    point = of_times(itertools.cycle([9, 1, 1, 1, 1, 2]))
    (row,) = quiet.measured(experiment(point), point, SIZE, set())
    assert (row["cpu_high_s"], row["attempts"]) == (2, ATTEMPTS)


def test_an_even_point_is_measured_once(repository):
    quiet = Unattended(machine.commit(), 0.3, lambda: 0.0)
    point = of_times([9, 4, 4, 4, 4, 4 + 4 * 0.9 * UNEVEN])
    (row,) = quiet.measured(experiment(point), point, SIZE, set())
    assert row["attempts"] == 1 and unevenness([row]) == pytest.approx(0.9 * UNEVEN)


def test_a_way_that_was_too_slow_is_tried_again_in_each_attempt(repository):
    quick = Size("tiny", 5, 0.05)
    quiet = Unattended(machine.commit(), 0.3, lambda: 0.0)
    uneven = of_times(itertools.cycle([9, 1, 1, 1, 1, 2]))
    turns = []

    def slow():
        turns.append(1)
        end = load.time.perf_counter() + 0.1
        while load.time.perf_counter() < end:
            pass

    ways = {**uneven.ways, "slow": lambda data: Way(slow, lambda found: Outcome(5))}
    point, slower = Point(1, ways, events=10), set()
    rows = quiet.measured(experiment(point), point, quick, slower)
    assert [row["status"] for row in rows] == [results.MEASURED, results.TOO_SLOW]
    assert len(turns) == ATTEMPTS and slower == {("", "slow")}


def test_load_is_the_work_of_others(monkeypatch):
    before = load.Reading(10.0, 100.0, 4.0)
    assert load.Reading(12.0, 105.0, 6.0).others_since(before) == 1.5
    assert load.Reading(12.0, 101.0, 6.0).others_since(before) == 0.0
    assert load.Reading(12.0, None, 6.0).others_since(before) is None
    monkeypatch.setattr(machine, "busy_seconds", lambda: None)
    (row,) = measured(experiment(point := of_times([1] * 6)), point, SIZE, set())
    assert "load" not in row


@pytest.mark.skipif(not machine.PROCESSORS.exists(), reason="only Linux tells")
def test_the_load_counts_a_process_beside_this_one():
    before = load.Reading.now()
    spin = "import time\nwhile time.process_time() < 0.6: pass"
    subprocess.run(["python3", "-c", spin], check=True)
    after = load.Reading.now()
    assert after.busy - before.busy >= 0.5
    # A child that has ended is our own work.
    assert after.own - before.own >= 0.5


@pytest.mark.parametrize("wrong", [["all", "fig8"], ["all", "--most-load", "much"]])
def test_a_wrong_argument_is_refused(wrong, capsys):
    with pytest.raises(SystemExit) as end:
        program.main(wrong)
    assert end.value.code == 2 and "error: " in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["-1", "nan"])
def test_a_load_that_no_machine_has_is_refused(wrong):
    with pytest.raises(SystemExit, match="is a number of cores from 0 on"):
        program.main(["all", "--most-load", wrong])
