"""Aggregates of an attribute over the events of a component, in all matches together.

An event counts once for each match that contains it. Sums are exact: floats become integers over a
common power of two, and the exact result is rounded once. So a sum may differ in the last bits from
one that is added in float64 in some order. NULLs are skipped; infinities of both signs give NULL.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.totals import Weights, totals

Function: TypeAlias = Literal["count", "sum", "min", "max", "avg"]
Number: TypeAlias = int | float
Values: TypeAlias = Sequence[Number | None]


def plain(values: Values | NDArray[Any]) -> list[Number | None]:
    """The values as Python numbers; NaN becomes NULL."""
    numbers = values.tolist() if isinstance(values, np.ndarray) else values
    return [None if number is None or math.isnan(number) else number for number in numbers]


@dataclass(frozen=True, eq=False)
class ValuedPaths:
    """The values of a component by place, in a graph of matches."""

    graph: Graph
    level: int
    values: Sequence[Number | None]

    def count(self) -> int:
        """The number of values in all matches."""
        return self.sum([int(value is not None) for value in self.values])

    def sum(self, worth: list[int]) -> int:
        """The sum of a weight over the events of all matches."""
        return sum(total.sum for total in totals(self.graph, Weights(self.level, worth)))

    def held(self) -> set[Number]:
        """The distinct values of events that matches contain in the component."""
        graph, slots = self.graph, self.graph.slots.by_level[self.level]
        held = np.zeros(len(graph), np.bool_)
        for low, first, beyond in zip(*map(list, graph.frames), strict=True):
            held[low:beyond] |= graph.alive(low, first, beyond)[:, slots].any(axis=1)
        found = (self.values[place] for place in np.flatnonzero(held).tolist())
        return {value for value in found if value is not None}


def aggregated(parts: Sequence[ValuedPaths], function: Function) -> Number | None:
    """The aggregate over all matches by sums over paths, without listing them."""
    if function == "count":
        return sum(each.count() for each in parts)
    held = set[Number]().union(*(each.held() for each in parts))
    if function in ("min", "max") or not all(map(math.isfinite, held)):
        return _extreme(function, held)
    if not held:
        return None
    divisor = max(number.as_integer_ratio()[1] for number in held)
    total = sum(part.sum([_scaled(value, divisor) for value in part.values]) for part in parts)
    count = sum(each.count() for each in parts) if function == "avg" else 0
    return _result(function, Fraction(total, divisor), held, count)


def listed(function: Function, numbers: Iterable[Number | None]) -> Number | None:
    """The aggregate of numbers given one by one."""
    times = Counter(number for number in numbers if number is not None)
    if function == "count":
        return times.total()
    if function in ("min", "max") or not all(map(math.isfinite, times)):
        return _extreme(function, set(times))
    if not times:
        return None
    total = sum((Fraction(number) * count for number, count in times.items()), Fraction(0))
    return _result(function, total, set(times), times.total())


def _extreme(function: Function, held: set[Number]) -> Number | None:
    """The least or greatest number; or a sum or average that is not finite."""
    if function in ("min", "max"):
        return (min if function == "min" else max)(held, default=None)
    infinite = {number for number in held if math.isinf(number)}
    return infinite.pop() if len(infinite) == 1 else None


def _result(function: Function, total: Fraction, held: set[Number], count: int) -> Number:
    """The sum or the average; an integer for a sum of integers."""
    if function == "avg":
        return _rounded(total / count)
    return int(total) if all(isinstance(number, int) for number in held) else _rounded(total)


def _rounded(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _scaled(value: Number | None, divisor: int) -> int:
    """A value times the divisor; 0 for values that no match contains."""
    if value is None or math.isinf(value):
        return 0
    numerator, denominator = value.as_integer_ratio()
    return numerator * divisor // denominator
