"""The columns that a query needs of events that compute their rows on demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from sase.api.compiled_script import script_of
from sase.api.plan import DEFAULT_PLAN
from sase.binding.input_options import INPUT_OPTIONS, READING_OPTIONS, InputOptions
from sase.engine.sources import lazy_tables
from sase.errors import BindingError

Params: TypeAlias = Mapping[str, object] | None


def collected(
    events: object, query: str, params: Params, plan: str, output: str, options: Mapping[str, Any]
) -> object:
    """Compute the needed columns of lazy tables; other events are returned unchanged."""
    if not lazy_tables.are_lazy(events):
        return events
    columns = needed(events, query, params=params, plan=plan, output=output, **options)
    return lazy_tables.collected(events, columns)


def needed(
    events: object,
    query: str,
    *,
    params: Params = None,
    plan: str = DEFAULT_PLAN,
    output: str = "all",
    **options: Any,
) -> frozenset[str] | None:
    """Return the columns of lazy tables that a query reads and its results show; None for all."""
    known = {*INPUT_OPTIONS}.difference(READING_OPTIONS)
    kept = {name: value for name, value in options.items() if name in known}
    names = InputOptions(**kept)
    times = None if names.time == InputOptions.time else [names.earliest, names.until]
    schemas = lazy_tables.schemas_of(events, times)
    try:
        script, _ = script_of(query, schemas, None, params, plan, kept, strict=True)
    except BindingError as problem:
        if any(each.code == "unit-of-integer-time" for each in problem.diagnostics):
            return None  # the message has a hint that the first row gives
        raise
    if script.lone is None:
        return None
    engine = script.lone.reading
    if engine.scan.columns is None and output != "count":
        return None
    return engine.named
