"""The front of the engine: blocks have room for the admitted events, however many there are."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.engine.blocks import builder
from sase.planning.engine_plan import Options

# Stretches of events that are all admitted, or none.
STRETCHES = st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 30)), max_size=8)


@given(STRETCHES, st.integers(1, 3), st.integers(1, 20))
def test_more_may_be_admitted_than_of_the_block_before(
    stretches: list[tuple[str, int]], few: int, block: int
) -> None:
    types = "".join(type_name * count for type_name, count in stretches)
    events = pa.table({"ts": range(len(types)), "type": pa.array(list(types), pa.string())})
    plan = replace(sase.compile("EVENT A a", events), options=Options(block=block, fused=False))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(builder, "FEW", few)
        rows = plan.run(events, threads=1).rows["a"].to_pylist()
    assert rows == [place for place, type_name in enumerate(types) if type_name == "A"]
