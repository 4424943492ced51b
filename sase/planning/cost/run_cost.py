"""Estimate the cost of a plan of runs; see `run_cardinality` for the counts."""

from __future__ import annotations

from math import exp, inf, log2, prod

from sase.binding.bound import Aggregate, Part, When
from sase.binding.conditions.parts import references
from sase.planning.cost.run_cardinality import RunCardinalities
from sase.planning.cost.selectivity import assumed, effort
from sase.planning.cost_values import FUSED_UNITS, Cost, OperatorCost, work_of_codes
from sase.planning.physical import runs as algorithms
from sase.planning.physical.drive import DriveRequest, request_of
from sase.planning.physical.line_drives import FusedWalkDrive, SharedLinesDrive
from sase.planning.plan.nodes import (
    Confidence,
    Negation,
    Operator,
    Transformation,
    chain,
    require,
)
from sase.planning.reasoning.paths import neighbours
from sase.planning.statistics import Statistics

# Numbers of a run, and bytes of each; the exponent above which all counts are equal.
_NUMBERS, _NUMBER, _MOST = 8, 8, 650.0
# Bytes of an event on the stacks of runs that share it.
_SHARED = 32
# The share of the work on runs if none forks.
_IN_LINES = 0.5
_WALKS = (algorithms.PostponedWalk, algorithms.IntervalWalk, algorithms.ExpandedGraph)


def cost_of_runs(plan: Operator, statistics: Statistics) -> Cost:
    """The cost of a plan of runs; negation and confidence are assumed to pass everything."""
    figures = RunCardinalities(plan, statistics)
    found = [_evaluation(figures)]
    for operator in reversed(chain(plan)[:-1]):
        flow = found[-1].rows_out
        if isinstance(operator, Negation):
            probed = flow * len(operator.elements)
            work = (("probed", probed), ("checked", flow))
            found.append(OperatorCost("Negation", flow, flow, work))
        elif isinstance(operator, Confidence):
            placed = _of_confidences(operator, flow, figures)
            found.append(OperatorCost("Confidence", flow, flow, placed))
        elif isinstance(operator, Transformation):
            found.append(transformation_cost(operator, flow))
    return Cost(tuple(found))


def _of_confidences(
    operator: Confidence, flow: float, figures: RunCardinalities
) -> tuple[tuple[str, float], ...]:
    """The work on candidates: each event is placed among those before it."""
    has_set = any(each.is_series and not each.is_sequence for each in figures.components)
    pair, asked = "spread" if has_set else "placed", flow * len(operator.elements)
    return ("probed", asked), ("forbidden", asked), (pair, flow * figures.length**2)


def transformation_cost(node: Transformation, flow: float) -> OperatorCost:
    """The cost of making results, of sequences or of runs."""
    out = flow if node.having is None else flow * assumed(node.having)
    if isinstance(node.limit, int):
        out = min(out, float(node.limit))
    return OperatorCost("Transformation", flow, out, (("returned", flow),))


def _evaluation(figures: RunCardinalities) -> OperatorCost:
    runs, rows, request = figures.runs, float(figures.statistics.rows), request_of(figures.plan)
    components = runs.components
    admitted = min(sum(map(figures.admitted, components)) / figures.agreement, 1.0) * figures.events
    every = matches = _number(figures.expected.matches)
    length, prunes = figures.length, require(figures.plan, Transformation).prunes
    if prunes:  # each match ends with another event, and is the shortest one
        matches = min(every, admitted)
        length = float(max(sum(each.minimum for each in components), 1))
    effort_of_rest = sum(effort(edge.conjunct.condition) for edge in runs.conditions)
    left = sum(test not in runs.partitions for test in runs.equivalences)
    work = {
        "run": 1.0,
        "event": rows,
        "admitted": admitted,
        "simple": admitted * sum(effort(each.condition) for each in runs.simple),
        "key": admitted * len(runs.partitions),
        **_work_of_codes(figures, request, admitted),
        "built": matches,
        "bound": matches * length,
    }
    if SharedLinesDrive.drives(request):
        return _shared(figures, work, admitted, matches)
    if isinstance(request.runs, _WALKS):
        walk = RunCardinalities(figures.plan, figures.statistics, is_walk=True).expected
        chosen, whole = _number(walk.made), _number(walk.matches)
        if prunes and every:  # a walk ends with its first match
            chosen, whole = (max(each * matches / every, matches) for each in (chosen, whole))
        work |= {
            "visited": chosen,
            "walked": chosen * bool(runs.early),
            "rebuilt": whole * bool(runs.conditions or left),
            "tested": whole * left * len(components),
        }
        if isinstance(request.runs, algorithms.ExpandedGraph):
            work["listed"] = matches
        alive = admitted * figures.reach
    else:
        made, alive = _number(figures.expected.made), _number(figures.expected.alive)
        if prunes and figures.ends_at_once:
            made = alive = 0.0  # no run is kept
        if isinstance(request.runs, algorithms.MergedRuns):
            made, alive = _merged(figures, made, alive)
            work["hashed"] = made  # to find equal runs
            work["distinguished"] = matches
        share = _IN_LINES if request.runs.never_forks else 1.0
        # Each event advances all runs of its partition.
        shown = admitted * alive * figures.agreement_on(runs.partitions)
        work |= {
            "visited": shown * share,
            "tested": shown * left,
            "tried": made * share,
            "stored": made * _NUMBERS * share,
            "decided": shown * effort_of_rest * share,
        }
        if isinstance(request.runs, algorithms.Backtracking | algorithms.Rereading):
            # Matches are sorted, and compared back to the event at which they differ.
            work["pointer"] = matches * log2(max(matches, 1.0)) * len(components)
    size = alive * _NUMBER * (_NUMBERS + len(components))
    return OperatorCost("RunEvaluation", rows, matches, tuple(work.items()), size, alive=(alive,))


def _work_of_codes(
    figures: RunCardinalities, request: DriveRequest, admitted: float
) -> dict[str, float]:
    """The work for the codes of the key; shared lines and fused walks are in stacks of rows."""
    by_rows = SharedLinesDrive.drives(request) or FusedWalkDrive.drives(request)
    heads = len(figures.components) - 1 if by_rows else 0
    return work_of_codes([figures.runs.partitions], admitted, figures.statistics, heads)


def _shared(
    figures: RunCardinalities, work: dict[str, float], admitted: float, matches: float
) -> OperatorCost:
    """The cost of runs with shared stacks: an event is not compared with each run."""
    fused = {FUSED_UNITS.get(unit, unit): amount for unit, amount in work.items()}
    rows, alive = float(figures.statistics.rows), (_number(figures.expected.alive),)
    size = _SHARED * admitted * figures.reach
    return OperatorCost("RunEvaluation", rows, matches, tuple(fused.items()), size, alive=alive)


def _merged(figures: RunCardinalities, made: float, alive: float) -> tuple[float, float]:
    """Merged runs made and kept: one for each event, component and values that are read later."""
    components, most = figures.components, 0.0
    for level, component in enumerate(components):
        if component is not components[-1] or component.maximum != 1:  # else it is a match
            events = figures.events * figures.admitted(component) / figures.agreement
            most += events * _distinct_values(figures, level)
    return min(made, most), min(alive, most * figures.reach)


def _distinct_values(figures: RunCardinalities, level: int) -> float:
    """The combinations of earlier events' values that distinguish runs at the same event.

    An attribute has its number of values, but at most that of the events of a window; for whole
    series the number is infinite.
    """
    levels = {each.index: place for place, each in enumerate(figures.components)}
    read: dict[tuple[int, Part], set[str]] = {}
    for conjunct in (edge.conjunct for edge in figures.runs.conditions):
        decided = -1 if conjunct.component is None else levels[conjunct.component]
        is_later = decided > level or (decided == level and conjunct.when is not When.EVENT)
        if not is_later or neighbours(conjunct, figures.components) is not None:
            continue
        for each in references(conjunct.condition):
            place = levels[each.component]
            if isinstance(each, Aggregate) and place <= level:
                return inf
            if place < level or (place == level and each.part is Part.FIRST):
                read.setdefault((place, each.part), set()).add(each.attribute or "")
    return prod(_values(figures, place, names) for (place, _), names in read.items())


def _values(figures: RunCardinalities, level: int, names: set[str]) -> float:
    component = figures.components[level]
    known = [
        [each.distinct for each in figures.statistics.attributes(name, component.types)]
        for name in names
    ]
    values = prod(max((each or inf for each in found), default=inf) for found in known)
    return max(min(values, figures.events * figures.admitted(component) * figures.reach), 1.0)


def _number(logarithm: float) -> float:
    return exp(min(logarithm, _MOST))
