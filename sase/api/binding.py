"""Bind a query to discovered events, and infer the types of text columns from the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery
from sase.engine.sources import Files
from sase.engine.sources.discovered import Discovered
from sase.engine.sources.open import numbers_among
from sase.errors import BindingError, SaseError
from sase.planning.plan.traversal import columns_named

Outcome: TypeAlias = BoundQuery | BindingError
Bind: TypeAlias = Callable[[Schema], Outcome]


def bound_to(
    query: str, source: Discovered, parameters: Mapping[str, object], *, flat: bool = False
) -> tuple[Discovered, BoundQuery]:
    """Bind a query to events; for text files, bind it again to each schema that is inferred.

    A column of CSV is text if any of its values is not a number. If the query is valid only for
    numbers, and most values of the column are numbers, it is a column of numbers with bad rows.
    """

    def bind(schema: Schema) -> Outcome:
        try:
            return bind_text(query, schema, parameters=parameters, flat=flat)
        except BindingError as problem:
            return problem

    outcome = bind(source.schema)
    is_of_files = isinstance(source.events, Files)
    named = _named(source.schema, outcome, bind) if is_of_files else None
    if named is not None:
        source.fit_types(named)
    if named is not None and source.files is not None:
        source, outcome = _settled(source, named, outcome, bind)
    if isinstance(outcome, BindingError):
        raise _with_likely_unit(outcome, source)
    return source, outcome


def _with_likely_unit(problem: BindingError, source: Discovered) -> BindingError:
    """Return the error with a hint at the time unit for which the events have plausible dates."""
    code, found = "unit-of-integer-time", problem.diagnostics
    hint = source.unit_hint() if any(each.code == code for each in found) else None
    if hint is None:
        return problem
    hint += ", or write a plain number of its units"
    return BindingError(replace(e, hints=(hint,)) if e.code == code else e for e in found)


def _named(schema: Schema, outcome: Outcome, bind: Bind) -> frozenset[str] | None:
    """The columns that a query names, or None if no types of columns could make it valid."""
    if isinstance(outcome, BindingError):
        try:
            outcome = bind(replace(schema, types=None, columns=None))
        except SaseError:
            return None
    if isinstance(outcome, BindingError):
        return None
    return columns_named(schema, outcome)


def _settled(
    source: Discovered, named: frozenset[str], outcome: Outcome, bind: Bind
) -> tuple[Discovered, Outcome]:
    """Infer types from all values of the files, and return these files and the new outcome."""
    inferred = source.with_inferred_types(named)
    if inferred.schema != source.schema:
        outcome = bind(inferred.schema)
    files = inferred.files
    assert files is not None
    if isinstance(outcome, BoundQuery):
        return inferred, outcome
    for name, kind in numbers_among(files, named).items():
        before = files.schema.field(name).type
        changed = inferred.retyped({name: kind})
        tried = bind(changed.schema)
        if _errors(tried) < _errors(outcome):
            inferred, outcome = changed, tried
        else:
            files.retype({name: before})
    return inferred, outcome


def _errors(outcome: Outcome) -> int:
    return len(outcome.diagnostics) if isinstance(outcome, BindingError) else 0
