"""The tight index finds what the search in gaps does, on streams too long for the naive matcher."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.planning.negatives import NegativeSequence, SequenceSearch
from sase.planning.traversal import within
from tests.seeds import draw_numbers, share

PATTERNS = [
    "SEQ(A a, !(SEQ(B b, C c)), D d) WHERE [k]",
    "SEQ(A a, !(SEQ(B b, !(X x), C c, B e)), D d) WITHIN 30",
    "SEQ(A a, !(SEQ(B{2} b[], !(X x), C+ c[])), D d) WHERE [k] AND c[i].v > 0 WITHIN 40",
    "SEQ(!(SEQ(B b, C? o, B c)), A a, D d) WHERE [k] WITHIN 20",
    "SEQ(!(SEQ(B b, !(X x), !(A y), C c)), D d) WITHIN 9 EVENTS",
    "SEQ(A a, !(SEQ(B b, C c))) WHERE [k] WITHIN 15 INCLUSIVE",
    "SEQ(A+ a[], !(SEQ(ANY(B, C) b, C c) OR X x), D d) WHERE skip_till_next_match { [k] }",
    "SEQ(A a, D? d, !(SEQ(B b, C c)), A+ e[]) WHERE skip_till_next_match WITHIN 12",
]


def stream(number: int) -> pa.Table:
    """Events of which many are simultaneous, some without a key."""
    random = np.random.default_rng(number)
    size = int(random.integers(50, 300))
    keys = random.integers(0, 4, size)
    return pa.table(
        {
            "ts": np.cumsum(random.choice(3, size, p=[0.3, 0.5, 0.2])),
            "type": random.choice(list("ABCDX"), size, p=[0.25, 0.2, 0.2, 0.25, 0.1]),
            "k": pa.array(keys, mask=random.random(size) < 0.05),
            "v": random.integers(0, 3, size),
        }
    )


@pytest.mark.random
@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_finds_what_a_search_in_gaps_finds(pattern: str) -> None:
    for number in draw_numbers(share(7)):
        table, query = stream(number), f"EVENT {pattern}"
        tight, basic = (sase.compile(query, table, plan=name) for name in ("optimized", "basic"))
        assert searches(tight) == {SequenceSearch.TIGHT}
        assert searches(basic) == {SequenceSearch.IN_GAPS}
        expected = basic.run(table).rows.to_pylist()
        assert tight.run(table).rows.to_pylist() == expected, number
        matcher, pushed = tight.open(), []
        for begin in range(0, len(table), 37):
            pushed += matcher.push(table.slice(begin, 37)).rows.to_pylist()
            matcher = tight.restore(matcher.snapshot())
        pushed += matcher.finish().rows.to_pylist()
        assert pushed == expected, number


def searches(plan: sase.Plan) -> set[SequenceSearch]:
    """How the plan finds what negative groups forbid."""
    found = (each for each in within(plan.operators) if isinstance(each, NegativeSequence))
    return {each.search for each in found}
