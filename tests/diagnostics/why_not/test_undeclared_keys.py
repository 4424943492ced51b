"""A test of an attribute that not every type of a component declares stops the others' events."""

from __future__ import annotations

from typing import Any

import pytest

import sase

TYPES = {"A": ["s"], "B": ["s"], "Z": []}
EVENTS = [
    {"ts": 1, "type": "A", "s": "xy"},
    {"ts": 2, "type": "Z", "s": None},
    {"ts": 3, "type": "A", "s": "x"},
    {"ts": 4, "type": "B", "s": "x"},
    {"ts": 5, "type": "B", "s": "z"},
]


def why(query: str) -> Any:
    return sase.why(query, EVENTS, types=TYPES)


@pytest.mark.parametrize("component", ["ANY(A, Z) a", "ANY a", "ANY(A, Z)+ a[]", "ANY+ a[]"])
def test_events_of_such_a_type_agree_with_all(component: str) -> None:
    query = f"EVENT {component} WHERE [s = 'x']"
    found = why(query)
    (candidates,) = found.components
    wrong = 1 if "Z" in component else 2
    assert [each.number for each in candidates.stopped] == [wrong]
    assert candidates.events - candidates.passing == wrong
    assert not any("NULL" in each for each in found.words)
    matches = [each["a"] for each in sase.match(query, EVENTS, types=TYPES)]
    assert len(matches) == found.matches.number
    near = found.near_misses.to_pylist()
    assert near
    for miss in near:
        assert miss["a"] not in matches
        assert "NULL" not in miss["by"]


def test_near_misses_of_several_such_components() -> None:
    """With a wrong value in the first, in the second, in both, each found once."""
    found = why("EVENT SEQ(ANY(A, Z) a, ANY(Z, B) b) WHERE [s = 'x']")
    assert sorted(
        (*miss["rows"].values(), miss["by"]) for miss in found.near_misses.to_pylist()
    ) == [
        (0, 1, "a.s is 'xy'"),
        (0, 3, "a.s is 'xy', b.s is 'x'"),
        (0, 4, "a.s is 'xy', b.s is 'z'"),
        (1, 4, "b.s is 'z'"),
        (2, 4, "a.s is 'x', b.s is 'z'"),
    ]


def test_values_that_are_not_the_fixed_one_are_not_told_as_null() -> None:
    """As many events pass as have another value."""
    found = why("EVENT SEQ(A a, B b) WHERE [s = 'x']")
    assert [each.number for each in found.components[1].stopped] == [1]
    assert not any("NULL" in each for each in found.words)
