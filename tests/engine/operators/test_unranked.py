"""Events that have no rank in a partition, since their type does not declare its attribute."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase

# The event of B comes behind the first one of A, at the same time.
EVENTS = {
    "A": pa.table({"ts": [1, 2, 3], "id": ["x", "x", "x"]}),
    "B": pa.table({"ts": [1], "s": ["y"]}),
}


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [("A b, A c", [(0, 1), (0, 2)]), ("A{2} b[]", [([0, 1],), ([0, 2],)])],
)
def test_they_hide_no_event_that_has_one(pattern: str, rows: list[object]) -> None:
    """A search of the window continues behind them: the first A forbids those of another."""
    query = f"EVENT SEQ(!(ANY x), {pattern}) WHERE [id = 'x'] WITHIN 4 EVENTS PER PARTITION"
    found = sase.match(query, EVENTS).rows
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
