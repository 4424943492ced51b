"""Scripts of this folder, each in a process and with a session of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.repo.source import ROOT


def run_script(name: str, folder: Path, *arguments: str) -> dict[str, Any]:
    """The output of a script of this folder, which runs on its own."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.spark.{name}", *arguments],
        cwd=ROOT,
        env={**environment(), "SASE_TEST_MARKS": str(folder)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome


def environment() -> dict[str, str]:
    """Of this process, without the variables that make Spark's processes take it for their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT), kept.get("PYTHONPATH", "")])}
