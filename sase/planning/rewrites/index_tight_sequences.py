"""(NG) Keep only the tight matches of a negative sequence, if no condition reads inside them.

If any match that ended by a time lies in a gap, the one with the latest start does. So of n^k
matches n are enough, which chains of events find:

    b1  b2  c3  c4      SEQ(B b, C c): b2 c3 of the four; before c3 there is none
"""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import BoundComponent
from sase.binding.values.text import condition_text, test_text
from sase.planning.declined import NO_NEGATIVE_GROUP, Declined
from sase.planning.plan.negatives import NegativeSequence, SequenceSearch
from sase.planning.plan.nodes import Negation, Operator, exchanged, find, variables_of
from sase.planning.rewrites.contract import Outcome

# The most steps of a chain; each has a state for every key.
MOST_STEPS = 64


def index_tight_sequences(plan: Operator) -> Outcome:
    """For each negative sequence that chains can decide; others are searched in each gap."""
    negation = find(plan, Negation)
    if negation is None or not negation.sequences:
        return NO_NEGATIVE_GROUP
    obstacles = {each: _obstacle(each, plan) for each in negation.sequences}
    if all(obstacle is not None for obstacle in obstacles.values()):
        return Declined("; ".join(f"!({each.name}): {why}" for each, why in obstacles.items()))
    sequences = tuple(
        each if why is not None else replace(each, search=SequenceSearch.TIGHT)
        for each, why in obstacles.items()
    )
    return exchanged(plan, replace(negation, sequences=sequences))


def _obstacle(sequence: NegativeSequence, plan: Operator) -> str | None:
    """The reason why chains do not decide it."""
    if sequence.search is not SequenceSearch.IN_GAPS:
        return f"it is found by a {sequence.search.value} already"
    for conjunct in sequence.together:
        text = condition_text(conjunct.condition, variables_of(plan))
        return f"{text} looks at several events"
    for test in sequence.equivalences:
        if test.value is None and not all(test.declared):
            return f"not every event is known to have {test_text(test)}"
    for each in _between_absences(sequence):
        return f"how many {each.variable} there are between two absences matters"
    if sum([each.minimum for each in sequence.positives]) > MOST_STEPS:
        return f"it needs more than {MOST_STEPS} events"
    return None


def _between_absences(sequence: NegativeSequence) -> list[BoundComponent]:
    """The series between two absences that may have more events than their minimum."""
    every = sequence.components
    return [
        each
        for before, each, after in zip(every, every[1:], every[2:], strict=False)
        if before.negated and after.negated and each.maximum != each.minimum
    ]
