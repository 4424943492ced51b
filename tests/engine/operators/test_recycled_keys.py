"""Keys that never come again: their codes are used for others, and no state of theirs is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from sase.engine.blocks import key_dictionary
from sase.engine.options import Options
from sase.planning import dense_codes
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import told

QUERIES = {
    "a sequence": "EVENT SEQ(A a, B b, A c) WHERE [id] WITHIN {}",
    "two keys": "EVENT SEQ(A a, B b) WHERE [id, s] WITHIN {}",
    "positions": "EVENT SEQ(A a, B b) WHERE [id] WITHIN {} EVENTS",
    "a start": "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN {}",
    "a start in positions": "EVENT SEQ(!(N n), A a) WHERE [s] WITHIN {} EVENTS INCLUSIVE",
    "a middle": "EVENT SEQ(A a, !(N n), B b) WHERE [id] WITHIN {}",
    "an end": "EVENT SEQ(A a, !(N n)) WHERE [id, s] WITHIN {}",
    "a series": "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {{ [id] }} WITHIN {}",
    "any series": "EVENT SEQ(A a, B+ b[]) WHERE skip_till_any_match {{ [id] }} WITHIN {}",
    "a series without": "EVENT SEQ(A+ a[], !(N n), B b) WHERE [id] WITHIN {}",
}
ONE, REPEATABLE = settings().max_examples, settings().derandomize
SOME = settings(
    max_examples=max(ONE // (3 if REPEATABLE else 2), 1),
    suppress_health_check=[HealthCheck.too_slow],
)
KINDS = {"integers": lambda key: key * 2**40, "near": lambda key: key, "texts": "key {}".format}


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Types and keys: a key is a new one, or one of the last few; some begin with what forbids."""
    last = draw(st.sampled_from([0, 0, 3, 6]))
    found = [("N", number) for number in range(last)]
    for _ in range(draw(st.sampled_from([3, 10, 30, 90]))):
        back = draw(st.sampled_from([0, 0, 1, 1, 1, 2, 5]))
        last += back == 0
        found.append((draw(st.sampled_from("AABBN")), max(last - max(back - 1, 0), 0)))
    return found


def table(stream: list[tuple[str, int]], kind: str) -> pa.Table:
    key = KINDS[kind]
    rows = [
        {"ts": ts, "type": name, "id": key(number), "s": f"{number % 3}"}
        for ts, (name, number) in enumerate(stream)
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("query", QUERIES)
@SOME
@given(
    streams(), st.sampled_from([2, 5, 12, 40]), st.sampled_from([*KINDS]),
    st.sampled_from(recipe_names()), st.integers(1, 3), st.integers(0, 2),
)  # fmt: skip
def test_codes_that_are_used_again(
    query: str, stream: list[tuple[str, int]], length: int, kind: str, recipe: str, size: int,
    bits: int,
) -> None:  # fmt: skip
    """As small as tables can be, they are full at once, and codes given up as soon as possible."""
    text, events = QUERIES[query].format(length), table(stream, kind)
    expected = told(sase.compile(text, events, plan="basic").run(events))
    plan = replace(sase.compile(text, events, plan=recipe), options=Options(size, 2, 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_dictionary, "ROOM", 1)
        patched.setattr(dense_codes, "MOST_BITS", bits)
        patched.setattr(dense_codes, "FEWEST_BITS", bits)
        patched.setattr(key_dictionary, "WIDEST", 1 << bits)
        found, matcher = list[Any](), plan.open()
        for start in range(0, len(events), size):
            found += told(matcher.push(events.slice(start, size)))
        found += told(matcher.finish())
    assert found == expected


@pytest.mark.parametrize("recipe", recipe_names())
def test_a_start_is_forbidden_by_its_own_key_alone(recipe: str) -> None:
    """Thousands of keys come in a window, each once, and then one that was not among them."""
    count = 3000
    many = {"ts": range(count), "type": ["N"] * count, "id": [2**32 * n for n in range(count)]}
    few = {"ts": [count, count + 1], "type": ["A", "B"], "id": [5, 5]}
    plan = sase.compile(
        "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN 10000", pa.table(many), plan=recipe
    )
    matcher, events = plan.open(), pa.table(many)
    for start in range(0, count, 100):
        assert len(matcher.push(events.slice(start, 100))) == 0
    assert told(matcher.push(pa.table(few)))[0][:2] == (count, count + 1)
