"""Arrow's file format; every batch is proved before use."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from sase.engine.columns.arrow.small_chunks import concatenated
from sase.engine.sources.formats.base import BATCH, FileFormat, Scan, proved, with_given

# Small batches are combined up to FEW rows or MANY batches.
FEW, MANY = 1 << 12, 1 << 10


class ArrowFormat(FileFormat):
    """Arrow IPC files, read with the types that they have."""

    name = "arrow"
    title = "Arrow (.arrow, .feather)"
    suffixes = (".arrow", ".feather", ".ipc")

    def is_begun(self, first: str) -> bool:
        """Whether the first bytes are those of every file of Arrow."""
        return first.startswith("ARROW1")

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of IPC files."""
        from pyarrow import dataset  # slow; not needed for tables

        return dataset.IpcFileFormat()

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows."""
        return with_given(scan, lambda own: _batches(scan, own.names, size))


def _batches(scan: Scan, names: Collection[str], size: int) -> Iterator[pa.RecordBatch]:
    """Read the columns that a file has, into memory of its own, as files may change."""
    with scan.fragment.filesystem.open_input_file(scan.fragment.path) as source:
        own = pa.ipc.open_file(source).schema.names
        places = [place for place, name in enumerate(own) if name in names]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        file = pa.ipc.open_file(source, options=options)
        for table in _proved(file, scan.path):
            yield from _joined(table).to_batches(size)


def _proved(file: pa.ipc.RecordBatchFileReader, path: str) -> Iterator[pa.Table]:
    """Read and prove the batches of a file, several small ones at a time."""
    first, group, rows = 0, list[pa.RecordBatch](), 0
    for number in range(file.num_record_batches):
        group.append(file.get_batch(number))
        rows += group[-1].num_rows
        if rows >= FEW or len(group) == MANY or number == file.num_record_batches - 1:
            yield proved(pa.Table.from_batches(group), path, first)
            first, group, rows = first + rows, [], 0


def _joined(table: pa.Table) -> pa.Table:
    """Combine batches into one, for the columns that Arrow can concatenate."""
    return pa.Table.from_arrays(list(map(concatenated, table.columns)), schema=table.schema)
