"""Random queries and streams for Spark, and the matches of the local engine in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

import sase
from sase.errors import SaseError
from tests.drawing.examples import Example, example
from tests.drawing.streams import DEFINED, FLOAT, INTEGER, SINGLE, TABLES, Row

Tables: TypeAlias = dict[str, pa.Table]
# A name under which one table that holds all types is kept.
ALL = "*"

# ---------------------------------------------------------------- kinds of columns

WIDE = pa.decimal128(30, 2)
# Other types of an attribute: of its own sort, so that conditions still make sense, or of another
# that only equivalence tests take.
OTHER_KINDS = {
    INTEGER: [
        *[pa.int8(), pa.int32(), pa.decimal128(10, 2), pa.decimal128(18, 0), pa.float32()] * 2,
        WIDE,
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
    ],
    FLOAT: [pa.float32(), pa.decimal128(10, 1)],
}
# Other types of a column of time.
OTHER_TIMES = {
    pa.float64(): [pa.float32()],
    pa.int64(): [pa.int64(), pa.int32(), pa.int16()],
    pa.date32(): [pa.date32(), pa.timestamp("us")],
    pa.timestamp("us"): [pa.timestamp("us")],
}


def recast(value: Any, kind: pa.DataType) -> Any:
    """A value as another kind has it, where there is one; equal ones stay equal."""
    if value is None or isinstance(value, float) and not math.isfinite(value):
        return value if pa.types.is_floating(kind) else None
    if pa.types.is_decimal(kind):
        if abs(value) >= 10 ** (kind.precision - kind.scale):
            return None
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale))
    if kind == pa.float32() and abs(value) > 2**24:
        return None
    if pa.types.is_integer(kind) and abs(value) >= 2 ** (kind.bit_width - 1):
        return None
    if pa.types.is_date(kind):
        return date(2024, 3, 29) + timedelta(days=value % 1000) if isinstance(value, int) else value
    if pa.types.is_timestamp(kind) and not isinstance(value, datetime):
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day)
        # Some of these are dates as well; some are in the hour that summer time leaves out.
        shown = datetime(2024, 3, 29) + timedelta(days=value % 1000, minutes=150 * (value % 3))
        return shown.replace(tzinfo=UTC) if kind.tz else shown
    return value


# ---------------------------------------------------------------- one case


@dataclass(frozen=True)
class Manner:
    """How a case is replayed: by which strategy, in which slices, from and into which partitions.

    `cuts` are the ticks between slices; `partitions` are those of the events, 0 as they come.
    `files` says that they are read from Parquet files; `flat` is for matches that do not overlap.
    """

    strategy: str | None = None
    cuts: tuple[int, ...] | int | None = None
    partitions: int = 0
    shuffles: int = 3
    output: str = "structs"
    conf: str = "hostile"
    zone: str = "UTC"
    files: bool = False
    flat: bool = False

    @property
    def form(self) -> str:
        """The call of the local engine."""
        return "non_overlap" if self.output == "non_overlap" else "all"


@dataclass(frozen=True)
class Case:
    """A query and a stream, and how they are replayed."""

    example: Example
    manner: Manner
    # Columns, by table, that are of another kind than the example has them.
    kinds: Mapping[tuple[str, str], pa.DataType] = field(default_factory=dict)
    on_bad_row: str = "error"

    def __repr__(self) -> str:
        kinds = {f"{table}.{name}": str(kind) for (table, name), kind in self.kinds.items()}
        return f"{self.example!r}\n  kinds: {kinds}\n  on_bad_row: {self.on_bad_row}, {self.manner}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def query(self) -> str:
        """The text."""
        return self.example.query.text

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of a caller about the events."""
        return {**self.example.given_keywords, "on_bad_row": self.on_bad_row}

    @cached_property
    def tables(self) -> Tables:
        """The events as Spark can hold them."""
        table = self.example.table
        tables = table if isinstance(table, dict) else {ALL: table}
        return {name: self._recast(name, each) for name, each in tables.items()}

    def _recast(self, name: str, table: pa.Table) -> pa.Table:
        for place, column in enumerate(table.schema):
            kind = self.kinds.get((name, column.name), column.type)
            if pa.types.is_timestamp(kind):
                kind = pa.timestamp("us", kind.tz)
            values = table.column(place)
            if kind != column.type:
                values = pa.array([recast(each, kind) for each in values.to_pylist()], kind)
            table = table.set_column(place, column.name, values)
        return table

    @property
    def events(self) -> pa.Table | Tables:
        """The events as the local engine takes them."""
        return self.tables.get(ALL, self.tables)

    @cached_property
    def local(self) -> sase.Matches | SaseError:
        """The answer of the local engine."""
        try:
            given = {**self.keywords, "output": self.manner.form}
            matches = sase.match(self.query, self.events, **given)
            matches.to_arrow()
        except SaseError as error:
            return error
        return matches

    def bounds(self) -> Any:
        """The argument `slices`."""
        cuts, clock = self.manner.cuts, self.example.setting.clock
        if cuts is None or isinstance(cuts, int):
            return cuts
        return [clock.shown(clock.at(tick)) for tick in cuts]


def needs_order(example: Example) -> bool:
    """Whether the matches depend on the order of simultaneous events."""
    query = example.query  # of most strategies
    return not query.is_plain or "EVENTS" in query.window or bool(query.limit)


def in_order(example: Example, repeats: int = 101) -> Example:
    """With a `seq` that numbers the rows; it repeats after a number of rows."""
    setting = replace(example.setting, keywords={**example.setting.keywords, "seq": "sq"})
    rows = [{**row, "sq": 7 * place % repeats} for place, row in enumerate(example.rows)]
    return replace(example, setting=setting, rows=rows)


# ---------------------------------------------------------------- random ones

# By which queries and streams are drawn: so few that each is as probable as any other.
NUMBERS = st.integers(0, 2**23)
STRATEGIES: list[str | None] = ["key", "slice", "key_and_slice", "files", "one_task", None]

cuts = st.one_of(
    st.just(tuple(range(26))),  # a slice for each time that an event may have
    st.lists(st.integers(-1, 20), min_size=1, max_size=5).map(tuple),
    st.lists(st.integers(-1, 20), min_size=1, max_size=5).map(tuple),
    st.none(),
    st.integers(1, 7),
)
manners = st.builds(
    Manner,
    st.sampled_from(STRATEGIES),
    cuts,
    st.sampled_from([0, 0, 1, 2, 40]),
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from(["structs", "structs", "flat"]),
    st.sampled_from(["hostile", "hostile", "merging", "plain"]),
    st.sampled_from(["UTC", "UTC", "Europe/Berlin", "America/St_Johns"]),
    st.sampled_from([False, False, True]),
).map(lambda manner: replace(manner, files=True) if manner.strategy == "files" else manner)


@st.composite
def cases(
    draw: st.DrawFn, manners: st.SearchStrategy[Manner] = manners, repeats: int = 101
) -> Case:
    """A case on which the local engine has something to say."""
    manner = draw(manners)
    form = draw(st.sampled_from(["sequences", "sequences", "series", "choices"]))
    drawn = replace(example(draw(NUMBERS), form), output="all")
    if needs_order(drawn) or manner.form == "non_overlap" or drawn.setting.is_by_row:
        drawn = in_order(drawn, repeats)
    drawn, on_bad_row = _with_bad_rows(draw, drawn)
    kinds = _other_kinds(draw, drawn)
    case = Case(drawn, manner, kinds, on_bad_row)
    if kinds and isinstance(case.local, sase.QueryError):
        return replace(case, kinds={})
    return case


def _other_kinds(draw: st.DrawFn, example: Example) -> dict[tuple[str, str], pa.DataType]:
    setting = example.setting
    tables = setting.declared if setting.layout == TABLES else [ALL]
    kinds: dict[tuple[str, str], pa.DataType] = {}
    if not draw(st.integers(0, 2)):
        return kinds
    for name in ("id", "k", "n", "f"):
        usual: pa.DataType | None = None
        for table in tables:
            if table != ALL and name not in setting.declared[table]:
                continue
            kind = setting.columns[name] if table == ALL else setting.kind(table, name)
            others = OTHER_KINDS.get(kind, [])
            choice = draw(st.integers(0, 5))
            if choice >= 4 and others:
                usual = draw(st.sampled_from(others))
            elif choice >= 2 or usual not in others:
                continue
            kinds[table, name] = usual
    times = OTHER_TIMES.get(setting.clock.arrow, [])
    if times and setting.clock.name in ("raw", "floats", "seconds", "days", "moments"):
        for table in tables:
            if draw(st.booleans()):
                kinds[table, setting.time] = draw(st.sampled_from(times))
    return kinds


def _with_bad_rows(draw: st.DrawFn, example: Example) -> tuple[Example, str]:
    """Now and then with some rows that lack a required value."""
    on_bad_row = draw(st.sampled_from(["error"] * 5 + ["quarantine"]))
    count = draw(st.sampled_from([0] * 4 + [1, 2])) if on_bad_row == "error" else 3
    setting = example.setting
    names = [setting.time, *([setting.seq] if setting.seq else [])]
    if setting.layout not in (TABLES, DEFINED, SINGLE):
        names.append(setting.type or "")
    if on_bad_row == "error" and (draw(st.integers(0, 3)) or example.query.limit):
        return example, on_bad_row
    rows = list[Row](example.rows)
    for _ in range(min(count, len(rows))):
        place = draw(st.integers(0, len(rows) - 1))
        rows[place] = {**rows[place], draw(st.sampled_from(names)): None}
    return replace(example, rows=rows), on_bad_row


# ---------------------------------------------------------------- comparing


def expected(case: Case) -> Counter[str]:
    """The matches of the local engine."""
    assert isinstance(case.local, sase.Matches)
    table = case.local.to_arrow()
    if case.manner.flat or case.manner.output == "flat":  # a struct that is NULL, too
        structs = [each.name for each in table.schema if pa.types.is_struct(each.type)]
        names = {name: [part.name for part in table.schema.field(name).type] for name in structs}
        rows = [
            {**row, **{name: row[name] or dict.fromkeys(names[name]) for name in structs}}
            for row in table.to_pylist()
        ]
        return multiset(map(flat, rows))
    return multiset(table.to_pylist())


def multiset(rows: Iterable[Row]) -> Counter[str]:
    """Rows by how they are written, with all their values: −0.0 is not 0.0, and 1 is not 1.0."""
    return Counter(repr(_plain(row)) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def flat(row: Row) -> Row:
    """A result with the attributes of events as columns of their own."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found |= {f"{name}_{attribute}": each for attribute, each in value.items()}
        else:
            found[name] = value
    return found
