"""A test that fails, or has a dying process, is shown with the command that repeats it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
import os

import pytest


@pytest.mark.heavy
def test_one():
    {}
"""
AGAIN = "TEST=test_this.py::test_one"
RANDOM, REST = ["--hypothesis-profile=random"], ["-m", "hypothesis or random or heavy"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("os._exit(9)", "crashed while running 'test_this.py::test_one'"),
        ("assert 2 + 2 == 5", "assert (2 + 2) == 5"),
    ],
    ids=["dies", "fails"],
)
@pytest.mark.parametrize(
    ("arguments", "again"),
    [
        (["-m", "heavy"], f"make test-heavy {AGAIN}"),
        ([*RANDOM, "--seed=7"], f"make test-random SEED=7 {AGAIN}"),
        ([*RANDOM, "--seed=7", *REST], f"make test-rest SEED=7 {AGAIN}"),
    ],
    ids=["heavy", "random", "rest"],
)
def test_it_is_told(body: str, told: str, arguments: list[str], again: str, tmp_path: Path) -> None:
    (tmp_path / "test_this.py").write_text(TEST.format(body), encoding="utf-8")
    marks = "heavy\n    random\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = {marks}", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n1", *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    lines = done.stdout.splitlines()
    assert any(told in line for line in lines)
    (heading,) = [number for number, line in enumerate(lines) if " to repeat it " in line]
    assert lines[heading + 1] == again
