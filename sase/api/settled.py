"""A query bound to files of which only the query says which columns have to be known well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery
from sase.errors import BindingError, SaseError
from sase.planning.basic import basic_plan

if TYPE_CHECKING:
    from sase.engine.sources import Files

Described = tuple[Schema, BoundQuery]


def bound_to_files(
    query: str,
    files: Files,
    describe: Callable[[], Schema],
    parameters: Mapping[str, object],
    *,
    judges: bool,
) -> Described:
    """The schema of files and the query bound to it, when the types of its columns are sure.

    In CSV a column is text if any of its values is no number. If a query makes sense for numbers
    only, and most values are some, it is a column of numbers with bad rows.
    """
    from sase.engine.sources.type_inference import numbers_among, settle

    schema = describe()
    needed = _needed(query, schema, parameters)
    if needed is None:
        return schema, bind_text(query, schema, parameters=parameters)
    settle(files, needed.named, shows_all=needed.shows_all, judges=judges)
    schema = describe()
    try:
        return schema, bind_text(query, schema, parameters=parameters)
    except BindingError as problem:
        least, numbers = len(problem.diagnostics), numbers_among(files, needed.named)
    for name, kind in numbers.items():
        before = files.schema.field(name).type
        files.retype({name: kind})
        errors = _errors(query, describe(), parameters)
        if errors < least:
            least = errors
        else:
            files.retype({name: before})
    schema = describe()
    return schema, bind_text(query, schema, parameters=parameters)


class _Needed(NamedTuple):
    """The columns that a query names, and whether results show all others, too."""

    named: frozenset[str]
    shows_all: bool


def _needed(query: str, schema: Schema, parameters: Mapping[str, object]) -> _Needed | None:
    """What a query reads, whatever columns hold; None of one that is wrong, which binding tells."""
    from sase.engine.plan import EnginePlan

    try:
        bound = bind_text(query, replace(schema, types=None, columns=None), parameters=parameters)
        plan = EnginePlan(basic_plan(bound), schema, bound.definitions)
    except SaseError:
        return None
    return _Needed(plan.named, plan.scan.columns is None)


def _errors(query: str, schema: Schema, parameters: Mapping[str, object]) -> int:
    try:
        bind_text(query, schema, parameters=parameters)
    except BindingError as problem:
        return len(problem.diagnostics)
    return 0
