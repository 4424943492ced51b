"""A test that fails, or whose process dies, is told with the command that repeats it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DYING = """
import os

import pytest


@pytest.mark.heavy
def test_one():
    os._exit(9)
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("arguments", "again"),
    [
        (["-m", "heavy"], "make test-heavy TEST=test_dying.py::test_one"),
        (
            ["--hypothesis-profile=random", "--seed=7"],
            "make test-random SEED=7 TEST=test_dying.py::test_one",
        ),
    ],
    ids=["heavy", "random"],
)
def test_a_process_that_dies(arguments: list[str], again: str, tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text(DYING, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = heavy", encoding="utf-8")
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
    assert any("crashed while running 'test_dying.py::test_one'" in line for line in lines)
    (heading,) = [number for number, line in enumerate(lines) if " to repeat it " in line]
    assert lines[heading + 1] == again
