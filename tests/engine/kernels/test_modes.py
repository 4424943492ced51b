"""The tests of this folder without compilation, and with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import LONG

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
# Large tables, of which there is nothing to be seen that small ones do not show, and tests that run
# others in these modes.
LEFT_OUT = "stay_few or growing or close_together or a_thousand_events or in_other_modes"
# Tests that start programs with an option of how to compile kernels, whatever the mode of this one
# is.
APART = (
    "test_compile_ahead.py",
    "test_compiler.py",
    "test_kernel_cache.py",
    "test_machine_code.py",
)

# A kernel that is not compiled is right if the compiled one, with checked indexes, is.
ONLY_LONG = pytest.mark.skipif(not LONG, reason="make test-long runs them without compilation")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "profile"),
    [
        pytest.param("NUMBA_DISABLE_JIT", "quick", marks=[pytest.mark.heavy, ONLY_LONG]),
        pytest.param("NUMBA_BOUNDSCHECK", "repeatable", marks=pytest.mark.heavy),
    ],
)
def test_kernels_in_other_modes(variable: str, profile: str) -> None:
    files = [
        str(path)
        for path in FOLDER.rglob("test_*.py")
        if path != Path(__file__) and path.name not in APART
    ]
    # Where an integer wraps on purpose, a scalar of NumPy says so.
    wrapping = "ignore:overflow encountered in scalar:RuntimeWarning"
    options = ["-q", "-p", "no:cacheprovider", f"--hypothesis-profile={profile}", "-W", wrapping]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-k", f"not ({LEFT_OUT})", *files],
        env={**os.environ, variable: "1"}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
