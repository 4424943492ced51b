"""What is wrong with a file, from what Arrow says of it: the file, the row, and what to do."""

from __future__ import annotations

import json
import re

import pyarrow as pa

from sase.engine.files.formats import csv_options
from sase.errors import DataError

_ROW = re.compile(r"Row #(\d+): ")
_COLUMN = re.compile(r"In CSV column #(\d+): ")
_VALUE = re.compile(r"invalid value '(.*)'", re.DOTALL)
NOT_UTF8 = "invalid UTF8 data"


def fault_of(path: str, format: str, schema: pa.Schema | None, problem: Exception) -> DataError:
    """The error for a file that cannot be read."""
    if isinstance(problem, FileNotFoundError):
        return DataError(f"{path} is not there any more")
    message = str(problem)
    if format == "json":
        return _json_fault(path, message)
    if format in ("csv", "tsv"):
        return _csv_fault(path, format, schema, message)
    return DataError(f"{path} cannot be read: it is truncated, or no {format} file: {message}")


def text_fault(path: str, format: str, schema: pa.Schema) -> DataError:
    """The error for CSV with bytes that are no text, of which Arrow makes binary columns."""
    fields = [pa.field(f.name, pa.string()) if pa.types.is_binary(f.type) else f for f in schema]
    return _csv_fault(path, format, pa.schema(fields), NOT_UTF8)


def _csv_fault(path: str, format: str, schema: pa.Schema | None, message: str) -> DataError:
    """Read again in one thread Arrow counts the rows."""
    if _ROW.search(message) is None:
        message = _said_in_one_thread(path, format, schema) or message
    row, column, value = (each.search(message) for each in (_ROW, _COLUMN, _VALUE))
    where = path if row is None else f"{path}, line {row[1]}"
    number = None if row is None else int(row[1]) - 2
    name = None
    if column is not None and schema is not None:
        name = schema.names[int(column[1])]
    if NOT_UTF8 in message:
        why = "this is not UTF-8: convert the file, for example with  iconv -t UTF-8"
        return DataError(f"{where}: {why}", number, name)
    if value is not None and schema is not None and name is not None:
        wanted = schema.field(name).type
        why = f"`{name}` is {value[1]!r}: the values before are of the type {wanted}"
        return DataError(
            f"{where}: {why}; correct the row, or leave it out", number, name, value[1]
        )
    said = message.rsplit("error: ", 1)[-1]
    said = _ROW.sub("", said)
    return DataError(f"{where}: {said[:1].lower()}{said[1:]}", number)


def _said_in_one_thread(path: str, format: str, schema: pa.Schema | None) -> str | None:
    from pyarrow import csv

    kinds = {} if schema is None else {field.name: field.type for field in schema}
    in_one_thread = csv.ReadOptions(use_threads=False)
    try:
        csv.read_csv(path, read_options=in_one_thread, **csv_options(format, kinds))
    except (OSError, pa.ArrowException) as problem:
        return str(problem)
    return None


def _json_fault(path: str, message: str) -> DataError:
    """Line by line: Arrow counts within a block."""
    kinds: dict[str, type] = {}
    with pa.input_stream(path) as file:
        for number, line in enumerate(file.read().splitlines()):
            if not line.strip():
                continue
            where = f"{path}, line {number + 1}"
            try:
                row = json.loads(line)
            except UnicodeDecodeError:
                return DataError(f"{where}: this is not UTF-8: convert the file", number)
            except ValueError as problem:
                return DataError(f"{where}: this is no JSON: {problem}", number)
            if not isinstance(row, dict):
                return DataError(f"{where}: every line is an object, and this is {row!r}", number)
            for name, value in row.items():
                kind = float if isinstance(value, int) and value is not True else type(value)
                known = kind if value is None else kinds.setdefault(name, kind)
                if known is not kind:
                    why = f"`{name}` is {value!r}, and was of another kind in the lines before"
                    return DataError(f"{where}: {why}", number, name, value)
    return DataError(f"{path} cannot be read: {message}")
