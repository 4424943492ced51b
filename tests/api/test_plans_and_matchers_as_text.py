"""The text of plans and matchers for a user."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import sase

QUERY = """EVENT SEQ(A x, B y)
           WHERE x.s = '<b>' AND [id] WITHIN 10 seconds"""
COLUMNS = {"type": pa.string(), "id": pa.int64(), "s": pa.string()}
CHAIN = "SequenceScan → SequenceConstruction → Transformation"


def plan(time: pa.DataType, query: str = QUERY, **options: Any) -> sase.Plan:
    return sase.compile(query, pa.schema({"ts": time, **COLUMNS}), **options)


def test_a_plan() -> None:
    found = plan(pa.timestamp("us"))
    query = "EVENT SEQ(A x, B y) WHERE x.s = '<b>' AND [id] WITHIN 10 seconds"
    assert repr(found) == f'<plan optimized of "{query}": {CHAIN}>'
    long = plan(pa.timestamp("us"), f"{query} HAVING {' AND '.join(['x.id = 1'] * 50)}")
    assert len(repr(long)) < 200 and "…" in repr(long)
    page = found._repr_html_()
    assert page.startswith("<pre>plan optimized of\nEVENT SEQ(A x, B y)\n")
    assert "&#x27;&lt;b&gt;&#x27;" in page and "<b>" not in page
    assert "SequenceScan components=[x, y]" in page


@pytest.mark.parametrize(
    ("time", "first", "shown"),
    [
        (pa.int64(), 7, "7"),
        (pa.float64(), 7.5, "7.5 s"),
        (pa.date32(), datetime(2026, 1, 5, tzinfo=UTC).date(), "2026-01-05"),
        (pa.timestamp("ms"), datetime(2026, 1, 5, tzinfo=UTC), "2026-01-05T00:00:00.000"),
    ],
    ids=repr,
)
def test_a_matcher(time: pa.DataType, first: Any, shown: str) -> None:
    query = QUERY.replace(" seconds", "") if pa.types.is_integer(time) else QUERY
    matcher = plan(time, query).open()
    assert repr(matcher) == f"<matcher of x, y: 0 rows; {CHAIN}>"
    schema = pa.schema({"ts": time, **COLUMNS})
    matcher.push(pa.table({"ts": [first], "type": ["A"], "id": [1], "s": ["x"]}, schema))
    assert repr(matcher) == f"<matcher of x, y: 1 row, time {shown}; {CHAIN}>"
    matcher.finish()
    assert ", finished;" in repr(matcher)


def test_a_matcher_with_late_rows() -> None:
    matcher = plan(pa.int64(), QUERY.replace(" seconds", "")).open()
    matcher.push([{"ts": ts, "type": "A", "id": 1, "s": "x"} for ts in (7, 5)])
    assert repr(matcher) == f"<matcher of x, y: 2 rows, 1 of them late, time 7; {CHAIN}>"
    matcher.advance(2**70)
    assert f"time {2**63 - 1};" in repr(matcher)
