"""Kernels that another process compiles: they are kept for this one, which need not wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sase.engine.kernels.jit.machine_code import _looked_for

# Whatever came with the package.
COMPILED = {"NUMBA_DISABLE_JIT": "0", "SASE_COMPILE_KERNELS": "1"}
# Each in a process of its own, with a cache of its own.
BEGIN = """
from sase.engine.kernels.jit import compile_ahead as ahead
from sase.engine.kernels.scan.admission import rank
from sase.engine.kernels.jit.compiler import compilations
ahead.cores = lambda: 2
"""
ENDS = """
import numpy as np
ranks = np.zeros(3, np.int64)
rank(np.array([0, -1, 0]), np.zeros(1, np.int64), ranks)
print(len(ahead.processes), compilations(), ranks.tolist())
"""


def told(program: str, cache: Path, **variables: str) -> tuple[str, str]:
    """The output of a process that has not compiled anything."""
    found = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        env={**os.environ, **COMPILED, "NUMBA_CACHE_DIR": str(cache), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip(), found.stderr.strip()


def test_what_another_process_compiled_is_loaded(tmp_path: Path) -> None:
    program = "ahead.compile_ahead(rank)\nassert ahead.processes[0].wait() == 0"
    out, err = told(program + ENDS, tmp_path)
    assert out == "1 0 [0, -1, 1]"
    assert err == "sase: compiling kernels, once per installation …"
    out, err = told("ahead.compile_ahead(rank)" + ENDS, tmp_path)
    assert (out, err) == ("0 0 [0, -1, 1]", "")  # it is kept


@pytest.mark.parametrize(
    "reason",
    [
        "ahead.cores = lambda: 1",
        *(
            pytest.param(f"sys.executable = {name!r}", marks=pytest.mark.heavy)
            # The second as where Python is a part of another program.
            for name in ("", "/usr/bin/env", "/nowhere/python3")
        ),
    ],
)
def test_without_another_process(reason: str, tmp_path: Path) -> None:
    out, _ = told(f"import sys\n{reason}\nahead.compile_ahead(rank){ENDS}", tmp_path)
    assert out == "0 1 [0, -1, 1]"


@pytest.mark.heavy
def test_without_machine_code(tmp_path: Path) -> None:
    out, _ = told(f"ahead.compile_ahead(rank){ENDS}", tmp_path, NUMBA_DISABLE_JIT="1")
    assert out == "0 0 [0, -1, 1]"


@pytest.mark.heavy
def test_one_process_at_a_time_which_ends_with_this_one(tmp_path: Path) -> None:
    program = """
from sase.engine.kernels.runs.advance import advance_chain
ahead.compile_ahead(advance_chain)
ahead.compile_ahead(rank)
print(len(ahead.processes), ahead.processes[0].pid)
"""
    number, process = told(program, tmp_path)[0].split()
    assert number == "1"
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


@pytest.mark.heavy
def test_what_came_with_the_package_is_not_compiled_ahead(tmp_path: Path) -> None:
    if _looked_for()[0] is None:
        pytest.skip("no machine code came with the package")
    out, err = told(f"ahead.compile_ahead(rank){ENDS}", tmp_path, SASE_COMPILE_KERNELS="")
    assert (out, err) == ("0 0 [0, -1, 1]", "")


@pytest.mark.heavy
def test_what_only_looks_at_a_plan_compiles_nothing(tmp_path: Path) -> None:
    program = """
import sase
query, events = "EVENT SEQ(A a, B+ b[], C c) WHERE [k]", [{"ts": 1, "type": "A", "k": 1}]
sase.explain(query, events)
plan = sase.compile(query, events)
print(len(ahead.processes), end=" ")
plan.open()
print(len(ahead.processes))
"""
    assert told(program, tmp_path)[0] == "0 1"
