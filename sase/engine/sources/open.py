"""Open the files of a path, so that their columns are known."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sase.base.interface import spelled
from sase.base.log import LOG
from sase.binding import Schema
from sase.binding.input_options import Reading
from sase.binding.types import Kind
from sase.engine.columns.arrow.data_types import value_type
from sase.engine.columns.arrow.gate import prove_schema
from sase.engine.columns.arrow.input import Input, Inputs, opened
from sase.engine.columns.decode.time_forms import refuse_unused
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.dataset import MOST_HELD, Files
from sase.engine.sources.discover import FoundFiles, find_files, is_path
from sase.engine.sources.formats.base import DAMAGE, Kinds, folder_columns, is_string
from sase.engine.sources.local_copies import renew
from sase.engine.sources.unify import unified
from sase.errors import DataError, SchemaError

NUMBERS = (Kind.INTEGER, Kind.FLOAT)
# Up to this number of distinct values among numbers probably mean missing ones.
FEW = 5
USUAL = Reading()


def open_files(
    path: str | os.PathLike[str],
    time: str | None = None,
    *,
    judges: bool = False,
    reading: Reading = USUAL,
    known: Collection[str] = (),
) -> Files:
    """Open the files of a path, with the columns of all.

    `time` may name the time column. With `judges` lines that are no rows are tolerated. Columns of
    CSV that are `known` as text by the schema stay text.
    """
    found = find_files(path, reading.input_format, reading.table_version)
    format = found.format.with_reading(reading, known)
    stamps = tuple(map(format.stamp, found.paths))
    for each, now in zip(found.paths, stamps, strict=True):
        renew(each, now)
    empty = [each for each, (size, _) in zip(found.paths, stamps, strict=True) if size == 0]
    if empty:
        raise DataError(f"{empty[0]} is empty: it has no columns")
    with format.watched(found.paths[0]):
        found = found._replace(format=format.found_in(found.paths[0]))
    with found.format.watched(os.fspath(path)):
        given = folder_columns(found.paths, found.base)
        own = (found.format.own_columns(path) for path in (found.paths if given else ()))
        if any(not given.keys().isdisjoint(names) for names in own):
            found = found._replace(base=None)
        schema, conflicts = _schema(found, judges=judges)
        files = Files(found.paths, found.format, stamps, found.base, time, conflicts)
        files.describe(schema)
        times = may_be_times(files.schema.names, time)
        refuse_unused(reading.time_format, files.forms, times)
        files.retype(numbers_among(files, times))
        LOG.info(
            "opened %s: %d of the format %s, with %d columns",
            os.fspath(path), len(files.paths), files.format.name, len(files.schema),
        )  # fmt: skip
        return files


def open_tables(events: object, *, keeps_rows: bool = False, **reading: Any) -> Inputs:
    """Open events of any kind; files are read as a whole; see `columns.opened`.

    A run on files alone reads only the needed columns instead. `reading` are the options of
    `open_files`.
    """
    if is_path(events):
        events = _whole(events, reading)
    elif isinstance(events, Mapping):
        events = {n: _whole(each, reading) if is_path(each) else each for n, each in events.items()}
    return opened(events, keeps_rows=keeps_rows)


def _whole(path: str | os.PathLike[str], reading: Mapping[str, Any]) -> Input:
    files = open_files(path, **reading)
    infer_types(files, (), shows_all=True, judges=False)
    table, parts = files.table(n for n in files.schema.names if n not in files.conflicts)
    odd = {name: DataError(str(problem)) for name, problem in files.conflicts.items()}
    return Input(table, None, odd, files=parts)


def _schema(found: FoundFiles, *, judges: bool) -> tuple[pa.Schema, dict[str, SchemaError]]:
    """Return the columns of all files, some of which may lack a few, and of their folders."""
    schemas = []
    for path in found.paths:
        try:
            schema = found.format.infer_schema(path, judges=judges)
        except DAMAGE as problem:
            raise found.format.explain_fault(path, None, problem) from problem
        prove_schema(schema, f"{path}: ")
        schemas.append(schema)
    schema, conflicts = unified(schemas, found.paths, found.format.common_kind)
    folders = folder_columns(found.paths, found.base)
    return pa.schema([*schema, *(pa.field(*each) for each in folders.items())]), conflicts


# ---------------------------------------------------------------- types of text


def infer_types(
    files: Files, named: Collection[str], *, shows_all: bool, judges: bool, most: int = MOST_HELD
) -> None:
    """Verify the types of the named columns, or of all columns if results show them.

    Bad rows are not reported here; with `judges` they are left out of the inference.
    """
    files.check(named)
    if not files.is_text:
        return
    with files.format.watched(files.paths[0]):
        _infer_types(files, named, shows_all=shows_all, judges=judges, most=most)


def _infer_types(
    files: Files, named: Collection[str], *, shows_all: bool, judges: bool, most: int
) -> None:
    if not set(named) <= set(files.schema.names):
        files.retype(_changed(files, files.format.types_of_rows(files.paths, named)))
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
                # Columns that only results show are shown as text, if possible.
                shown = _as_text(files, problem.column) if problem.column not in named else {}
                if not shown:
                    return
                files.retype(shown)
                continue
            tried.add(problem.column)
            if problem.column not in files.given:
                found = files.format.retyped(files.paths, problem, names, judges=judges)
                times = may_be_times(files.schema.names, files.time)
                for name in found.keys() & {problem.column} & set(times):
                    if is_string(found[name]):
                        found[name] = files.format.number_type(files.paths, name) or found[name]
                files.retype(_changed(files, found))


def _as_text(files: Files, name: str | None) -> Kinds:
    """Return a column as text, if its format can represent all values as text."""
    if name is None:
        return {}
    kind = files.format.common_kind([files.schema.field(name).type])
    return {} if kind is None else _changed(files, {name: kind})


def _changed(files: Files, kinds: Kinds) -> Kinds:
    """Return the columns with types other than the known ones."""
    known = {field.name: value_type(field.type) for field in files.dataset.schema}
    return {name: kind for name, kind in kinds.items() if known.get(name) != kind}


def first_value(events: Files | Inputs, name: str) -> object:
    """The first value of a column; None for a reader, which reading would use up."""
    if isinstance(events, Files):
        tables = (table for _, table in events.batches([name]))
    else:
        known = (each for each in events.tables if not each.is_lazy)
        tables = (each.proved({name}).source for each in known if each.source.num_rows)
    first = next(iter(tables), None)
    return None if first is None else first.column(name)[0].as_py()


def nearly_numbers(files: Files, named: Collection[str]) -> tuple[str, ...]:
    """Describe the named columns that a few values turn into text, with a remedy."""
    told = list[str]()
    for name in numbers_among(files, named):
        told += few_texts(name, files.format.odd_texts(files.paths, name))
    return tuple(told)


def few_texts(name: str, odd: Sequence[str]) -> Iterator[str]:
    """Describe the values that turn a column of numbers into text, if they are few."""
    if 0 < len(odd) <= FEW:
        shown = ", ".join(map(repr, odd))
        options = " ".join(f"--null {shlex.quote(value)}" for value in odd)
        null = spelled(f"null={odd!r}", options, f"sase shell {options}")
        yield (
            f"`{name}` is compared as text, since it holds {shown} beside numbers: with "
            f" {null}  that is NULL, and the rest numbers"
        )


def fit_types(
    files: Files,
    schema: Schema,
    named: Collection[str],
    *,
    shows_all: bool,
    judges: bool,
    most: int = MOST_HELD,
) -> None:
    """Verify the types of columns; columns that a schema declares as numbers are read as such."""
    infer_types(files, named, shows_all=shows_all, judges=judges, most=most)
    known = dict(schema.columns or ())
    numbers = {name for name in known.keys() & set(named) if known[name].kind in NUMBERS}
    files.retype(numbers_among(files, numbers))


def numbers_among(files: Files, named: Collection[str]) -> Kinds:
    """Return the number types of named text columns with mostly numbers.

    Their other values make rows bad.
    """
    texts = {field.name for field in files.schema if is_string(value_type(field.type))}
    names = sorted(texts & set(named) - set(files.given) - set(files.format.asked))
    found = {name: files.format.number_type(files.paths, name) for name in names}
    return {name: kind for name, kind in found.items() if kind is not None}
