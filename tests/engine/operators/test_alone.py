"""A pattern of one event: it agrees with itself, also where an equivalence attribute is NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.planning.recipes import recipe_names

EVENTS = pa.table(
    {
        "ts": [1, 2, 3],
        "type": ["A", "A", "A"],
        "id": pa.array([1, None, 3], pa.int64()),
        "s": pa.array([None, None, "x"], pa.string()),
    }
)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("EVENT A a WHERE [id]", [0, 1, 2]),
        ("EVENT A a WHERE [id, s]", [0, 1, 2]),
        ("EVENT A a WHERE [s, id] WITHIN 5 EVENTS PER PARTITION", [2]),
        ("EVENT A a WHERE [id = 3] AND [s]", [2]),
        ("EVENT SEQ(!(N n), A a) WHERE [id] WITHIN 5", [0, 2]),
    ],
)
def test_a_single_event(query: str, rows: list[int]) -> None:
    """But with a negative component there are two, and without the value there is no rank."""
    found = {
        recipe: sase.compile(query, EVENTS, plan=recipe).run(EVENTS).rows["a"].to_pylist()
        for recipe in recipe_names()
    }
    assert found == dict.fromkeys(recipe_names(), rows)


def test_constants_are_returned_where_nothing_is_kept_of_events() -> None:
    found = sase.match("EVENT A a RETURN 'x' AS name, 1 + 1 AS two", EVENTS)
    assert [(row["name"], row["two"]) for row in found] == [("x", 2)] * 3


def test_a_unit_of_time_means_nothing_where_there_is_no_event() -> None:
    assert len(sase.match("EVENT A a WITHIN 7 minutes", {"A": [], "B": []}, type=None)) == 0
