"""The kernels without compilation, and with every index checked: a part of the random examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drawing.parts import ids

ROOT = Path(__file__).parents[3]
PLAIN = [*ids("sequences", "sequences, by runs", "series"), "tests/engine/operators/test_alone.py"]
# All kernels are compiled anew for it, as far as these queries need them.
CHECKED = [*ids("sequences"), "tests/engine/matching/test_long_streams.py"]


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("variable", "tests"), [("NUMBA_DISABLE_JIT", PLAIN), ("NUMBA_BOUNDSCHECK", CHECKED)]
)
def test_in_other_modes(variable: str, tests: list[str], pytestconfig: pytest.Config) -> None:
    """The profile `quick` has few examples; where they are fresh, there are half as many."""
    seed = pytestconfig.option.seed
    drawn = ["quick"] if seed is None else ["random", f"--seed={seed}", "--examples=3"]
    profile, *fresh = drawn
    options = ["-q", "-x", "-p", "no:cacheprovider", f"--hypothesis-profile={profile}", *fresh]
    options += ["-p", "tests.engine.checked_indexes"] if variable == "NUMBA_DISABLE_JIT" else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        env={**os.environ, variable: "1"}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
