"""Random small streams, and the ways in which a caller may describe one: its types and its time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from sase.binding.schema import ROW_ORDER
from tests.drawing.draw import Draw

NAMES = ("A", "B", "C", "D")
FOREIGN = "Z"  # a type that no pattern names, except by a bare ANY
# How the types of a stream are known: see docs/semantics.md, Types.
WIDE, LISTED, DECLARED, DEFINED, SINGLE, TABLES = (
    "wide", "listed", "declared", "defined", "single", "tables",
)  # fmt: skip

# ---------------------------------------------------------------- time


@dataclass(frozen=True)
class Clock:
    """The length of a tick of the generators in the time column."""

    name: str
    arrow: pa.DataType
    start: Any
    step: Any
    unit: str | None  # the unit of time that one tick is, where the query can say it
    raw: int  # the raw units of one tick; 0 where the naive matcher does not know them
    time_unit: str | None = None

    def __repr__(self) -> str:
        return f"<time: {self.name}>"

    def at(self, tick: int) -> Any:
        return _in_range(self.start + tick * self.step)

    def after(self, shown: Any) -> Any:
        """Some ticks later, as results show times."""
        return _in_range(shown + 5 * self.shown(self.step))

    def shown(self, value: Any) -> Any:
        """A timestamp as results show it: float seconds are counted in microseconds."""
        return round(value * 10**6) if isinstance(value, float) else value


def _in_range(moment: Any) -> Any:
    return min(moment, 2**63 - 1) if isinstance(moment, int) else moment


YEAR = datetime.fromisoformat("2024-02-28T23:58:00")
MINUTE = timedelta(minutes=1)
CLOCKS = {
    clock.name: clock
    for clock in [
        Clock("raw", pa.int64(), 0, 1, None, 1),
        Clock("raw int32", pa.int32(), -5, 1, None, 1),
        Clock("raw at the end", pa.int64(), 2**63 - 25, 1, None, 1),
        Clock("raw at the beginning", pa.int64(), -(2**63), 1, None, 1),
        Clock("seconds", pa.int64(), 100, 1, "seconds", 1, "s"),
        Clock("milliseconds", pa.int64(), 0, 1000, "s", 1000, "ms"),
        Clock("moments", pa.timestamp("us"), YEAR, MINUTE, "minutes", 60 * 10**6),
        Clock("whole seconds", pa.timestamp("s"), YEAR, MINUTE, "min", 0),
        Clock("zoned", pa.timestamp("us", "UTC"), YEAR.replace(tzinfo=UTC), MINUTE, "m", 60000000),
        Clock("days", pa.date32(), date(2024, 2, 28), timedelta(1), "days", 1),
        Clock("floats", pa.float64(), 0.5, 1.0, "seconds", 10**6),
    ]
}
USUAL_CLOCKS = ["raw", "raw", "seconds", "moments"]

# ---------------------------------------------------------------- attributes

INTEGER, FLOAT, STRING, BOOLEAN = pa.int64(), pa.float64(), pa.string(), pa.bool_()
# The values of an attribute, the frequent ones several times.
VALUES: dict[pa.DataType, list[Any]] = {
    INTEGER: [1] * 12 + [2] * 6 + [0, 0, 3, 3, -1, None, None, 2**53 + 1],
    FLOAT: [1.0] * 9 + [2.0] * 5 + [0.5, 0.0, -0.0, 2.5, None, math.nan, 2.0**53, math.inf],
    STRING: ["x"] * 9 + ["xy"] * 4 + ["Y", "", "é", None, None, "x\n%"],
    BOOLEAN: [True] * 6 + [False] * 3 + [None],
}
KEYS: dict[pa.DataType, list[Any]] = {
    INTEGER: [1] * 8 + [2, 2, 0, None],
    FLOAT: [1.0] * 6 + [0.0, -0.0, 0.0, 1.5, math.nan, None],
    STRING: ["x"] * 8 + ["y", "é", "", None],
}
TYPING = [1, 2, 3, 4, None, 9]  # of which DEFINITIONS make types


def values_of(attribute: str, kind: pa.DataType) -> list[Any]:
    if attribute == "g":
        return TYPING
    return (KEYS if attribute in ("id", "k") else VALUES)[kind]


# ---------------------------------------------------------------- settings


@dataclass(frozen=True)
class Setting:
    """How a stream is given and described: its columns, its types, its time."""

    layout: str
    clock: Clock
    columns: Mapping[str, pa.DataType]  # the attributes
    declared: Mapping[str, tuple[str, ...]]  # type → its attributes
    keywords: Mapping[str, Any]
    by_type: Mapping[str, Mapping[str, pa.DataType]] = field(default_factory=dict)

    @property
    def time(self) -> str:
        """The column of time, or of the earliest time."""
        return self.keywords["time"][0] if self.is_imprecise else self.keywords["time"]

    @property
    def is_imprecise(self) -> bool:
        """Whether times are intervals; that of the latest time is among the attributes."""
        return isinstance(self.keywords["time"], tuple)

    @property
    def type(self) -> str | None:
        return self.keywords["type"]

    @property
    def seq(self) -> str | None:
        """The column that orders simultaneous events."""
        return None if self.is_by_row else self.keywords["seq"]

    @property
    def is_by_row(self) -> bool:
        """Whether the row orders simultaneous events."""
        return self.keywords["seq"] == ROW_ORDER

    @property
    def types(self) -> tuple[str, ...]:
        """The types that a query may name."""
        return tuple(name for name in self.declared if name != FOREIGN)

    def kind(self, type_name: str, attribute: str) -> pa.DataType:
        return self.by_type.get(type_name, self.columns)[attribute]

    def schema(self) -> pa.Schema:
        """The columns of the one table."""
        columns = [(self.time, self.clock.arrow)]
        if self.layout not in (DEFINED, SINGLE):
            columns.append((self.type, STRING))
        if self.seq:
            columns.append((self.seq, INTEGER))
        return pa.schema([*columns, *self.columns.items()])

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The order key."""
        return (row[self.time], row[self.seq]) if self.seq else (row[self.time],)


DEFINITIONS = {
    "A": ["g = 1", "g > 0 AND g < 2", "g IN (1, 7)", "`g` = 1 AND NOT n IS NULL"],
    "B": ["g = 2", "g <= 2", "g BETWEEN 1 AND 2", "g = 2 OR s = 'Y' AND b"],
    "C": ["g = 3", "NOT (g <> 3)", "g = 3 AND coalesce(b, TRUE)"],
    "D": ["g = 4", "g >= 4 AND g < 9", "length(s) > 1 OR g = 4"],
}


def drawn_setting(draw: Draw) -> Setting:
    layout = draw.one_of(WIDE, WIDE, LISTED, DECLARED, DECLARED, DECLARED, DEFINED, SINGLE, TABLES)
    clock = CLOCKS[draw.choice(USUAL_CLOCKS * 3 + list(CLOCKS))]
    columns = {
        "id": draw.choice([INTEGER, INTEGER, FLOAT, STRING]),
        "k": INTEGER, "n": INTEGER, "f": FLOAT, "s": STRING, "b": BOOLEAN,
    }  # fmt: skip
    if layout == DEFINED:
        columns["g"] = INTEGER
    keywords: dict[str, Any] = {
        "time": draw.choice(["ts", "ts", "at"]),
        "type": draw.choice(["type", "type", "kind"]),
        "seq": draw.choice([None, None, None, "sq", "sq", ROW_ORDER]),
        "types": None,
        "time_unit": clock.time_unit,
    }
    names = ("A",) if layout == SINGLE else (*NAMES, FOREIGN)
    declared = {name: tuple(columns) for name in names}
    by_type: dict[str, dict[str, pa.DataType]] = {}
    match layout:
        case "listed":
            keywords["types"] = [*names]
        case "declared":
            declared = {name: _some(draw, columns) for name in names}
            keywords["types"] = {name: [*attributes] for name, attributes in declared.items()}
        case "tables":
            declared = {name: _some(draw, columns) for name in names}
            by_type = {name: _other_kinds(draw, columns) for name in names}
            keywords["type"] = "type"
        case "defined":
            order = draw.permutation(NAMES)
            keywords["types"] = {name: draw.choice(DEFINITIONS[name]) for name in order}
            keywords["type"] = None
            del declared[FOREIGN]
        case "single":
            keywords["types"] = draw.choice([["A"], {"A": None}, {"A": [*columns]}])
            keywords["type"] = None
    return Setting(layout, clock, columns, declared, keywords, by_type)


def _some(draw: Draw, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Three of four attributes."""
    return tuple(name for name in columns if not draw.chance(25))


def _other_kinds(draw: Draw, columns: Mapping[str, Any]) -> dict[str, Any]:
    """In tables of their own, types may have the same column as a float and as an integer."""
    ids = STRING if columns["id"] == STRING else draw.one_of(INTEGER, FLOAT)
    return {**columns, "id": ids, "n": draw.one_of(INTEGER, FLOAT)}


# ---------------------------------------------------------------- rows

Row = dict[str, Any]
GAPS = (1, 1, 1, 0, 0, 2, 1, 3)


def stream(
    draw: Draw, setting: Setting, pattern: Sequence[tuple[str, ...]],
    negative: Sequence[str], text: str, most: int,
) -> list[Row]:  # fmt: skip
    """Rows in which types of these sets often follow one another; not always in order of time.

    Among them are some of the negative types. Attributes that the text of the query does not name
    have values, but nobody chooses them.
    """
    size = draw.randint(draw.one_of(0, *[8] * 9), most)
    words = set(re.findall(r"\w+", f"{text} {setting.keywords['types']}"))
    ticks, rows = 0, list[Row]()
    for place, kind in enumerate(_types(draw, setting, pattern, negative, size)):
        ticks += draw.choice(GAPS)
        rows.append(_row(draw, setting, kind, ticks, place, words))
    if draw.randint(0, 3) == 3:
        rows = draw.permutation(rows)
    if setting.layout == TABLES:
        rows.sort(key=lambda row: tuple(setting.declared).index(row["type"]))
    return rows


def _types(
    draw: Draw, setting: Setting, pattern: Sequence[tuple[str, ...]],
    negative: Sequence[str], size: int,
) -> list[str]:  # fmt: skip
    """The type of each event: now the next one in the pattern, now any."""
    kinds, place = list[str](), 0
    for _ in range(size):
        names = pattern[place % len(pattern)]
        match draw.randint(0, 7):
            case 0 | 1 | 2 | 3:
                place += 1
                kinds.append(names[0] if len(names) < 3 else draw.choice(names))
            case 4:
                kinds.append(names[-1])
            case 5:
                kinds.append(pattern[0][0])
            case 6 if negative:
                kinds.append(draw.choice(negative))
            case _:
                kinds.append(draw.choice([*setting.declared]))
    return kinds


def _row(draw: Draw, setting: Setting, kind: str, ticks: int, place: int, words: Set[str]) -> Row:
    row: Row = {setting.time: setting.clock.at(ticks)}
    if setting.layout == TABLES:
        row["type"] = kind  # for the naive matcher; the engine is given a table of each type
    elif setting.layout not in (DEFINED, SINGLE):
        row[setting.type] = kind
    if setting.seq:
        row[setting.seq] = draw.randint(0, 2)
    attributes = setting.declared[kind] if setting.layout == TABLES else setting.columns
    for attribute in attributes:
        values = values_of(attribute, setting.kind(kind, attribute))
        chosen = attribute in words
        row[attribute] = draw.choice(values) if chosen else values[-place % len(values)]
    if setting.layout == DEFINED and draw.randint(0, 7):
        row["g"] = NAMES.index(kind) + 1
    return row
