"""The right statistics, counted event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pyarrow as pa

import sase
from sase.engine.columns import Events
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.statistics import measured
from sase.planning.engine_plan import EnginePlan
from sase.planning.statistics import Statistics

Row = dict[str, Any]


def loaded(query: str, events: object, **options: Any) -> tuple[EnginePlan, Events]:
    """A query's basic plan, and the events as its matcher loads them."""
    plan = sase.compile(query, events, plan="basic", **options).engine
    return plan, Pipeline(plan).load(events)[1]


def statistics(query: str, events: object, sample: int = 10**6, seed: int = 0) -> Statistics:
    """The statistics of a sample, by default of everything."""
    return measured(*loaded(query, events), sample=sample, seed=seed)


def chains(sets: Sequence[Sequence[Row]], window: int | None = None) -> Iterator[tuple[Row, ...]]:
    """One row of each set, each later than the one before, shorter than a window."""
    for chain in product(*sets):
        times = [row["ts"] for row in chain]
        is_later = all(before < behind for before, behind in zip(times, times[1:], strict=False))
        if is_later and (window is None or times[-1] - times[0] < window):
            yield chain


def share(every: Iterator[tuple[Row, ...]], holds: Callable[..., bool]) -> float:
    """The share of chains for which something holds, as statistics give it."""
    found = [holds(*chain) for chain in every]
    return (sum(found) + 0.5) / (len(found) + 1)


def agree(*names: str) -> Callable[..., bool]:
    """Whether rows have the same values, none of them NULL."""
    return lambda *rows: all(
        rows[0][name] is not None and len({row[name] for row in rows}) == 1 for name in names
    )


def of_type(table: pa.Table, name: str) -> list[Row]:
    """The rows of a type, in stream order."""
    rows = [row for row in table.to_pylist() if row["type"] == name]
    return sorted(rows, key=lambda row: row["ts"])
