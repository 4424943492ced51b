"""`sase.interval`: give events two times, the earliest and the latest at which they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sase.binding.input_options import check_name
from sase.binding.lateness import duration_in
from sase.engine.columns import describe
from sase.engine.columns.input import opened
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
    """Return a table of Arrow with events, and the earliest and the latest time of each.

    An event of a chosen `type` is at a time from `before` its time to `after` it: a sensor that
    reports every 15 seconds about those gone by has `before="15s"`. Others are as they were, at
    their time alone, or where the table has the columns already at what these say: so call it once
    for each kind of source.

    Args:
        table: the events, as a table of Arrow, a frame of pandas or Polars, or a list of dicts.
        time: the column of the time; it may be integers, timestamps, dates, or seconds as floats.
        before: how much earlier: "15s", a timedelta, or units of the column.
        after: how much later.
        type: the types that are widened, a name or several; without it all. An `IntervalWarning`
            names those of which there is no event.
        type_column: the column of types.
        columns: the names of the columns, of the type of the time; where that lacks they do, too.
        time_unit: what integer times count, where an amount has a unit.

    Raises:
        PlanError: an option is none.
        SchemaError: there is no such column, or it cannot be one of times.

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
