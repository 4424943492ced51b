"""The profiles of the whole suite, the seed of a random run, and how tests are dealt out."""

import gc
import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings

from tests import seconds, seeds, spark_here
from tests.browser import found as found_browser
from tests.faults.processes import Programs, programs
from tests.program import Program

USUAL, QUICK = "repeatable", "quick"
# The settings of every profile. The parent is named because Hypothesis would have all of them
# inherit from a profile of its own where it finds the variable CI. No deadline for an example, nor
# for drawing it: machines are noisy, and the first one compiles and fills caches. No database: a
# run depends on its seed alone.
base = settings(
    settings.get_profile("default"),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples in every run: a test is red because of a change of the code.
settings.register_profile(USUAL, base, max_examples=6, derandomize=True)
settings.register_profile(QUICK, base, max_examples=6, derandomize=True)
# Others in every run, by a seed that is printed.
settings.register_profile("random", base, max_examples=16)
# Hundreds of thousands of examples over the suite.
settings.register_profile("long", base, max_examples=10_000)
# Few examples, each printed, and the failing one as it was found.
settings.register_profile(
    "debug",
    base,
    max_examples=10,
    verbosity=Verbosity.verbose,
    phases=(Phase.explicit, Phase.generate),
)
# How many objects are made, and how often, before garbage is looked for among the young, the older
# and all: in a process that plans and parses most of the time, the usual ones take a tenth of it.
GARBAGE = 20_000, 20, 20
# The heading of the command that repeats a failure.
AGAIN = "to repeat it"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="write what came out into the expected sections of the .case files",
    )
    parser.addoption("--seed", type=int, help="the seed of a random run; made anew without it")
    parser.addoption("--examples", type=int, help="how many random examples a test draws")
    parser.addoption("--seconds", help="the file for the processor seconds of each test")


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Program:
    """The program, called in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Program(capfd)


@pytest.fixture(scope="session")
def forked() -> Iterator[Programs]:
    """Runs the program, and scripts, in processes forked from one that has loaded it."""
    if os.name != "posix":
        pytest.skip("needs processes that are forked")
    with programs() as found:
        yield found


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Do not look for garbage among the tests, which all live to the end, nor for little of it."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


# ---------------------------------------------------------------- examples and their seed


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the profile and hand the seed to all who draw, before tests are imported."""
    option = config.option
    config.pluginmanager.register(seconds.Recorder(config))
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if number_of(worker) >= SPARKS and hasattr(os, "nice"):
        os.nice(NICER)
    name = option.hypothesis_profile = option.hypothesis_profile or USUAL
    if option.examples:
        settings.register_profile(name, settings.get_profile(name), max_examples=option.examples)
    settings.load_profile(name)
    if settings().derandomize:
        return
    if hasattr(config, "workerinput"):
        option.seed = config.workerinput["seed"]
    elif option.seed is None:
        option.seed = SystemRandom().randrange(seeds.SEEDS)
    option.hypothesis_seed = str(option.seed)
    seeds.begin(option.seed)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a process that tests the seed of the run."""
    node.workerinput["seed"] = node.config.option.seed


def command(config: pytest.Config, test: str | None = None, *, is_heavy: bool = False) -> str:
    """Return the command that repeats a run, or one test of it."""
    option = config.option
    target = {USUAL: "test"}.get(option.hypothesis_profile, f"test-{option.hypothesis_profile}")
    if is_heavy and option.seed is None:
        target = "test-heavy"
    elif option.markexpr.endswith("or heavy"):
        target = "test-rest"
    words = ["make", target]
    if option.seed is not None:
        words += [f"SEED={option.seed}"]
        words += [f"EXAMPLES={option.examples}"] if option.examples else []
    words += ["TEST=" + shlex.quote(test.replace("$", "$$"))] if test else []
    return " ".join(words)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Report which examples are drawn, and in which browser the suite tests pages, if in any."""
    drawn = f"{config.option.hypothesis_profile}, {settings().max_examples} a test"
    if config.option.seed is None:
        drawn += ", seed 0, the same in every run"
    else:
        drawn += f", seed {config.option.seed}; again:  {command(config)}"
    return [
        f"random examples: {drawn}",
        f"browser: {found_browser() or 'none is installed, so its tests are skipped'}",
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Put the command that repeats it beside every failure."""
    report = yield
    if report.failed:
        is_heavy = item.get_closest_marker("heavy") is not None
        again = command(item.config, item.nodeid, is_heavy=is_heavy)
        report.sections.append((AGAIN, again))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport, sched: Any) -> None:
    """Put it beside a test with a dead process, of which only the name is known."""
    is_heavy = sched.config.option.markexpr.startswith("heavy")
    report.sections.append((AGAIN, command(sched.config, crashitem, is_heavy=is_heavy)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests with Spark are slow. A quick run leaves out tests that took long in an earlier run."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    if config.option.hypothesis_profile == QUICK:
        seconds.leave_out_long(config, items)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it if Spark was not tested, and why."""
    if missing := spark_here.missing():
        terminalreporter.write_line(f"Spark tests are left out: {missing}", yellow=True)


# Each process that has tests of Spark starts it once: this number of processes take its files
# before others, but for files that run the code of its workers without it, or start one of their
# own.
SPARKS = 1
# The difference in niceness of the others. Tests of Spark go first wherever they do not wait, so
# that a run does not wait for them at its end, when there is nothing else to do meanwhile.
NICER = 5
WITHOUT_SPARK = (
    "tests/spark/test_tasks.py",
    "tests/spark/test_streaming_buckets.py",
    "tests/spark/test_tasks_killed.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_streaming_killed.py",
    "tests/spark/test_worker.py",
)

# One process runs the tests that read all sources of the package, and parses these once.
SOURCES = "tests/repo"
OF_SOURCES = tuple(
    f"{SOURCES}/test_{name}.py"
    for name in (
        "class_names",
        "imports",
        "map",
        "private_names",
        "public",
        "sentences",
        "sizes",
        "words",
    )  # fmt: skip
)

# One process runs the tests that fork programs, and loads the package for these once.
FORKING = "tests/faults"


@cache
def unit_of(file: str, root: Path) -> str:
    """The files that one process tests with a file, or that file."""
    if file in OF_SOURCES:
        return SOURCES
    takes_forked = re.search(r"[(\s]forked[:,)]", (root / file).read_text(encoding="utf-8"))
    return FORKING if takes_forked else file


def needs_spark(file: str) -> bool:
    """Whether the tests of a file share the session of their process."""
    return file.startswith("tests/spark/") and file not in WITHOUT_SPARK


def number_of(worker: str) -> int:
    """The number in the name of a process that tests, as in `gw2`."""
    return int(worker.removeprefix("gw"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores, since that with Spark waits for it much of the time."""
    is_known = hasattr(os, "sched_getaffinity")
    return SPARKS + (len(os.sched_getaffinity(0)) if is_known else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file of tests stays in one process, and those of Spark in few that begin with them."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        # All files, long ones first, so that at its end a run waits for little.
        _order: tuple[str, ...] = ()

        def _split_scope(self, nodeid: str) -> str:
            return unit_of(str(super()._split_scope(nodeid)), self.config.rootpath)

        def _reschedule(self, node: Any) -> None:
            """Give a process a file at its last test, which waits for the next one."""
            if self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

        def _assign_work_unit(self, node: Any) -> None:
            first = sorted(self.nodes, key=lambda each: number_of(each.gateway.id))[:SPARKS]
            file = self._next(node in first)
            if file is None:
                node.shutdown()
            else:
                self.workqueue.move_to_end(file, last=False)
                super()._assign_work_unit(node)

        def _next(self, has_spark: bool) -> str | None:
            """The file that a process takes: of Spark's if it has them, or else none of those."""
            if not self._order:
                self._order = seconds.longest_first(seconds.kept(self.config), self.workqueue)
            files = [file for file in self._order if file in self.workqueue]
            files.sort(key=needs_spark, reverse=has_spark)
            return next((file for file in files if has_spark or not needs_spark(file)), None)

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None
