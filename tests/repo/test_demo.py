"""The run of `make demo`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.repo.source import ROOT


@pytest.mark.heavy
@pytest.mark.slow
def test_the_demo_finds_all_thefts() -> None:
    command = [sys.executable, "examples/demo.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "8 of 8 thefts were found, 0 more" in done.stdout
    assert "partitions=[[tag_id]]" in done.stdout
