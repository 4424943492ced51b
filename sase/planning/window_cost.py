"""How many events match windows hand on, as statistics let one expect, and what that costs.

Of each component a window has so many events of its key, more or less: at least one with the
probability of a Poisson distribution. An event goes on if one of the rarest component is near:
after it in its window, before it, or either if it may be both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, prod

from sase.binding.bound import BoundComponent, Conjunct, ConjunctClass, WindowKind
from sase.planning.cost_values import Cost, OperatorCost
from sase.planning.match_windows import MatchWindow, steps_of
from sase.planning.nodes import Operator, RunEvaluation, SequenceScan, Union, reading
from sase.planning.selectivity import assumed, effort
from sase.planning.statistics import Statistics

# The work that goes by results, whatever events are handed on.
_OF_RESULTS = ("built", "bound", "returned", "ordered", "rebuilt", "listed")


def with_windows(below: Cost, plan: Operator, windows: MatchWindow, statistics: Statistics) -> Cost:
    """The cost of a plan with match windows, given that of the operators above by themselves."""
    source = reading(plan)
    assert not isinstance(source, Union)
    rows, simple = float(statistics.rows), _simple(source)
    types = {name for each in source.components for name in each.types or ()}
    is_typed = all(each.types is not None for each in source.components)
    admitted = min(statistics.rows_of(types if is_typed else None), rows)
    share = handed_on(source, windows, statistics)
    work = {
        "run": 1.0,
        "event": rows,
        "admitted": admitted,
        "simple": admitted * sum(effort(each.condition) for each in simple),
        "key": admitted * len(windows.partitions),
        "windowed": admitted * (2 + len(steps_of(source.components)) * windows.counts),
    }
    reach = _reach(windows, statistics)
    size = 8 * admitted * reach * len(windows.partitions)
    found = [OperatorCost("MatchWindow", rows, admitted * share, tuple(work.items()), size)]
    first, *above = (_less(each, share) for each in below.operators)
    return Cost((*found, replace(first, rows_in=admitted * share), *above))


def _less(cost: OperatorCost, share: float) -> OperatorCost:
    """The cost of an operator to which a share of the events comes."""
    shares = {"run": 0.0, **dict.fromkeys(_OF_RESULTS, 1.0)}
    work = tuple((unit, amount * shares.get(unit, share)) for unit, amount in cost.work)
    return replace(
        cost,
        work=work,
        bytes=cost.bytes * share,
        visited=tuple(each * share for each in cost.visited),
        alive=tuple(each * share for each in cost.alive),
    )


def handed_on(
    source: SequenceScan | RunEvaluation, windows: MatchWindow, statistics: Statistics
) -> float:
    """The share of the events of a plan's types that windows hand on."""
    of_each = [expected(source, each, windows, statistics) for each in source.components]
    if not windows.counts:
        return 1.0
    steps = [level for step in steps_of(source.components) for level in step]
    last = len(source.components) - 1
    near = [of_each[level] * (2 if 0 < level < last else 1) for level in steps]
    return min((1 - exp(-count) for count in near), default=1.0)


def expected(
    source: SequenceScan | RunEvaluation,
    component: BoundComponent,
    windows: MatchWindow,
    statistics: Statistics,
) -> float:
    """How many events of a component a window has."""
    share = statistics.admission(component.variable)
    if share is None:
        own = [c for c in _simple(source) if c.component == component.index]
        share = prod(assumed(each.condition) for each in own)
    agreed = 1.0
    for test in windows.partitions:
        agreed *= statistics.pair_agreement(test.attribute)
    return statistics.rows_of(component.types) * share * agreed * _reach(windows, statistics)


def _reach(windows: MatchWindow, statistics: Statistics) -> float:
    """The share of the stream that a window spans."""
    whole, size = max(statistics.rows, 1), windows.window.size
    if windows.window.kind is WindowKind.TIME:
        whole = statistics.span or whole
    return 1.0 if size is None else min(size / whole, 1.0)


def _simple(source: SequenceScan | RunEvaluation) -> Sequence[Conjunct]:
    """The conditions on one event."""
    every = source.simple if isinstance(source, RunEvaluation) else source.conditions
    return [each for each in every if each.kind is ConjunctClass.SINGLE]
