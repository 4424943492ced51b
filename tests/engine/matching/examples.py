"""A query with a stream for it, what the naive matcher finds in it, and a census of constructs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
from hypothesis import strategies as st

from sase.lang.parser import parse_query
from tests import naive
from tests.engine.matching.queries import Query, queries
from tests.engine.matching.streams import (
    TABLES,
    USUAL_CLOCKS,
    Row,
    Setting,
    settings_of_streams,
    streams,
)

# The naive matcher tries every tuple of events: how many events, by the number of components.
MOST_EVENTS = {1: 25, 2: 20, 3: 15, 4: 13}


@dataclass(frozen=True)
class Example:
    """A query and a stream."""

    query: Query
    setting: Setting
    rows: list[Row]
    output: Literal["all", "non_overlap"] = "all"

    def __repr__(self) -> str:
        rows = "".join(f"\n    {row}," for row in self.rows)
        by_type = {
            name: {a: str(kind) for a, kind in kinds.items()}
            for name, kinds in self.setting.by_type.items()
        }
        columns = {name: str(kind) for name, kind in self.setting.columns.items()}
        return (
            f"\n  {self.query.text}\n  keywords: {self.keywords}\n  layout: {self.setting.layout}"
            f" {by_type or columns}, time {self.setting.clock.arrow}\n  rows: [{rows}\n  ]"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """As Hypothesis shall show it."""
        printer.text(repr(self))

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments for the engine, and but for tables of each type for `naive`."""
        return {**self.setting.keywords, "params": dict(self.query.parameters) or None}

    @cached_property
    def expected(self) -> list[naive.Match]:
        keywords = self.keywords
        if self.setting.layout == TABLES:
            keywords["types"] = {name: [*each] for name, each in self.setting.declared.items()}
        return naive.match(parse_query(self.query.text), self.rows, **keywords)

    @property
    def sorted(self) -> Example:
        """With the rows in the order of the stream."""
        rows = sorted(self.rows, key=self.setting.key)
        return self if rows == self.rows else replace(self, rows=rows)

    @property
    def table(self) -> Any:
        """The rows as an Arrow table, or a table for each type."""
        if self.setting.layout != TABLES:
            return pa.Table.from_pylist(self.rows, schema=self.setting.schema())
        return {name: self._table_of(name) for name in self.setting.declared}

    def _table_of(self, name: str) -> pa.Table:
        setting = self.setting
        columns = [(setting.time, setting.clock.arrow)]
        columns += [(setting.seq, pa.int64())] if setting.seq else []
        columns += [(each, setting.kind(name, each)) for each in setting.declared[name]]
        rows = [row for row in self.rows if row["type"] == name]
        return pa.Table.from_pylist(rows, schema=pa.schema(columns))

    @property
    def records(self) -> Any:
        """The rows as dicts, or a list of them for each type."""
        if self.setting.layout != TABLES:
            return self.rows
        lists: dict[str, list[Row]] = {name: [] for name in self.setting.declared}
        for row in self.rows:
            lists[row["type"]].append({name: row[name] for name in row if name != "type"})
        return lists


@st.composite
def examples(draw: st.DrawFn) -> Example:
    setting = draw(settings_of_streams())
    query = draw(queries(setting))
    pattern = [component.types for component in query.positives]
    negative = [c.types[0] for c in query.components if c.negated]
    rows = draw(streams(setting, pattern, negative, query.text, MOST_EVENTS[len(pattern)]))
    example = Example(query, setting, rows)
    return _with_matches(example) if draw(st.integers(0, 9)) else example


def _with_matches(example: Example) -> Example:
    """Without the last conditions and equivalence tests, until a match is left."""
    while not example.expected and (shorter := _shorter(example.query)) is not None:
        example = replace(example, query=shorter)
    return example


def _shorter(query: Query) -> Query | None:
    if query.conditions:
        return replace(query, conditions=query.conditions[:-1])
    if query.tests and "PARTITION" not in query.window:
        return replace(query, tests=query.tests[:-1])
    return None


# ---------------------------------------------------------------- the census


USUAL = {f"time {name}" for name in USUAL_CLOCKS}
WORDS = ("OR", "NOT", "LIKE", "IN", "BETWEEN", "NULL", "%", "/", "coalesce", "length")


def constructs(example: Example) -> Iterator[str]:
    """What of the language an example uses, and what of data."""
    setting, time = example.setting, f"time {example.setting.clock.name}"
    yield f"{len(example.query.positives)} positive"
    yield f"layout {setting.layout}"
    yield time if time in USUAL else "other time"
    present = {**_in_query(example.query), **_in_stream(example)}
    yield from (name for name, is_there in present.items() if is_there)
    written = " ".join(example.query.conditions)
    yield from (f"condition with {word}" for word in WORDS if word in written)


def _in_query(query: Query) -> dict[str, bool]:
    window = query.window.removesuffix(" INCLUSIVE")
    tests = " ".join(query.tests)
    return {
        "negated start": query.negated_start,
        "negated middle": query.negated_middle,
        "negated end": query.negated_end,
        "two negatives": sum(component.negated for component in query.components) > 1,
        "ANY(…)": "ANY(" in query.text,
        "ANY": any(component.test == "ANY" for component in query.components),
        "no variable": any(component.variable is None for component in query.components),
        "no window": not window,
        "window in time": bool(window) and "EVENTS" not in window,
        "EVENTS": window.endswith("EVENTS"),
        "PER PARTITION": window.endswith("PARTITION"),
        "INCLUSIVE": query.is_inclusive,
        "equivalence test": bool(tests),
        "two equivalence tests": len(query.tests) > 1 or "," in tests,
        "fixed equivalence test": "=" in tests,
        "condition on a negative": query.conditions != query.without_negation().conditions,
        "condition on several events": any(
            len(set(re.findall(r"\b[a-z](?=\.)", text))) > 1 for text in query.conditions
        ),
        "RETURN": bool(query.returned),
        "LIMIT": bool(query.limit),
        "parameters": bool(query.parameters),
    }


def _in_stream(example: Example) -> dict[str, bool]:
    setting, query = example.setting, example.query
    keys = [setting.key(row) for row in example.rows]
    named = [name for name in setting.columns if re.search(rf"\b{name}\b", query.text)]
    values = [row.get(name) for row in example.rows for name in named]
    wanted = " ".join(query.tests + query.conditions)
    return {
        "ties": len(set(keys)) < len(keys) and not setting.is_by_row,
        "unsorted": keys != sorted(keys),
        "seq": setting.seq is not None,
        "the row as seq": setting.is_by_row,
        "NULL in what is named": any(value is None or value != value for value in values),
        "−0.0": any(str(value) == "-0.0" for value in values),
        "an undeclared attribute of ANY": any(
            re.search(rf"\b{component.variable}\.{attribute}\b", wanted)
            and any(attribute not in setting.declared[name] for name in component.types)
            for component in query.components
            for attribute in named
        ),
    }


class Census:
    """How many examples there were, how many with a result, and with which constructs."""

    def __init__(self) -> None:
        self.examples = self.refused = self.found = 0
        self.hits: Counter[str] = Counter()

    def add(self, example: Example, expected: list[naive.Match]) -> None:
        self.examples += 1
        self.found += bool(expected)
        self.hits.update(set(constructs(example)) if expected else ())
