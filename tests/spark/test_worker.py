"""What is imported is no garbage: a worker does not look through it behind every task."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The garbage that a worker looks for behind a task is among the objects that are not frozen.
PROGRAM = """
import gc, sys
from importlib.machinery import ModuleSpec
sys.modules["__main__"].__spec__ = ModuleSpec(sys.argv[1], None) if sys.argv[1] else None
import sase.spark
imported = {name for name in sys.modules if name.startswith("sase.")}
import sase.spark.task, sase.spark.script_task, sase.spark.streaming.bucket
assert imported == {name for name in sys.modules if name.startswith("sase.")}
print(gc.get_freeze_count(), len(gc.get_objects()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("main", ["pyspark.daemon", "pyspark.worker", "a_program.of_a_user", ""])
def test_imports_of_a_worker_are_spared(main: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, main], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    frozen, searched = map(int, done.stdout.split())
    if main.startswith("pyspark."):
        assert frozen > 50 * searched
    else:
        assert frozen == 0
