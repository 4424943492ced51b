"""A funnel: how many keys reach each step, as a value, as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sase.binding.funnel_queries import BEFORE, FunnelQueries
from sase.engine.results.repr import text_table
from sase.printable import on_one_line, printable, printable_lines

# The longest bar in characters, and in points of a picture; the points between two bars.
BAR, WIDTH, HEIGHT = 30, 420, 26
# Pixels of a letter of a name, and between a name, its bar and its numbers; the longest name.
LETTER, GAP, MOST_NAME = 8, 8, 40
_SIZES = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


class Reached(NamedTuple):
    """The keys that reach a step, and raw median times from the step before and from the first."""

    keys: int
    before: float | None = None
    first: float | None = None


def reached_by_first(found: pa.Table, asked: FunnelQueries) -> Reached:
    """Count the keys of matches; the times are those of the match of each key that ends first."""
    times = ["ts_end", "ts_start", BEFORE]
    order = [(name, "ascending") for name in times]
    firsts = [(name, "first") for name in times]
    # Of the same times any match is as good.
    grouped = found.sort_by(order).group_by(asked.columns, use_threads=False).aggregate(firsts)
    if not grouped.num_rows:
        return Reached(0)
    end, start, before = (_raw(grouped[f"{name}_first"]) for name in times)
    return Reached(grouped.num_rows, float(np.median(end - before)), float(np.median(end - start)))


def unreached(asked: FunnelQueries, reached: Mapping[str, Reached]) -> list[str]:
    """The steps that no key reaches, which may be misspelled."""
    first, named = asked.strategies[0], zip(asked.counts, asked.steps, strict=True)
    return [name for count, name in named if not reached[asked.name(first, count)].keys]


def _raw(times: pa.ChunkedArray) -> Any:
    kind = pa.int32() if pa.types.is_date32(times.type) else pa.int64()
    return times.cast(kind).to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class StepCount:
    """A step: the keys that reach it by each strategy, and medians of the times it takes.

    `from_previous` and `from_first` are `timedelta`s, or numbers if the unit of time is unknown.
    """

    name: str
    keys: int
    share: float
    of_previous: float
    lost: int
    from_previous: timedelta | float | None
    from_first: timedelta | float | None
    by_strategy: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Funnel:
    """The steps of a funnel in order. `by` names the key, and no event is of a `missing` step.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> funnel = sase.funnel(events, ["A", "B", "C"], by="id")
        >>> [(step.name, step.keys, step.lost) for step in funnel.steps]
        [('A', 1, 0), ('B', 1, 0), ('C', 0, 1)]
        >>> funnel.missing
        ('C',)
    """

    steps: tuple[StepCount, ...]
    by: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        asked: FunnelQueries,
        reached: Mapping[str, Reached],
        unit: int | None,
        missing: Sequence[str] = (),
    ) -> Funnel:
        """The funnel of the keys of each query; `unit` are the nanoseconds of a raw time."""
        steps = list[StepCount]()
        for count, name in zip(asked.counts, asked.steps, strict=True):
            every = [reached[asked.name(each, count)] for each in asked.strategies]
            own, before = every[0], steps[-1] if steps else None
            begun, previous = (steps[0].keys, steps[-1].keys) if steps else (own.keys, own.keys)
            steps.append(
                StepCount(
                    name,
                    own.keys,
                    own.keys / begun if begun else 0.0,
                    own.keys / previous if previous else 0.0,
                    previous - own.keys,
                    None if before is None else duration_of(own.before, unit),
                    None if before is None else duration_of(own.first, unit),
                    tuple((s, each.keys) for s, each in zip(asked.strategies, every, strict=True)),
                )
            )
        return cls(tuple(steps), asked.keys, tuple(missing))

    def to_dict(self) -> dict[str, Any]:
        """Return the funnel as plain data; times are seconds, or raw numbers."""
        steps = [dict(_plain(each)) for each in self.steps]
        return {"by": list(self.by), "steps": steps, "missing": list(self.missing)}

    def to_arrow(self) -> pa.Table:
        """Return a row for each step."""
        return pa.Table.from_pylist(self.to_dict()["steps"])

    def __repr__(self) -> str:
        """Return the text, as names of events are escaped for terminals."""
        return str(self)

    def __str__(self) -> str:
        return printable_lines("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        others = [name for name, _ in self.steps[0].by_strategy[1:]]
        header = ["step", "", "keys", *others, "of first", "of previous", "lost", "median time"]
        rows = [header]
        for each in self.steps:
            is_first = each is self.steps[0]
            rows.append([
                printable(each.name), "█" * round(BAR * each.share), f"{each.keys:,}",
                *(f"{count:,}" for _, count in each.by_strategy[1:]), f"{each.share:.1%}",
                "" if is_first else f"{each.of_previous:.1%}",
                "" if is_first else f"{each.lost:,}", shown_duration(each.from_previous),
            ])  # fmt: skip
        yield from text_table(rows, texts=2)
        yield from (f"No event is of the step {name!r}." for name in self.missing)

    def _repr_html_(self) -> str:
        """Return a picture of bars, with a text for screen readers."""
        said = "; ".join(f"{each.name}: {each.keys:,} ({each.share:.1%})" for each in self.steps)
        names = [on_one_line(printable(each.name), MOST_NAME) for each in self.steps]
        begin = LETTER * max(map(len, names)) + GAP
        each = zip(self.steps, names, strict=True)
        bars = "".join(_bar(step, name, begin, at * HEIGHT) for at, (step, name) in enumerate(each))
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img"'
            f' aria-label="{escape(printable(said))}" width="{begin + WIDTH + 240}"'
            f' height="{HEIGHT * len(self.steps)}" fill="currentColor" font-family="sans-serif"'
            f' font-size="13">{bars}</svg>'
        )


def _bar(step: StepCount, name: str, begin: int, top: int) -> str:
    """A step in the picture: its name, its bar from `begin` on, and its numbers."""
    length = WIDTH * step.share
    numbers = [f"{step.keys:,}", f"{step.share:.1%}", shown_duration(step.from_previous)]
    return (
        f'<text x="{begin - GAP}" y="{top + 17}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{begin}" y="{top + 4}" width="{max(length, 1):.0f}" height="18" fill="#4269d0"/>'
        f'<text x="{begin + GAP + length:.0f}" y="{top + 17}">'
        f"{' · '.join(filter(None, numbers))}</text>"
    )


def _plain(step: StepCount) -> Iterator[tuple[str, Any]]:
    yield from (("step", step.name), ("keys", step.keys), ("share", step.share))
    yield from (("of_previous", step.of_previous), ("lost", step.lost))
    for name in ("from_previous", "from_first"):
        value = getattr(step, name)
        yield name, value.total_seconds() if isinstance(value, timedelta) else value
    if len(step.by_strategy) > 1:
        yield from step.by_strategy


def duration_of(raw: float | None, unit: int | None) -> timedelta | float | None:
    """Convert a raw time; `unit` are its nanoseconds, None for plain numbers."""
    if raw is None or unit is None:
        return raw
    return timedelta(microseconds=raw * unit / 1000)


def shown_duration(value: timedelta | float | None) -> str:
    """Format a duration in its two greatest units, or a number."""
    if not isinstance(value, timedelta):
        return "" if value is None else f"{value:,g}"
    seconds, found = value.total_seconds(), list[str]()
    if seconds < 60:
        return f"{seconds:.3g} s"
    for name, size in _SIZES:
        count, seconds = divmod(seconds, size)
        found += [f"{count:.0f} {name}"] if count else [""] if found else []
    return " ".join(filter(None, found[:2]))
