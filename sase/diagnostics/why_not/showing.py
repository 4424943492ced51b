"""An explanation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sase.diagnostics.why_not.candidates import Candidates
from sase.diagnostics.why_not.funnel import Level, Step
from sase.engine.results.repr import printable

if TYPE_CHECKING:
    from sase.diagnostics.why_not.why_not import WhyNot


# Events of a series that are shown.
MOST_EVENTS = 4


def as_text(why: WhyNot) -> str:
    """The funnel, what each part stops, the near misses, and the sentences."""
    blocks = [
        _table(["component", "events", "pass", "in order", "reach it", "partial"], _funnel(why)),
        list(_stops(why)),
        _table(["left out", "matches"], _left_out(why)),
        list(_near(why)),
        [*map(_sentence, why.words)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _sentence(words: str) -> str:
    text = words[0].upper() + words[1:]
    return text if text.endswith("?") else f"{text}."


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Columns, of which all but the first are numbers."""
    if not rows:
        return []
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return ["  ".join(_aligned(row, widths)).rstrip() for row in cells]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if place else cell.ljust(width)


def _funnel(why: WhyNot) -> list[list[str]]:
    levels = {level.candidates.component.index: level for level in why.levels}
    return [_row(each, levels.get(each.component.index)) for each in why.components]


def _row(candidates: Candidates, level: Level | None) -> list[str]:
    name = f"!({candidates.text})" if candidates.component.negated else candidates.text
    row = [name, f"{candidates.events:,}", f"{candidates.passing:,}"]
    if level is None:
        return [*row, "", "", ""]
    return [*row, f"{level.in_order:,}", str(level.reached), str(level.partial)]


def _stops(why: WhyNot) -> Iterator[str]:
    """For each component what stops its events, first by themselves and then with others."""
    levels = {level.candidates.component.index: level for level in why.levels}
    for each in why.components:
        for stopped in each.stopped:
            seen = f": {stopped.seen}" if stopped.seen is not None else ""
            first = " from being the first" if stopped.as_first else ""
            yield f"{each.text}: {stopped.part.text} stops {stopped.number:,}{first}{seen}"
        level = levels.get(each.component.index)
        if level is not None and level.steps:
            steps = ", ".join(f"{step.left} with {step.part.text}" for step in _told(level.steps))
            what = each.text if each.component.minimum else f"{each.text} or before"
            yield f"{what}: {level.in_order:,} in order, {steps}"


def _told(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps until nothing is left."""
    for step in steps:
        yield step
        if step.left.is_none:
            return


def _left_out(why: WhyNot) -> list[list[str]]:
    rows = [
        [str(each), str(each.matches)]
        for each in (*why.left_out, *([] if why.fewest is None else [why.fewest]))
    ]
    return [["nothing", str(why.matches)], *rows] if rows else []


def _near(why: WhyNot) -> Iterator[str]:
    names = why.near_misses.column_names[4:]
    if why.near_misses.num_rows:
        yield "near misses, nearest first"
    for row in why.near_misses.to_pylist():
        by = f", {row['by']}" if row["by"] else ""
        yield f"  stopped by {row['stopped_by']}{by}"
        for name, number in zip(names, row["rows"].values(), strict=True):
            if isinstance(number, list):
                yield from _series(name, number, row[name], why.shown)
            elif number is not None:
                yield f"    {name}: row {number:,}  {_event(row[name], why.shown)}"


def _series(
    name: str, rows: list[int], events: list[dict[str, Any]], shown: Sequence[str]
) -> Iterator[str]:
    """The events of a series, of many the first ones and the last."""
    hidden = range(MOST_EVENTS, len(rows))
    for place, (number, event) in enumerate(zip(rows, events, strict=True), start=1):
        if len(hidden) < 2 or place not in hidden:
            yield f"    {name}[{place}]: row {number:,}  {_event(event, shown)}"
        elif place == MOST_EVENTS:
            yield f"    … {len(hidden):,} more of {name}"


def _event(event: dict[str, Any], shown: Sequence[str]) -> str:
    return " ".join(f"{name}={_value(event[name])}" for name in shown if name in event)


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        precision = "milliseconds" if value.microsecond else "seconds"
        return value.isoformat(" ", precision).replace("+00:00", "Z")
    return "NULL" if value is None else printable(str(value))
