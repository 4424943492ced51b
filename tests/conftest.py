"""The profiles of the whole suite, the seed of a random run, and how tests are dealt out."""

import gc
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings

from tests import seeds, spark_here
from tests.browser import found
from tests.program import Program

# What every profile shares. The parent is named because Hypothesis, where it finds the variable CI,
# would have all of them inherit from a profile of its own. No deadline for an example, nor for
# drawing it: machines are noisy, and the first one compiles and fills caches. No database: a run
# depends on its seed alone.
base = settings(
    settings.get_profile("default"),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples in every run: a test is red because of what was changed.
settings.register_profile("repeatable", base, max_examples=6, derandomize=True)
settings.register_profile("quick", base, max_examples=6, derandomize=True)
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
USUAL = "repeatable"
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


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Program:
    """The program, called in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Program(capfd)


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
    """Say which examples are drawn, and what the suite tests pages in, or that it does not."""
    drawn = f"{config.option.hypothesis_profile}, {settings().max_examples} a test"
    if config.option.seed is None:
        drawn += ", seed 0, the same in every run"
    else:
        drawn += f", seed {config.option.seed}; again:  {command(config)}"
    return [
        f"random examples: {drawn}",
        f"browser: {found() or 'none is installed, so its tests are skipped'}",
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
    """Put it beside a test whose process died, of which no more is known than its name."""
    is_heavy = sched.config.option.markexpr.startswith("heavy")
    report.sections.append((AGAIN, command(sched.config, crashitem, is_heavy=is_heavy)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever waits for Spark takes seconds."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it if Spark was not tested, and why."""
    if missing := spark_here.missing():
        terminalreporter.write_line(f"Spark tests are left out: {missing}", yellow=True)


# Each process that has tests of Spark starts it once: so many take their files, and no others, but
# for those that run the code of its workers without it, or start one of their own.
SPARKS = 2
# By how much the others are nicer. Tests of Spark go first wherever they do not wait, so that they
# are not what a run waits for at its end, when there is nothing else to do meanwhile.
NICER = 5
WITHOUT_SPARK = (
    "tests/spark/test_tasks.py",
    "tests/spark/test_streaming_buckets.py",
    "tests/spark/test_tasks_killed.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_streaming_killed.py",
    "tests/spark/test_worker.py",
)

# What takes seconds, by processor time in `make test` or in `make test-rest`, the longest first:
# in this order processes take them, so that at its end a run waits for little. The others follow,
# those of many tests first.
EARLY = (
    "tests/spark/test_streaming_killed.py",
    "tests/engine/kernels/test_modes.py",
    "tests/engine/matching/test_other_modes.py",
    "tests/spark/test_tasks_killed.py",
    "tests/cli/test_replay.py",
    "tests/mutants/test_mutants.py",
    "tests/cli/test_interrupted.py",
    "tests/spark/test_connect.py",
    "tests/test_cases.py",
    "tests/engine/match_graph/test_random_inputs.py",
    "tests/spark/test_streaming.py",
    "tests/spark/test_non_overlap.py",
    "tests/engine/operators/test_states.py",
    "tests/engine/pipeline/test_checkpoint.py",
    "tests/engine/series/test_user_aggregates.py",
    "tests/fuzz/test_targets.py",
    "tests/experiments/test_match_windows.py",
    "tests/engine/branches/test_engine_is_naive.py",
    "tests/engine/series/test_engine_is_naive.py",
    "tests/engine/groups/test_counts.py",
    "tests/engine/series/test_history_counts.py",
    "tests/engine/pipeline/test_shared_lines.py",
    "tests/spark/test_imprecise.py",
    "tests/properties/test_fuzz.py",
    "tests/engine/series/test_lines.py",
    "tests/engine/sets/test_engine_is_naive.py",
    "tests/experiments/test_core.py",
    "tests/engine/imprecise/test_engine_is_naive.py",
    "tests/engine/set_results/test_forms_are_all.py",
    "tests/cli/test_run.py",
    "tests/experiments/test_experiments.py",
    "tests/spark/test_script_imprecise.py",
    "tests/spark/test_spark_is_local.py",
    "tests/engine/series/test_pruned.py",
    "tests/spark/test_limit.py",
    "tests/api/test_limits.py",
    "tests/engine/sources/test_files.py",
    "tests/cli/test_follow.py",
    "tests/repo/test_loading.py",
    "tests/spark/test_user_aggregates.py",
    "tests/engine/kernels/jit/test_compile_ahead.py",
    "tests/engine/kernels/jit/test_machine_code.py",
    "tests/planning/test_serialisation.py",
    "tests/engine/analyze/test_analyze.py",
    "tests/spark/test_branches.py",
    "tests/engine/pipeline/test_fused_scan.py",
    "tests/spark/test_replay_command.py",
    "tests/spark/test_tasks.py",
    "tests/engine/kernels/jit/test_kernel_cache.py",
    "tests/diagnostics/why_not/test_why_is_naive.py",
    "tests/engine/branches/test_explanations.py",
    "tests/spark/test_sql.py",
    "tests/repo/test_wheel.py",
    "tests/repo",
    "tests/repo/test_typing.py",
    "tests/planning/test_consistency.py",
    "tests/faults/test_surroundings.py",
    "tests/faults/test_writers.py",
    "tests/properties/test_grammar.py",
    "tests/spark/test_experiments.py",
    "tests/engine/scripts/test_engine_is_naive.py",
    "tests/engine/pipeline/test_fused_lines.py",
    "tests/spark/test_script.py",
    "tests/spark/test_groups.py",
    "tests/engine/series/test_backtracking.py",
    "tests/engine/groups/test_engine_is_naive.py",
    "tests/engine/operators/test_recycled_keys.py",
    "tests/binding/test_limits.py",
    "tests/engine/pipeline/test_fused_push.py",
    "tests/planning/explain/test_html_in_browser.py",
    "tests/engine/branches/test_waiting_in_events.py",
    "tests/test_soak.py",
    "tests/engine/branches/test_threads.py",
    "tests/spark/test_set_search.py",
    "tests/engine/groups/test_late_rows.py",
    "tests/engine/series/test_merging.py",
    "tests/engine/expressions/test_meaning.py",
    "tests/engine/pipeline/test_narrowed_scan.py",
    "tests/engine/series/test_early_filters.py",
    "tests/engine/matching/test_engine_is_naive.py",
    "tests/spark/test_streaming_script.py",
    "tests/spark/test_streaming_buckets.py",
    "tests/engine/matching/test_live.py",
    "tests/sigma/test_meaning.py",
)


# What reads all sources of the package is for one process, which parses them once.
SOURCES = "tests/repo"
OF_SOURCES = tuple(
    f"{SOURCES}/test_{name}.py"
    for name in ("class_names", "imports", "map", "private_names", "public", "sizes")
)


def needs_spark(file: str) -> bool:
    """Whether the tests of a file share the session of their process."""
    return file.startswith("tests/spark/") and file not in WITHOUT_SPARK


def number_of(worker: str) -> int:
    """The number in the name of a process that tests, as in `gw2`."""
    return int(worker.removeprefix("gw"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More than there are cores: those with Spark wait for it, and of others one for a program."""
    is_known = hasattr(os, "sched_getaffinity")
    return SPARKS + 1 + (len(os.sched_getaffinity(0)) if is_known else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file of tests stays in one process, and those of Spark in few that begin with them."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return SOURCES if file in OF_SOURCES else file

        def _reschedule(self, node: Any) -> None:
            """Give a process a file at its last test, which waits for what is to follow."""
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
            early = [name for name in EARLY if name in self.workqueue]
            files = sorted([*early, *self.workqueue], key=needs_spark, reverse=has_spark)
            return next((file for file in files if has_spark or not needs_spark(file)), None)

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None
