"""From a path to files whose columns are known."""

from __future__ import annotations

import os

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.dataset import Files, stamp
from sase.engine.sources.discover import FoundFiles, find_files, format_of
from sase.engine.sources.errors import fault_of
from sase.engine.sources.formats.base import CSV, TEXTS, UTF_16, is_string, is_utf_16, reader
from sase.engine.sources.formats.csv import header_of, number_type, table_of_good_lines
from sase.engine.sources.formats.json_lines import schema_of_lines
from sase.engine.sources.schema import dataset_of, described, given_by_folders
from sase.engine.sources.unify import unified
from sase.errors import DataError, SchemaError


def open_files(
    path: str | os.PathLike[str], time: str | None = None, *, judges: bool = False
) -> Files:
    """The files that a path means, with the columns of all of them; `time` may be the time's.

    Whoever `judges` rows can do with lines of CSV that are none.
    """
    found = find_files(path)
    stamps = tuple(map(stamp, found.paths))
    empty = [each for each, (size, _) in zip(found.paths, stamps, strict=True) if size == 0]
    if empty:
        raise DataError(f"{empty[0]} is empty: it has no columns")
    if found.format in TEXTS:
        for each in found.paths:
            _check_is_no_utf_16(each)
    if _has_own(found):
        found = found._replace(base=None)
    schema, conflicts = _schema(found, judges=judges)
    dataset, moments, shown = described(
        found.paths, found.format, found.base, schema, time, conflicts
    )
    files = Files(
        found.paths, found.format, shown, dataset, moments, stamps, found.base, time, conflicts
    )
    if found.format in CSV:
        files.retype(_numbers_among_times(files))
    return files


def _check_is_no_utf_16(path: str) -> None:
    """Refuse text of which every second byte is none, before lines are looked for in it."""
    try:
        with pa.input_stream(path) as file:
            first = file.read(4)
    except OSError as problem:
        raise fault_of(path, format_of(path), None, problem) from problem
    if is_utf_16(first):
        raise DataError(f"{path} {UTF_16}")


def _has_own(found: FoundFiles) -> bool:
    """Whether the files have themselves a column that their folders give."""
    given = given_by_folders(found.paths, found.base)
    path = found.paths[0]
    if not given:
        return False
    if found.format in CSV:
        return not given.keys().isdisjoint(header_of(path, found.format))
    try:
        own = dataset_of((path,), reader(found.format), None, None).schema
    except (OSError, pa.ArrowException):
        return False  # which is told when its columns are looked for
    return not given.keys().isdisjoint(own.names)


def _numbers_among_times(files: Files) -> dict[str, pa.DataType]:
    """The columns of text that may be the time of events, where most values are numbers."""
    found = {}
    for name in may_be_times(files.schema.names, files.time):
        if name not in files.given and is_string(value_type(files.schema.field(name).type)):
            kind = number_type(files.paths, files.format, name)
            if kind is not None:
                found[name] = kind
    return found


def _schema(found: FoundFiles, *, judges: bool) -> tuple[pa.Schema, dict[str, SchemaError]]:
    """The columns of all files, of which some may lack a few."""
    schemas = []
    for path in found.paths:
        try:
            schemas.append(_schema_of(path, found.format, found.base))
        except (OSError, pa.ArrowException) as problem:
            fault = fault_of(path, found.format, None, problem)
            if not judges or fault.row is None or found.format not in CSV:
                raise fault from problem
            lines = table_of_good_lines(path, found.format)
            schemas.append(_beside_folders(lines.schema, path, found.base))
    return unified(schemas, found.paths, found.format)


def _schema_of(path: str, format: str, base: str | None) -> pa.Schema:
    """The columns of a file, by its first values where it does not say them itself."""
    try:
        schema = dataset_of((path,), reader(format), base, None).schema
    except pa.ArrowException:
        schema = schema_of_lines([path]) if format == "json" else pa.schema([])
        if not schema.names:
            raise
        return _beside_folders(schema, path, base)
    if format not in CSV:
        return schema
    # What is not UTF-8 is a matter for who reads the column.
    fields = [f.with_type(pa.string()) if pa.types.is_binary(f.type) else f for f in schema]
    return pa.schema(fields)


def _beside_folders(schema: pa.Schema, path: str, base: str | None) -> pa.Schema:
    given = given_by_folders((path,), base)
    return pa.schema([*schema, *(pa.field(*each) for each in given.items())])
