"""Checks of findings: each compares measured figures with a limit, and names both.

Points that a comparison lacks, because a way was too slow for example, are named with the figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import inf
from statistics import linear_regression, median
from typing import Any

from experiments.core.experiment import Verdict
from experiments.core.results import MEASURED, Results

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

    required = at_least(factor)

    def check(results: Results) -> Verdict:
        ratios = {x: r for x, r in results.ratios(one, other, y, panel).items() if when(x)}
        if not ratios:
            return _missing(results, panel, required, one, other)
        compared = _ratios(y, one, other, panel, ratios) + _lacking(
            results, panel, when, one, other
        )
        return Verdict(min(ratios.values()) >= factor, compared, required)

    return check


def works_more(found: Mapping[str, tuple[float, float]], least: float, busy: float) -> Verdict:
    """That two threads, by name with their work and the busy cores, work longer than one does."""
    told = ", ".join(
        f"{name}: {more:.2f} times the work by {cores:.2f} cores"
        for name, (more, cores) in found.items()
    )
    is_so = all(more >= least and cores <= busy for more, cores in found.values())
    required = f"at least {least:g} times the work, by at most {busy:g} cores"
    return Verdict(is_so if found else None, told or "not measured, or fast enough", required)


def near(
    one: str, other: str, factor: float, *, y: str = RATE, panel: str = "", **rest: Any
) -> Check:
    """That two ways' figures are within a factor of each other at every point chosen."""
    when: Callable[[Any], bool] = rest.get("when", lambda x: True)
    required = within(factor)

    def check(results: Results) -> Verdict:
        ratios = {x: r for x, r in results.ratios(one, other, y, panel).items() if when(x)}
        if not ratios:
            return _missing(results, panel, required, one, other)
        is_near = all(1 / factor <= ratio <= factor for ratio in ratios.values())
        compared = _ratios(y, one, other, panel, ratios) + _lacking(
            results, panel, when, one, other
        )
        return Verdict(is_near, compared, required)

    return check


def narrows(one: str, other: str, *, y: str = RATE, panel: str = "") -> Check:
    """That one way's lead over the other is smaller at the last point than at the first."""

    required = "less at the last point than at the first"

    def check(results: Results) -> Verdict:
        ratios = results.ratios(one, other, y, panel)
        if len(ratios) < 2:
            return _missing(results, panel, required, one, other)
        first, *_, last = ratios.values()
        return Verdict(last < first, _ratios(y, one, other, panel, ratios), required)

    return check


def falls_faster(
    one: str, other: str, *, y: str = RATE, panel: str = "", down: bool = False
) -> Check:
    """That from the least point to the greatest the one loses a greater share than the other.

    Or from the greatest `down`.
    """

    required = "the first keeps less"

    def check(results: Results) -> Verdict:
        ratios = results.ratios(one, other, y, panel)
        if len(ratios) < 2:
            return _missing(results, panel, required, one, other)
        first, *_, last = sorted(ratios, reverse=down)
        told, left = [], []
        for way in (one, other):
            known = dict(results.curve(way, y, panel))
            left.append(known[last] / known[first])
            told.append(f"{way} keeps {left[-1]:.3g} of {y} from {first} to {last}")
        compared = ", ".join(told) + _lacking(results, panel, lambda x: True, one, other)
        return Verdict(left[0] < left[1], _of(panel) + compared, required)

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

    required = f"a power from {low:g} to {high:g}"

    def check(results: Results) -> Verdict:
        chosen = Results([row for row in results.rows if when(row["x"])])
        curve = [(a, b) for a, b in chosen.curve(way, y, panel, x) if a > 0 and b > 0]
        if len({a for a, _ in curve}) < 2:
            return _missing(results, panel, required, way)
        power = linear_regression(
            *zip(*((math.log(a), math.log(b)) for a, b in curve), strict=True)
        )
        told = f"{_of(panel)}{y} of {way} by {x}: the power is {power.slope:.3g}"
        return Verdict(
            low <= power.slope <= high, told + _lacking(results, panel, when, way), required
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

    required = span(low, high)

    def check(results: Results) -> Verdict:
        values = [value for x, value in results.curve(one, y, panel) if when(x)]
        if not values:
            return _missing(results, panel, required, one)
        found = of(values)
        return Verdict(low <= found <= high, f"{_of(panel)}{one}: {y} {found:.4g}", required)

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

    required = span(low, high)

    def check(results: Results) -> Verdict:
        below = dict(results.curve(way, by, panel))
        found = {
            x: value / below[x]
            for x, value in results.curve(way, of, panel)
            if when(x) and below.get(x, 0) > 0
        }
        if not found:
            return _missing(results, panel, required, way)
        listed = ", ".join(f"{rate:.3g} at {x}" for x, rate in found.items())
        is_so = all(low <= rate <= high for rate in found.values())
        return Verdict(is_so, f"{_of(panel)}{way}: {of} / {by} = {listed}", required)

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

    required = at_least(factor)

    def check(results: Results) -> Verdict:
        above, below = (results.ratios(one, other, y, panel) for y in (of, by))
        ratios = {x: above[x] / below[x] for x in above if when(x) and below.get(x, 0) > 0}
        if not ratios:
            return _missing(results, panel, required, one, other)
        told = _ratios(f"{of} / {by}", one, other, panel, ratios)
        return Verdict(min(ratios.values()) >= factor, told, required)

    return check


def proportional(way: str, factor: float, *, of: str, by: str, panel: str = "") -> Check:
    """A unit of one figure adds the same to another one before and after the last point but one."""
    required = within(factor)

    def check(results: Results) -> Verdict:
        ends, costs = (results.curve(way, y, panel) for y in (by, of))
        if len(costs) < 3 or not ends[0][1] < ends[-2][1] < ends[-1][1]:
            return _missing(results, panel, required, way)
        early, late = (
            (costs[last][1] - costs[first][1]) / (ends[last][1] - ends[first][1])
            for first, last in ((0, -2), (-2, -1))
        )
        told = (
            f"{_of(panel)}{of} for each of {by}, of {way}: {early:.3g} from {ends[0][0]} to"
            f" {ends[-2][0]}, {late:.3g} to {ends[-1][0]}, {late / early:.3g} times"
        )
        return Verdict(1 / factor <= late / early <= factor, told, required)

    return check


def every(*checks: Check) -> Check:
    """All of several checks hold: false if one does not, None if one is not measured."""

    def check(results: Results) -> Verdict:
        verdicts = [each(results) for each in checks]
        holds = {verdict.holds for verdict in verdicts}
        limits = list(dict.fromkeys(verdict.required for verdict in verdicts))
        if len(limits) == 1:
            told = "; ".join(verdict.evidence for verdict in verdicts)
        else:
            told = "; ".join(f"{each.evidence} [{each.required}]" for each in verdicts)
        required = limits[0] if len(limits) == 1 else "each as in square brackets"
        return Verdict(False if False in holds else None if None in holds else True, told, required)

    return check


def at_least(factor: float) -> str:
    """The limit of a ratio."""
    return f"at least {factor:.3g}"


def within(factor: float) -> str:
    """The limits of a ratio that may be above and below 1."""
    return f"from {1 / factor:.3g} to {factor:.3g}"


def span(low: float, high: float) -> str:
    """Two bounds, or one if the other does not bind."""
    if low == 0 or high == inf:
        return at_least(low) if low else f"at most {high:.4g}"
    return f"from {low:.4g} to {high:.4g}"


def _missing(results: Results, panel: str, required: str, *ways: str) -> Verdict:
    notes = {
        f"{row['way']}: {row['note'] or row['status']}"
        for row in results.rows
        if row["way"] in ways and row["panel"] == panel and row["status"] != MEASURED
    }
    told = "; ".join(sorted(notes)) or f"too few points of {', '.join(ways)}"
    return Verdict(None, told, required)


def _lacking(results: Results, panel: str, when: Callable[[Any], bool], *ways: str) -> str:
    """The chosen points that are not compared because a way was not measured there."""
    lacking = [
        f"{row['way']} {row['status']} at {row['x']}"
        for row in results.rows
        if row["way"] in ways
        and row["panel"] == panel
        and row["status"] != MEASURED
        and when(row["x"])
    ]
    return f", not compared: {', '.join(lacking)}" if lacking else ""


def _ratios(y: str, one: str, other: str, panel: str, ratios: dict[Any, float]) -> str:
    listed = ", ".join(f"{ratio:.3g} at {x}" for x, ratio in ratios.items())
    return f"{_of(panel)}{y} of {one} : {other} = {listed}"


def _of(panel: str) -> str:
    return f"{panel}: " if panel else ""
