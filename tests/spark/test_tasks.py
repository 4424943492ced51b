"""The code in workers finds the matches of the local engine, wherever events are cut."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from tests.spark.by_hand import ByHand
from tests.spark.cases import Case, cases, expected, multiset

ONE = settings().max_examples
MANY = settings(max_examples=max(ONE // 2, 1), suppress_health_check=[HealthCheck.too_slow])
# Some strategy is rare: with enough random cases each has its share.
ENOUGH = 1_000
seen: dict[str, int] = {}


@MANY
@given(cases(), st.integers(0, 2**32))
def test_tasks_together_find_what_one_search_finds(case: Case, seed: int) -> None:
    if not isinstance(case.local, sase.Matches) or case.on_bad_row == "quarantine":
        return
    case = replace(case, manner=replace(case.manner, output="structs"))
    for cut in range(3):
        by_hand = ByHand(case, Random(seed + cut))
        strategy, found = by_hand.found()
        assert multiset(found) == expected(case)
        seen[strategy] = seen.get(strategy, 0) + 1


def test_each_strategy_was_taken() -> None:
    if sum(seen.values()) < ENOUGH:
        pytest.skip("too few cases ran before this test: `make test-long` has more")
    assert {*seen} == {"key", "slice", "key_and_slice", "one_task"}
