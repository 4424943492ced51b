"""The file format of Arrow, of which every batch is proved before anything is made of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from sase.engine.sources.formats.base import BATCH, FileFormat, Scan, proved, with_given


class ArrowFormat(FileFormat):
    """Arrow IPC files, read with the types that they have."""

    name = "arrow"
    title = "Arrow (.arrow, .feather)"
    suffixes = (".arrow", ".feather", ".ipc")

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of IPC files."""
        from pyarrow import dataset  # which takes long, and who has tables needs none

        return dataset.IpcFileFormat()

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows."""
        return with_given(scan, lambda own: _batches(scan.path, own.names, size))


def _batches(path: str, names: Collection[str], size: int) -> Iterator[pa.RecordBatch]:
    """Read the columns of a file that it has; into memory of its own, as files may be changed."""
    with pa.OSFile(path) as source:
        own = pa.ipc.open_file(source).schema.names
        places = [place for place, name in enumerate(own) if name in names]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        file, first = pa.ipc.open_file(source, options=options), 0
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            proved(pa.Table.from_batches([batch]), path, first)
            for begin in range(0, batch.num_rows, size):
                yield batch.slice(begin, size)
            first += batch.num_rows
