"""The types of columns of text by all of their values, before a query is bound to them.

Arrow finds out types by the first block of a file, and the rest may be of others. The columns that
a query needs are read as they seem, which mostly does, and what was read is kept. Where it does not
the column that failed is looked at as a whole.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.dataset import MOST_HELD, Files
from sase.engine.sources.formats.base import CSV, is_string
from sase.engine.sources.formats.csv import number_type, table_of_good_lines, type_of_column
from sase.engine.sources.formats.json_lines import schema_of_lines
from sase.engine.sources.unify import unified
from sase.errors import DataError

Kinds = dict[str, pa.DataType]


def settle(
    files: Files,
    named: Collection[str],
    *,
    shows_all: bool,
    judges: bool,
    most: int = MOST_HELD,
) -> None:
    """Make sure of the types of the columns that a query names, or of all if results show them.

    What is wrong with rows is for others to say; whoever `judges` them leaves them out, and the
    types are those of the others.
    """
    files.check(named)
    if not files.is_text:
        return
    if files.format == "json" and not set(named) <= set(files.schema.names):
        files.retype(_of_lines(files, named))
    tried: set[str | None] = set()
    while True:
        names = [name for name in files.schema.names if shows_all or name in named]
        if not names:
            return
        is_whole = shows_all and None not in tried
        try:
            files.keep(names, most, is_whole=is_whole)
            return
        except DataError as problem:
            if problem.column in tried:
                return
            tried.add(problem.column)
            files.retype(_found(files, problem, names, judges=judges))


def _found(files: Files, problem: DataError, names: Collection[str], *, judges: bool) -> Kinds:
    """The types of columns one of which, or a line, could not be read."""
    if files.format == "json":
        return _of_lines(files, names if problem.row is not None else None)
    if problem.column is None:
        return _of_good_lines(files, names) if judges else {}
    if problem.column in files.given:
        return {}
    return _changed(files, {problem.column: _of_column(files, problem.column)})


def _of_column(files: Files, name: str) -> pa.DataType:
    """The type of a column of CSV: of the time the numbers count, whatever else there is."""
    kind = type_of_column(files.paths, files.format, name)
    if is_string(kind) and name in may_be_times(files.schema.names, files.time):
        return number_type(files.paths, files.format, name) or kind
    return kind


def _of_lines(files: Files, names: Collection[str] | None) -> Kinds:
    """The types of some columns of JSON, or of all that there are."""
    found = {field.name: field.type for field in schema_of_lines(files.paths)}
    wanted = found if names is None else names
    return _changed(files, {name: found[name] for name in wanted if name in found})


def _of_good_lines(files: Files, names: Collection[str]) -> Kinds:
    schemas = [table_of_good_lines(path, files.format).schema for path in files.paths]
    found, _ = unified(schemas, files.paths, files.format)
    return _changed(files, {name: found.field(name).type for name in names if name in found.names})


def _changed(files: Files, kinds: Kinds) -> Kinds:
    """The columns whose types are others than was thought."""
    schema = files.dataset.schema
    plain = {field.name: value_type(field.type) for field in schema}
    return {name: kind for name, kind in kinds.items() if plain.get(name) != kind}


def numbers_among(files: Files, named: Collection[str]) -> Kinds:
    """The columns of text that a query names in which most values are numbers, and of which type.

    Whoever takes them for that finds the rest of their values in bad rows.
    """
    found: Kinds = {}
    if files.format not in CSV:
        return found
    texts = {field.name for field in files.schema if is_string(value_type(field.type))}
    for name in sorted(texts & set(named) - set(files.given)):
        kind = number_type(files.paths, files.format, name)
        if kind is not None:
            found[name] = kind
    return found
