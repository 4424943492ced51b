"""Make each fault in a copy of the tree, and run what should notice it (`make mutants`).

The kernels are not compiled, so that a fault is met in seconds. What the examples of every run do
not show, five times as many of one seed are to.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
PARTS = ("sase", "tests", "grammar", "plans", "examples", "docs")
LONGEST = 200  # seconds of a processor: other work on the machine makes no walk endless
# The examples that are drawn: those of every run, then those of a seed.
EXAMPLES = ((), ("--hypothesis-profile=random", "--seed=1"))
QUICK = ("tests/test_cases.py", "-k", "window or negation", "-m", "not heavy")
ENGINE = (
    "tests/test_cases.py",
    "tests/engine/kernels",
    "tests/engine/operators",
    "tests/engine/matching",
    "tests/engine/branches",
    "tests/engine/pipeline/test_late_rows.py",
    "tests/engine/pipeline/test_fused_scan.py",
    "tests/engine/pipeline/test_fused_lines.py",
    "tests/engine/pipeline/test_stretches.py",
    "tests/engine/pipeline/test_narrowed_scan.py",
    "tests/engine/results/test_row_history.py",
    "tests/engine/blocks/test_kinds_of_keys.py",
    "tests/engine/columns/test_arrays.py",
    "tests/engine/columns/test_value_codes.py",
    "tests/engine/test_unsaid_types.py",
)
# Of what Spark's workers do, by hand: no session is started.
TASKS = (
    *("tests/spark/test_tasks.py", "tests/spark/test_limit.py", "tests/spark/test_non_overlap.py"),
    "tests/spark/test_sets.py::test_matches_are_sorted_by_events_then_by_variables",
    "-k",
    "sorted or tasks or said or no_order or refused or not_matter or just_taken or text or"
    " together or group",
)
GROUPS = ("tests/engine/groups", "tests/cases/repeated_groups")
# Compressed sets, and counts through states.
GRAPHS = (
    *("tests/engine/groups/test_counts.py", "tests/engine/sets/test_counts.py"),
    *("tests/engine/branches/test_counts.py", "tests/engine/match_graph/test_random_inputs.py"),
)
UNIONS = ("tests/engine/branches/test_waiting_in_events.py",)
# What is found of series by every way of evaluating runs.
SERIES = (
    "tests/engine/series/test_versioned.py",
    "tests/engine/series/test_backtracking.py",
    "tests/engine/series/test_early_filters.py",
    "tests/engine/series/test_history_counts.py",
    "tests/engine/series/test_lines.py",
    "tests/engine/series/test_pruned.py",
)
SETS = (
    *("tests/engine/kernels/test_detection_order.py", "tests/engine/sets/test_set_lines.py"),
    "tests/engine/sets/test_told.py",
    *("tests/test_cases.py", "-k", "sets or set_order"),
)
WINDOWS = (
    *("tests/engine/windows", "tests/planning/test_chosen_windows.py"),
    *("tests/test_cases.py", "-k", "windows"),
)
SCRIPTS = (
    *("tests/engine/scripts", "tests/api/test_streams_as_one.py"),
    "tests/api/test_script_matchers.py",
)
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
}


def is_noticed(fault: Fault, *, quick: bool = False) -> bool:
    """Whether the suite fails with a fault."""
    with tempfile.TemporaryDirectory(prefix="sase-mutant-") as folder:
        copy = Path(folder)
        for part in PARTS:
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy)
        place = copy / fault.path
        text = place.read_text(encoding="utf-8")
        assert text.count(fault.right) == 1, fault
        place.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        suite = QUICK if quick else SUITES[fault.suite]
        draws = EXAMPLES[:1] if quick else EXAMPLES
        return any(_fails(copy, (*suite, *each), LONGEST * (5 if each else 1)) for each in draws)


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


def main(names: list[str]) -> int:
    """Try the faults named, or all; 1 if one is not noticed."""
    wanted = [fault for fault in FAULTS if not names or fault.name in names]
    missed = []
    for fault in wanted:
        noticed = is_noticed(fault)
        print(f"{'noticed' if noticed else 'MISSED '}  {fault.name}", flush=True)
        missed += [] if noticed else [fault.name]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults are noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
