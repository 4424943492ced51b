"""The inputs of a script by name, as a caller gives them, each with its own options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from sase.binding import Schema
from sase.binding.input_options import InputOptions
from sase.binding.lateness import with_longest
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError, SchemaError

# Inputs by name; None is the input without a name.
Sources: TypeAlias = Mapping[str | None, Discovered]


def discovered(
    options: Mapping[str, Any],
    unnamed: object,
    streams: Mapping[str, object] | None,
    known: Sources | None = None,
) -> Sources:
    """Discover the inputs that a caller gives; their schemas may be `known` already."""
    given: dict[str | None, object] = {} if unnamed is None else {None: unnamed}
    if streams is not None and not isinstance(streams, Mapping):
        raise PlanError(f"streams={streams!r}: give a dict of name → the events of an input")
    given.update(streams or {})
    found = dict[str | None, Discovered]()
    for name, each in given.items():
        own = of_input(options, name, given)
        if not known:
            found[name] = _described(name, each, InputOptions(**own))
        elif name in known:
            own.pop("types", None)  # the known schema has them
            found[name] = Discovered.of(each, InputOptions(**own), known[name].schema)
    return found


def _described(name: str | None, events: object, options: InputOptions) -> Discovered:
    """Discover the events of an input; an error names the input, as several may have it."""
    try:
        return Discovered.of(events, options)
    except SchemaError as problem:
        if name is None:
            raise
        raise SchemaError(f"input `{name}`: {problem}") from problem


def open_inputs(
    options: Mapping[str, Any], names: Collection[str | None]
) -> dict[str | None, Discovered]:
    """Inputs that only the keywords describe."""
    found = dict[str | None, Discovered]()
    for name in names:
        own = InputOptions(**of_input(options, name, names))
        if own.types is not None:
            raise PlanError("types=… describe a table: give the script a schema, or events")
        columns = own.columns | {"time": own.earliest, "until": own.until}
        del columns["types"]
        found[name] = Discovered(with_longest(Schema(**columns), own.longest), own)
    return found


def of_input(
    options: Mapping[str, Any], name: str | None, inputs: Collection[str | None]
) -> dict[str, Any]:
    """The options of one input; an option that differs by input is a dict by input name."""
    found = dict[str, Any]()
    for option, value in options.items():
        if not (isinstance(value, Mapping) and value and value.keys() <= {*inputs}):
            found[option] = value
        elif name in value:
            found[option] = value[name]
    return found


def check_units(schemas: Mapping[str | None, Schema], to: object) -> None:
    """Refuse a number as a time for inputs with different units of time."""
    units = {name: each.nanoseconds for name, each in schemas.items()}
    if len(set(units.values())) > 1:
        shown = ", ".join(f"{name} {_unit(schemas[name])}" for name in units)
        raise PlanError(
            f"advance({to}): inputs count time differently ({shown}): advance each by its name, or"
            " where times are no numbers give a datetime"
        )


def _unit(schema: Schema) -> str:
    return schema.time_unit or schema.time_type.resolution or "as it is"
