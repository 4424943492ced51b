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
from tests.engine.scripts.queries import Statement, Table, statement
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
    """An input: its rows, in the order of their times, and what a caller says of them."""

    name: str | None
    rows: tuple[Row, ...]
    schema: pa.Schema
    time: str
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
    is_raw = random.random() < 0.6
    return tuple(
        _input(random, name, place, is_raw, types)
        for place, (name, types) in enumerate(zip(names, _types(random, len(names)), strict=True))
    )


def _types(random: Random, count: int) -> list[str]:
    """The types of each input: of several they overlap at times."""
    if count == 1:
        return ["ABC"]
    return random.choice([["AB", "CD", "E"], ["AB", "BC", "CA"], ["A", "B", "C"]])[:count]


def _input(random: Random, name: str | None, place: int, is_raw: bool, types: str) -> ScriptInput:
    time = random.choice(["ts", "ts", "at"])
    layout = random.choice(["wide", "wide", "listed", "single" if len(types) == 1 else "wide"])
    seq = random.choice([None, None, None, "sq", "#row"])
    unit = pa.int64() if is_raw else pa.timestamp(random.choice(["s", "ms", "us", "us"]), "UTC")
    columns = {time: unit, "u": pa.int64(), "id": pa.int64(), "n": pa.int64(), "s": pa.string()}
    if layout != "single":
        columns["type"] = pa.string()
    if seq == "sq":
        columns["sq"] = pa.int64()
    count = random.choice([0, 5, 6, 7, 8, 9])
    ticks = sorted(random.randint(0, 2 * count) for _ in range(count))
    rows = [_row(random, columns, tick, is_raw, types, 100 * place + n)
            for n, tick in enumerate(ticks)]  # fmt: skip
    rows.sort(key=lambda row: (row[time], row.get("sq", 0)))
    listed: Any = {each: ["u", "id", "n", "s"] for each in types} if layout == "listed" else None
    return ScriptInput(
        name, tuple(rows), pa.schema(list(columns.items())), time,
        type=None if layout == "single" else "type", seq=seq,
        types=[types] if layout == "single" else listed,
        time_unit="s" if is_raw else None,
    )  # fmt: skip


def _row(
    random: Random, columns: dict[str, Any], tick: int, is_raw: bool, types: str, unique: int
) -> Row:
    values: Row = {
        "ts": tick if is_raw else START + timedelta(seconds=tick),
        "type": random.choice(types),
        "u": unique,
        "id": random.choice(KEYS),
        "n": random.choice(NUMBERS),
        "s": random.choice(TEXTS),
        "sq": random.randint(0, 2),
    }
    values["at"] = values["ts"]
    return {name: values[name] for name in columns}


def _table(given: ScriptInput) -> Table:
    names = given.types if given.type is None else sorted({*_names_of(given)})
    attributes = ("u", "id", "n", "s")
    return Table(given.name, {name: attributes for name in names}, given.time, composite=False)


def _names_of(given: ScriptInput) -> list[str]:
    return list(given.types or sorted({row["type"] for row in given.rows}) or ["A"])
