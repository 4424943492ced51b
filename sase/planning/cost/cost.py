"""Estimate the cost of a plan of sequences: units of work and bytes, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, prod
from typing import TypeAlias

from sase.binding.bound import BoundComponent, Conjunct, ConjunctClass, EquivalenceTest, WindowKind
from sase.planning.branches import shared_scans
from sase.planning.cost.cardinality import Cardinalities
from sase.planning.cost.run_cost import cost_of_runs, transformation_cost
from sase.planning.cost.selectivity import assumed, effort, ratio
from sase.planning.cost.tree_cost import cost_of_joins, cost_of_leaves
from sase.planning.cost_values import (
    BLOCK,
    FUSED_UNITS,
    OF_TEXTS,
    Cost,
    OperatorCost,
    codes_of,
    pages,
    work_of_codes,
)
from sase.planning.physical.drive import request_of
from sase.planning.physical.stack_drives import FusedScanDrive
from sase.planning.plan import negatives, nodes
from sase.planning.plan.basic import decided_at
from sase.planning.plan.match_windows import MatchWindow, steps_of
from sase.planning.plan.nodes import Operator, RunEvaluation, SequenceScan, Union, reading
from sase.planning.plan.traversal import attributes_read
from sase.planning.statistics import Statistics

# ---------------------------------------------------------------- window cost

# The number of events of a component with a given key in a window has a Poisson distribution: its
# probability of at least one is used. An event passes if one of the rarest component is near: after
# it in its window, before it, or either if it may be both.

# Units of work that depend on the number of results, not on the events that pass.
_OF_RESULTS = ("built", "bound", "returned", "ordered", "rebuilt", "listed")


def with_windows(below: Cost, plan: Operator, windows: MatchWindow, statistics: Statistics) -> Cost:
    """The cost of a plan with match windows, given the cost of the operators above alone."""
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
        **work_of_codes([windows.partitions], admitted, statistics),
        "windowed": admitted * (2 + len(steps_of(source.components)) * windows.counts),
    }
    if windows.counts:  # each block clears the counters of all keys
        steps, blocks = len(steps_of(source.components)), max(rows / BLOCK, 1.0)
        _, codes = codes_of(windows.partitions, admitted, statistics)
        counters = NUMBER * (steps + 1) * codes
        work["page"] += blocks * pages(counters, admitted / blocks)
    reach = _reach(windows, statistics)
    size = 8 * admitted * reach * len(windows.partitions)
    found = [OperatorCost("MatchWindow", rows, admitted * share, tuple(work.items()), size)]
    first, *above = (_less(each, share) for each in below.operators)
    return Cost((*found, replace(first, rows_in=admitted * share), *above))


def _less(cost: OperatorCost, share: float) -> OperatorCost:
    """The cost of an operator that receives only a share of the events."""
    shares = {**dict.fromkeys(("run", *OF_TEXTS), 0.0), **dict.fromkeys(_OF_RESULTS, 1.0)}
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
    """The share of the events of a plan's types that windows pass on."""
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
    """The expected number of events of a component in a window."""
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


# ---------------------------------------------------------------- cost

Work: TypeAlias = dict[str, float]
Tests: TypeAlias = tuple[EquivalenceTest, ...]
# Bytes of an instance in a stack, of a cell of the NFA's stack, of an event in the index of
# negation, and of a waiting number.
INSTANCE, CELL, INDEX_ENTRY, NUMBER = 64, 40, 24, 8


def cost_of(plan: nodes.Operator, statistics: Statistics) -> Cost:
    """The cost of a plan."""
    union = nodes.find(plan, nodes.Union)
    if union is not None:
        return _of_branches(plan, union, statistics)
    windows = nodes.find(plan, MatchWindow)
    if windows is not None:
        bare = _without_windows(plan)
        return with_windows(_of_chain(bare, statistics), bare, windows, statistics)
    scan = nodes.find(plan, nodes.SequenceScan)
    drive = None if scan is None else FusedScanDrive.applies(request_of(plan))
    if not isinstance(drive, FusedScanDrive):
        return _of_chain(plan, statistics)
    cost = _of_chain(plan, statistics, by_rows=drive.by_rows is not None)
    return Cost(tuple(each.renamed(FUSED_UNITS) for each in cost.operators))


def _of_chain(plan: nodes.Operator, statistics: Statistics, *, by_rows: bool = False) -> Cost:
    """The cost of a plan without branches, which may have stacks of rows."""
    scan, *above = reversed(nodes.chain(plan))
    if not isinstance(scan, nodes.SequenceScan):
        return cost_of_runs(plan, statistics)
    figures = Cardinalities(plan, statistics)
    found = [_scan(scan, figures, by_rows=by_rows)]
    for operator in above:
        found.append(_operator_cost(operator, found[-1].rows_out, figures))
    return Cost(tuple(found))


def _without_windows(plan: nodes.Operator) -> nodes.Operator:
    *above, source, _ = nodes.chain(plan)
    assert isinstance(source, nodes.SequenceScan | nodes.RunEvaluation)
    return nodes.rebuilt([*above, replace(source, input=None)])


def _of_branches(plan: nodes.Operator, union: nodes.Union, statistics: Statistics) -> Cost:
    """The costs of the scans of all branches, and of merging their results."""
    first, *others = shared_scans(union)
    coded = statistics.coded  # once for all
    every = [cost_of(first.plan, statistics), *(cost_of(each.plan, coded) for each in others)]
    rows = sum(each.results for each in every)
    top = transformation_cost(nodes.require(plan, nodes.Transformation), rows)
    of_branches = (operator for each in every for operator in each.operators)
    return Cost((*of_branches, OperatorCost("Union", rows, rows, (("returned", rows),)), top))


def _operator_cost(operator: nodes.Operator, flow: float, figures: Cardinalities) -> OperatorCost:
    match operator:
        case nodes.SequenceConstruction():
            return _construction(operator, figures)
        case nodes.Selection():
            return _selection(operator, flow, figures)
        case nodes.Window():
            shorter = figures.tuples(0, figures.reach(operator.window))
            longer = figures.tuples(0, figures.walked)
            return _checked("Window", flow, _share(shorter, longer) * flow, figures, {})
        case nodes.Negation():
            return _negation(operator, flow, figures)
        case nodes.Transformation():
            return transformation_cost(operator, flow)
        case _:  # an unknown operator examines all sequences, and passes all
            return _checked(type(operator).__name__, flow, flow, figures, {})


def _scan(scan: nodes.SequenceScan, figures: Cardinalities, *, by_rows: bool) -> OperatorCost:
    rows, admitted = float(figures.statistics.rows), figures.admitted
    keys, conditions = _decisive(figures)
    kept = len(keys) + len(attributes_read(*(each.condition for each in conditions)))
    if kept or nodes.find(figures.plan, nodes.Negation) is not None:
        kept += 2  # position and time of each event
    keys |= set(scan.partitions)
    elements = figures.construction.elements
    heads = len(scan.components) - 1 + len(elements) if by_rows else 0
    work = {
        "run": 1.0,
        "event": rows,
        "admitted": admitted,
        "simple": admitted * sum(effort(c.condition) for c in scan.conditions),
        "key": admitted * sum(map(len, keys)),
        **work_of_codes(keys, admitted, figures.statistics, heads),
        "stored": admitted * kept,
    }
    if scan.stacks is nodes.Stacks.LEAVES:
        return cost_of_leaves(scan, work, figures)
    if scan.stacks is nodes.Stacks.NFA:  # every event makes a cell
        work["pushed"] = rows
        return OperatorCost("SequenceScan", rows, rows, tuple(work.items()), CELL * rows)
    pushed, reach = sum(figures.pushed), figures.reach(scan.window)
    work |= {"pushed": pushed, "shared": pushed * (len(scan.partitions) > 1)}
    alive = tuple(count * reach / figures.span for count in figures.pushed)
    size = INSTANCE * sum(alive)
    return OperatorCost("SequenceScan", rows, pushed, tuple(work.items()), size, alive=alive)


def _decisive(figures: Cardinalities) -> tuple[set[Tests], list[Conjunct]]:
    """The keys that later operators need of events, and the conditions on sequences."""
    selection = nodes.find(figures.plan, nodes.Selection)
    negation = nodes.find(figures.plan, nodes.Negation)
    alone = list(figures.construction.equivalences)
    conditions = list(figures.construction.conditions)
    if selection is not None:
        alone += selection.equivalences
        conditions += selection.conditions
    keys: set[Tests] = {(test,) for test in alone}
    for negative in () if negation is None else negation.negations:
        # A fixed value is a condition.
        key = tuple(t for t in negative.equivalences if t.value is None and all(t.declared))
        keys |= {(test,) for test in key} if negation is not None and negation.by_time else {key}
        conditions += [c for c in negative.conditions if len(c.references) > 1]
    return keys - {()}, conditions


def _construction(node: nodes.SequenceConstruction, figures: Cardinalities) -> OperatorCost:
    if node.joins:
        return cost_of_joins(node, figures)
    visited, built = figures.visited, figures.built
    decided = [
        (
            count,
            sum(
                effort(each.condition)
                for each in node.conditions
                if decided_at(figures.scan.components, each) == level
            ),
        )
        for level, count in enumerate(visited)
    ]
    # A negated start is looked up again by key when a first event is chosen.
    noted = [
        (figures.forbidding(each), 3 if each.after is None and figures.key else 1)
        for each in node.negations
    ]
    noted += [(_events_of(each, figures), 1) for each in node.sequences]
    work = {
        "visited": sum(visited),
        "pointer": sum(visited) * (figures.scan.stacks is nodes.Stacks.NFA),
        "tested": sum(visited) * len(node.equivalences),
        "tried": sum(count for count, work in decided if work),
        "decided": sum(count * work for count, work in decided),
        "built": built,
        "bound": built * len(visited),
        "noted": sum(count * times for count, times in noted),
    }
    return OperatorCost(
        "SequenceConstruction", sum(visited), built, tuple(work.items()), visited=visited
    )


def _selection(node: nodes.Selection, flow: float, figures: Cardinalities) -> OperatorCost:
    components = figures.scan.components
    every = (*figures.decided, *node.equivalences)
    share = _share(
        figures.agreement(every, components), figures.agreement(figures.decided, components)
    )
    share *= figures.passing(node.conditions)
    alone = {c.references[0] for c in node.conditions if len(c.references) == 1}
    share *= prod(figures.own(c) for c in components if c.index in alone)
    work = {
        "selected": flow * bool(node.conditions),
        "decided": flow * sum(effort(c.condition) for c in node.conditions),
        "tested": flow * len(node.equivalences) * len(components),
    }
    return _checked("Selection", flow, flow * share, figures, work)


def _checked(
    name: str, flow: float, out: float, figures: Cardinalities, work: Work, kept: float = 0.0
) -> OperatorCost:
    """The cost of an operator that examines all of its sequences."""
    work = {"checked": flow, "gathered": flow * len(figures.scan.components), **work}
    return OperatorCost(name, flow, out, tuple(work.items()), kept)


def _negation(node: nodes.Negation, flow: float, figures: Cardinalities) -> OperatorCost:
    window = figures.reach(node.window) / figures.span
    work, kept, out = {"indexed": 0.0, "probed": 0.0, "decided": 0.0, "met": 0.0}, 0.0, flow
    for negative in node.negations:
        forbidding = figures.forbidding(negative)
        if figures.scan.stacks is nodes.Stacks.LEAVES:
            forbidding *= figures.near
        work["indexed"] += forbidding
        work["probed"] += out
        if node.by_time:
            in_gap = max(forbidding * window / len(figures.scan.components), 1.0)
            work["met"] += out * in_gap * len(negative.equivalences)
        work["decided"] += out * _tried(negative, figures)
        kept += INDEX_ENTRY * forbidding * window
        if negative.before is None:
            kept += NUMBER * len(figures.scan.components) * out * window
        out *= figures.survival(negative)
    for sequence in node.sequences:  # the share of sequences that it forbids is unknown
        events = _events_of(sequence, figures)
        work["indexed"] += events
        work["probed"] += out
        kept += INDEX_ENTRY * events * window
    return _checked("Negation", flow, out, figures, work, kept)


def _events_of(sequence: negatives.NegativeSequence, figures: Cardinalities) -> float:
    return sum(figures.statistics.rows_of(each.types) for each in sequence.components)


def _tried(negative: negatives.NegativeComponent, figures: Cardinalities) -> float:
    """Operations of conditions on a sequence, for each event until one forbids."""
    several = [c for c in negative.conditions if len(c.references) > 1]
    if not several:
        return 0.0
    count = len(figures.scan.components)
    there = figures.in_window(negative, count) / count
    tried = min(there, 1 / max(figures.passing(several), 1e-9))
    return tried * sum(effort(c.condition) for c in several)


def _share(part: float, whole: float) -> float:
    return min(ratio(part, whole), 1.0)
