"""Processor seconds of tests: measured, kept for the next run, and written as a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import seconds
from tests.seconds import BEGIN, END, PAGE, Seconds

# A test that works itself, one that has programs work that end or go on, and one that waits.
TESTS = """
import subprocess
import sys
import time

WORK = "import time\\nwhile time.process_time() < 0.4: pass\\nprint(flush=True)\\ntime.sleep({})"
started = []


def test_works():
    begin = time.process_time()
    while time.process_time() - begin < 0.4:
        pass


def test_starts():
    subprocess.run([sys.executable, "-c", WORK.format(0)], check=True)


def test_leaves():
    command = [sys.executable, "-c", WORK.format(60)]
    started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
    started[0].stdout.readline()


def test_waits():
    time.sleep(0.5)
    for process in started:
        process.kill()
        process.communicate()
"""
PLUGIN = """
from tests import seconds


def pytest_addoption(parser):
    parser.addoption("--seconds")


def pytest_configure(config):
    config.pluginmanager.register(seconds.Recorder(config))


def pytest_collection_modifyitems(config, items):
    if config.option.keyword:
        seconds.leave_out_long(config, items)
"""


def run(folder: Path, *arguments: str) -> str:
    """Run the tests of a folder, and return the output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(PAGE.parents[1])},
    )
    return done.stdout


@pytest.mark.parametrize("processes", ["-n0", pytest.param("-n1", marks=pytest.mark.heavy)])
def test_a_run_keeps_the_seconds_of_each_test(processes: str, tmp_path: Path) -> None:
    (tmp_path / "test_this.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(PLUGIN, encoding="utf-8")
    run(tmp_path, processes, "--seconds=taken.json")
    taken = json.loads((tmp_path / "taken.json").read_text(encoding="utf-8"))
    works = {
        name.rpartition("_")[2]: [each >= 0.3 for each in pair] for name, pair in taken.items()
    }
    assert works == {
        "works": [True, False],
        "starts": [False, True],
        "leaves": [False, True],
        "waits": [False, False],
    }
    cache = tmp_path / ".pytest_cache" / "v" / seconds.KEPT
    assert json.loads(cache.read_text(encoding="utf-8")) == taken
    # The next run leaves out the test that took long, and keeps its seconds.
    assert "1 passed" in run(tmp_path, processes, "-ktest")
    again = json.loads(cache.read_text(encoding="utf-8"))
    assert [name for name in taken if again[name] != taken[name]] == ["test_this.py::test_waits"]
    if processes == "-n1":  # where nothing is kept, as of mutants, all are run
        assert "4 passed" in run(tmp_path, processes, "-ktest", "-pno:cacheprovider")


TAKEN = {
    "tests/test_a.py::test_one": Seconds(1, 0),
    "tests/engine/test_b.py::test_two[x::y/z]": Seconds(2, 0),
    "tests/engine/test_b.py::test_two[w]": Seconds(2, 1),
    "tests/engine/c/test_c.py::test_three": Seconds(0.25, 2),
    "tests/cli/deep/test_d.py::test_four": Seconds(0, 0.5),
}


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seconds, "FOLDERS", 2)
    monkeypatch.setattr(seconds, "DEAREST", 1)
    assert seconds.table(TAKEN).splitlines() == [
        "5 tests take 9 seconds of processor:",
        "",
        "| folder or file | tests | seconds | own | of programs | share |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| `tests/engine` | 2 | 5.0 | 4.0 | 1.0 | 57% |",
        "| `tests/engine/c` | 1 | 2.2 | 0.2 | 2.0 | 26% |",
        "| 2 others | 2 | 1.5 | 1.0 | 0.5 | 17% |",
        "| all | 5 | 8.8 | 5.2 | 3.5 | 100% |",
        "",
        "The 1 functions that take most:",
        "",
        "| function | tests | seconds |",
        "| --- | ---: | ---: |",
        "| `engine/test_b.py::test_two` | 2 | 5.0 |",
    ]


def test_long_files_are_first_and_then_those_of_many_tests() -> None:
    files = {"few": ["a"], "many": ["b", "c"], "short": [*TAKEN][:1], "long": [*TAKEN][1:]}
    assert seconds.longest_first(TAKEN, files) == ("long", "short", "many", "few")


def test_the_page_has_one_place_for_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    page, taken = tmp_path / "page.md", tmp_path / "taken.json"
    page.write_text(text, encoding="utf-8")
    taken.write_text(json.dumps(TAKEN), encoding="utf-8")
    monkeypatch.setattr(seconds, "PAGE", page)
    seconds.main([str(taken)])
    assert page.read_text(encoding="utf-8") == text
    for _ in range(2):
        seconds.main([str(taken), "--write"])
        before, table, after = page.read_text(encoding="utf-8").partition(seconds.table(TAKEN))
        assert table
        assert before == text[: text.index(BEGIN)] + f"{BEGIN}\n\n"
        assert after == "\n\n" + text[text.index(END) :]
    assert capsys.readouterr().out == f"{table}\n" * 3
    with pytest.raises(ValueError, match="0 places"):
        seconds.put_between("# A page\n", table)
