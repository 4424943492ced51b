"""Trees with series at their leaves agree with the naive matcher, and walk through little."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.errors import SnapshotError
from tests.drawing.comparing import differences
from tests.drawing.examples import Example
from tests.drawing.ways import OF_TREES, Way, case, in_order, plan_of, run
from tests.seeds import draw_numbers, tries

# Strategies of which runs find the matches.
OTHERS = ("skip_till_next_match", "contiguity", "earliest_maximal")
MANNERS = ("restored", "match", "push", "threads")
BETWEEN = "EVENT SEQ(A a, B+ b[], C c) WHERE [k] AND a.v < c.v WITHIN 100"


def rows(kinds: str) -> list[dict[str, Any]]:
    return [{"type": kind, "ts": ts, "k": 1, "v": ts % 5} for ts, kind in enumerate(kinds)]


def counted(query: str, kinds: str) -> dict[str, Any]:
    """The counters of the evaluation of runs."""
    found = sase.match(query, rows(kinds), plan="tree_bushy")
    assert found.rows.to_pylist() == sase.match(query, rows(kinds), plan="nfab").rows.to_pylist()
    counters: dict[str, Any] = dict(found.report.counters)["RunEvaluation"]
    return counters


def is_joined(example: Example, way: Way) -> bool:
    """Whether a tree finds its matches."""
    if example.is_refused or any(each in example.query.text for each in OTHERS):
        return False
    return "algorithm=by joins joins" in str(plan_of(example, way, example.table))


@pytest.mark.random
def test_a_tree_is_the_naive_matcher() -> None:
    seen = Counter[str]()
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + 50):
            example, way = case(number, "series")
            recipe, manner = OF_TREES[number % 3], MANNERS[number // 3 % len(MANNERS)]
            way = replace(way, recipe=recipe, manner=manner, order=(), off=None)
            example = in_order(example, way)
            if is_joined(example, way):
                fault = next(iter(differences(example, run(example, way))), None)
                assert fault is None, (number, way)
                seen["found" if example.expected else "none"] += 1
        if seen["found"] >= 2:
            return


def test_only_what_lies_between_joined_events_is_walked_through() -> None:
    kinds = "BBBBACBBABBCBBBB"
    found = counted(BETWEEN, kinds)
    # a4 c5 have no B between, a4 (v is 4) and a8 (3) no C that is greater but c11 (1): none at all.
    assert found["records"] < found["pairs"]
    assert (found["matches"], found["walks"], found["instances"]) == (0, 0, 0)
    found = counted(BETWEEN.replace("a.v < c.v", "a.v > c.v"), kinds)
    # From a4 to c11 there are four of B, and from a8 two, which are among these.
    assert found["matches"] == 2**4 - 1 + 2**2 - 1
    assert (found["walks"], found["instances"]) == (1, len("ABBABBC"))


def test_a_match_is_told_once_however_rows_are_pushed() -> None:
    """The last component is a series: walks visit ends of earlier matches again."""
    given = rows("BABBCACCBC" * 3)
    query = "EVENT SEQ(B* x[], A a, B? b, C+ c[]) WHERE c[i].v >= a.v WITHIN 12"
    whole = sase.match(query, given, plan="nfab").rows.to_pylist()
    random = Random(7)
    for recipe in OF_TREES:
        plan = sase.compile(query, given, plan=recipe)
        matcher, found, begin = plan.open(), list[Any](), 0
        while begin < len(given):
            end = begin + random.randint(1, 5)
            found += matcher.push(given[begin:end]).rows.to_pylist()
            matcher, begin = plan.restore(matcher.snapshot()), end
        found += matcher.finish().rows.to_pylist()
        assert found == whole


def test_a_snapshot_where_limit_has_ended_a_walk() -> None:
    given = rows("ABBBCABBC")
    plan = sase.compile("EVENT SEQ(A a, B+ b[], C c) WITHIN 5 LIMIT 2", given, plan="tree_bushy")
    matcher = plan.open()
    assert len(matcher.push(given[:5])) == 2
    again = plan.restore(matcher.snapshot())
    assert len(again.push(given[5:])) == len(again.finish()) == 0


def test_a_snapshot_is_of_one_tree() -> None:
    given = rows("ABBC")
    one = sase.compile(BETWEEN, given, plan="tree_left_deep")
    other = sase.compile(BETWEEN, given, plan="tree_right_deep")
    with pytest.raises(SnapshotError, match="another plan"):
        other.restore(one.open().snapshot())
