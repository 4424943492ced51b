"""A column of every type that pyarrow makes: read and not, loaded and pushed, shown and written."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.faults.processes import ROOT
from tests.seeds import has_turn

PARTS = 4


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("part", [part for part in range(PARTS) if has_turn(part, PARTS)])
def test_each_type_is_read_or_refused(part: int) -> None:
    """By an error of ours: no child is killed, raises another, or finds other matches."""
    command = [sys.executable, "-m", "tests.faults.arrow_types", str(part), str(PARTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert len(found) > 40
    wrong = {name: said for name, said in found.items() if said}
    assert not wrong, "\n\n".join(f"{name}:\n{said}" for name, said in wrong.items())
