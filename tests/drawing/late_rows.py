"""Streams with disorder: the rows that are late, and the matches that are certain, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tests.drawing.comparing import Found, check_certain, found, joined, same
from tests.drawing.examples import Example
from tests.drawing.streams import Clock
from tests.drawing.ways import Piece, Way, given, plan_of, unlike

LEAST = -(2**63)


def raw(clock: Clock, shown: Any) -> int:
    """A time as results show it, in raw units."""
    if isinstance(shown, int):
        return shown
    return int(pa.scalar(shown, clock.arrow).value)


@dataclass
class Model:
    """The rule of docs/semantics.md, Late rows, and the state behind each row."""

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

    def advance(self, tick: int) -> None:
        self.floor = max(self.floor, raw(self.example.setting.clock, _moment(self.example, tick)))

    def is_certain(self, row: int) -> bool:
        """Whether nothing that is before a row that arrived can still come."""
        if self.example.setting.seq:  # a lesser number may still come
            return self.time(row) < self.floor
        return self.time(row) <= self.floor

    def check(self, kept: Example, numbers: list[int], arrived: int, parts: list[Found]) -> None:
        """Check that the returned matches are the certain ones, if the rule can say which."""
        query, clock, told = kept.query, kept.setting.clock, sum(len(each.rows) for each in parts)
        if kept.setting.is_imprecise:
            check_certain(kept, joined(parts), self.floor)
        if query.negated_end == "some":
            return
        there = [
            match
            for match in kept.expected
            if all(
                (row := numbers[each]) < arrived and self.is_certain(row)
                for rows in match.events
                for each in rows
            )
        ]
        if query.negated_end:
            due = [(match, raw(clock, match.detected_at)) for match in there]
            inclusive = query.is_inclusive
            there = [m for m, at in due if at < self.floor or at == self.floor and not inclusive]
        assert told == len(there), f"{told} of {len(there)} matches known after {arrived} rows"


def late_fault(example: Example, way: Way) -> str | None:
    """The fault of the engine with rows in the order of arrival, if there is one."""
    final = Model(example, _lateness(example, way))
    for rows, piece in _timeline(example, way):
        for row in rows:
            final.arrive(row)
        if piece.tick is not None:
            final.advance(piece.tick)
    kept = replace(example, rows=[example.rows[row] for row in final.kept])
    got, late, report = _told(example, way, kept, final.kept)
    counted = got._replace(rows=[_renumbered(row, final.kept) for row in got.rows])
    wrong = unlike(kept, way, counted)
    return wrong or next(_late_differ(example, late, report, final.late), None)


def _told(example: Example, way: Way, kept: Example, numbers: list[int]) -> tuple[Found, Any, Any]:
    """All that a stream tells, each match as soon as it is certain, late rows, and the report."""
    table, model = example.table, Model(example, _lateness(example, way))
    plan = replace(plan_of(example, way, table), lateness=model.lateness)
    matcher, parts = plan.open(), list[Found]()
    for rows, piece in _timeline(example, way):
        parts.append(found(matcher.push(given(table.slice(rows.start, len(rows)), piece.form))))
        for row in rows:
            model.arrive(row)
        model.check(kept, numbers, rows.stop, parts)
        if piece.tick is not None:
            parts.append(found(matcher.advance(_moment(example, piece.tick))))
            model.advance(piece.tick)
            model.check(kept, numbers, rows.stop, parts)
        if piece.restart:
            matcher = plan.restore(matcher.snapshot())
        assert matcher.rows == rows.stop
    late, last = matcher.late, matcher.finish()
    return joined([*parts, found(last)]), late, last.report


def _timeline(example: Example, way: Way) -> Iterator[tuple[range, Piece]]:
    """The rows of each piece, until there are none."""
    start, number, count = 0, 0, len(example.rows)
    endless = (*way.pieces, Piece(1, "slice"))
    while start < count:
        piece = endless[number % len(endless)]
        end = min(start + piece.size, count)
        yield range(start, end), piece
        start, number = end, number + 1


def _moment(example: Example, tick: int) -> Any:
    clock = example.setting.clock
    return clock.shown(clock.at(tick))


def _lateness(example: Example, way: Way) -> int:
    clock = example.setting.clock
    step = raw(clock, clock.shown(clock.at(1))) - raw(clock, clock.shown(clock.at(0)))
    return way.lateness * max(step, 1)


def _renumbered(rows: Any, kept: list[int]) -> Any:
    """With the rows counted without the late ones."""
    if isinstance(rows, dict):  # an iteration of a group
        return {name: _renumbered(each, kept) for name, each in rows.items()}
    if isinstance(rows, list | tuple):
        return type(rows)(_renumbered(each, kept) for each in rows)
    return None if rows is None else kept.index(rows)


def _late_differ(example: Example, late: pa.Table, report: Any, wanted: list[int]) -> Iterator[str]:
    """The differences of the late rows, which the engine returns unchanged."""
    numbers = late["#row"].to_pylist()
    if numbers != wanted or report.late != len(wanted):
        yield f"late rows: expected {wanted}, got {numbers}, counted {report.late}"
        return
    if report.is_complete and report.rows != len(example.rows):
        yield f"rows in the report: {report.rows}"
    for number, row in zip(numbers, late.drop_columns("#row").to_pylist(), strict=True):
        is_same = all(same(example.rows[number][name], value) for name, value in row.items())
        if not is_same or {*row} != {*example.setting.schema().names}:
            yield f"a late row: {row}"
