"""Shared by the experiments on imprecise time: streams of intervals, queries, ways, checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from experiments.core.checks import CPU_RATE, Check, at_least
from experiments.core.experiment import Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import Make, cost_by_operator, listed
from experiments.figures.postponing import Shares
from experiments.figures.pp_window import SMALL
from experiments.figures.pp_window import STREAM as SHARES

SOURCE = "SASE++, 2014"
TIME, LENGTH, SEED = ("lo", "hi"), 10, 20140602
# The paper's first way to a confidence, and ours.
WORLDS, CLOSED = "worlds", "closed form"
RECIPES = {WORLDS: "worlds", CLOSED: "optimized"}
PREDICATE = "b[i].v < 800"
# A confidence to reach, and the name of its panel.
PANELS = {"": "none", "0.5": "0.5", "0.7": "0.7", "0.9": "0.9", "0.99": "0.99", "0.999": "0.999"}
# So dense that few matches of three are likelier than their six orders.
DENSE = {"": "none", "0.1": "0.1"}


def stream(size: Size, events: int, length: int = 0, at_once: int = 1) -> Callable[[], pa.Table]:
    """Rare events, in smaller sizes less rare, as those of precise time, with intervals."""
    more = SMALL[size.name]
    shares = Shares(SHARES.a * more, SHARES.b * more, SHARES.c * more)
    return with_intervals(shares, events, length or longest(size), at_once=at_once)


def longest(size: Size) -> int:
    """The length of an interval, if an experiment does not say another one."""
    return size.of(LENGTH, LENGTH, 2)


def with_intervals(
    shares: Shares, events: int, length: int, spacing: int = 1, at_once: int = 1
) -> Callable[[], pa.Table]:
    """A number of events of four types, each at one of the `length` times up to the moment it came.

    `at_once` come in a moment, and the next ones `spacing` later.
    """
    plain = shares.stream(events, SEED)

    def intervals() -> pa.Table:
        table = plain()
        until = np.arange(events, dtype=np.int64) // at_once * spacing
        return pa.table({"lo": until - (length - 1), "hi": until, **_others(table)})

    return intervals


def _others(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: table[name] for name in ("type", "v")}


def query(window: int, threshold: str = "", predicate: str = PREDICATE) -> str:
    """The template, with a confidence to reach."""
    asked = f" WITH CONFIDENCE >= {threshold}" if threshold else ""
    return f"EVENT SEQ(A a, B+ b[], C c) WHERE {predicate} WITHIN {window}{asked}"


def ways(text: str, names: Sequence[str] = (WORLDS, CLOSED)) -> dict[str, Make]:
    """All matches by each recipe, as row numbers, and the figures of the operators."""
    probes = (cost_by_operator,)
    return {name: listed(text, RECIPES[name], probes=probes, time=TIME) for name in names}


def rises_with_the_threshold(way: str, within: float, panels: Sequence[str]) -> Check:
    """That at each point a panel of a higher threshold is at least as fast, but for a factor."""

    required = at_least(1 / within)

    def check(results: Results) -> Verdict:
        told, holds = [], []
        for lower, higher in zip(panels, panels[1:], strict=False):
            below = dict(results.curve(way, CPU_RATE, lower))
            for x, rate in results.curve(way, CPU_RATE, higher):
                if below.get(x, 0) > 0:
                    holds.append(rate * within >= below[x])
                    told.append(f"{higher} : {lower} = {rate / below[x]:.3g} at {x}")
        return Verdict(all(holds) if holds else None, "; ".join(told) or "too few points", required)

    return check


def gains_by_the_threshold(way: str, factor: float, lower: str, higher: str) -> Check:
    """That a panel of a higher threshold somewhere has fewer matches, and is so much faster."""

    required = f"{at_least(factor)} somewhere"

    def check(results: Results) -> Verdict:
        below = dict(results.curve(way, CPU_RATE, lower))
        found = {
            (row["panel"], row["x"]): row["matches"]
            for row in results.measured
            if row["way"] == way
        }
        told, holds = [], []
        for x, rate in results.curve(way, CPU_RATE, higher):
            few, many = found.get((higher, x), 0), found.get((lower, x), 0)
            if below.get(x, 0) > 0 and 0 < few < many:
                holds.append(rate >= factor * below[x])
                told.append(f"{few:,} of {many:,} matches, {rate / below[x]:.3g} times at {x}")
        return Verdict(
            any(holds) if holds else None, "; ".join(told) or "no threshold is at work", required
        )

    return check


def comes_to_its_end(way: str, other: str, panel: str) -> Check:
    """That one way is measured at some point at which the other takes too long."""

    required = f"a point where {way} is measured and {other} is too slow"

    def check(results: Results) -> Verdict:
        rows = [row for row in results.rows if row["panel"] == panel]
        if not any(row["status"] == "measured" for row in rows if row["way"] == other):
            return Verdict(None, f"{other} is not measured at all", required)
        slow = {row["x"] for row in rows if (row["way"], row["status"]) == (other, "too slow")}
        done = {row["x"] for row in rows if (row["way"], row["status"]) == (way, "measured")}
        return Verdict(bool(slow & done), f"{other} is too slow at {sorted(slow)}", required)

    return check
