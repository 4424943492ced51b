"""Infer the types of columns of text from all of their values, before a query is bound to them.

Arrow infers types from the first block of a file, and the rest may be of others. The columns that a
query needs are read as they seem, which mostly does, and what was read is kept. Where it does not
the column that failed is looked at as a whole.
"""

from __future__ import annotations

from collections.abc import Collection

from sase.engine.columns.data_types import value_type
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.dataset import MOST_HELD, Files
from sase.engine.sources.formats.base import Kinds, is_string
from sase.errors import DataError


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
                return
            tried.add(problem.column)
            if problem.column not in files.given:
                found = files.format.retyped(files.paths, problem, names, judges=judges)
                times = may_be_times(files.schema.names, files.time)
                for name in found.keys() & {problem.column} & set(times):
                    if is_string(found[name]):
                        found[name] = files.format.number_type(files.paths, name) or found[name]
                files.retype(_changed(files, found))


def _changed(files: Files, kinds: Kinds) -> Kinds:
    """Return the columns whose types are others than was thought."""
    known = {field.name: value_type(field.type) for field in files.dataset.schema}
    return {name: kind for name, kind in kinds.items() if known.get(name) != kind}


def numbers_among(files: Files, named: Collection[str]) -> Kinds:
    """Return the columns of text among those named in which most values are numbers, as numbers.

    Whoever takes them for that finds the rest of their values in bad rows.
    """
    texts = {field.name for field in files.schema if is_string(value_type(field.type))}
    names = sorted(texts & set(named) - set(files.given))
    found = {name: files.format.number_type(files.paths, name) for name in names}
    return {name: kind for name, kind in found.items() if kind is not None}
