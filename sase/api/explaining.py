"""Explaining a query: its plan, what is expected of it, and what it does."""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from sase.api.compiling import Compiled, compiled, statistics_in
from sase.api.given import DEFAULT_PLAN, TIME, TYPE, readable
from sase.binding import OPEN, Schema, bind_text
from sase.binding.types import UNKNOWN
from sase.errors import PlanError
from sase.planning.explain import Explanation, described
from sase.planning.optimizer import Optimized
from sase.planning.reading import attributes_read
from sase.planning.statistics import Statistics

if TYPE_CHECKING:
    from sase.engine.events.inputs import Inputs
    from sase.engine.files import Files

# What is sampled where someone waits for an explanation, and not for the fastest answer.
SAMPLE = 100_000


def explain(
    query: str,
    events: object = None,
    *,
    analyze: bool = False,
    schema: Schema | None = None,
    time: str = TIME,
    type: str | None = TYPE,
    seq: str | None = None,
    types: Any = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    limit: int | None = None,
    on_bad_row: str = "error",
    stats: object = None,
    off: Collection[str] = (),
) -> Explanation:
    """The plan of a query: as text with `str`, as JSON, as a graph, or as a page.

    With `events` it says what is expected of them, by `stats` or a sample, and with `analyze` what
    happened when it ran. Without any a `schema` says which attributes there are, and else every
    type is taken to have those that the query names. `off` are rewrites to be switched off.
    """
    check_off(off)
    columns = {"time": time, "type": type, "seq": seq, "types": types, "time_unit": time_unit}
    rest = {"params": params, "plan": plan, "limit": limit, "on_bad_row": on_bad_row}
    if events is None:
        if analyze:
            raise PlanError("analyze=True runs the query: give it events")
        notes = () if schema is not None else (ASSUMED,)
        known = compiled(query, schema or assumed_schema(query, **columns), **columns, **rest)
        statistics = statistics_in(stats)
        return explained(known, known.optimized(statistics, off), statistics, notes=notes)
    inputs = readable(events, time, keeps_rows=on_bad_row == "quarantine")
    known = compiled(query, schema or inputs, **columns, **rest)
    statistics = statistics_in(stats) or measured(known, inputs)
    made = known.optimized(statistics, off)
    return (analyzed if analyze else explained)(known, made, statistics, inputs)


ASSUMED = "no events and no schema: every type is taken to have what the query names"


def assumed_schema(query: str, **columns: Any) -> Schema:
    """One wide table with the attributes that a query names."""
    names = attributes_read(bind_text(query, OPEN))
    usual = {"time": columns["time"], "type": columns["type"], "seq": columns["seq"]}
    return Schema(
        columns=tuple((name, UNKNOWN) for name in names if name not in usual.values()),
        time_unit=columns["time_unit"],
        **usual,
    )


def measured(known: Compiled, inputs: Files | Inputs) -> Statistics | None:
    """Statistics of events: of a sample, or of footers where they are too many to be held."""
    from sase.engine.files import Files
    from sase.engine.profile import from_footers
    from sase.engine.running import held

    loaded = held(known.plan(Optimized.of(known.basic)).engine, inputs)
    if loaded is not None:
        return known.measured(loaded[1], SAMPLE)
    assert isinstance(inputs, Files)
    return from_footers(inputs, known.schema)


def explained(
    known: Compiled,
    made: Optimized,
    statistics: Statistics | None,
    inputs: object = None,
    *,
    notes: tuple[str, ...] = (),
) -> Explanation:
    """The explanation of a plan that is not run."""
    return described(known.query, known.recipe, made, statistics, notes=notes)


def analyzed(
    known: Compiled, made: Optimized, statistics: Statistics | None, inputs: object
) -> Explanation:
    """The explanation of a plan that is run for it, with what each operator did."""
    from sase.engine.analyze import analyzed as run

    done = run(known.plan(made).engine, inputs, clock=clock.perf_counter_ns)
    return described(
        known.query,
        known.recipe,
        made,
        statistics,
        notes=done.notes,
        measured=done.operators,
        results=done.results,
        nanoseconds=done.nanoseconds,
    )


def check_off(off: Collection[str]) -> None:
    """Refuse to switch off what there is not."""
    from sase.nearest import did_you_mean
    from sase.planning.rewrites import REWRITES

    for name in off:
        if name not in REWRITES:
            hint = did_you_mean(name, REWRITES) or (f"there are {', '.join(REWRITES)}",)
            raise PlanError(f"there is no rewrite `{name}` to switch off; {hint[0]}")
