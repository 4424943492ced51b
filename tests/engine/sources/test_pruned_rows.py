"""Row groups that are skipped have no row that a query needs, and no bad row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase

ROWS = pa.table({"ts": [1, 2, 3, 4], "type": ["A", "B", "C", "D"]})


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, !(SEQ(B b, C c)), D d) WHERE d.ts >= 4 WITHIN 10",
        "EVENT SEQ(A a, !(SEQ(B b, C c)), D d) WHERE d.ts >= 4 AND a.ts <= 1",
        "EVENT SEQ(!(SEQ(A b, B c)), C a, D d) WHERE a.ts >= 3 WITHIN 10",
        "EVENT SEQ(A a, !(B b), D d) WHERE d.ts >= 4 WITHIN 10",
        "EVENT SEQ(A a, D d, !(C c)) WHERE d.ts >= 4 WITHIN 10",
        "EVENT SEQ(A a, D d) WHERE d.ts >= 4 WITHIN 10",
    ],
)
def test_events_of_negative_sequences_have_no_time_of_their_own(query: str, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "e.parquet", row_group_size=1)
    found = sase.match(query, tmp_path / "e.parquet")
    assert found.rows == sase.match(query, ROWS).rows


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_text_that_is_no_time_is_a_bad_row_wherever_it_is(size: int, tmp_path: Path) -> None:
    times = [f"2026-01-01T00:00:0{n}" for n in range(3)]
    rows = pa.table({"ts": [*times, "rubbish"], "type": ["A", "B", "Z", "Z"]})
    pq.write_table(rows, tmp_path / "e.parquet", row_group_size=size)
    query = "EVENT SEQ(A a, B b) WITHIN 1 hour"
    with pytest.raises(sase.DataError, match="rubbish"):
        len(sase.match(query, tmp_path / "e.parquet"))


@pytest.mark.parametrize("size", [1, 4])
def test_times_that_are_not_in_order_are_a_bad_row_wherever_they_are(
    size: int, tmp_path: Path
) -> None:
    columns = {"lo": [1, 5, 30, 40], "hi": [2, 6, 20, 41], "type": ["A", "B", "Z", "Z"]}
    pq.write_table(pa.table(columns), tmp_path / "e.parquet", row_group_size=size)
    with pytest.raises(sase.DataError):
        len(sase.match("EVENT SEQ(A a, B b)", tmp_path / "e.parquet", time=("lo", "hi")))
