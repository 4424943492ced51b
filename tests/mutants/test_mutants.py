"""Each fault still has its place in the code; `make mutants` puts them there and runs the suite."""

from __future__ import annotations

import pytest

from tests.mutants.faults import FAULTS, Fault
from tests.mutants.run import ROOT, is_noticed


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_the_fault_can_be_made(fault: Fault) -> None:
    assert (ROOT / fault.path).read_text(encoding="utf-8").count(fault.right) == 1


@pytest.mark.heavy
def test_a_fault_is_noticed_and_its_absence_is_not() -> None:
    """Or `make mutants` would mean nothing."""
    fault = FAULTS[0]
    assert is_noticed(fault, quick=True)
    assert not is_noticed(fault._replace(wrong=fault.right), quick=True)
