"""Sets and counts of matches: NaN, LIMIT, and bounds beyond the number of matches."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.errors import PlanError

EVENTS = pa.table({
    "ts": [1, 2, 3], "type": ["A", "A", "A"], "f": [1.5, float("nan"), None], "v": [1, 2, 3],
})  # fmt: skip


@pytest.mark.parametrize("query", ["EVENT SEQ(A a)", "EVENT SEQ(A a) HAVING a.v > 0"])
def test_nan_is_null_whether_matches_are_listed_or_not(query: str) -> None:
    found = sase.match(query, EVENTS, output="compressed")
    aggregates = [found.aggregate(each, "a.f") for each in ("count", "sum", "min", "max", "avg")]
    assert aggregates == [1, 1.5, 1.5, 1.5, 1.5]


def test_some_of_a_set_with_limit_are_not_asked_for_anew() -> None:
    """The condition would come before LIMIT, and find matches that are not in the set."""
    found = sase.match("EVENT A a LIMIT 1", EVENTS, output="compressed")
    with pytest.raises(PlanError, match="where\\(\\) would come before LIMIT"):
        found.where("a.v > 1")
    assert len(sase.match("EVENT A a", EVENTS, output="compressed").where("a.v > 1").expand()) == 2


@pytest.mark.parametrize("most", [3, 1_000, 10_000, 10**18])
def test_a_bound_costs_nothing_that_no_series_reaches(most: int) -> None:
    query = f"EVENT A{{1,{most}}} a[]"
    assert int(sase.match(query, EVENTS, output="count")) == 7
    assert len(sase.match(query, EVENTS, plan="collapsed")) == 7
    assert sase.match(query, EVENTS, output="compressed").count() == 7


@pytest.mark.parametrize("bounds", ["{9223372036854775808}", "{1,9223372036854775808}"])
def test_a_bound_beyond_every_number_is_a_mistake(bounds: str) -> None:
    with pytest.raises(sase.QueryError, match="integer-out-of-range"):
        sase.match(f"EVENT A{bounds} a[]", EVENTS)
