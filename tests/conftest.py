"""The Hypothesis profiles of the whole suite; `--hypothesis-profile` overrides the choice here."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings

from tests import spark_here
from tests.browser import found

# What every profile shares. The parent is named because Hypothesis, where it finds the variable CI,
# would have all of them inherit from a profile of its own that is derandomised. No deadline for an
# example: machines are noisy, and the first one compiles and fills caches.
base = settings(settings.get_profile("default"), deadline=None)

settings.register_profile("dev", base)
# Derandomised: a build is red because of what was changed, and a second run of it says the same;
# these are the same examples each time, so that half as many as in `dev` are enough.
# The search for new examples goes on in `dev` and `long`.
settings.register_profile("ci", base, max_examples=50, derandomize=True, print_blob=True)
# Few examples, each printed, and the failing one as it was found.
settings.register_profile(
    "debug",
    base,
    max_examples=10,
    verbosity=Verbosity.verbose,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
# Hundreds of thousands of examples over the suite; a slow generator is no reason to stop.
settings.register_profile(
    "long", base, max_examples=10_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "dev")


def pytest_report_header() -> str:
    """What the suite tests pages in, or that it does not."""
    return f"browser: {found() or 'none is installed, so its tests are skipped'}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it if Spark was not tested, and why."""
    if missing := spark_here.missing():
        terminalreporter.write_line(f"Spark tests are left out: {missing}", yellow=True)


# All tests of Spark are in one process, so that it is started once, but for those that run the code
# of its workers without it, or start one of their own.
WITHOUT_SPARK = (
    "tests/spark/test_tasks.py",
    "tests/spark/test_streaming_buckets.py",
    "tests/spark/test_tasks_killed.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_streaming_killed.py",
)

# What takes longest, in the order in which processes take it: Spark, from beginning to end;
# meanwhile what needs no kernels, so that only one process compiles them at a time; then the long
# files. The others follow, those of many tests first.
EARLY = (
    "spark",
    "tests/properties/test_fuzz.py",
    "tests/properties/test_round_trip.py",
    "tests/planning/test_recipes.py",
    "tests/test_cases.py",
    "tests/spark/test_tasks.py",
    "tests/spark/test_tasks_killed.py",
    "tests/engine/series/test_engine_is_naive.py",
    "tests/spark/test_connect.py",
    "tests/engine/kernels/test_modes.py",
    "tests/spark/test_streaming_killed.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: the one with Spark waits for it much of the time."""
    is_known = hasattr(os, "sched_getaffinity")
    return 1 + (len(os.sched_getaffinity(0)) if is_known else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file of tests stays in one process, and all tests of Spark do: it is started once."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            is_of_spark = file.startswith("tests/spark/") and file not in WITHOUT_SPARK
            return "spark" if is_of_spark else file

        def _assign_work_unit(self, node: Any) -> None:
            early = next((name for name in EARLY if name in self.workqueue), None)
            if early is not None:
                self.workqueue.move_to_end(early, last=False)
            super()._assign_work_unit(node)

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="write what came out into the expected sections of the .case files",
    )
