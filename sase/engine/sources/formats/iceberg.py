"""Tables of Iceberg: snapshots, deleted rows and changed columns by the library pyiceberg."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from sase.engine.sources.file_systems import below, is_remote
from sase.engine.sources.formats.base import BATCH, Scan, proved
from sase.engine.sources.formats.parquet import ParquetFormat
from sase.engine.sources.formats.tables import TableFile, TableFormat
from sase.engine.sources.pruning import ColumnBounds, Plain
from sase.errors import DataError

METADATA = ".metadata.json"


class IcebergFormat(TableFormat):
    """A snapshot of a table of Iceberg."""

    name, of = "iceberg", "Iceberg"
    # The table and its snapshot, of pyiceberg.
    table: Any = None
    scan: Any = None

    def load(self, version: int | None) -> None:
        """Take the columns and files of a snapshot; a version is the id of one."""
        from pyiceberg.table import StaticTable

        folder = self.folder
        self.table = StaticTable.from_metadata(last_metadata(folder), _properties(folder))
        if version is not None and self.table.snapshot_by_id(version) is None:
            known = ", ".join(str(each.snapshot_id) for each in self.table.snapshots())
            raise DataError(
                f"{folder}: there is no snapshot {version} in the Iceberg table: name one of"
                f" {known}"
            )
        self.scan = self.table.scan(snapshot_id=version)
        self._load_files()

    def unreadable(self, version: int | None) -> str:
        """The metadata."""
        return "the metadata of the Iceberg table"

    def remedy(self, version: int | None) -> str:
        """A look at the folder, or another program."""
        return (
            "check the folder and the credentials, or give  sase.match(…)  a table that another"
            " program has read"
        )

    def _load_files(self) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        own = self.scan.projection()
        schema = schema_to_pyarrow(own, include_field_ids=False)
        self.schema = pa.schema([each.with_type(_plain_text(each.type)) for each in schema])
        files = dict[str, TableFile]()
        for task in self.scan.plan_files():
            data = task.file
            # Deleted rows of other files are only known when they are read.
            rows = None if task.delete_files else data.record_count
            path = data.file_path
            bounds = dict(_bounds(data, own))
            files[path] = TableFile(path, rows, bounds, data.file_size_in_bytes, task)
        # In the order of their first time, if there is one; the metadata have none.
        times = [each.name for each in self.schema if pa.types.is_timestamp(each.type)][:1]
        order = sorted(files.values(), key=lambda file: (*_least(file, times), file.path))
        self.files = {file.path: file for file in order}

    def fragment(self, file: TableFile, strings: Collection[str]) -> Any:
        """Return the entry of a file."""
        return file.entry

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches, without deleted rows and with the names of the snapshot."""
        if scan.fragment is None:
            return
        first = 0
        for batch in self._batches(scan):
            scan.between(0)
            table = pa.Table.from_batches([batch]).select(list(scan.columns))
            wanted = pa.schema([scan.schema.field(name) for name in scan.columns])
            yield proved(table.cast(wanted), scan.path, first)
            first += table.num_rows

    def _batches(self, scan: Scan) -> Iterator[pa.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        projection = self.scan.projection().select(*scan.columns)
        reader = ArrowScan(self.table.metadata, self.table.io, projection, AlwaysTrue())
        try:
            yield from reader.to_record_batches([scan.fragment])
        except (OSError, pa.ArrowException):
            raise
        except Exception as problem:  # the library has errors of several kinds
            raise DataError(
                f"{scan.path} of the Iceberg table cannot be read: {problem}: give"
                "  sase.match(…)  a table that another program has read"
            ) from problem

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        return super(ParquetFormat, self).read_all(scan)


def last_metadata(folder: str) -> str:
    """The file with the metadata of the last version of a table."""
    if folder.endswith(METADATA):
        return folder
    inner = f"{folder.rstrip('/')}/metadata"
    if is_remote(folder):
        names = [path for path, kind in below(inner, is_recursive=False) if kind == "file"]
    else:
        names = [os.path.join(inner, name) for name in sorted(os.listdir(inner))]
    found = [name for name in names if name.endswith(METADATA)]
    return max(found, key=_version_of)


def _version_of(path: str) -> tuple[int, str]:
    """The version in a name such as `00003-….metadata.json` or `v3.metadata.json`."""
    name = path.replace(os.sep, "/").rpartition("/")[2]
    digits = re.match(r"v?([0-9]+)", name)
    return (int(digits[1]) if digits else -1), name


def _least(file: TableFile, names: list[str]) -> list[Plain]:
    return [file.bounds[name].least if name in file.bounds else 0 for name in names]


def _bounds(data: Any, schema: Any) -> Iterator[tuple[str, ColumnBounds]]:
    """Yield the bounds of the columns of a file that the metadata has."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.types import (
        DateType,
        IntegerType,
        LongType,
        StringType,
        TimestampType,
        TimestamptzType,
    )

    units: dict[Any, int] = {
        DateType: 86_400 * 10**9,
        **dict.fromkeys((TimestampType, TimestamptzType), 1_000),
        **dict.fromkeys((IntegerType, LongType), 1),
    }
    lower, upper = data.lower_bounds or {}, data.upper_bounds or {}
    nulls = data.null_value_counts or {}
    for field in schema.fields:
        unit = units.get(type(field.field_type))
        at = field.field_id
        if at not in lower or at not in upper or at not in nulls:
            continue
        if unit is None and not isinstance(field.field_type, StringType):
            continue
        low, high = (from_bytes(field.field_type, each[at]) for each in (lower, upper))
        ends: list[Plain] = [each if unit is None else each * unit for each in (low, high)]
        yield field.name, ColumnBounds(ends[0], ends[1], bool(nulls[at]))


def _plain_text(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) else kind


def _properties(folder: str) -> dict[str, str]:
    """The properties of the library for a store that the environment names."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return {"s3.endpoint": endpoint} if is_remote(folder) and endpoint else {}
