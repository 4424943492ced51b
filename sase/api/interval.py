"""`sase.interval`: give each event two times, the earliest and the latest possible one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sase.binding.input_options import check_name
from sase.binding.lateness import duration_in
from sase.engine.columns import describe
from sase.engine.columns.arrow.input import opened
from sase.engine.columns.intervals import one_table, widened
from sase.engine.sources.discovered import unit_hint
from sase.errors import PlanError

NEGATIVE = "an event is not widened by less than nothing"


def interval(
    table: object,
    time: str = "ts",
    *,
    before: object = 0,
    after: object = 0,
    type: str | Sequence[str] | None = None,
    type_column: str = "type",
    columns: tuple[str, str] = ("lo", "hi"),
    time_unit: str | None = None,
) -> Any:
    """Return an Arrow table of the events with the earliest and the latest time of each.

    The interval of an event of a chosen `type` begins `before` its time and ends `after` it. For
    example, a sensor that reports every 15 seconds about the past 15 seconds has `before="15s"`.
    Other events keep their interval if the table has the two columns already; else both times are
    the time of the event. So call the function once for each kind of source.

    Args:
        table: the events, as a table of Arrow, a frame of pandas or Polars, or a list of dicts.
        time: the column of the time; it may be integers, timestamps, dates, or seconds as floats.
        before: how much earlier: "15s", a timedelta, or units of the column.
        after: how much later, in the same forms.
        type: the types to widen, a name or several; by default all. An `IntervalWarning` names
            types without an event.
        type_column: the column of types.
        columns: the names of the two columns; they have the type of the time, and NULL for NULL.
        time_unit: the unit of integer times, needed if an amount has a unit.

    Raises:
        PlanError: an option is invalid.
        SchemaError: there is no such column, or it cannot be a column of times.

    Examples:
        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [100, 115], "type": ["Load", "Task"]})
        >>> sase.interval(events, before=15, type="Load").select(["lo", "hi"]).to_pydict()
        {'lo': [85, 115], 'hi': [100, 115]}
    """
    check_name("time", time, may_be_none=False)
    if len(set(columns)) != 2 or not all(isinstance(name, str) for name in columns):
        raise PlanError(
            f"columns={columns!r}: give two names, those of the earliest and the latest"
        )
    given = one_table(table)
    schema = describe(given, time=time, type=None, types=["event"], time_unit=time_unit)

    def hint() -> str | None:
        return unit_hint(opened(given), time)

    moves = {
        columns[0]: -duration_in("before", before, schema, NEGATIVE, hint=hint),
        columns[1]: duration_in("after", after, schema, NEGATIVE, hint=hint),
    }
    types = None if type is None else [type] if isinstance(type, str) else list(type)
    return widened(given, time, moves, types, type_column)
