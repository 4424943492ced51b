"""Write results to a file, named `.partial` until it is complete, or to a text stream."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from sase.base.files import PARTIAL, PartialFile
from sase.base.texts import nearest
from sase.engine.columns.arrow.data_types import of_parquet
from sase.engine.expressions.layout import RESOLUTIONS
from sase.engine.results.arrow_columns import flattened, python_values, structs
from sase.errors import DataError
from sase.printable import printable_json

# Suffix of a file that is rewritten with wider columns.
WIDER = ".wider"
JSON_ROWS = 10_000
# Rows of a row group of Parquet.
ROW_GROUP = 1 << 17
# Characters with which spreadsheets begin a formula.
FORMULAS = tuple("=+-@＝＋－＠\t\r\n")


class Writer(Protocol):
    """Writes batches in a format."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""

    def close(self) -> None:
        """Write buffered rows."""


class FileSink:
    """A result file, `.partial` until it is complete; `safe` as in `SafeCsvWriter`."""

    def __init__(
        self, path: str | os.PathLike[str], schema: pa.Schema, *, safe: bool = False
    ) -> None:
        self.path = os.fspath(path)
        self._open_writer = writer_for(self.path, safe=safe)
        self._output = PartialFile(self.path)
        # An incomplete file can be cut after a line only if it is nothing but lines.
        self._is_text = self._open_writer in (CsvWriter, SafeCsvWriter, JsonWriter)
        # Arrow's formats need one schema for all batches.
        self._schema = schema if self.path.lower().endswith((".parquet", ".arrow")) else None
        # The bytes of complete text lines, and whether an incomplete one may follow.
        self._whole, self._has_failed = 0, False
        try:
            with self._refusing():
                self._writer = self._open_writer(self._output.file, schema)
        except BaseException:
            self._output.discard()
            raise

    @property
    def partial(self) -> str:
        """The name of the incomplete file."""
        return self._output.name

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        fitted = self._fitted(batch)
        try:
            with self._refusing():
                self._writer.write_batch(fitted)
            if self._is_text:
                self._output.file.flush()
                self._whole = self._output.file.tell()
        except BaseException:
            self._has_failed = True
            raise

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Convert a format's error into one with a remedy."""
        try:
            yield
        except (pa.ArrowException, OSError) as problem:
            if isinstance(problem, OSError) and problem.errno is not None:
                raise
            raise DataError(
                f"{self.path}: such a file cannot hold these results: {problem}; write .jsonl or"
                " .csv"
            ) from problem

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Cast rows to the types of the file."""
        if self._schema is None or batch.schema == self._schema:
            return batch
        with suppress(pa.ArrowException, ValueError):
            return batch.cast(self._schema)
        try:
            wider = pa.unify_schemas([self._schema, batch.schema], promote_options="permissive")
            fitted = batch.cast(wider)
            self._widen(wider)
        except (pa.ArrowException, ValueError) as problem:
            raise DataError(
                f"{self.path}: a column has one kind in such a file, and now there is another:"
                f" {problem}; write .jsonl or .csv"
            ) from problem
        return fitted

    def _widen(self, schema: pa.Schema) -> None:
        """Rewrite the file with wider columns: the first rows were too few or NULL."""
        self._writer.close()
        self._output.file.close()
        wider = PartialFile(self.partial, suffix=WIDER)
        writer: Writer | None = None
        try:
            writer = self._open_writer(wider.file, schema)
            for batch in _batches(self.partial):
                writer.write_batch(batch.cast(schema))
        except BaseException:
            if writer is not None:
                with suppress(OSError, pa.ArrowException):
                    writer.close()
            wider.discard()
            raise
        wider.take_place_of(self._output)
        self._output, self._writer, self._schema = wider, writer, schema

    def close(self) -> None:
        """Rename the complete file."""
        try:
            self._writer.close()
            self._output.commit()
        except BaseException:
            self._has_failed = True
            raise

    def discard(self) -> None:
        """Delete the partial file."""
        self._close()
        self._output.discard()

    def abandon(self) -> bool:
        """Close the partial file; return whether it is valid."""
        try:
            self._close()
            if not self._has_failed:
                return True
            if self._is_text:
                return self._cut_back()
            return self._schema is not None and _is_readable(self.partial)
        finally:
            self._output.release()

    def _close(self) -> None:
        """Close the partial file, ignoring errors."""
        file = self._output.file
        try:
            if not file.closed:  # closed if it could not be reopened
                self._writer.close()
                file.close()
        except (OSError, pa.ArrowException):
            self._has_failed = True
            with suppress(OSError):
                file.close()

    def _cut_back(self) -> bool:
        """Remove an incomplete last line, which needs no disk space."""
        try:
            with open(self.partial, "r+b") as file:
                file.seek(self._whole)
                whole = whole_lines(file, quotes=isinstance(self._writer, CsvWriter))
                file.truncate(self._whole + whole)
        except OSError:
            return False
        return True


def whole_lines(file: Iterable[bytes], *, quotes: bool) -> int:
    """The length of a text up to its last complete line; newlines in `quotes` do not count."""
    at = whole = marks = 0
    for line in file:
        at += len(line)
        marks += line.count(b'"')
        if line.endswith(b"\n") and not (quotes and marks % 2):
            whole = at
    return whole


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    """The batches of a closed partial Parquet or Arrow file."""
    if _is_parquet(path):
        with pa.parquet.ParquetFile(path) as file:
            yield from file.iter_batches()
        return
    with pa.OSFile(path) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def _is_parquet(partial: str) -> bool:
    return partial.lower().endswith(".parquet" + PARTIAL)


def _is_readable(path: str) -> bool:
    """Whether a Parquet or Arrow file has its footer."""
    try:
        if _is_parquet(path):
            pa.parquet.read_metadata(path)
        else:
            with pa.OSFile(path) as file:
                pa.ipc.open_file(file)
    except (OSError, pa.ArrowException):
        return False
    return True


def writer_for(path: str, *, safe: bool = False) -> Callable[[IO[bytes], pa.Schema], Writer]:
    """Return a writer for the format of a file name."""
    makers: dict[str, Callable[[IO[bytes], pa.Schema], Writer]] = {
        ".parquet": lambda file, kind: RowGroupWriter(file, of_parquet(kind)),
        ".csv": SafeCsvWriter if safe else CsvWriter,
        ".jsonl": JsonWriter,
        ".ndjson": JsonWriter,
        ".json": JsonArrayWriter,
        ".arrow": pa.ipc.new_file,
    }
    base, suffix = os.path.splitext(path.lower())
    compression = COMPRESSIONS.get(suffix)
    if compression is not None:
        suffix = os.path.splitext(base)[1]
        if suffix in makers and suffix not in (".parquet", ".arrow"):
            return partial(CompressedWriter, makers[suffix], compression)
        raise DataError(
            f"{path}: only CSV and JSON are written compressed, such as .csv.gz: Parquet is"
            " compressed by itself"
        )
    if suffix not in makers:
        near = nearest(suffix, makers) if suffix else None
        hint = f"; did you mean {near}?" if near else ""
        raise DataError(
            f"{path}: the suffix names the format, and it can be {', '.join(makers)}{hint}"
        )
    return makers[suffix]


class RowGroupWriter(pa.parquet.ParquetWriter):  # type: ignore[misc]
    """Writes Parquet in row groups of limited size, which readers can skip by their statistics."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        super().write_batch(batch, row_group_size=ROW_GROUP)


# Compressions of text by suffix.
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


class CompressedWriter:
    """Writes compressed text."""

    def __init__(
        self,
        maker: Callable[[IO[bytes], pa.Schema], Writer],
        compression: str,
        file: IO[bytes],
        schema: pa.Schema,
    ) -> None:
        # Arrow closes its output, and the file is closed by its owner.
        self._stream = pa.CompressedOutputStream(pa.PythonFile(_Open(file), "w"), compression)
        self._writer = maker(self._stream, schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write buffered rows and the end of the compressed data."""
        self._writer.close()
        self._stream.close()


class _Open(io.RawIOBase):
    """A file that others cannot close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)


class CsvWriter:
    """Writes CSV; attributes of an event become columns such as `a_id`, lists JSON.

    In a stream the number type of a column may change between batches.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file, self._schema = file, self._flat(pa.Table.from_batches([], schema)).schema
        self._writer = pa.csv.CSVWriter(file, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        table = self._flat(pa.Table.from_batches([batch]))
        if table.schema.types != self._schema.types:
            self._writer.close()
            self._schema = table.schema
            no_header = pa.csv.WriteOptions(include_header=False)
            self._writer = pa.csv.CSVWriter(self._file, self._schema, write_options=no_header)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write buffered rows."""
        self._writer.close()

    @staticmethod
    def _flat(table: pa.Table) -> pa.Table:
        return flat(table)


class SafeCsvWriter(CsvWriter):
    """Writes CSV in which spreadsheets see no formulas: such texts get an apostrophe.

    These begin with `=`, `+`, `-`, `@` (also full-width), a tab or a line end.
    """

    @staticmethod
    def _flat(table: pa.Table) -> pa.Table:
        shown = flat(table)
        names = [_no_formula(name) for name in shown.column_names]
        return pa.table([_without_formulas(column) for column in shown.columns], names)


def _no_formula(text: str) -> str:
    return "'" + text if text.startswith(FORMULAS) else text


def _without_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    texts = [None if each is None else _no_formula(each) for each in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, kind)])


class JsonWriter:
    """Writes a JSON object for each row, with times as ISO 8601."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        for first in range(0, batch.num_rows, JSON_ROWS):  # Python objects are large
            rows = pa.Table.from_batches([batch.slice(first, JSON_ROWS)])
            values = python_values(structs(rows))
            self._write([_json(row) for row in values])

    def _write(self, rows: list[str]) -> None:
        self._file.write("".join(f"{row}\n" for row in rows).encode())

    def close(self) -> None:
        """Write buffered rows."""
        self._file.flush()


class JsonArrayWriter(JsonWriter):
    """Writes a JSON array of an object for each row."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        super().__init__(file, schema)
        self._begin = b"[\n"

    def _write(self, rows: list[str]) -> None:
        if rows:
            self._file.write(self._begin + ",\n".join(rows).encode())
            self._begin = b",\n"

    def close(self) -> None:
        """End the array."""
        self._file.write(b"[]\n" if self._begin == b"[\n" else b"\n]\n")
        super().close()


def stream_writer(format: str, file: IO[bytes], schema: pa.Schema, *, safe: bool = False) -> Writer:
    """Return a writer to a stream; `safe` as in `FileSink`."""
    makers: dict[str, Callable[[IO[bytes], pa.Schema], Writer]] = {
        "csv": SafeCsvWriter if safe else CsvWriter,
        "jsonl": JsonWriter,
        "json": JsonArrayWriter,
        "arrow": pa.ipc.new_stream,
        "parquet": lambda file, kind: RowGroupWriter(file, of_parquet(kind)),
    }
    return makers[format](file, schema)


def _json(value: Any) -> str:
    return printable_json(value, default=_as_text)


def _as_text(value: Any) -> str | float:
    if isinstance(value, timedelta):  # pandas' has nanoseconds
        count = (value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1_000
        count += getattr(value, "nanoseconds", 0)
        return count / 10**9 if count % 10**9 else count // 10**9
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def flat(table: pa.Table) -> pa.Table:
    """Flatten a table: structs to columns, lists to JSON, dictionaries decoded."""
    shown = flattened(table)
    return pa.table(list(map(_plain, shown.columns)), shown.column_names)


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert durations to seconds as exact decimals."""
    counts = pc.cast(column, pa.int64()).combine_chunks()
    low = counts.fill_null(0).to_numpy()
    words = pa.py_buffer(np.stack([low, low >> 63], axis=1))
    valid = counts.is_valid().buffers()[1] if counts.null_count else None
    kind = pa.decimal128(19, RESOLUTIONS[column.type.unit])
    return pa.chunked_array([pa.Array.from_buffers(kind, len(low), [valid, words])])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_duration(kind):
        return _seconds(column)
    if any(is_of(kind) for is_of in _WRITTEN) and not pa.types.is_interval(kind):
        return column
    if pa.types.is_dictionary(kind):
        with suppress(pa.ArrowException):
            return _plain(column.cast(kind.value_type))
    return pa.chunked_array([pa.array(map(_cell, python_values(column)), pa.string())])


# Types that Arrow writes as CSV.
_WRITTEN = (
    pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null, pa.types.is_string,
    pa.types.is_large_string, pa.types.is_string_view,
)  # fmt: skip


def _cell(value: Any) -> str | None:
    """Format any value: escape bytes that are not UTF-8, nested values as JSON."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if value is None or isinstance(value, str) else _json(value).strip('"')
