"""`df.sase.match(…)` for pandas and Polars, flat frames of results, and files of results."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import sase
import sase.frames

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
RETURN = f"{QUERY} RETURN a.v + b.v AS total"
DATA: dict[str, list[Any]] = {
    "ts": [1, 2, 3, 4],
    "type": ["A", "A", "B", "B"],
    "id": [1, 2, 2, 1],
    "v": [1.5, 2.5, 3.5, 4.5],
    "other": [datetime(2024, 1, n) for n in range(1, 5)],  # noqa: DTZ001 - any values
}
ROWS = [{"total": 6.0, "ts_start": 2, "ts_end": 3}, {"total": 6.0, "ts_start": 1, "ts_end": 4}]


def shown(matches: sase.Matches) -> list[dict[str, Any]]:
    return [{name: row[name] for name in ROWS[0]} for row in matches.to_pylist()]


@pytest.mark.parametrize("frame", [pd.DataFrame(DATA), pl.DataFrame(DATA), pl.LazyFrame(DATA)])
def test_a_frame_finds_matches_in_itself(frame: Any) -> None:
    assert shown(frame.sase.match(RETURN)) == ROWS
    assert frame.sase.match(RETURN, output="count") == 2
    assert (
        frame.sase.match(QUERY.replace("5", ":w"), params={"w": 2}).to_pylist()[0]["a"]["id"] == 2
    )
    with pytest.raises(sase.SchemaError, match="there is no time column `when`"):
        frame.sase.match(RETURN, time="when")


def test_a_lazy_frame_reads_only_the_needed_columns(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pl.DataFrame(DATA).to_arrow(), path)
    lazy = pl.scan_parquet(path)
    needed = lazy.sase.needed(RETURN)
    assert needed.collect_schema().names() == ["ts", "type", "id", "v"]
    assert "PROJECT 4/5 COLUMNS" in needed.explain()
    assert shown(lazy.sase.match(RETURN)) == ROWS
    # Without RETURN the results show all columns.
    assert lazy.sase.needed(QUERY).collect_schema().names() == list(DATA)


def test_flat_frames_have_a_column_for_each_attribute() -> None:
    matches = sase.match("EVENT SEQ(A a, B+ b[]) WHERE [id] WITHIN 5", pl.DataFrame(DATA))
    for frame in (matches.to_polars(flat=True), matches.to_pandas(flat=True)):
        assert list(frame.columns)[:3] == ["a_ts", "a_type", "a_id"]
        assert list(frame["a_v"]) == [2.5, 1.5]
        assert [row[0]["v"] for row in frame["b"]] == [3.5, 4.5]
    clash = sase.match("EVENT SEQ(A a, B a_b)", pl.DataFrame(DATA | {"b_id": [0, 0, 0, 0]}))
    with pytest.raises(sase.SchemaError, match="would both be a column `a_b_id`"):
        clash.to_polars(flat=True)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_matches_are_written_and_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"found.{suffix}"
    sase.match(RETURN, pl.DataFrame(DATA)).write(path)
    again = sase.match("EVENT Found f", path, time="ts_end", type=None, types=["Found"])
    assert [row["f"]["total"] for row in again.to_pylist()] == [6.0, 6.0]
    assert not list(tmp_path.glob("*.partial"))


def test_a_file_of_no_format(tmp_path: Path) -> None:
    with pytest.raises(sase.DataError, match="the suffix names the format"):
        sase.match(RETURN, pl.DataFrame(DATA)).write(tmp_path / "found.txt")
    assert not list(tmp_path.iterdir())
