"""Each fault still has its place in the code; `make mutants` puts them there and runs the suite."""

from __future__ import annotations

import pytest

from tests.mutants.faults import FAULTS
from tests.mutants.run import ROOT, is_noticed


def test_the_faults_can_be_made() -> None:
    texts = {path: (ROOT / path).read_text("utf-8") for path in {each.path for each in FAULTS}}
    counts = {each.name: texts[each.path].count(each.right) for each in FAULTS}
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert len(counts) == len(FAULTS), "each fault has a name of its own"


@pytest.mark.heavy
def test_a_fault_is_noticed_and_its_absence_is_not() -> None:
    """Or `make mutants` would mean nothing."""
    fault = FAULTS[0]
    assert is_noticed(fault, quick=True)
    assert not is_noticed(fault._replace(wrong=fault.right), quick=True)
