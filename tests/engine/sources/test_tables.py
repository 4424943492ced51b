"""Tables of Delta Lake and Iceberg, as their own libraries write them."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.engine.pipeline.batch import run
from tests.engine.sources.servers import Traffic
from tests.engine.sources.test_remote_files import started, store  # noqa: F401 - fixtures

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 1 hour"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def events(days: int = 4, start: int = 0) -> pa.Table:
    """Two events an hour, in turn of types A and B."""
    count = days * 48
    times = [FIRST + timedelta(days=start, minutes=30 * n) for n in range(count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "type": ["AB"[n % 2] for n in range(count)],
            "id": pa.array([n // 2 % 3 for n in range(count)], pa.int32()),
            "day": pa.array([each.date() for each in times]),
        }
    )


def check(folder: Path | str, expected: pa.Table, query: str = QUERY, **options: Any) -> list[str]:
    """A table has the matches of these events, read at once, in pieces and with a bad-row policy;
    return the notes."""
    order = [("ts", "ascending")]
    rows = sase.match(query, expected.sort_by(order)).to_pylist()
    found = sase.match(query, folder, **options)
    assert found.to_pylist() == rows
    plan = sase.compile(query, folder, **options)
    assert run(plan.engine, str(folder), held=0).to_pylist() == rows
    assert sase.match(query, folder, on_bad_row="quarantine", **options).to_pylist() == rows
    return list(found.report.notes)


# ---------------------------------------------------------------- Delta Lake


@pytest.fixture
def delta() -> Callable[..., Any]:
    return pytest.importorskip("deltalake", reason="the extra `delta` is not installed")


def test_a_delta_table_is_found_by_itself(delta: Any, tmp_path: Path) -> None:
    table, folder = events(), tmp_path / "t"
    delta.write_deltalake(folder, table)
    check(folder, table)
    check(f"{folder}/", table, input_format="delta")
    assert len(sase.match(QUERY, folder)) > 0


def test_rows_that_were_deleted_or_changed_are_gone(delta: Any, tmp_path: Path) -> None:
    table, folder = events(), tmp_path / "t"
    delta.write_deltalake(folder, table, partition_by=["day"])
    before = check(folder, table)
    written = delta.DeltaTable(folder)
    written.delete("id = 1")
    left = table.filter(pa.compute.not_equal(table["id"], 1))
    check(folder, left)
    written.update(updates={"id": "7"}, predicate="id = 2")
    ids = pa.compute.if_else(pa.compute.equal(left["id"], 2), pa.scalar(7, pa.int32()), left["id"])
    changed = left.set_column(2, "id", ids)
    check(folder, changed)
    written.optimize.compact()
    check(folder, changed)
    assert check(folder, table, table_version=0) == before
    check(folder, left, table_version=1)


def test_partitions_and_bounds_of_the_log_are_used(delta: Any, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    delta.write_deltalake(folder, events(10), partition_by=["day"])
    of_a_day = (
        "EVENT SEQ(A a, B b) WHERE [id] AND a.day = DATE '2026-01-03' AND b.day = DATE '2026-01-03'"
        " WITHIN 1 hour"
    )
    (note,) = check(folder, events(10), of_a_day)
    assert note.startswith("432 rows were not read")
    in_range = (
        "EVENT SEQ(A a, B b) WHERE [id] AND a.ts >= TIMESTAMP '2026-01-02 20:00:00'"
        " AND b.ts < TIMESTAMP '2026-01-03 02:00:00' WITHIN 1 hour"
    )
    (note,) = check(folder, events(10), in_range)
    assert note.startswith("384 rows were not read")
    next(folder.rglob("day=2026-01-05/*.parquet")).unlink()
    with pytest.raises(sase.DataError, match="is not there any more"):
        sase.match(QUERY, folder)


def test_columns_that_were_added(delta: Any, tmp_path: Path) -> None:
    folder, old, new = tmp_path / "t", events(2), events(2, start=2)
    new = new.append_column("shop", pa.array(["x"] * len(new)))
    delta.write_deltalake(folder, old)
    delta.write_deltalake(folder, new, mode="append", schema_mode="merge")
    whole = pa.concat_tables([old, new], promote_options="default")
    check(folder, whole)
    check(folder, whole, f"{QUERY} RETURN a.ts AS t, a.shop AS shop")
    check(folder, whole, QUERY.replace("[id]", "[id] AND a.shop = 'x'"))


def test_columns_that_have_other_names_in_files(delta: Any, tmp_path: Path) -> None:
    folder, table = tmp_path / "t", events()
    mapped = {
        "delta.columnMapping.mode": "name",
        "delta.minReaderVersion": "2",
        "delta.minWriterVersion": "5",
    }
    delta.write_deltalake(folder, table, partition_by=["day"], configuration=mapped)
    (file,) = list(folder.rglob("*.parquet"))[:1]
    assert "ts" not in pyarrow.parquet.read_schema(file).names
    check(folder, table)
    narrow = QUERY.replace("[id]", "[id] AND a.day = DATE '2026-01-02' AND b.id >= 0")
    check(folder, table, narrow)
    renamed = table.rename_columns(["ts", "type", "shop", "day"])
    log = next(iter(sorted((folder / "_delta_log").glob("*.json"))))
    log.write_text(
        log.read_text(encoding="utf-8").replace('\\"name\\":\\"id\\"', '\\"name\\":\\"shop\\"'),
        encoding="utf-8",
    )
    check(folder, renamed, QUERY.replace("[id]", "[shop]"))


def inline_vector(rows: list[int]) -> dict[str, Any]:
    """A deletion vector within the log: a bitmap of row numbers, in letters."""
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    bitmap += struct.pack(f"<{len(rows)}H", *rows)
    data = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    letters = (
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
    text, padded = "", data + b"\0" * (-len(data) % 4)
    for (word,) in struct.iter_unpack(">I", padded):
        text += "".join(letters[word // 85**n % 85] for n in (4, 3, 2, 1, 0))
    return {
        "storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data),
        "cardinality": len(rows),
    }  # fmt: skip


def test_rows_that_a_deletion_vector_has(delta: Any, tmp_path: Path) -> None:
    folder, table = tmp_path / "t", events()
    delta.write_deltalake(folder, table)
    log = folder / "_delta_log" / "00000000000000000000.json"
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (add,) = [entry["add"] for entry in entries if "add" in entry]
    deleted = [0, 7, 50, 51, 90]
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    changes = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}},
        {"add": {**add, "deletionVector": inline_vector(deleted)}},
    ]
    text = "".join(json.dumps(change) + "\n" for change in changes)
    (log.parent / "00000000000000000001.json").write_text(text, encoding="utf-8")
    left = table.filter(pa.array([n not in deleted for n in range(len(table))]))
    check(folder, left)
    assert sase.match("EVENT A a", folder).report.rows == len(left)
    narrow = QUERY.replace("[id]", "[id] AND a.ts > TIMESTAMP '2027-01-01'")
    (note,) = check(folder, left, narrow)
    assert note.startswith(f"{len(left)} rows were not read")


def test_files_of_a_table_are_not_read_by_themselves(delta: Any, tmp_path: Path) -> None:
    folder = tmp_path / "top" / "t"
    delta.write_deltalake(folder, events(), partition_by=["day"])
    file = next(folder.rglob("*.parquet"))
    for path in (file, file.parent, tmp_path / "top", folder / "*" / "*.parquet"):
        with pytest.raises(sase.DataError, match="is a file of the delta table .* name the table"):
            sase.match(QUERY, path)
        assert len(sase.match(QUERY, path, input_format="parquet")) > 0


def test_a_table_without_rows(delta: Any, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    delta.write_deltalake(folder, events())
    delta.DeltaTable(folder).delete()
    assert sase.match(QUERY, folder).to_pylist() == []
    assert run(sase.compile(QUERY, folder).engine, str(folder), held=0).to_pylist() == []


def test_delta_errors(delta: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "t"
    delta.write_deltalake(folder, events())

    def fault(path: Path, **options: Any) -> str:
        with pytest.raises(sase.SaseError) as problem:
            sase.match(QUERY, path, **options)
        assert "\n" not in str(problem.value)
        return str(problem.value)

    assert "version 9 of the Delta table cannot be read" in fault(folder, table_version=9)
    (tmp_path / "none").mkdir()
    assert "this is no table of delta" in fault(tmp_path / "none", input_format="delta")
    assert "this is no table of iceberg" in fault(folder, input_format="iceberg")
    csv = tmp_path / "e.csv"
    csv.write_text("ts,type,id\n1,A,1\n", encoding="utf-8")
    assert "only tables of Delta Lake and Iceberg have versions" in fault(csv, table_version=0)
    assert "give the number of a version" in fault(folder, table_version="1")
    (tmp_path / "u" / "_delta_log").mkdir(parents=True)
    assert "the log of the Delta table cannot be read" in fault(tmp_path / "u")
    log = folder / "_delta_log" / "00000000000000000001.json"
    log.write_text(
        '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v9"],'
        '"writerFeatures":["v9"]}}\n',
        encoding="utf-8",
    )
    assert "cannot be read" in fault(folder) or "feature v9" in fault(folder)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert "pip install 'sase[delta]'" in fault(folder)


def test_a_delta_table_in_an_object_store(delta: Any, store: Traffic) -> None:  # noqa: F811
    options = {"aws_allow_http": "true", "aws_region": "us-east-1", "aws_endpoint": store.url}
    address = "s3://events/top/t"
    delta.write_deltalake(address, events(), partition_by=["day"], storage_options=options)
    check(address, events())
    with pytest.raises(sase.DataError, match="is a file of the delta table"):
        sase.match(QUERY, "s3://events/top")


def test_the_command_line(delta: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "t"
    delta.write_deltalake(folder, events())
    delta.DeltaTable(folder).delete("id <> 1")
    counts = []
    for more in ([], ["--table-version", "0"]):
        command = ["run", "-q", QUERY, "--events", str(folder), "--format", "jsonl"]
        assert main([*command, *more]) == 0
        counts.append(len(capfd.readouterr().out.splitlines()))
    assert 0 < counts[0] < counts[1]
    out = str(folder / "found.csv")
    assert main(["run", "-q", QUERY, "--events", str(folder), "-o", out]) == 2


# ---------------------------------------------------------------- Iceberg


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    pytest.importorskip("pyiceberg", reason="the extra `iceberg` is not installed")
    pytest.importorskip("sqlalchemy", reason="the catalog of these tests is not installed")
    from pyiceberg.catalog.sql import SqlCatalog

    made = SqlCatalog("local", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    made.create_namespace("shop")
    yield made
    made.close()


def folder_of(table: Any) -> Path:
    return Path(table.location().removeprefix("file://"))


def test_an_iceberg_table_is_found_by_itself(catalog: Any) -> None:
    made = catalog.create_table("shop.t", events().schema)
    made.append(events(2))
    made.append(events(2, start=2))
    folder = folder_of(made)
    check(folder, events())
    check(folder, events(), input_format="iceberg")
    check(folder, events(2), table_version=made.snapshots()[0].snapshot_id)
    narrow = QUERY.replace(
        "[id]", "[id] AND a.ts > TIMESTAMP '2026-01-03' AND b.type = 'B' AND a.id = 1"
    )
    (note,) = check(folder, events(), narrow)
    assert note.startswith("96 rows were not read")
    first = sorted((folder / "metadata").glob("*.metadata.json"))[1]
    check(first, events(2))


def test_iceberg_deletes_and_columns(catalog: Any) -> None:
    made = catalog.create_table("shop.t", events().schema)
    made.append(events())
    made.delete("id = 1")
    folder, table = folder_of(made), events()
    left = table.filter(pa.compute.not_equal(table["id"], 1))
    check(folder, left)
    with made.update_schema() as update:
        update.rename_column("id", "shop")
    check(folder, left.rename_columns(["ts", "type", "shop", "day"]), QUERY.replace("id", "shop"))
    from pyiceberg.types import StringType

    with made.update_schema() as update:
        update.add_column("note", StringType())
    added = left.rename_columns(["ts", "type", "shop", "day"])
    added = added.append_column("note", pa.nulls(len(added), pa.string()))
    check(folder, added, QUERY.replace("id", "shop") + " RETURN a.note AS note, a.ts AS t")


def test_files_of_an_iceberg_table_are_not_read_by_themselves(catalog: Any) -> None:
    made = catalog.create_table("shop.t", events().schema)
    made.append(events())
    folder = folder_of(made)
    for path in (folder / "data", next(folder.rglob("*.parquet")), folder.parent):
        with pytest.raises(sase.DataError, match="is a file of the iceberg table"):
            sase.match(QUERY, path)


def test_iceberg_errors(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = catalog.create_table("shop.t", events().schema)
    made.append(events())
    folder = folder_of(made)
    with pytest.raises(sase.DataError, match="there is no snapshot 7 .* name one of"):
        sase.match(QUERY, folder, table_version=7)
    sorted((folder / "metadata").glob("*.metadata.json"))[-1].write_text("{", encoding="utf-8")
    with pytest.raises(sase.DataError, match="the metadata of the Iceberg table cannot be read"):
        sase.match(QUERY, folder)
    for name in [each for each in sys.modules if each.split(".")[0] == "pyiceberg"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(sase.DataError, match=r"pip install 'sase\[iceberg\]'"):
        sase.match(QUERY, folder)
