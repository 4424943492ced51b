"""Random scripts of up to six statements, with small inputs for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

from sase.lang.parser import parse_script
from tests.drawing.script_statements import Statement, Table, statement
from tests.naive.scripts import Input, ScriptMatch, TooManyResultsError, run_script

Row = dict[str, Any]
START = datetime(2024, 2, 28, 23, 58, tzinfo=UTC)
MOST_RESULTS = 20
TRIES = 8
KEYS = [1, 1, 1, 2, 2, 3, None]
NUMBERS = [0, 1, 1, 2, 2, 3, None]
TEXTS = ["x", "x", "y", "é", None]


@dataclass(frozen=True)
class ScriptInput:
    """An input: its rows, in the order of their times, and the caller's options for them."""

    name: str | None
    rows: tuple[Row, ...]
    schema: pa.Schema
    time: str | tuple[str, str]
    type: str | None
    seq: str | None
    types: Any
    time_unit: str | None

    @property
    def table(self) -> pa.Table:
        return self.table_of(self.rows)

    def table_of(self, rows: Sequence[Row]) -> pa.Table:
        return pa.Table.from_pylist([*rows], schema=self.schema)

    @property
    def options(self) -> dict[str, Any]:
        """The keywords of the public functions."""
        options = {"time": self.time, "type": self.type, "seq": self.seq, "types": self.types}
        return {**options, "time_unit": self.time_unit}

    @property
    def naive(self) -> Input:
        return Input(self.rows, **self.options)

    @property
    def first_time(self) -> str:
        """The column of time, or of the earliest."""
        return self.time[0] if isinstance(self.time, tuple) else self.time

    @property
    def tick(self) -> int:
        """How many raw units a second is; 0 where times are dates."""
        return {"s": 1, "ms": 1000}.get(str(self.time_unit), 0)

    def moment(self, tick: int) -> Any:
        """The time of a number of seconds, as the input has it."""
        return tick * self.tick if self.tick else START + timedelta(seconds=tick)


@dataclass(frozen=True)
class ScriptExample:
    """The statements of a script, and its inputs."""

    statements: tuple[Statement, ...]
    inputs: tuple[ScriptInput, ...]

    @property
    def text(self) -> str:
        return ";\n".join(each.text for each in self.statements)

    @cached_property
    def expected(self) -> dict[str, list[ScriptMatch]]:
        inputs = {each.name: each.naive for each in self.inputs}
        return run_script(parse_script(self.text), inputs, most=MOST_RESULTS)

    @cached_property
    def found(self) -> int:
        """How many statements find something; -1 where one finds so much that it takes long."""
        try:
            return sum(map(bool, self.expected.values()))
        except TooManyResultsError:
            return -1

    def __repr__(self) -> str:
        inputs = [
            f"{each.name or '(unnamed)'}: {each.options}\n"
            + "\n".join(f"    {row}" for row in each.rows)
            for each in self.inputs
        ]
        return "\n".join(["", self.text, *inputs])


def drawn(number: int) -> ScriptExample:
    """The example of a number: with matches where that can be had by drawing again."""
    found = _drawn(Random(number * TRIES))
    for attempt in range(1, TRIES):
        if found.found > len(found.statements) / 2:
            break
        found = _drawn(Random(number * TRIES + attempt))
    while found.found < 0:
        found = replace(found, inputs=tuple(_shorter(each) for each in found.inputs))
    return found


def _shorter(given: ScriptInput) -> ScriptInput:
    return replace(given, rows=given.rows[: len(given.rows) // 2])


def _drawn(random: Random) -> ScriptExample:
    inputs = _inputs(random)
    tables = [_table(each) for each in inputs]
    known, statements = list(tables), list[Statement]()
    for number in range(1, random.randint(1, 6) + 1):
        made = statement(random, number, tables, known, "seconds")
        statements.append(made)
        if made.creates is not None:
            known.append(made.creates)
    if random.random() < 0.3:
        random.shuffle(statements)
    return ScriptExample(tuple(statements), inputs)


# ---------------------------------------------------------------- inputs


def _inputs(random: Random) -> tuple[ScriptInput, ...]:
    names = random.choice([[None], [None], ["p"], ["p", "q"], ["p", "q"], ["p", "q", "r"]])
    drawing = _Drawing(random, random.random() < 0.6, random.random() < 0.2, len(names))
    return tuple(
        drawing.input(name, place, types)
        for place, (name, types) in enumerate(zip(names, _types(random, len(names)), strict=True))
    )


def _types(random: Random, count: int) -> list[str]:
    """The types of each input: of several they overlap at times."""
    if count == 1:
        return ["ABC"]
    return random.choice([["AB", "CD", "E"], ["AB", "BC", "CA"], ["A", "B", "C"]])[:count]


@dataclass(frozen=True)
class _Drawing:
    """Draws the inputs of a script, of which some may have imprecise times."""

    random: Random
    is_raw: bool
    may_be_imprecise: bool
    count: int

    def input(self, name: str | None, place: int, types: str) -> ScriptInput:
        random = self.random
        is_imprecise = self.may_be_imprecise and random.random() < 0.7
        single = "single" if len(types) == 1 else "wide"
        layout = random.choice(["wide", "wide", "listed", "defined", single])
        times = ("lo", "hi") if is_imprecise else (random.choice(["ts", "ts", "at"]),)
        seq = None if self.may_be_imprecise else random.choice([None, None, None, "sq", "#row"])
        unit = pa.timestamp(random.choice(["s", "ms", "us", "us"]), "UTC")
        columns = dict.fromkeys(times, pa.int64() if self.is_raw else unit)
        columns |= {"u": pa.int64(), "id": pa.int64(), "n": pa.int64(), "s": pa.string()}
        if layout == "defined":
            columns["k"] = pa.int64()
        elif layout != "single":
            columns["type"] = pa.string()
        if seq == "sq":
            columns["sq"] = pa.int64()
        found = ScriptInput(
            name, (), pa.schema(list(columns.items())), times if is_imprecise else times[0],
            type=None if layout in ("single", "defined") else "type", seq=seq,
            types=_written_types(layout, types),
            time_unit=self._unit() if self.is_raw else None,
        )  # fmt: skip
        # The worlds of imprecise times are written out.
        count = random.choice([0, 5, 6, 7, 8, 9]) // (self.count if self.may_be_imprecise else 1)
        ticks = sorted(random.randint(0, 2 * count) for _ in range(count))
        rows = [self._row(found, tick, types, 100 * place + n) for n, tick in enumerate(ticks)]
        rows.sort(key=lambda row: (*(row[name] for name in times), row.get("sq", 0)))
        return replace(found, rows=tuple(rows))

    def _unit(self) -> str:
        return "s" if self.may_be_imprecise else self.random.choice(["s", "s", "ms"])

    def _row(self, given: ScriptInput, tick: int, types: str, unique: int) -> Row:
        random = self.random
        values: Row = {
            "type": random.choice(types),
            "u": unique,
            "id": random.choice(KEYS),
            "n": random.choice(NUMBERS),
            "s": random.choice(TEXTS),
            "k": random.choice([*range(len(types)), *range(len(types)), 7, None]),
            "sq": random.randint(0, 2),
        }
        values["ts"] = values["at"] = values["lo"] = given.moment(tick)
        values["hi"] = given.moment(tick + random.choice([0, 0, 1, 2]))
        if not given.time_unit:  # worlds of that many units cannot be written out
            values["hi"] = values["lo"]
        return {name: values[name] for name in given.schema.names}


def _written_types(layout: str, types: str) -> Any:
    """The options for types: their names, their attributes, or the conditions that make them."""
    match layout:
        case "listed":
            return {each: ["u", "id", "n", "s"] for each in types}
        case "defined":
            return {each: f"k = {number}" for number, each in enumerate(types)}
        case "single":
            return [types]
    return None


def _table(given: ScriptInput) -> Table:
    names = given.types if given.type is None else sorted({*_names_of(given)})
    attributes = ("u", "id", "n", "s")
    return Table(
        given.name, {name: attributes for name in names}, given.first_time, composite=False,
        imprecise=isinstance(given.time, tuple), ordered=given.seq is not None,
    )  # fmt: skip


def _names_of(given: ScriptInput) -> list[str]:
    return list(given.types or sorted({row["type"] for row in given.rows}) or ["A"])
