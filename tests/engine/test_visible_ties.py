"""A warning of simultaneous events counts those that a query may confuse, of one key."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from tests.seeds import draw_numbers

COUNT = 400
SPREAD = pa.table({
    "ts": [n // 4 for n in range(COUNT)], "type": ["A", "B"] * (COUNT // 2),
    "k": [n % 4 for n in range(COUNT)], "s": [f"key{n % 4}" for n in range(COUNT)],
})  # fmt: skip


def told(text: str, events: Any, **rest: Any) -> list[str]:
    warnings = sase.match(text, events, **rest).report.warnings
    return [each for each in warnings if "share their time" in each]


@pytest.mark.parametrize("test", ["[k]", "[s]", "[k, s]"])
def test_events_of_other_keys_are_not_confused(test: str) -> None:
    assert told(f"EVENT SEQ(A a, B b) WHERE {test} WITHIN 5", SPREAD) == []
    (warning,) = told("EVENT SEQ(A a, B b) WITHIN 5", SPREAD)
    assert warning.startswith("100 % of the 400 events that the query sees share their time with")


def test_events_of_one_key_are() -> None:
    same = SPREAD.set_column(2, "k", pa.array([0] * COUNT))
    (warning,) = told("EVENT SEQ(A a, B b) WHERE [k] WITHIN 5", same)
    assert (
        "100 % of the 400 events that the query sees share their time with another of the same"
        in (warning)
    )
    assert "another of the same `k`, and neither" in warning


def test_events_of_one_component_are_not_confused() -> None:
    """A match of single events has no two of them."""
    events = pa.table({"ts": [n // 9 for n in range(90)], "type": (["A"] * 8 + ["B"]) * 10})
    assert len(told("EVENT SEQ(A a, B b) WITHIN 5", events)) == 1
    apart = events.filter(pa.compute.equal(events["type"], "A"))
    assert told("EVENT SEQ(A a, B b) WITHIN 5", apart) == []
    for text in (
        "SEQ(A a, A b, B c)",
        "SEQ(A+ a[], B b)",
        "SEQ(A a, !(A c), B b)",
        "SEQ(ANY a, B b)",
    ):
        assert len(told(f"EVENT {text} WITHIN 5", apart)) == 1


def test_a_stream_says_that_keys_are_not_looked_at() -> None:
    matcher = sase.compile("EVENT SEQ(A a, B b) WHERE [k] WITHIN 5", SPREAD).open()
    matcher.push(SPREAD)
    (warning,) = matcher.report().warnings
    assert "share their time with another, whatever their `k`, and neither" in warning


def confused(rows: Sequence[dict[str, Any]], alike: bool) -> int:
    """The rows that share time and key with another, of another type unless those are alike."""
    found = set()
    for one, other in permutations(rows, 2):
        same = one["ts"] == other["ts"] and None is not one["k"] == other["k"]
        if same and (alike or one["type"] != other["type"]):
            found.add(one["n"])
    return len(found)


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(20))
def test_as_many_are_counted_as_there_are(number: int) -> None:
    random = Random(number)
    keys = random.choice([[1, 2, None], ["x", "y", None], [1.5, 2.5], [1, 2, 3]])
    rows = [
        {"n": n, "ts": random.randrange(12), "type": random.choice("AB"), "k": random.choice(keys)}
        for n in range(40)
    ]
    for text, alike in (("SEQ(A a, B b)", False), ("SEQ(A+ a[], B b)", True)):
        count = confused(rows, alike)
        warnings = told(f"EVENT {text} WHERE [k] WITHIN 3", pa.Table.from_pylist(rows))
        assert len(warnings) == (count * 20 > len(rows))
        assert all(each.startswith(f"{min(round(100 * count / 40), 99 if count < 40 else 100)} %")
                   for each in warnings)  # fmt: skip
