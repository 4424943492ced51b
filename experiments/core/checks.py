"""Checks of findings: each compares measured figures, and names those that decided."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import linear_regression, median
from typing import Any

from experiments.core.experiment import Verdict
from experiments.core.results import Results

Check = Callable[[Results], Verdict]
RATE = "events_per_s"
# By the clock of the processor, which other work on the machine does not change.
CPU_RATE = "events_per_cpu_s"


def ahead(
    one: str,
    other: str,
    factor: float = 1.0,
    *,
    y: str = RATE,
    panel: str = "",
    when: Callable[[Any], bool] = lambda x: True,
) -> Check:
    """The figure of one way is at least `factor` times that of the other, at every chosen point."""

    def check(results: Results) -> Verdict:
        ratios = {x: r for x, r in results.ratios(one, other, y, panel).items() if when(x)}
        if not ratios:
            return _missing(results, panel, one, other)
        return Verdict(min(ratios.values()) >= factor, _ratios(one, other, panel, ratios))

    return check


def near(
    one: str, other: str, factor: float, *, y: str = RATE, panel: str = "", **rest: Any
) -> Check:
    """That two ways' figures are within a factor of each other at every point chosen."""
    when: Callable[[Any], bool] = rest.get("when", lambda x: True)

    def check(results: Results) -> Verdict:
        ratios = {x: r for x, r in results.ratios(one, other, y, panel).items() if when(x)}
        if not ratios:
            return _missing(results, panel, one, other)
        is_near = all(1 / factor <= ratio <= factor for ratio in ratios.values())
        return Verdict(is_near, _ratios(one, other, panel, ratios))

    return check


def narrows(one: str, other: str, *, y: str = RATE, panel: str = "") -> Check:
    """That one way's lead over the other is smaller at the last point than at the first."""

    def check(results: Results) -> Verdict:
        ratios = results.ratios(one, other, y, panel)
        if len(ratios) < 2:
            return _missing(results, panel, one, other)
        first, *_, last = ratios.values()
        return Verdict(last < first, _ratios(one, other, panel, ratios))

    return check


def falls_faster(
    one: str, other: str, *, y: str = RATE, panel: str = "", down: bool = False
) -> Check:
    """That from the least point to the greatest the one loses a greater share than the other.

    Or from the greatest `down`.
    """

    def check(results: Results) -> Verdict:
        ratios = results.ratios(one, other, y, panel)
        if len(ratios) < 2:
            return _missing(results, panel, one, other)
        first, *_, last = sorted(ratios, reverse=down)
        told, left = [], []
        for way in (one, other):
            known = dict(results.curve(way, y, panel))
            left.append(known[last] / known[first])
            told.append(f"{way} keeps {left[-1]:.3g} from {first} to {last}")
        return Verdict(left[0] < left[1], _of(panel) + ", ".join(told))

    return check


def slope(
    way: str,
    low: float,
    high: float,
    *,
    x: str = "x",
    y: str = "wall_s",
    panel: str = "",
    when: Callable[[Any], bool] = lambda x: True,
) -> Check:
    """That the figure grows with x by a power between two bounds (a line in log-log scales)."""

    def check(results: Results) -> Verdict:
        chosen = Results([row for row in results.rows if when(row["x"])])
        curve = [(a, b) for a, b in chosen.curve(way, y, panel, x) if a > 0 and b > 0]
        if len({a for a, _ in curve}) < 2:
            return _missing(results, panel, way)
        power = linear_regression(
            *zip(*((math.log(a), math.log(b)) for a, b in curve), strict=True)
        )
        return Verdict(
            low <= power.slope <= high, f"{_of(panel)}{way}: the power is {power.slope:.2f}"
        )

    return check


def between(
    one: str,
    low: float,
    high: float,
    *,
    y: str = RATE,
    panel: str = "",
    of: Callable[[list[float]], float] = median,
    when: Callable[[Any], bool] = lambda x: True,
) -> Check:
    """That the median (or else) of a way's figures at the points chosen is between two bounds."""

    def check(results: Results) -> Verdict:
        values = [value for x, value in results.curve(one, y, panel) if when(x)]
        if not values:
            return _missing(results, panel, one)
        found = of(values)
        return Verdict(low <= found <= high, f"{_of(panel)}{one}: {y} {found:.4g}")

    return check


def rates(
    way: str,
    low: float,
    high: float,
    *,
    of: str,
    by: str,
    panel: str = "",
    when: Callable[[Any], bool] = lambda x: True,
) -> Check:
    """That one figure of a way over another one of it is between bounds at every point chosen."""

    def check(results: Results) -> Verdict:
        below = dict(results.curve(way, by, panel))
        found = {
            x: value / below[x]
            for x, value in results.curve(way, of, panel)
            if when(x) and below.get(x, 0) > 0
        }
        if not found:
            return _missing(results, panel, way)
        listed = ", ".join(f"{rate:.3g} at {x}" for x, rate in found.items())
        is_so = all(low <= rate <= high for rate in found.values())
        return Verdict(is_so, f"{_of(panel)}{way}: {of} / {by} = {listed}")

    return check


def dearer(
    one: str,
    other: str,
    factor: float,
    *,
    of: str,
    by: str,
    panel: str = "",
    when: Callable[[Any], bool] = lambda x: True,
) -> Check:
    """One way has at least `factor` times as much of a figure for each unit of another one."""

    def check(results: Results) -> Verdict:
        above, below = (results.ratios(one, other, y, panel) for y in (of, by))
        ratios = {x: above[x] / below[x] for x in above if when(x) and below.get(x, 0) > 0}
        if not ratios:
            return _missing(results, panel, one, other)
        told = _ratios(f"{of} / {by} of {one}", other, panel, ratios)
        return Verdict(min(ratios.values()) >= factor, told)

    return check


def every(*checks: Check) -> Check:
    """Several checks hold together; one that was not measured counts only if none was."""

    def check(results: Results) -> Verdict:
        verdicts = [each(results) for each in checks]
        known = [verdict.holds for verdict in verdicts if verdict.holds is not None]
        told = "; ".join(verdict.evidence for verdict in verdicts)
        return Verdict(all(known) if known else None, told)

    return check


def _missing(results: Results, panel: str, *ways: str) -> Verdict:
    notes = {
        f"{row['way']}: {row['note'] or row['status']}"
        for row in results.rows
        if row["way"] in ways and row["panel"] == panel and row["status"] != "measured"
    }
    return Verdict(None, "; ".join(sorted(notes)) or f"too few points of {', '.join(ways)}")


def _ratios(one: str, other: str, panel: str, ratios: dict[Any, float]) -> str:
    listed = ", ".join(f"{ratio:.3g} at {x}" for x, ratio in ratios.items())
    return f"{_of(panel)}{one} : {other} = {listed}"


def _of(panel: str) -> str:
    return f"{panel}: " if panel else ""
