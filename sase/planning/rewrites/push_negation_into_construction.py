"""(NG in SC) Narrow the range of the walk instead of checking finished sequences for absence.

When an event comes, the last earlier event of a negative component is known. The walk must choose a
later one for the level before; for a negated start, the window must begin later:

    a1   n2   a3   a4   b5      SEQ(A a, !(N n), B b): from b5 the walk visits a4 and a3 only

This needs a negative component that its own event and its partition decide. For a negative sequence
the bound is the first event of the ended match with the latest start, if chains of events find it.
A negated end is not moved: the events after a sequence are not known when it is built.
"""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass, EquivalenceTest, WindowKind
from sase.planning.declined import Declined
from sase.planning.plan.negatives import NegativeComponent, NegativeElement, SequenceSearch
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    exchanged,
    find,
    require,
)
from sase.planning.rewrites.contract import Outcome


def push_negation_into_construction(plan: Operator) -> Outcome:
    """Move each negative component that a range decides; the others stay."""
    construction, negation = require(plan, SequenceConstruction), find(plan, Negation)
    if negation is None:
        return Declined("there is no negative component to decide")
    obstacles = {each: _obstacle(each, construction) for each in negation.elements}
    if None not in obstacles.values():
        reasons = (f"!{_named(each)}: {why}" for each, why in obstacles.items())
        return Declined("; ".join(reasons))
    moved = tuple(each for each in negation.negations if obstacles[each] is None)
    sequences = tuple(each for each in negation.sequences if obstacles[each] is None)
    return exchanged(
        plan,
        replace(
            construction,
            negations=construction.negations + moved,
            sequences=construction.sequences + sequences,
        ),
        replace(
            negation,
            negations=tuple(each for each in negation.negations if each not in moved),
            sequences=tuple(each for each in negation.sequences if each not in sequences),
        ),
    )


def _named(negative: NegativeElement) -> str:
    return negative.name if isinstance(negative, NegativeComponent) else f"({negative.name})"


def _obstacle(negative: NegativeElement, construction: SequenceConstruction) -> str | None:
    """The reason why a range does not decide it."""
    if construction.input.stacks is not Stacks.AIS:
        return "the runtime stack of the NFA knows no ranges"
    if negative.before is None:
        return "events after a sequence are not known when it is built"
    window = construction.window
    if negative.after is None and (window is None or window.kind is WindowKind.PARTITION_EVENTS):
        return "construction does not know how far back its window reaches"
    if not isinstance(negative, NegativeComponent):
        if construction.joins:
            return "joins ask for events, and not for matches of a negative group"
        if negative.search is not SequenceSearch.TIGHT:
            return f"its matches are looked for {negative.search.value}"
    elif not _stands_alone(negative):
        return "a condition compares it with the sequence"
    if not _keeps_to_its_partition(negative, construction.input):
        return "the key of the stacks differs from the attributes on which it must agree"
    return None


def _stands_alone(negative: NegativeComponent) -> bool:
    """Whether its conditions are decided by its own event, without a sequence."""
    return all(
        condition.kind is ConjunctClass.NEGATIVE
        and set(condition.references) <= {negative.component.index}
        for condition in negative.conditions
    )


def _keeps_to_its_partition(negative: NegativeElement, scan: SequenceScan) -> bool:
    """Whether the single key of the stacks decides exactly its equivalence tests."""
    if len(scan.partitions) > 1:
        return False
    key = {_read_by(test) for partition in scan.partitions for test in partition}
    return set(map(_read_by, negative.equivalences)) == key and all(
        test.declared[each.index] for test in negative.equivalences for each in negative.components
    )


def _read_by(test: EquivalenceTest) -> tuple[object, ...]:
    """The attributes of a test, without its value."""
    return test.attribute, test.attributes
