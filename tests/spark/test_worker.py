"""Imported objects are no garbage: a worker does not look through them behind every task."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from sase.spark.tasks.worker import is_worker

# Forks a process for each name of a main module, which has imported nothing of ours for Spark yet.
# The garbage that a worker looks for behind a task is among the objects that are not frozen.
PROGRAM = """
import gc, os, sys
from importlib.machinery import ModuleSpec
import numba, pandas, pyarrow.dataset, pyspark.sql.streaming
import sase.api.compiled_query, sase.engine.pipeline.matcher
assert "sase.spark" not in sys.modules
for main in sys.argv[1:]:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        continue
    sys.modules["__main__"].__spec__ = ModuleSpec(main, None)
    import sase.spark
    imported = {name for name in sys.modules if name.startswith("sase.")}
    import sase.spark.tasks.task, sase.spark.tasks.search, sase.spark.streaming.bucket
    assert imported == {name for name in sys.modules if name.startswith("sase.")}
    print(gc.get_freeze_count(), len(gc.get_objects()))
    break
"""


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("pyspark.daemon", True),
        ("pyspark.worker", True),
        ("a_program.of_a_user", False),
        ("", False),
    ],
)
def test_a_worker_is_known_by_its_main_module(
    name: str, monkeypatch: pytest.MonkeyPatch, *, is_one: bool
) -> None:
    main = ModuleType("__main__")
    main.__spec__ = ModuleSpec(name, None) if name else None
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert is_worker() == is_one


@pytest.mark.slow
def test_imports_of_a_worker_are_spared() -> None:
    names = ["pyspark.worker", "a_program.of_a_user"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = [[*map(int, line.split())] for line in done.stdout.splitlines()]
    for main, (frozen, searched) in zip(names, counts, strict=True):
        if main.startswith("pyspark."):
            assert frozen > 50 * searched
        else:
            assert frozen == 0
