"""Tables of Delta Lake: the log by the library deltalake, the files by Arrow."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from sase.engine.columns.arrow.data_types import value_type
from sase.engine.sources.file_systems import is_remote, place_of
from sase.engine.sources.formats.base import BATCH, Scan
from sase.engine.sources.formats.parquet import ParquetFormat
from sase.engine.sources.formats.tables import TableFile, TableFormat
from sase.engine.sources.pruning import ColumnBounds, PruningPredicate, plain
from sase.errors import DataError

# The features of tables that this module reads; other ones may change the meaning of files.
FEATURES = {
    *("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint"),
    *("vacuumProtocolCheck", "appendOnly", "invariants", "checkConstraints"),
}
_PHYSICAL = b"delta.columnMapping.physicalName"
# Logs have times in milliseconds, rounded down.
ROUNDED = timedelta(milliseconds=1)


def _full(path: str) -> str:
    """A path as the log has it, without escapes and without the scheme of local files."""
    return unquote(path).removeprefix("file://")


class DeltaFormat(TableFormat):
    """A version of a table of Delta Lake."""

    name, of = "delta", "Delta Lake"
    has_dictionaries = True
    # The names of columns in files, where they differ; and of each file the rows that are left.
    physical: Mapping[str, str] = {}
    kept: Mapping[str, pa.Array] = {}

    def load(self, version: int | None) -> None:
        """Take the columns and files of a version."""
        import deltalake

        folder = self.folder
        table = deltalake.DeltaTable(folder, version=version, storage_options=_options(folder))
        unknown = set(table.protocol().reader_features or ()) - FEATURES
        if unknown:
            raise DataError(
                f"{folder}: tables with the feature {min(unknown)} are not read: drop it from"
                " the table, or give  sase.match(…)  a table that another program has read"
            )
        schema = pa.schema(table.schema().to_arrow())
        self.physical = dict(_physical_names(schema, self.folder))
        self.schema = pa.schema([each.remove_metadata() for each in schema]).remove_metadata()
        masks = pa.table(table.deletion_vectors())
        vectors = zip(*(masks.column(n) for n in ("filepath", "selection_vector")), strict=True)
        left = {_full(path.as_py()): kept.values for path, kept in vectors}
        root = _full(table.table_uri).rstrip("/")
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        # In the order in which they were added; the log itself has none.
        actions.sort(key=lambda each: (each["modification_time"], each["path"]))
        files, kept = dict[str, TableFile](), dict[str, pa.Array]()
        for action in actions:
            inner = _full(action["path"])
            is_full = "://" in inner or os.path.isabs(inner)
            path, rows = inner if is_full else f"{self.folder}/{inner}", action["num_records"]
            mask = left.pop(inner if is_full else f"{root}/{inner}", None)
            if mask is not None:
                kept[path] = mask
                rows = None if rows is None else rows - (len(mask) - mask.true_count)
            bounds, given = dict(self._bounds(action)), _given(action)
            files[path] = TableFile(path, rows, bounds, action["size_bytes"], given)
        if left:
            raise DataError(
                f"{self.folder}: rows are deleted of {next(iter(left))}, which is no file of this"
                " version of the table"
            )
        self.files, self.kept = files, kept

    def unreadable(self, version: int | None) -> str:
        """One version, or the log."""
        if version is not None:
            return f"version {version} of the Delta table"
        return "the log of the Delta table"

    def remedy(self, version: int | None) -> str:
        """Another version, or a look at the log."""
        if version is not None:
            return "name another version, or none for the last"
        return "check the folder _delta_log and the credentials"

    def _bounds(self, action: Mapping[str, Any]) -> Iterator[tuple[str, ColumnBounds]]:
        for field in self.schema:
            if f"partition.{field.name}" in action:
                value = plain(action[f"partition.{field.name}"])
                if value is not None:
                    yield field.name, ColumnBounds(value, value)
                continue
            said = self.physical.get(field.name, field.name)
            least, nulls = plain(action.get(f"min.{said}")), action.get(f"null_count.{said}")
            greatest = plain(action.get(f"max.{said}"), later=ROUNDED)
            if least is not None and greatest is not None and nulls is not None:
                yield field.name, ColumnBounds(least, greatest, bool(nulls))

    def fragment(self, file: TableFile, strings: Collection[str]) -> Any:
        """Return a file as Arrow reads it."""
        from pyarrow import dataset  # slow; not needed for tables

        known = None
        for name, value in file.entry.items():
            field = dataset.field(self.physical.get(name, name))
            kind = value_type(self.schema.field(name).type)
            is_so = field.is_null() if value is None else field == pa.scalar(value, kind)
            known = is_so if known is None else known & is_so
        coded = [self.physical.get(name, name) for name in strings if name not in file.entry]
        place = place_of(file.path)
        return self.arrow_format(coded).make_fragment(
            place.path, filesystem=place.system, partition_expression=known
        )

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows, without deleted rows."""
        if scan.fragment is None:
            return
        first, kept = 0, self.kept.get(scan.path)
        for table in super().read(self._in_file(scan), size):
            yield _left(table, kept, first).rename_columns(list(scan.columns))
            first += table.num_rows

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        if scan.fragment is None:
            return pa.Table.from_batches([], scan.schema).select(list(scan.columns))
        if scan.path in self.kept:
            return super(ParquetFormat, self).read_all(scan)
        return super().read_all(self._in_file(scan)).rename_columns(list(scan.columns))

    def _in_file(self, scan: Scan) -> Scan:
        """The same with the names that columns have in files."""
        names = self.physical
        fields = [each.with_name(names.get(each.name, each.name)) for each in scan.schema]
        columns = [names.get(name, name) for name in scan.columns]
        return scan._replace(schema=pa.schema(fields), columns=columns)

    def parts(
        self, path: str, fragment: Any, predicate: PruningPredicate
    ) -> Iterator[tuple[Any, int]]:
        """Skip a file by the bounds of the log, or its row groups by their own."""
        for part, rows in super().parts(path, fragment, predicate):
            if part is None or path in self.kept:
                yield part, rows
            else:
                inner = predicate.renamed(self.physical)
                yield from ParquetFormat.parts(self, path, part, inner)


def _given(action: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the columns by which a table is partitioned."""
    start = "partition."
    return {k.removeprefix(start): v for k, v in action.items() if k.startswith(start)}


def _left(table: pa.Table, kept: pa.Array | None, first: int) -> pa.Table:
    """The rows of a table that are not deleted; a mask has no entries for the last ones."""
    if kept is None:
        return table
    mask = kept.slice(first, table.num_rows)
    rest = pa.repeat(pa.scalar(True), table.num_rows - len(mask))
    return table.filter(pa.chunked_array([mask, rest], pa.bool_()))


def _physical_names(schema: pa.Schema, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the columns with other names in files."""
    for field in schema:
        said = (field.metadata or {}).get(_PHYSICAL)
        if said is not None:
            if pa.types.is_nested(field.type):
                raise DataError(
                    f"{folder}: `{field.name}` is nested in a table with mapped columns, which is"
                    " not read: give  sase.match(…)  a table that another program has read"
                )
            yield field.name, said.decode()


def _options(folder: str) -> dict[str, str] | None:
    """The options of the library, which refuses a server without TLS unless they allow one."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    is_plain = is_remote(folder) and endpoint.startswith("http://")
    return {"aws_allow_http": "true"} if is_plain else None
