"""Parquet: strings as dictionaries; row groups pruned by statistics (docs/semantics.md, Bad rows).

A row group is pruned if it provably has no event of interest and no bad row; its rows are still
counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.engine.sources.formats.base import (
    BATCH,
    DAMAGE,
    FileFormat,
    PruningPredicate,
    Scan,
    proved,
    scanned,
    with_given,
)
from sase.engine.sources.formats.parquet_footer import check_footer

# Bytes of a column read at once, if memory is limited.
BUFFER = 1 << 18


class ParquetFormat(FileFormat):
    """Parquet files; a part is a row group."""

    name = "parquet"
    title = "Parquet (.parquet)"
    suffixes = (".parquet", ".pq")
    has_dictionaries = True

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of Parquet."""
        from pyarrow import dataset  # slow; not needed for tables

        options = dataset.ParquetReadOptions(dictionary_columns=set(strings))
        return dataset.ParquetFileFormat(read_options=options)

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows; Arrow does not check UTF-8."""
        first = scan.first
        if scan.reads_ahead:
            tables = super().read(scan, size)
        else:
            tables = with_given(scan, lambda own: _pages(scan, own, size))
        for table in tables:
            yield proved(table, scan.path, first)
            first += table.num_rows

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        return proved(scanned(scan), scan.path, scan.first)

    def prune(self, fragment: Any, predicate: PruningPredicate) -> list[bool]:
        """Return for each row group whether it must be read."""
        try:
            metadata = footer(fragment)
            columns = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}
        except DAMAGE:  # in statistics, which only save time
            return [True]
        can_prune = _cannot_be_bad(fragment.physical_schema, predicate.named)
        if not can_prune or predicate.column not in columns:
            return [True] * metadata.num_row_groups
        return [
            _is_of_interest(metadata.row_group(number), columns, predicate)
            for number in range(metadata.num_row_groups)
        ]


def _pages(scan: Scan, own: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Read columns by pages: a dataset would load whole row groups."""
    from pyarrow import parquet  # slow; not needed for tables

    coded = [field.name for field in own if pa.types.is_dictionary(field.type)]
    groups = [group.id for group in scan.fragment.row_groups]
    with parquet.ParquetFile(
        scan.path, read_dictionary=coded, buffer_size=BUFFER, pre_buffer=False
    ) as file:
        # Each thread would keep memory of its own.
        yield from file.iter_batches(size, groups, own.names, use_threads=False)


def footer(fragment: Any) -> Any:
    """Return the checked footer of a file, whose statistics are safe to read."""
    with fragment.filesystem.open_input_file(fragment.path) as file:
        check_footer(file)
    return fragment.metadata


def _cannot_be_bad(schema: pa.Schema, named: Collection[str]) -> bool:
    """Whether the named columns have types whose values are all valid, except NULL."""
    for name in named:
        index = schema.get_field_index(name)
        if index < 0:
            continue
        kind = value_type(schema.field(index).type)
        is_integer = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        if not (is_integer or pa.types.is_timestamp(kind) or pa.types.is_string(kind)):
            return False
    return True


def _is_of_interest(group: Any, columns: dict[str, int], predicate: PruningPredicate) -> bool:
    """Whether a row group may have an event of the types, or a NULL in a named column."""
    for name in predicate.named & columns.keys():
        statistics = group.column(columns[name]).statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return True
    statistics = group.column(columns[predicate.column]).statistics
    if not statistics.has_min_max:
        return True
    try:
        least, most = statistics.min, statistics.max
    except UnicodeError:
        return True
    if not isinstance(least, str):
        return True
    return any(least <= name <= most for name in predicate.types)
