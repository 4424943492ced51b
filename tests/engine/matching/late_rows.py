"""Streams with disorder: which rows are late, and what is certain when, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from tests import naive
from tests.engine.matching.examples import Example, examples
from tests.engine.matching.streams import TABLES, Clock, Row
from tests.engine.matching.ways import FORMS, Found, Way, found, given, plan_of, same, ways

LEAST = -(2**63)


class Step(NamedTuple):
    """Some rows, how they are given, to which tick time goes on, and whether a restart follows."""

    size: int
    form: str
    tick: int | None
    restart: bool


@dataclass(frozen=True)
class Live:
    """An example whose rows arrive in this order, the lateness in ticks, and the steps."""

    example: Example
    way: Way
    ticks: int
    steps: tuple[Step, ...]


steps = st.builds(
    Step,
    st.sampled_from([1, 2, 3, 0, 1, 5, 8]),
    st.sampled_from(FORMS),
    st.none() | st.none() | st.integers(0, 30),
    st.booleans(),
)
JITTER = st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 8])


@st.composite
def lives(draw: st.DrawFn) -> Live:
    example = draw(examples().filter(lambda each: each.setting.layout != TABLES))
    rows = example.rows
    if draw(st.integers(0, 5)):  # else in the order of the example, which may be any
        rows = sorted(rows, key=example.setting.key)
        places = [place + draw(JITTER) for place in range(len(rows))]
        rows = [rows[place] for place in sorted(range(len(rows)), key=places.__getitem__)]
    return Live(
        replace(example, rows=rows),
        draw(ways),
        draw(st.sampled_from([0, 0, 1, 2, 3, 5])),
        draw(st.lists(steps, min_size=1, max_size=5).map(tuple)),
    )


def raw(clock: Clock, shown: Any) -> int:
    """A time as results show it, in raw units."""
    if isinstance(shown, int):
        return shown
    return int(pa.scalar(shown, clock.arrow).value)


@dataclass
class Model:
    """The rule of docs/semantics.md, Late rows, and what goes on when."""

    example: Example
    lateness: int
    floor: int = LEAST
    greatest: int = LEAST
    kept: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)

    def time(self, row: int) -> int:
        clock, setting = self.example.setting.clock, self.example.setting
        return raw(clock, clock.shown(self.example.rows[row][setting.time]))

    def arrive(self, row: int) -> None:
        if self.time(row) < self.floor:
            self.late.append(row)
            return
        self.kept.append(row)
        self.greatest = max(self.greatest, self.time(row))
        self.floor = max(self.floor, self.greatest - self.lateness)

    def is_certain(self, row: int) -> bool:
        """Whether nothing that is before a row that arrived can still come."""
        if self.example.setting.seq:  # a lesser number may still come
            return self.time(row) < self.floor
        return self.time(row) <= self.floor

    def known(self, expected: list[naive.Match], kept: list[int], arrived: int) -> int:
        """How many matches are certain now."""
        query, clock = self.example.query, self.example.setting.clock
        there = [
            match
            for match in expected
            if (row := kept[match.events[-1][0]]) < arrived and self.is_certain(row)
        ]
        if not query.negated_end:
            return len(there)
        due = [raw(clock, match.detected_at) for match in there]
        return sum(d < self.floor if query.is_inclusive else d <= self.floor for d in due)


def timeline(live: Live) -> Iterator[tuple[range, Step]]:
    """The rows of each step, until there are none."""
    start, number, count = 0, 0, len(live.example.rows)
    endless = (*live.steps, Step(1, "slice", None, False))
    while start < count:
        step = endless[number % len(endless)]
        end = min(start + step.size, count)
        yield range(start, end), step
        start, number = end, number + 1


def moment(live: Live, step: Step) -> Any:
    clock = live.example.setting.clock
    return None if step.tick is None else clock.shown(clock.at(step.tick))


def lateness_of(live: Live) -> int:
    clock = live.example.setting.clock
    step = raw(clock, clock.shown(clock.at(1))) - raw(clock, clock.shown(clock.at(0)))
    return live.ticks * max(step, 1)


def modelled(live: Live) -> tuple[Model, list[Model]]:
    """What is true at the end, and after each step: before time is advanced, and then."""
    model, states = Model(live.example, lateness_of(live)), list[Model]()
    for rows, step in timeline(live):
        for row in rows:
            model.arrive(row)
        states.append(replace(model))
        if step.tick is not None:
            model.floor = max(model.floor, raw(live.example.setting.clock, moment(live, step)))
            states.append(replace(model))
    return model, states


class Told(NamedTuple):
    """All that a stream told, the late rows, and the last report."""

    found: Found
    late: pa.Table
    report: Any


def run(live: Live, expected: list[naive.Match], states: list[Model], kept: list[int]) -> Told:
    """Push by push: each match is told as soon as it is certain, and not before."""
    example, table = live.example, live.example.table
    plan = replace(plan_of(example, live.way, table), lateness=lateness_of(live))
    matcher, parts, due = plan.open(), list[Found](), iter(states)

    def told(matches: Any, arrived: int) -> None:
        parts.extend([found(matches)] if len(matches) else [])
        number = sum(len(part.rows) for part in parts)
        assert number == next(due).known(expected, kept, arrived), f"after {arrived} rows"

    for rows, step in timeline(live):
        part = table.slice(rows.start, len(rows))
        told(matcher.push(given(part, step.form)), rows.stop)
        if step.tick is not None:
            told(matcher.advance(moment(live, step)), rows.stop)
        if step.restart:
            matcher = plan.restore(matcher.snapshot())
        assert matcher.rows == rows.stop
    late, last = matcher.late, matcher.finish()
    parts.append(found(last))
    whole = Found(
        parts[-1].names,
        [row for part in parts for row in part.rows],
        [result for part in parts for result in part.results],
    )
    return Told(whole, late, last.report)


def check_late(example: Example, late: pa.Table, numbers: list[int]) -> None:
    """The late rows, as they were given."""
    assert late["#row"].to_pylist() == numbers
    for number, row in zip(numbers, late.drop_columns("#row").to_pylist(), strict=True):
        assert all(_is(example.rows[number][name], value) for name, value in row.items())
        assert {*row} == {*example.setting.schema().names}


def _is(given_value: Any, value: Any) -> bool:
    return same(given_value, value)


def renumbered(whole: Found, kept: list[int]) -> Found:
    """With the rows counted without the late ones."""
    numbers = {row: number for number, row in enumerate(kept)}
    return whole._replace(rows=[tuple(numbers[row] for row in rows) for rows in whole.rows])


def without_late(live: Live, model: Model) -> Example:
    rows: list[Row] = [live.example.rows[row] for row in model.kept]
    return replace(live.example, rows=rows)
