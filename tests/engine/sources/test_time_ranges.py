"""Row groups outside of the time range of a query are not read, also of files that SASE writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.engine.pipeline.batch import run

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
RANGE = (
    "EVENT SEQ(A a, B b) WHERE a.ts >= TIMESTAMP '2026-01-03 12:00:00'"
    " AND b.ts < TIMESTAMP '2026-01-04 12:00:00' WITHIN 1 hour"
)


def events(kind: pa.DataType) -> pa.Table:
    """An event in each ten minutes of ten days."""
    times = [FIRST + timedelta(minutes=10 * n) for n in range(1440)]
    return pa.table({"ts": pa.array(times).cast(kind), "type": ["AB"[n % 2] for n in range(1440)]})


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")),
        pa.timestamp("us"),
        pa.timestamp("us", "Asia/Tokyo"),
    ],
)
def test_times_of_every_unit(kind: pa.DataType, tmp_path: Path) -> None:
    table, path = events(kind), tmp_path / "e.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=72)
    found, expected = sase.match(RANGE, path), sase.match(RANGE, table)
    assert len(expected) > 0
    assert found.to_pylist() == expected.to_pylist()
    assert found.rows.equals(expected.rows)
    # Of twenty row groups three have such events, and one zone has other groups.
    (note,) = found.report.notes
    assert int(note.split(" rows were not read")[0].replace(",", "")) in (1440 - 3 * 72, 1440 - 216)


def test_the_rows_of_a_range_may_be_held_where_all_rows_may_not(tmp_path: Path) -> None:
    table, path = events(pa.timestamp("us", "UTC")), tmp_path / "e.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=72)
    rows = sase.match(RANGE, table).to_pylist()
    for held, is_pruned in ((16 * 1440, True), (16 * 300, True), (16 * 100, False)):
        plan = sase.compile(RANGE, path)
        found = run(plan.engine, path, held=held)
        assert found.to_pylist() == rows
        assert ("not read" in " ".join(found.report.notes)) == is_pruned, held


def test_folders_are_a_range_too(tmp_path: Path) -> None:
    table = events(pa.timestamp("us", "UTC"))
    for day in range(10):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pyarrow.parquet.write_table(table.slice(day * 144, 144), folder / "e.parquet")
    query = "EVENT SEQ(A a, B b) WHERE [day] AND a.day = 3 WITHIN 1 hour RETURN a.ts AS t"
    found = sase.match(query, tmp_path)
    whole = [row for row in sase.match(query.replace("= 3", "> -1"), tmp_path)]
    assert found.to_pylist() == [row for row in whole if row["t"].day == 4]
    assert "1,296 rows were not read" in " ".join(found.report.notes)


def test_files_that_are_generated(tmp_path: Path) -> None:
    path = tmp_path / "made.parquet"
    assert main(["generate", "uniform", "--events", "600000", "-o", str(path)]) == 0
    check(path, "ts")
    last = pyarrow.parquet.read_table(path, columns=["ts"])["ts"][-1].as_py()
    query = f"EVENT SEQ(E1 a, E2 b) WHERE a.ts > {last - 1000} WITHIN 10"
    found = sase.match(query, path)
    assert found.to_pylist() == sase.match(query, pyarrow.parquet.read_table(path)).to_pylist()
    assert "rows were not read" in " ".join(found.report.notes)


@pytest.mark.parametrize("ways", ["write", "-o"])
def test_matches_that_are_written(ways: str, tmp_path: Path) -> None:
    """They are in order of their detection, so they can be events of the next query."""
    count = 400_000
    table = pa.table({"ts": range(count), "type": ["AB"[n % 2] for n in range(count)]})
    query = "EVENT SEQ(A a, B b) WITHIN 2 RETURN b.ts AS ts, b.type AS type"
    path, source = tmp_path / "found.parquet", tmp_path / "e.parquet"
    if ways == "write":
        sase.match(query, table).write(path)
    else:
        pyarrow.parquet.write_table(table, source)
        assert main(["run", "-q", query, "--events", str(source), "-o", str(path)]) == 0
    check(path, "ts")
    found = sase.match(f"EVENT SEQ(B a, B b) WHERE a.ts > {count - 9} WITHIN 5", path)
    assert len(found) > 0
    assert "rows were not read" in " ".join(found.report.notes)


def check(path: Path, time: str) -> None:
    """Row groups have statistics, and times that rise from one to the next."""
    metadata = pyarrow.parquet.read_metadata(path)
    place = metadata.schema.names.index(time)
    numbers = range(metadata.num_row_groups)
    groups = [metadata.row_group(n).column(place).statistics for n in numbers]
    assert len(groups) > 1
    assert all(group.has_min_max and group.has_null_count for group in groups)
    for before, after in zip(groups, groups[1:], strict=False):
        assert before.max <= after.min
