"""The basic plan of a query: every operator of the paper, and nothing pushed into another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sase.binding.bound import (
    BoundComponent,
    BoundConfidence,
    BoundQuery,
    Conjunct,
    ConjunctClass,
    WindowKind,
)
from sase.lang.ast import StrategyName
from sase.planning.automaton.build import bounded
from sase.planning.plan import negatives, nodes


def basic_plan(query: BoundQuery) -> nodes.Operator:
    """Scan and construction, selection, window, negation, transformation (section 3.1).

    For a pattern with choices each branch has such a plan, below a union.
    """
    if query.branches:
        branches = tuple(map(basic_plan, query.branches))
        union = nodes.Union(branches, _nullable(query), query.equivalences)
        return nodes.Transformation(union, query.columns, query.type_name, limit=query.limit)
    query = bounded(query)
    negations, sequences = tuple(_negations(query)), tuple(_sequences_forbidden(query))
    if query.confidence is not None:
        plan = _candidates(query, query.confidence, negations, sequences)
    else:
        plan = _sequences(query) if query.level == 1 else _runs(query)
        if negations or sequences:
            plan = nodes.Negation(plan, negations, query.window, sequences=sequences)
    return nodes.Transformation(plan, query.columns, query.type_name, query.having, query.limit)


def _nullable(query: BoundQuery) -> tuple[BoundComponent, ...]:
    """The positive components of a pattern that bind no event in some branch."""
    own = [{each.key for each in branch.components} for branch in query.branches]
    return tuple(
        each if all(each.key in keys for keys in own) else replace(each, minimum=0)
        for each in query.positives
    )


def without_overlaps(plan: nodes.Operator, query: BoundQuery) -> nodes.Operator:
    """The plan for matches that do not overlap others of their partition."""
    whole = query.strategy is StrategyName.STRICT_CONTIGUITY
    top = nodes.require(plan, nodes.Transformation)
    return nodes.exchanged(plan, replace(top, non_overlapping=() if whole else query.equivalences))


def _sequences(query: BoundQuery) -> nodes.Operator:
    plan: nodes.Operator = nodes.SequenceConstruction(
        nodes.SequenceScan(query.positives, query.equivalences)
    )
    conditions = tuple(c for c in query.conjuncts if c.kind is not ConjunctClass.NEGATIVE)
    if conditions or query.equivalences:
        plan = nodes.Selection(plan, conditions, query.equivalences)
    # A window of one event never ends, but only events of a partition have such a window.
    window, is_alone = query.window, len(query.positives) == 1
    if window is not None and not (is_alone and window.kind is not WindowKind.PARTITION_EVENTS):
        plan = nodes.Window(plan, window)
    return plan


def _candidates(
    query: BoundQuery,
    confidence: BoundConfidence,
    negations: tuple[negatives.NegativeComponent, ...],
    sequences: tuple[negatives.NegativeSequence, ...],
) -> nodes.Operator:
    """The candidates for matches of imprecise time, for every level, and their confidence."""
    runs = replace(_runs(query), algorithm=nodes.BY_INTERVALS)
    threshold, is_strict = confidence.threshold, confidence.strict
    return nodes.Confidence(
        runs, query.window, negations, threshold, is_strict, sequences=sequences
    )


def _runs(query: BoundQuery) -> nodes.RunEvaluation:
    conditions = tuple(
        nodes.EdgeCondition(c, c.quantified)
        for c in query.conjuncts
        if c.kind is not ConjunctClass.NEGATIVE
    )
    return nodes.RunEvaluation(
        query.positives, query.strategy, conditions, query.equivalences, query.window
    )


def _negations(query: BoundQuery) -> Iterator[negatives.NegativeComponent]:
    level = 0
    last = len(query.positives) - 1
    for component in query.components:
        if not component.negated:
            level += 1
            continue
        yield negatives.NegativeComponent(
            component,
            after=level - 1 if level > 0 else None,
            before=level if level <= last else None,
            conditions=tuple(
                c
                for c in query.conjuncts
                if c.kind is ConjunctClass.NEGATIVE and c.component == component.index
            ),
            equivalences=query.equivalences,
        )


def _sequences_forbidden(query: BoundQuery) -> Iterator[negatives.NegativeSequence]:
    for negation in query.negations:
        before = [c for c in query.components[: negation.position] if not c.negated]
        level, last = len(before), len(query.positives) - 1
        yield negatives.NegativeSequence(
            negation.components,
            after=level - 1 if level > 0 else None,
            before=level if level <= last else None,
            conditions=negation.conjuncts,
            equivalences=query.equivalences,
        )


def decided_at(components: tuple[BoundComponent, ...], conjunct: Conjunct) -> int:
    """The level at which construction can decide it: that of the component it chooses last."""
    return next(level for level, c in enumerate(components) if c.index in conjunct.references)
