"""What callers give, checked and made uniform: events, schemas, and words for options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from sase.api.checks import check_name
from sase.binding import Schema
from sase.errors import PlanError
from sase.nearest import did_you_mean

if TYPE_CHECKING:
    from sase.engine.columns.input import Inputs
    from sase.engine.sources import Files

DEFAULT_PLAN, TIME, TYPE = "optimized", "ts", "type"
_ON_BAD_ROW = ("error", "quarantine")
LISTED = ("all", "non_overlap")
_OUTPUTS = (*LISTED, "compressed", "count")


def schema_of(given: object, *, mends: bool, **keywords: Any) -> Schema:
    """The schema of events, or the one that is given, which then says all of itself."""
    if isinstance(given, Schema):
        _check_said(given, **keywords)
        return given
    from sase.engine.columns import describe
    from sase.engine.sources import Files

    inputs = readable(given, keywords["time"], keeps_rows=mends)
    if isinstance(inputs, Files):
        keywords |= named(inputs.schema.names, **keywords)
        inputs.check(keywords[role] for role in ("time", "type", "seq"))
        return describe(inputs.schema, mends=mends, **keywords)
    return describe(inputs, mends=mends, **keywords)


def _check_said(
    schema: Schema, *, time: str = TIME, type: str | None = TYPE, types: Any = None, **rest: Any
) -> None:
    """Refuse keywords that a schema beside them does not say, too: they would have no effect."""
    usual = {"time": TIME, "type": TYPE, "seq": None, "time_unit": None}
    for name, value in {"time": time, "type": type, **rest}.items():
        said = getattr(schema, name)
        if value not in (usual[name], said):
            raise PlanError(
                f"{name}={value!r} is not what the Schema says, which is {name}={said!r}: say it"
                " there, and leave it out here"
            )
    if types is not None:
        raise PlanError(
            "types= says which events of a table are of which type, and a Schema says that by its"
            " own `types` or `definitions`: leave types= out, or give events in place of the Schema"
        )


def named(
    columns: Sequence[str], *, time: str | None, type: str | None, types: Any, **rest: Any
) -> dict[str, str | None]:
    """The time and type columns of files: those named, or if they are not there the usual ones."""
    from sase.engine.sources import names_found

    time = None if time == TIME and time not in columns else time
    type = None if type == TYPE and type not in columns else type
    found = names_found(columns, time, type, typed=types is not None)
    return {"time": found.time, "type": found.type}


def readable(events: object, time: str, *, keeps_rows: bool) -> Files | Inputs:
    """Events whose columns are known, and which can be read more than once."""
    from sase.engine.columns import opened
    from sase.engine.sources import Files, is_path, open_files

    check_name("time", time, may_be_none=False)
    if isinstance(events, Files):
        return events
    if is_path(events):
        return open_files(events, time, judges=keeps_rows)
    return opened(events, keeps_rows=keeps_rows).drained()


def is_of_files(events: object) -> TypeGuard[Files]:
    """Whether events are files that are open."""
    from sase.engine.sources import Files

    return isinstance(events, Files)


def check_output(given: str) -> None:
    """Refuse a form of output that there is not."""
    check_is_one("output", given, _OUTPUTS)


def check_is_listed(given: str) -> None:
    """Refuse a form of output in which matches are not listed, as plans and matchers do."""
    check_output(given)
    if given not in LISTED:
        raise PlanError(
            f'output="{given}" is of all events there are: give it to sase.match, or to sase run as'
            f" --output {given}; a plan lists its matches"
        )


def check_on_bad_row(given: str) -> None:
    """Say what becomes of bad rows, where that is none of it."""
    check_is_one("on_bad_row", given, _ON_BAD_ROW)


def check_is_one(name: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word for an option that is none of those known."""
    if given not in known:
        hint = did_you_mean(str(given), known) or ("",)
        names = " or ".join(f'"{each}"' for each in known)
        raise PlanError(f"{name}={given!r}: it is {names}; {hint[0]}".removesuffix("; "))
