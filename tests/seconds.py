"""Processor seconds of each test: recorded in every run, and the table of where they go.

A run keeps the seconds of its tests in `.pytest_cache`. The next run gives out files of tests by
them, and `make test-quick` leaves out the tests that took long. `--seconds FILE` also writes those
of one run into a file, from which `python -m tests.seconds FILE` makes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

import pytest

# Where `.pytest_cache` has the seconds of tests in their last runs.
KEPT = "sase/seconds"
# A test that took longer is not quick.
QUICK = 0.3
# The page with the table, the lines before and behind it, and how many rows a table has.
PAGE = Path(__file__).parents[1] / "docs" / "development.md"
BEGIN, END = "<!-- The table of seconds. -->", "<!-- The end of the table of seconds. -->"
FOLDERS, DEAREST = 20, 30


class Seconds(NamedTuple):
    """Processor seconds of the process that tests, and of the processes that it started."""

    own: float
    started: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.own + self.started


NONE = Seconds(0, 0)


def added(several: Iterable[Seconds]) -> Seconds:
    """Return the sum."""
    return Seconds(*map(sum, zip(*several, strict=True))) if (several := [*several]) else NONE


# ---------------------------------------------------------------- measuring


def used() -> Seconds:
    """Return the processor seconds of this process and of all that it started, until now."""
    own, ended = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    running = sum(map(_used_by, _descendants("self")))
    return Seconds(own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime + running)


def _used_by(process: str) -> float:
    """The seconds of a process and of its children that have ended; 0 if it is gone."""
    after_name = _read(f"/proc/{process}/stat").rpartition(b")")[2].split()
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")


def _descendants(process: str) -> Iterator[str]:
    """The processes that a process started, and those that they started; none outside of Linux."""
    threads = f"/proc/{process}/task"
    for thread in _names(threads):
        for child in _read(f"{threads}/{thread}/children").decode().split():
            yield child
            yield from _descendants(child)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> bytes:
    """The text of a file of the system; by the shortest way, since each test asks for some."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 1 << 20)
    except OSError:  # of a process that has just ended
        return b""
    finally:
        os.close(file)


class Recorder:
    """Measures each test, and keeps the seconds when the run ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._begin: Seconds | None = None
        self._tests: dict[str, Seconds] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """The first test begins; the others do at the end of the one before."""
        if self._begin is None:
            self._begin = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Iterator[None]:
        """Its last report has the seconds, and takes them to the first process."""
        report = yield
        if call.when == "teardown" and self._begin is not None:
            end = used()
            report.seconds = end.own - self._begin.own, max(0, end.started - self._begin.started)
            self._begin = end
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember the seconds of a test."""
        if hasattr(report, "seconds") and not self._is_worker:
            self._tests[report.nodeid] = Seconds(*report.seconds)

    def pytest_sessionfinish(self) -> None:
        """Keep the seconds for the next run, and write them to a file if there is to be one."""
        if self._is_worker:
            return
        rounded = {
            name: [round(each, 4) for each in seconds]
            for name, seconds in sorted(self._tests.items())
        }
        root = self._config.rootpath
        old = {name: each for name, each in kept(self._config).items() if _is_there(root, name)}
        if cache := getattr(self._config, "cache", None):
            cache.set(KEPT, {**old, **rounded})
        if file := self._config.option.seconds:
            Path(file).write_text(json.dumps(rounded, indent=0), encoding="utf-8")


def _is_there(root: Path, test: str) -> bool:
    return (root / test.partition("::")[0]).exists()


# ---------------------------------------------------------------- their use in runs


def kept(config: pytest.Config) -> dict[str, Seconds]:
    """Return the seconds of each test in its last run."""
    cache = getattr(config, "cache", None)
    return {} if cache is None else _of_json(cache.get(KEPT, {}))


def _of_json(value: Mapping[str, list[float]]) -> dict[str, Seconds]:
    return {name: Seconds(*each) for name, each in value.items()}


def leave_out_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not quick, as far as that is known."""
    seconds = kept(config)
    long = [item for item in items if seconds.get(item.nodeid, NONE).total > QUICK]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if seconds.get(item.nodeid, NONE).total <= QUICK]


def longest_first(
    seconds: Mapping[str, Seconds], files: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    """Return files of tests by the seconds of their tests, or else by how many tests they have."""

    def length(file: str) -> tuple[float, int]:
        tests = [*files[file]]
        return -added(seconds.get(test, NONE) for test in tests).total, -len(tests)

    return tuple(sorted(files, key=length))


# ---------------------------------------------------------------- the table


def table(tests: Mapping[str, Seconds]) -> str:
    """Return two tables: the seconds by folder, and the tests that take most."""
    whole = added(tests.values()).total
    folders = _by(tests, folder)
    few, rest = folders[:FOLDERS], folders[FOLDERS:]
    if rest:
        tests_of_rest = {name: each for _, several in rest for name, each in several.items()}
        few.append((f"{len(rest)} others", tests_of_rest))
    lines = [
        f"{len(tests):,} tests take {whole:,.0f} seconds of processor:",
        "",
        "| folder or file | tests | seconds | own | of programs | share |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, several in [*few, ("all", tests)]:
        seconds = added(several.values())
        lines.append(
            f"| {name} | {len(several):,} | {seconds.total:.1f} | {seconds.own:.1f} "
            f"| {seconds.started:.1f} | {seconds.total / max(whole, 1e-9):.0%} |"
        )
    lines += [
        "",
        f"The {DEAREST} functions that take most:",
        "",
        "| function | tests | seconds |",
        "| --- | ---: | ---: |",
    ]
    for name, several in _by(tests, function)[:DEAREST]:
        lines.append(f"| {name} | {len(several):,} | {added(several.values()).total:.1f} |")
    return "\n".join(lines)


def _by(tests: Mapping[str, Seconds], name: Any) -> list[tuple[str, dict[str, Seconds]]]:
    """Tests by a part of their names, the parts that take most first."""
    parts: dict[str, dict[str, Seconds]] = defaultdict(dict)
    for test, seconds in tests.items():
        parts[f"`{name(test)}`"][test] = seconds
    return sorted(parts.items(), key=lambda part: -added(part[1].values()).total)


def folder(test: str) -> str:
    """Return the folder of a test; below `engine` that in it, and a file that is in no folder."""
    parts = test.partition("::")[0].removeprefix("tests/").split("/")
    return "/".join(["tests", *parts[: 2 if parts[0] == "engine" and len(parts) > 2 else 1]])


def function(test: str) -> str:
    """Return the file and the function of a test."""
    return test.partition("[")[0].removeprefix("tests/")


def put_between(text: str, new: str) -> str:
    """Return a page with a new table between the two lines."""
    marks = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
    page, count = marks.subn(lambda _: f"\n{new}\n\n", text)
    if count != 1:
        raise ValueError(f"the page has {count} places for the table, not one")
    return page


def main(words: list[str] | None = None) -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.seconds", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="written by runs with --seconds FILE")
    parser.add_argument("--write", action="store_true", help=f"write it into {PAGE.name}")
    arguments = parser.parse_args(words)
    tests: dict[str, Seconds] = {}
    for file in arguments.files:
        tests |= _of_json(json.loads(file.read_text(encoding="utf-8")))
    print(table(tests))
    if arguments.write:
        PAGE.write_text(put_between(PAGE.read_text(encoding="utf-8"), table(tests)), "utf-8")


if __name__ == "__main__":
    main()
