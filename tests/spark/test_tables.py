"""Tables of Delta Lake and Iceberg in `sase replay`: never their bare Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
from sase.cli.main import main

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.ts AS t, b.ts AS u"
EVENTS = pa.table(
    {
        "ts": pa.array(range(60), pa.int64()),
        "type": ["AB"[n % 2] for n in range(60)],
        "id": [n // 2 % 3 for n in range(60)],
    }
)


def replayed(folder: Path | str, capfd: pytest.CaptureFixture[str]) -> set[str]:
    assert main(["replay", "-q", QUERY, "--events", str(folder), "--format", "csv"]) == 0
    return set(capfd.readouterr().out.splitlines()[1:])


def expected(rows: pa.Table) -> set[str]:
    return {
        f"{row['t']},{row['u']},{row['t']},{row['u']},{row['u']}" for row in sase.match(QUERY, rows)
    }


def test_deleted_rows_are_gone(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra `delta` is not installed")
    folder = tmp_path / "t"
    deltalake.write_deltalake(folder, EVENTS, partition_by=["id"])
    deltalake.DeltaTable(folder).delete("ts < 20")
    left = EVENTS.filter(pa.compute.greater_equal(EVENTS["ts"], 20))
    assert len(expected(left)) > 0
    assert replayed(folder, capfd) == expected(left)
    assert main(["replay", "-q", QUERY, "--events", folder.as_uri()]) == 1
    assert "is a table of delta, and its Parquet files may have deleted rows" in (
        capfd.readouterr().err
    )


def test_so_they_are_of_iceberg(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyiceberg", reason="the extra `iceberg` is not installed")
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="its catalog is not installed")
    catalog = sql.SqlCatalog(
        "local", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w"
    )
    catalog.create_namespace("shop")
    made = catalog.create_table("shop.t", EVENTS.schema)
    made.append(EVENTS)
    made.delete("ts < 20")
    left = EVENTS.filter(pa.compute.greater_equal(EVENTS["ts"], 20))
    folder = made.location().removeprefix("file://")
    assert replayed(folder, capfd) == expected(left)
    assert main(["replay", "-q", QUERY, "--events", made.location()]) == 1
    assert "is a table of iceberg" in capfd.readouterr().err
    catalog.close()
