"""(NG in SC) Make the walk's range narrower instead of checking finished sequences for absence.

When an event comes, the last one before it that a negative component forbids is known. It bounds
from below what the walk may choose for the level before, and at the start what may come first:

    a1   n2   a3   a4   b5      SEQ(A a, !(N n), B b): from b5 the walk goes down to a3, no further

That takes a negative component that is decided by its own event and by the partition in which it
lies. A negated end stays where it was: what comes after a sequence is not known when it is built.
"""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass, WindowKind
from sase.planning.nodes import (
    Negation,
    NegativeComponent,
    Operator,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    exchanged,
    find,
    without_empty,
)


def push_negation_into_construction(plan: Operator) -> Operator | None:
    """Each negative component that a range decides moves; the others stay where they were."""
    construction, negation = find(plan, SequenceConstruction), find(plan, Negation)
    if construction is None or negation is None:
        return None
    moved = tuple(n for n in negation.negations if _is_a_range(n, construction))
    if not moved:
        return None
    left = tuple(n for n in negation.negations if n not in moved)
    pushed = exchanged(
        plan,
        replace(construction, negations=construction.negations + moved),
        replace(negation, negations=left),
    )
    return without_empty(pushed)


def _is_a_range(negative: NegativeComponent, construction: SequenceConstruction) -> bool:
    return (
        _is_bounded(negative, construction)
        and _stands_alone(negative)
        and _keeps_to_its_partition(negative, construction.input)
    )


def _is_bounded(negative: NegativeComponent, construction: SequenceConstruction) -> bool:
    """Whether the past decides it; before the first event only as far as the window reaches."""
    if negative.before is None:
        return False
    if negative.after is not None:
        return True
    window = construction.window
    return window is not None and window.kind is not WindowKind.PARTITION_EVENTS


def _stands_alone(negative: NegativeComponent) -> bool:
    """Whether its conditions can be decided without a sequence, when its events come in."""
    return all(
        condition.kind is ConjunctClass.NEGATIVE
        and set(condition.references) <= {negative.component.index}
        for condition in negative.conditions
    )


def _keeps_to_its_partition(negative: NegativeComponent, scan: SequenceScan) -> bool:
    """Whether the one key of the stacks decides its equivalence tests, all and no others."""
    if scan.stacks is not Stacks.AIS or len(scan.partitions) > 1:
        return False
    key = {test.attribute for partition in scan.partitions for test in partition}
    return {test.attribute for test in negative.equivalences} == key and all(
        test.declared[negative.component.index] for test in negative.equivalences
    )
