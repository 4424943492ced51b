"""Estimate the cost of a plan of sequences: units of work and bytes, operator by operator."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TypeAlias

from sase.binding.bound import Conjunct, EquivalenceTest
from sase.planning import negatives, nodes
from sase.planning.basic import decided_at
from sase.planning.cardinality import Cardinalities
from sase.planning.cost_values import FUSED_UNITS, Cost, OperatorCost
from sase.planning.dense_codes import work_of_codes
from sase.planning.match_windows import MatchWindow
from sase.planning.physical.drive import request_of
from sase.planning.physical.stack_drives import FusedScanDrive
from sase.planning.probabilities import ratio
from sase.planning.run_cost import cost_of_runs, transformation_cost
from sase.planning.selectivity import effort
from sase.planning.shared_scans import shared_scans
from sase.planning.statistics import Statistics
from sase.planning.traversal import attributes_read
from sase.planning.tree_cost import cost_of_joins, cost_of_leaves
from sase.planning.window_cost import with_windows

Work: TypeAlias = dict[str, float]
Tests: TypeAlias = tuple[EquivalenceTest, ...]
# Bytes of an instance in a stack, of a cell of the NFA's stack, of an event in the index of
# negation, of a number that waits.
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
    cost, scan = _of_chain(plan, statistics), nodes.find(plan, nodes.SequenceScan)
    if scan is not None and FusedScanDrive.drives(request_of(plan)):
        return Cost(tuple(each.renamed(FUSED_UNITS) for each in cost.operators))
    return cost


def _of_chain(plan: nodes.Operator, statistics: Statistics) -> Cost:
    """The cost of operators that see every event."""
    operators = list(reversed(nodes.chain(plan)))
    if not isinstance(operators[0], nodes.SequenceScan):
        return cost_of_runs(plan, statistics)
    figures, found, flow = Cardinalities(plan, statistics), list[OperatorCost](), 0.0
    for operator in operators:
        found.append(_operator_cost(operator, flow, figures))
        flow = found[-1].rows_out
    return Cost(tuple(found))


def _without_windows(plan: nodes.Operator) -> nodes.Operator:
    *above, source, _ = nodes.chain(plan)
    assert isinstance(source, nodes.SequenceScan | nodes.RunEvaluation)
    return nodes.rebuilt([*above, replace(source, input=None)])


def _of_branches(plan: nodes.Operator, union: nodes.Union, statistics: Statistics) -> Cost:
    """The costs of all scans one after the other, and what is done with their results."""
    first, *others = shared_scans(union)
    coded = statistics.coded  # once for all
    every = [cost_of(first.plan, statistics), *(cost_of(each.plan, coded) for each in others)]
    rows = sum(each.results for each in every)
    top = transformation_cost(nodes.require(plan, nodes.Transformation), rows)
    of_branches = (operator for each in every for operator in each.operators)
    return Cost((*of_branches, OperatorCost("Union", rows, rows, (("returned", rows),)), top))


def _operator_cost(operator: nodes.Operator, flow: float, figures: Cardinalities) -> OperatorCost:
    match operator:
        case nodes.SequenceScan():
            return _scan(operator, figures)
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
        case _:  # of which nothing is known: it looks at all sequences, and lets all pass
            return _checked(type(operator).__name__, flow, flow, figures, {})


def _scan(scan: nodes.SequenceScan, figures: Cardinalities) -> OperatorCost:
    rows, admitted = float(figures.statistics.rows), figures.admitted
    keys, conditions = _decisive(figures)
    kept = len(keys) + len(attributes_read(*(each.condition for each in conditions)))
    if kept or nodes.find(figures.plan, nodes.Negation) is not None:
        kept += 2  # beside each event stand its place in the stream and its time
    keys |= set(scan.partitions)
    work = {
        "run": 1.0,
        "event": rows,
        "admitted": admitted,
        "simple": admitted * sum(effort(c.condition) for c in scan.conditions),
        "key": admitted * sum(map(len, keys)),
        **work_of_codes(keys, admitted, figures.statistics),
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
    """What decides on sequences, in whichever operator: keys behind the scan, and conditions."""
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
    # A forbidden start is looked for again by its key when a first event is chosen.
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
    """The cost of an operator that visits all of its sequences."""
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
    for sequence in node.sequences:  # how much a match of them forbids is not known
        events = _events_of(sequence, figures)
        work["indexed"] += events
        work["probed"] += out
        kept += INDEX_ENTRY * events * window
    return _checked("Negation", flow, out, figures, work, kept)


def _events_of(sequence: negatives.NegativeSequence, figures: Cardinalities) -> float:
    return sum(figures.statistics.rows_of(each.types) for each in sequence.components)


def _tried(negative: negatives.NegativeComponent, figures: Cardinalities) -> float:
    """Operations of conditions on the sequence, tried event by event until one forbids."""
    several = [c for c in negative.conditions if len(c.references) > 1]
    if not several:
        return 0.0
    count = len(figures.scan.components)
    there = figures.in_window(negative, count) / count
    tried = min(there, 1 / max(figures.passing(several), 1e-9))
    return tried * sum(effort(c.condition) for c in several)


def _share(part: float, whole: float) -> float:
    return min(ratio(part, whole), 1.0)
