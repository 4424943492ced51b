"""What is wrong with a file, from what Arrow says of it: the file, the row, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from sase.engine.sources.formats.base import csv_options, is_text
from sase.engine.sources.formats.csv import header_of
from sase.errors import DataError

_ROW = re.compile(r"Row #(\d+): ")
_COLUMN = re.compile(r"In CSV column #(\d+): ")
_VALUE = re.compile(r"invalid value '(.*)'", re.DOTALL)
NOT_UTF8 = "invalid UTF8 data"
NO_TEXT = "is not UTF-8: convert the file, for example with  iconv -t UTF-8"


def fault_of(
    path: str,
    format: str,
    schema: pa.Schema | None,
    problem: Exception,
    columns: Collection[str] | None = None,
) -> DataError:
    """The error for a file of which some columns, or all, cannot be read."""
    if isinstance(problem, FileNotFoundError):
        return DataError(f"{path} is not there any more")
    message = str(problem)
    if isinstance(problem, OSError):
        return DataError(f"{path} cannot be read: {message}")
    kinds = {}
    if schema is not None:
        wanted = schema.names if columns is None else columns
        kinds = {field.name: field.type for field in schema if field.name in wanted}
    if format == "json":
        return _json_fault(path, kinds, message)
    if format in ("csv", "tsv"):
        return _csv_fault(path, format, kinds, message)
    return DataError(f"{path} cannot be read: it is truncated, or no {format} file: {message}")


def _csv_fault(path: str, format: str, kinds: Mapping[str, pa.DataType], message: str) -> DataError:
    """Read again in one thread Arrow counts the rows."""
    header = header_of(path, format)
    if _ROW.search(message) is None:
        message = _said_in_one_thread(path, format, kinds, header) or message
    row, column, value = (each.search(message) for each in (_ROW, _COLUMN, _VALUE))
    where = path if row is None else f"{path}, line {row[1]}"
    number = None if row is None else int(row[1]) - 2
    name = None if column is None else header[int(column[1])]
    if NOT_UTF8 in message:
        of = "this" if name is None else f"`{name}`"
        return DataError(f"{where}: {of} {NO_TEXT}", number, name)
    if value is not None and name is not None and name in kinds:
        why = f"`{name}` is {value[1]!r}: the values before are of the type {kinds[name]}"
        return DataError(
            f"{where}: {why}; correct the row, or leave it out", number, name, value[1]
        )
    said = message.rsplit("error: ", 1)[-1]
    said = _ROW.sub("", said)
    return DataError(f"{where}: {said[:1].lower()}{said[1:]}", number)


def _said_in_one_thread(
    path: str, format: str, kinds: Mapping[str, pa.DataType], header: Sequence[str]
) -> str | None:
    from pyarrow import csv

    in_one_thread = csv.ReadOptions(use_threads=False)
    columns = [name for name in header if name in kinds]
    try:
        csv.read_csv(path, read_options=in_one_thread, **csv_options(format, kinds, columns))
    except (OSError, pa.ArrowException) as problem:
        return str(problem)
    return None


def _json_fault(path: str, wanted: Mapping[str, pa.DataType], message: str) -> DataError:
    """Line by line: Arrow counts within a block."""
    kinds = {name: _python_kind(kind) for name, kind in wanted.items()}
    with pa.input_stream(path) as file:
        for number, line in enumerate(file.read().split(b"\n")):
            if not line.strip():
                continue
            where = f"{path}, line {number + 1}"
            try:
                row = json.loads(line.decode("utf-8", "surrogateescape"))
            except ValueError as problem:
                return DataError(f"{where}: {no_json(problem)}", number)
            if not isinstance(row, dict):
                return DataError(f"{where}: {no_object(row)}", number)
            for name in row.keys() & kinds.keys() if wanted else row:
                why, kinds[name] = _misfit(row[name], kinds.get(name))
                if why is not None:
                    return DataError(f"{where}: `{name}` {why}", number, name, row[name])
    return DataError(f"{path} cannot be read: {message}")


def no_json(problem: ValueError) -> str:
    """Why a line is no JSON."""
    return f"this is no JSON: {problem}"


def no_object(row: object) -> str:
    """Why a line of JSON is no row."""
    return f"every line is an object, and this is {row!r}"


def _misfit(value: object, known: type | None) -> tuple[str | None, type | None]:
    """Why a value does not go with those before it, if it does not; and of what kind they are."""
    if value is None:
        return None, known
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = float if is_number else type(value)
    if known not in (None, kind):
        return f"is {value!r}, and was of another kind in the lines before", known
    if isinstance(value, str) and not value.isascii() and not is_text(value):
        return NO_TEXT, kind
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return f"is {value}: it is beyond the integers of 64 bits: give a float", kind
    return None, kind


def _python_kind(kind: pa.DataType) -> type | None:
    """What JSON has in a column of some type, if that is known."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return float
    if pa.types.is_boolean(kind):
        return bool
    return str if pa.types.is_string(kind) or pa.types.is_timestamp(kind) else None
