"""Chains find the matches of the search in gaps, on streams too long for the naive matcher.

They bound walks, or there is a tight index of the events that they find.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.planning.plan.negatives import NegativeSequence, SequenceSearch
from sase.planning.plan.nodes import SequenceConstruction, find
from sase.planning.plan.traversal import within
from tests.seeds import draw_numbers, share

# Those with bounded walks, and others.
BOUNDED = [
    "SEQ(A a, !(SEQ(B b, C c)), D d) WHERE [k]",
    "SEQ(A a, !(SEQ(B b, !(X x), C c, B e)), D d) WITHIN 30",
    "SEQ(A a, !(SEQ(B{2} b[], !(X x), C+ c[])), D d) WHERE [k] AND c[i].v > 0 WITHIN 40",
    "SEQ(!(SEQ(B b, C? o, B c)), A a, D d) WHERE [k] WITHIN 20",
    "SEQ(!(SEQ(B b, !(X x), !(A y), C c)), D d, A a) WITHIN 9 EVENTS",
    "SEQ(A a, !(X x), !(SEQ(A b, A c)), !(SEQ(B e, C f)), D d, !(SEQ(C g, C h)), B i) WITHIN 20",
    "SEQ(!(SEQ(A b, A c)), A a, !(SEQ(A e, D f)), D d) WHERE [k, v = 1] AND b.ts > 3 WITHIN 30",
]
OTHERS = [
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


# The index, of which no walk knows.
INDEXED = """
rewrites = [
    "use_active_instance_stacks",
    "partition_stacks",
    "push_window_into_construction",
    "index_tight_sequences",
]
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recipe with the index."""
    path: Path = tmp_path_factory.mktemp("recipes") / "indexed.toml"
    path.write_text(f'summary = "a tight index"{INDEXED}')
    return str(path)


@pytest.mark.random
@pytest.mark.parametrize("pattern", [*BOUNDED, *OTHERS])
def test_they_find_what_a_search_in_gaps_finds(pattern: str, indexed: str) -> None:
    for number in draw_numbers(share(7)):
        table, query = stream(number), f"EVENT {pattern}"
        basic = sase.compile(query, table, plan="basic")
        assert searches(basic) == {SequenceSearch.IN_GAPS}
        expected = basic.run(table).rows.to_pylist()
        for recipe in ("optimized", indexed):
            tight = sase.compile(query, table, plan=recipe)
            assert searches(tight) == {SequenceSearch.TIGHT}
            assert is_bounded(tight) == (pattern in BOUNDED and recipe != indexed)
            compare_ways(tight, table, expected)


def compare_ways(plan: sase.Plan, table: pa.Table, expected: list[object]) -> None:
    """Batches by one thread and two, and pushes between snapshots find the expected matches."""
    assert plan.run(table).rows.to_pylist() == expected
    assert plan.run(table, threads=2).rows.to_pylist() == expected
    matcher, pushed = plan.open(), list[object]()
    for begin in range(0, len(table), 37):
        pushed += matcher.push(table.slice(begin, 37)).rows.to_pylist()
        matcher = plan.restore(matcher.snapshot())
    pushed += matcher.finish().rows.to_pylist()
    assert pushed == expected


def is_bounded(plan: sase.Plan) -> bool:
    """Whether negative groups bound the walk."""
    construction = find(plan.operators, SequenceConstruction)
    return construction is not None and bool(construction.sequences)


def searches(plan: sase.Plan) -> set[SequenceSearch]:
    """How the plan finds the matches that negative groups forbid."""
    found = (each for each in within(plan.operators) if isinstance(each, NegativeSequence))
    return {each.search for each in found}
