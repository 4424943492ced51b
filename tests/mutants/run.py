"""Make each fault in a copy of the tree, and run the tests that should notice it (`make mutants`).

    python -m tests.mutants.run [NAME …] [--tests PATH …]

The kernels are not compiled, so that a fault is met in seconds. For faults that the examples of
every run do not show, there are five times as many of one seed. Without a fault the same tests must
pass first, and their time bounds the time with one: a fault that makes them much slower is noticed.
`--tests` runs these alone, where they are enough."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from tests.drawing.parts import EACH, ids
from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
PARTS = ("sase", "tests", "grammar", "plans", "examples", "docs")
# The factor of the time of tests without a fault, and the seconds beyond it: of a processor, so
# that other work on the machine makes no walk endless.
LONGER, MORE = 3, 60
# The examples that are drawn: those of every run, then those of a seed.
EXAMPLES = ((), ("--hypothesis-profile=random", "--seed=1"))
QUICK = ("tests/test_cases.py", "-k", "window or negation", "-m", "not heavy")
ENGINE = (
    "tests/test_cases.py",
    "tests/engine/kernels",
    "tests/engine/operators",
    "tests/engine/matching",
    "tests/engine/branches",
    *ids("sequences", "sequences, late", "choices", "shared choices", "optional variables"),
    "tests/engine/pipeline/test_late_rows.py",
    "tests/engine/pipeline/test_fused_scan.py",
    "tests/engine/pipeline/test_fused_lines.py",
    "tests/engine/pipeline/test_shared_lines.py",
    "tests/engine/pipeline/test_stretches.py",
    "tests/engine/pipeline/test_narrowed_scan.py",
    "tests/engine/results/test_row_history.py",
    "tests/engine/blocks/test_kinds_of_keys.py",
    "tests/engine/columns/test_arrays.py",
    "tests/engine/columns/test_value_codes.py",
    "tests/engine/test_unsaid_types.py",
)
# Work of Spark's workers, by hand: no session is started.
TASKS = (
    *("tests/spark/test_tasks.py", "tests/spark/test_limit.py", "tests/spark/test_non_overlap.py"),
    "tests/spark/test_sets.py::test_matches_are_sorted_by_events_then_by_variables",
    *(
        f"tests/spark/test_{name}.py::test_tasks_find_what_one_thread_finds"
        for name in ("branches", "groups", "negative_groups", "sets")
    ),
    "-k",
    "sorted or tasks or said or no_order or refused or not_matter or just_taken or text or"
    " together or group",
)
GROUPS = (
    "tests/engine/groups",
    *ids(*(name for name in EACH if name.startswith("groups"))),
    *("tests/test_cases.py", "-k", "not cases or repeated_groups"),
)
# Compressed sets, and counts through states.
GRAPHS = (
    *("tests/engine/groups/test_counts.py", "tests/engine/sets/test_counts.py"),
    *("tests/engine/branches/test_counts.py", "tests/engine/match_graph/test_random_inputs.py"),
)
UNIONS = ("tests/engine/branches/test_waiting_in_events.py",)
# The matches of series by every way of evaluating runs.
SERIES = (
    "tests/engine/series/test_versioned.py",
    "tests/engine/series/test_backtracking.py",
    "tests/engine/series/test_early_filters.py",
    "tests/engine/series/test_history_counts.py",
    "tests/engine/series/test_lines.py",
    "tests/engine/series/test_pruned.py",
)
SETS = (
    *("tests/engine/kernels/test_detection_order.py", "tests/engine/sets/test_runs_of_sets.py"),
    *("tests/test_cases.py", "-k", "sets or set_order"),
)
WINDOWS = (
    *("tests/engine/windows", "tests/planning/test_chosen_windows.py"),
    *("tests/test_cases.py", "-k", "windows"),
)
SCRIPTS = (
    *("tests/engine/scripts", *ids("scripts"), "tests/api/test_streams_as_one.py"),
    "tests/api/test_script_matchers.py",
)
SOURCES = ("tests/engine/sources/test_files.py",)
SUITES = {
    "engine": ENGINE,
    "series": SERIES,
    "spark": TASKS,
    "groups": GROUPS,
    "graphs": GRAPHS,
    "unions": UNIONS,
    "sets": SETS,
    "windows": WINDOWS,
    "scripts": SCRIPTS,
    "sources": SOURCES,
}


def is_noticed(fault: Fault, tests: Sequence[str] = (), *, quick: bool = False) -> bool:
    """Whether the suite fails with a fault, or the tests given."""
    suite = tuple(tests) or (QUICK if quick else SUITES[fault.suite])
    draws = EXAMPLES[:1] if quick else EXAMPLES
    with _copied() as copy:
        place = copy / fault.path
        text = place.read_text(encoding="utf-8")
        assert text.count(fault.right) == 1, fault
        place.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        return any(
            _fails(copy, (*suite, *each), int(LONGER * _seconds(suite, each)) + MORE)
            for each in draws
        )


@cache
def _seconds(suite: tuple[str, ...], draws: tuple[str, ...]) -> float:
    """The seconds of a processor that tests take without a fault, with which they must not fail."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with _copied() as copy:
        if _fails(copy, (*suite, *draws), resource.RLIM_INFINITY):
            raise RuntimeError(
                f"without a fault there is one already: {' '.join((*suite, *draws))}"
            )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def _copied() -> Iterator[Path]:
    """A copy of the files that the tests need."""
    with tempfile.TemporaryDirectory(prefix="sase-mutant-") as folder:
        copy = Path(folder)
        for part in PARTS:
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy)
        yield copy


def _fails(copy: Path, suite: tuple[str, ...], longest: int) -> bool:
    """Whether tests of a copy fail, or do not end."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *suite]
    done = subprocess.run(
        command,
        cwd=copy,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(copy)},
        capture_output=True,
        check=False,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (longest, longest)),
    )
    if done.returncode in (0, 1):
        return done.returncode == 1
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return True  # a walk that does not end
    raise RuntimeError(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])


def main() -> int:
    """Try the faults named, or all; 1 if one is not noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a fault; all without one")
    parser.add_argument("--tests", nargs="+", default=[], help="run these, and not the suite")
    asked = parser.parse_args()
    wanted = [fault for fault in FAULTS if not asked.names or fault.name in asked.names]
    missed = []
    for fault in wanted:
        noticed = is_noticed(fault, asked.tests)
        print(f"{'noticed' if noticed else 'MISSED '}  {fault.name}", flush=True)
        missed += [] if noticed else [fault.name]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults are noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
