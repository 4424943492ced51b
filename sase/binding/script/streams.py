"""The schemas of statements' inputs: composite events, and several streams as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sase.base.interface import spelled
from sase.binding.bound import BoundQuery
from sase.binding.schema import (
    MERGED_ORDER,
    MERGED_TIME,
    MERGED_TYPE,
    MERGED_UNTIL,
    ROW_ORDER,
    EventType,
    Schema,
)
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.errors import SchemaError
from sase.lang.units import NANOSECONDS, UNITS

LISTED = DataType(Kind.OTHER)


class NamedStream(NamedTuple):
    """An input or a composite stream, with the name that statements use."""

    name: str | None
    schema: Schema
    is_composite: bool = False

    @property
    def shown(self) -> str:
        """Its name for messages."""
        return "the input without a name" if self.name is None else f"`{self.name}`"


# ---------------------------------------------------------------- composite events


def composite_schema(bound: BoundQuery, name: str, schema: Schema, time: str) -> Schema:
    """The schema of the results of a query: one type, in the order of results.

    Its attributes are the columns of RETURN, by default those of the flat form, and the time.
    """
    found = returned(bound, schema)
    own = None if found is None else (*found.items(), (time, schema.time_type))
    return Schema(
        types=(EventType(bound.type_name or name, own),),
        time=time,
        type=None,
        seq=ROW_ORDER,
        time_unit=schema.time_unit,
        clock=schema.time_type,
    )


def returned(bound: BoundQuery, schema: Schema) -> Mapping[str, DataType] | None:
    """The result columns as attributes; None if they are unknown."""
    if bound.columns is not None:
        return {column.name: column.value.type for column in bound.columns}
    found: dict[str, DataType] = {}
    for component in bound.positives:
        if component.is_series or component.group is not None:
            found[component.variable] = LISTED
            continue
        declared = list(_declared(component.types, schema))
        if not declared:
            return None
        found |= {f"{component.variable}_{name}": kind for name, kind in declared}
    return found


def _declared(types: tuple[str, ...] | None, schema: Schema) -> Iterator[tuple[str, DataType]]:
    """The attributes that any of the types declares."""
    for name in types or schema.type_names or ("",):
        yield from (schema.attributes(name) or {}).items()


# ---------------------------------------------------------------- several streams as one


def ranked(streams: Sequence[NamedStream]) -> tuple[NamedStream, ...]:
    """Sort streams by precedence among simultaneous events: primitive before composite."""
    return tuple(sorted(streams, key=lambda each: each.is_composite))


def merged_schema(streams: Sequence[NamedStream]) -> Schema:
    """The schema of several streams read as one; raises `SchemaError` if that is impossible.

    A type has the attributes that it has in any stream. If times are imprecise in one stream, they
    are in all.
    """
    types: dict[str, dict[str, DataType] | None] = {}
    columns: dict[str, DataType] | None = {}
    has_others = False
    is_imprecise = _is_imprecise(streams)
    for stream in streams:
        schema = stream.schema
        for name in schema.type_names or ():
            types[name] = _united(types.get(name, {}), schema.attributes(name))
        if schema.type_names is None:
            has_others = True
            columns = _united(columns, schema.attributes(""))
    _check_kinds(streams)
    clock, unit = _clock(streams)
    return Schema(
        types=tuple(
            EventType(name, None if known is None else tuple(known.items()))
            for name, known in types.items()
        ),
        columns=tuple(columns.items()) if has_others and columns is not None else None,
        time=MERGED_TIME,
        type=MERGED_TYPE,
        seq=None if is_imprecise else MERGED_ORDER,
        until=MERGED_UNTIL if is_imprecise else None,
        time_unit=unit,
        has_others=has_others,
        clock=clock,
    )


def _united(
    known: dict[str, DataType] | None, more: Mapping[str, DataType] | None
) -> dict[str, DataType] | None:
    if known is None or more is None:
        return None
    return {**known, **{n: merged([known[n], k]) if n in known else k for n, k in more.items()}}


def _is_imprecise(streams: Sequence[NamedStream]) -> bool:
    """Whether times are imprecise; refuses sequence columns in that case."""
    imprecise = next((each for each in streams if each.schema.is_imprecise), None)
    if imprecise is None:
        return False
    for each in streams:
        if each.is_composite:
            why = f"the matches of {each.shown} are in the order of its results"
        elif each.schema.seq is not None:
            why = f"seq={each.schema.seq!r} orders the events of {each.shown}"
        else:
            continue
        raise SchemaError(
            f"the times of {imprecise.shown} are imprecise, and {why}, which imprecise times do not"
            " know: read them apart"
        )
    return True


def _check_kinds(streams: Iterable[NamedStream]) -> None:
    """Refuse columns of one name with incomparable types."""
    seen: dict[str, tuple[NamedStream, DataType]] = {}
    for stream in streams:
        for name, kind in _declared(None, stream.schema):
            other, before = seen.setdefault(name, (stream, kind))
            is_time = name in stream.schema.times and name in other.schema.times
            if other is not stream and not is_time and not _compare(before, kind):
                raise SchemaError(
                    f"`{name}` is {before.described()} in {other.shown} and {kind.described()} in"
                    f" {stream.shown}, which are read as one: RETURN it by another name, or cast it"
                )


def _compare(one: DataType, two: DataType) -> bool:
    return one == two or one.compares_with(two)


def _clock(streams: Sequence[NamedStream]) -> tuple[DataType, str | None]:
    """The type and integer unit of time, the finest of all streams."""
    known = [each for each in streams if each.schema.time_type != UNKNOWN]
    kinds = {each.schema.time_type.kind for each in known}
    if len(kinds) > 1:
        one, two = known[0], next(e for e in known if _kind(e) is not _kind(known[0]))
        raise SchemaError(
            f"the times of {one.shown} are {one.schema.time_type.kind.value}s and those of"
            f" {two.shown} {two.schema.time_type.kind.value}s, which count differently: give all"
            " streams that are read as one times of one kind"
        )
    units = [each.schema.time_unit for each in streams]
    said = sorted({UNITS[unit.lower()] for unit in units if unit}, key=lambda u: NANOSECONDS[u])
    if said and None in units and kinds <= {Kind.INTEGER}:
        lacking = next(each for each in streams if not each.schema.time_unit)
        such = spelled("time_unit={…}", "--input NAME=PATH,time_unit=ms")
        raise SchemaError(
            f"the integer times of {lacking.shown} have no unit, and those of others count"
            f" {said[0]}: give it with  {such}"
        )
    clock = merged(each.schema.time_type for each in known) if known else UNKNOWN
    return clock, said[0] if said else None


def _kind(stream: NamedStream) -> Kind:
    return stream.schema.time_type.kind
