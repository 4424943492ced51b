"""Tables written to files in the format that the suffix names: whole, or not at all."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from sase.errors import SaseError
from sase.nearest import nearest


def write_table(reader: pa.RecordBatchReader, path: Path | None) -> int:
    """Write all batches, without a path as CSV to standard output; the result is their rows."""
    if path is None:
        if sys.stdout is None:
            raise SaseError("there is no standard output: name a file")
        return _write(reader, sys.stdout.buffer, pyarrow.csv.CSVWriter)
    opened = _format(path)
    unfinished = path.with_name(f"{path.name}.partial")
    file = open(unfinished, "wb")  # noqa: SIM115 - closed below, and removed if anything fails
    try:
        with file:
            rows = _write(reader, file, opened)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return rows


def _write(reader: pa.RecordBatchReader, file: IO[bytes], opened: Any) -> int:
    rows = 0
    with opened(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += len(batch)
    return rows


class _JsonLines(AbstractContextManager["_JsonLines"]):
    """Writes an object a row; times as ISO 8601 has them."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file

    def __exit__(self, *problem: object) -> None:
        """The file is the caller's to close."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write some rows at a time, as Python objects are many times larger."""
        written = partial(json.dumps, default=datetime.isoformat, ensure_ascii=False)
        for first in range(0, len(batch), 10_000):
            rows = batch.slice(first, 10_000).to_pylist()
            self._file.write("".join(f"{written(row)}\n" for row in rows).encode())


_FORMATS = {
    ".parquet": pyarrow.parquet.ParquetWriter,
    ".csv": pyarrow.csv.CSVWriter,
    ".jsonl": _JsonLines,
    ".ndjson": _JsonLines,
    ".arrow": pyarrow.ipc.new_file,
}


def _format(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        near = nearest(suffix, _FORMATS) if suffix else None
        hint = f"; did you mean {near}?" if near else ""
        raise SaseError(
            f"{path}: the suffix names the format, and it can be {', '.join(_FORMATS)}{hint}"
        )
    return _FORMATS[suffix]
