"""The rows of an experiment, one for each way at each point, as CSV with the machine."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments import machine

MEASURED, LEFT_OUT, TOO_SLOW, TOO_LARGE = "measured", "left out", "too slow", "does not fit"

COLUMNS = (
    "panel", "x", "way", "status", "note", "events", "matches", "log10_matches", "check", "rounds",
    "wall_s", "wall_low_s", "wall_high_s", "cpu_s", "cpu_low_s", "cpu_high_s",
    "load", "attempts", "grown_bytes", "events_per_s",
)  # fmt: skip
# Columns that are computed from the others when they are read.
MADE = ("events_per_cpu_s",)
PLACE = ("size", "commit", "machine", "versions", "measured_at")
_TEXTS = {"panel", "way", "status", "note", *PLACE}

Row = dict[str, Any]


def place(size: str) -> dict[str, str]:
    """The values that all rows of a run have in common."""
    return {
        "size": size,
        "commit": machine.commit(),
        "machine": f"{machine.processor()}, {os.cpu_count()} cores",
        "versions": machine.versions(),
    }


@dataclass(frozen=True)
class Results:
    """The measurements of one experiment."""

    rows: Sequence[Row]

    @property
    def measured(self) -> list[Row]:
        """The rows of ways that ran."""
        return [row for row in self.rows if row["status"] == MEASURED]

    def panels(self) -> list[str]:
        """The panels in the order in which they were measured."""
        return list(dict.fromkeys(row["panel"] for row in self.rows))

    def ways(self, panel: str = "") -> list[str]:
        """The ways of a panel, also those that did not run."""
        return list(dict.fromkeys(row["way"] for row in self.rows if row["panel"] == panel))

    def curve(
        self, way: str, y: str = "events_per_s", panel: str = "", x: str = "x"
    ) -> list[tuple[Any, float]]:
        """The points of a way that were measured, in the order of x where that is a number."""
        found = [
            (row[x], row[y])
            for row in self.measured
            if (row["way"], row["panel"]) == (way, panel) and y in row and x in row
        ]
        return sorted(found) if all(isinstance(at, int | float) for at, _ in found) else found

    def at(self, way: str, x: Any, y: str = "events_per_s", panel: str = "") -> float | None:
        """A figure of a way at a point, if it was measured."""
        return dict(self.curve(way, y, panel)).get(x)

    def ratios(
        self, one: str, other: str, y: str = "events_per_s", panel: str = ""
    ) -> dict[Any, float]:
        """By x how many times as great the figure of one way is as that of the other."""
        below = dict(self.curve(other, y, panel))
        return {
            x: value / below[x] for x, value in self.curve(one, y, panel) if below.get(x, 0) > 0
        }


def read(path: Path) -> Results:
    """The rows of a file, none if there is no such file."""
    if not path.exists():
        return Results([])
    with path.open(encoding="utf-8", newline="") as file:
        return Results([_row(line) for line in csv.DictReader(file)])


def _row(line: Mapping[str, str]) -> Row:
    found = {
        name: text if name in _TEXTS else _value(text) for name, text in line.items() if text != ""
    } | {name: line.get(name, "") for name in _TEXTS}
    return found | _by_processor(found)


def _by_processor(row: Row) -> Row:
    """The rate by the time of the processor, which no file has."""
    return {"events_per_cpu_s": row["events"] / row["cpu_s"]} if row.get("cpu_s") else {}


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write(path: Path, rows: Sequence[Row]) -> None:
    """All rows as a file, which is there whole or not at all."""
    left = (*COLUMNS, *PLACE, *MADE)
    more = {name: None for row in rows for name in row if name not in left}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        written = csv.DictWriter(file, [*COLUMNS, *more, *PLACE], lineterminator="\n")
        written.writeheader()
        written.writerows(
            {name: _text(value) for name, value in row.items() if name not in MADE} for row in rows
        )
    partial.replace(path)


def _text(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def now() -> str:
    """The time of a measurement."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def of_the_same(rows: Iterable[Row], here: Mapping[str, str]) -> Iterator[Row]:
    """Those rows that another run at this place need not measure again."""
    if here["commit"].endswith("-dirty"):
        return
    yield from (row for row in rows if all(row[name] == here[name] for name in here))
