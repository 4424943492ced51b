"""An event that completes more matches than a chunk holds, and ends all runs there were."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sase
from sase.planning.engine_plan import Options

EVENTS = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "A"}, {"ts": 3, "type": "C"}]


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("strategy", ["strict_contiguity", "skip_till_next_match"])
def test_none_is_lost(strategy: str, chunk: int) -> None:
    plan = sase.compile(f"EVENT SEQ(A+ a[], C? c) WHERE {strategy}", EVENTS, plan="nfab")
    found = replace(plan, options=Options(chunk=chunk)).run(EVENTS).rows.to_pylist()
    assert found[-2:] == [{"a": [1], "c": 2}, {"a": [0, 1], "c": 2}]
    assert len(found) == 5
