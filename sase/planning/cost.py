"""What a plan costs: nanoseconds of one core and bytes of state, operator by operator.

`experiments/calibrate.py` measures the constants and prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sase.binding.bound import Conjunct, EquivalenceTest
from sase.planning.figures import Figures
from sase.planning.nodes import (
    Negation,
    NegativeComponent,
    Operator,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    Transformation,
    Window,
    chain,
)
from sase.planning.selectivity import assumed, effort
from sase.planning.split import window_of
from sase.planning.statistics import Statistics

# Nanoseconds. Of the scan: for each event of the input, of the query's types, for each condition
# on one event (by its effort), each number of a key, a key that is hashed, and each instance.
EVENT, ADMITTED, SIMPLE, KEY, HASHED, PUSHED = 1.0, 12.0, 1.5, 4.0, 22.0, 9.0
# Of construction: for each instance that is looked at, each test and each condition on it (by its
# effort), each sequence, and each of its events.
VISITED, TESTED, DECIDED, BUILT, EVENT_BUILT = 5.0, 4.0, 5.0, 3.0, 1.0
# Above it: for each sequence that is checked, and each of its events; each search of the index.
CHECKED, EVENT_CHECKED, PROBED, INDEXED, RETURNED = 8.0, 1.5, 70.0, 25.0, 4.0
# Of several stacks for an instance, and of the NFA's stack for a pointer.
MULTIPLE, POINTER = 12.0, 3.0
# Bytes of an instance in a stack, of a cell of the NFA's stack, of an event in the index of
# negation, of a sequence that waits.
INSTANCE, CELL, INDEX_ENTRY, NUMBER = 64, 40, 24, 8
# More keys than this do not fit codes that are made of them, so they are hashed.
MOST_DENSE = 1 << 16


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """What is expected of an operator: what goes in and out, instances alive, time and memory.

    `visited` are of construction the choices that the walk looks at, by level; `alive` of the scan
    the instances that are remembered at a time, by level.
    """

    name: str
    rows_in: float
    rows_out: float
    nanoseconds: float
    bytes: float = 0.0
    visited: tuple[float, ...] = ()
    alive: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The operators from the bottom up, and the results."""

    operators: tuple[OperatorCost, ...]

    @property
    def nanoseconds(self) -> float:
        """The time of one core."""
        return sum(each.nanoseconds for each in self.operators)

    @property
    def bytes(self) -> float:
        """The memory that the state takes."""
        return sum(each.bytes for each in self.operators)

    @property
    def results(self) -> float:
        """The number of results."""
        return self.operators[-1].rows_out if self.operators else 0.0

    def of(self, name: str) -> OperatorCost | None:
        """The cost of an operator by the name of its node."""
        return next((each for each in self.operators if each.name == name), None)


def cost_of(plan: Operator, statistics: Statistics) -> Cost:
    """The cost of a plan of sequences; a plan of runs has none yet."""
    operators = list(reversed(chain(plan)))
    if not isinstance(operators[0], SequenceScan):
        return Cost(())
    figures, found, flow = Figures(plan, statistics), list[OperatorCost](), 0.0
    for operator in operators:
        found.append(_of(operator, flow, figures))
        flow = found[-1].rows_out
    return Cost(tuple(found))


def _of(operator: Operator, flow: float, figures: Figures) -> OperatorCost:
    match operator:
        case SequenceScan():
            return _scan(figures)
        case SequenceConstruction():
            return _construction(figures)
        case Selection():
            return _selection(operator, flow, figures)
        case Window():
            shorter = figures.tuples(0, figures.reach(operator.window))
            longer = figures.tuples(0, figures.walked)
            return _checked("Window", flow, _share(shorter, longer) * flow, figures)
        case Negation():
            return _negation(operator, flow, figures)
        case Transformation():
            return _transformation(operator, flow)
    raise AssertionError("plans of runs have no cost yet")


def _scan(figures: Figures) -> OperatorCost:
    scan, admitted = figures.scan, figures.admitted
    time = EVENT * figures.statistics.rows + ADMITTED * admitted
    time += admitted * SIMPLE * sum(effort(c.condition) for c in scan.conditions)
    for key in scan.partitions:
        time += admitted * (KEY * len(key) + HASHED * _is_hashed(key, figures))
    for test in figures.construction.equivalences:
        time += admitted * (KEY + HASHED * _is_hashed((test,), figures))
    time += PUSHED * sum(figures.pushed)
    time += MULTIPLE * sum(figures.pushed) * (len(scan.partitions) > 1)
    reach = figures.reach(scan.window)
    rows = float(figures.statistics.rows)
    if scan.stacks is Stacks.NFA:
        return OperatorCost("SequenceScan", rows, rows, time, CELL * rows)
    alive = tuple(count * reach / figures.span for count in figures.pushed)
    pushed, size = sum(figures.pushed), INSTANCE * sum(alive)
    return OperatorCost("SequenceScan", rows, pushed, time, size, alive=alive)


def _is_hashed(key: tuple[EquivalenceTest, ...], figures: Figures) -> bool:
    """Whether so many values occur that codes are given out by a table."""
    tests = [test for test in figures.key if test in key] or list(key)
    distinct = [
        known.distinct or 0
        for test in tests
        for each in figures.statistics.types
        if (known := each.attribute(test.attribute)) is not None
    ]
    return prod([max(distinct, default=0)] * len(tests)) > MOST_DENSE


def _construction(figures: Figures) -> OperatorCost:
    node = figures.construction
    levels, visited = len(figures.arrivals), figures.visited
    time = sum(visited) * (VISITED + TESTED * len(node.equivalences))
    for at, count in enumerate(visited):
        time += DECIDED * count * sum(effort(c.condition) for c in _decided_at(at, figures))
    time += figures.built * (BUILT + EVENT_BUILT * levels)
    time += INDEXED * sum(figures.forbidding(n) for n in node.negations) / 4
    if figures.scan.stacks is Stacks.NFA:
        time += POINTER * sum(visited)
    return OperatorCost("SequenceConstruction", sum(visited), figures.built, time, visited=visited)


def _decided_at(level: int, figures: Figures) -> list[Conjunct]:
    levels = {component.index: at for at, component in enumerate(figures.scan.components)}
    conditions = figures.construction.conditions
    return [c for c in conditions if min(levels[r] for r in c.references) == level]


def _selection(node: Selection, flow: float, figures: Figures) -> OperatorCost:
    every = (*figures.decided, *node.equivalences)
    share = _share(
        figures.agreement(every, figures.scan.components),
        figures.agreement(figures.decided, figures.scan.components),
    )
    share *= figures.passing(node.conditions)
    alone = {c.references[0] for c in node.conditions if len(c.references) == 1}
    share *= prod(figures.own(c) for c in figures.scan.components if c.index in alone)
    each = sum(effort(c.condition) for c in node.conditions) * DECIDED
    each += TESTED * len(node.equivalences) * len(figures.arrivals)
    return _checked("Selection", flow, flow * share, figures, each)


def _checked(
    name: str, flow: float, out: float, figures: Figures, each: float = 0.0
) -> OperatorCost:
    """An operator that looks at all of its sequences."""
    time = flow * (CHECKED + EVENT_CHECKED * len(figures.arrivals) + each)
    return OperatorCost(name, flow, out, time)


def _negation(node: Negation, flow: float, figures: Figures) -> OperatorCost:
    time, kept, out = 0.0, 0.0, flow
    for negative in node.negations:
        forbidding = figures.forbidding(negative)
        time += INDEXED * forbidding + out * (PROBED + _probe(negative, figures))
        kept += INDEX_ENTRY * forbidding * figures.reach(node.window) / figures.span
        if negative.before is None:
            waiting = out * figures.reach(node.window) / figures.span
            kept += NUMBER * len(figures.arrivals) * waiting
        out *= figures.survival(negative)
    return OperatorCost("Negation", flow, out, time, kept)


def _probe(negative: NegativeComponent, figures: Figures) -> float:
    """Conditions on the sequence are tried event by event, in a part of the window."""
    several = [c for c in negative.conditions if len(c.references) > 1]
    if not several:
        return 0.0
    near = figures.scan.components[:1]
    agreed = figures.agreement(negative.equivalences, (*near, negative.component))
    reach = figures.reach(window_of(figures.plan))
    tried = figures.forbidding(negative) * agreed * reach / figures.span
    tried /= max(len(figures.arrivals), 1)
    return (
        min(tried, 1 / max(figures.passing(several), 1e-9))
        * DECIDED
        * sum(effort(c.condition) for c in several)
    )


def _transformation(node: Transformation, flow: float) -> OperatorCost:
    out = flow if node.having is None else flow * assumed(node.having)
    if isinstance(node.limit, int):
        out = min(out, float(node.limit))
    return OperatorCost("Transformation", flow, out, RETURNED * flow)


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0
