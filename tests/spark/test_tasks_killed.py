"""Tasks that fail, or are killed with their worker, are tried again and give the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import LONG
from tests.spark.known import REPLAYS
from tests.spark.scripts import run_script

# Each task that fails costs a start of Python.
FEW = ["by key", "the first results", "those that do not overlap", "one task"]
NAMES = [*REPLAYS] if LONG else FEW
SECOND = {"the first results": "FailingFirst", "those that do not overlap": "KilledApart"}


@pytest.mark.heavy
def test_tasks_that_fail_or_are_killed_change_nothing(tmp_path: Path) -> None:
    outcome = run_script("faults", tmp_path, *NAMES)
    assert [*outcome] == NAMES
    for name, (is_same, failures) in outcome.items():
        assert is_same, name
        wanted = {"FailingTask", "KilledTask", SECOND.get(name, "")}
        assert {*failures} <= wanted, name
        assert {*failures} >= {*SECOND.values()} & wanted, name
        assert len(failures) >= 2 * len({*failures}) >= 2, name
