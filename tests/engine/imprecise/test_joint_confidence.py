"""The confidence of what is forbidden jointly: swept over time as by enumeration of all worlds."""

from __future__ import annotations

from math import prod
from random import Random

import pytest
from hypothesis import settings

from sase.engine.operators.imprecise import joint_confidence, world_sweep
from sase.engine.operators.imprecise.candidate_confidence import TimeBounds
from sase.engine.operators.imprecise.joint_confidence import JointConfidence
from sase.engine.operators.imprecise.world_enumeration import JointEnumeration
from sase.engine.operators.imprecise.world_sweep import ForbiddingOrder, JointEvent
from sase.errors import BudgetError
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples
MOST_WORLDS = 4000
FAR = 10**6


def around(random: Random, at: int, longest: int) -> TimeBounds:
    """An interval about a time."""
    lo = at - random.randrange(longest)
    return TimeBounds(lo, lo + random.randrange(longest + 1))


def drawn(random: Random, longest: int, reach: int) -> tuple[object, ...]:
    """Steps, others, and orders of some of them."""
    steps, at = list[list[TimeBounds]](), 0
    for _ in range(random.choice((1, 2, 2, 3))):
        at += random.randrange(longest)
        count = random.choice((1, 1, 1, 2))
        steps.append([around(random, at, longest) for _ in range(count)])
    gaps = range(len(steps) + 1) if reach < FAR else range(1, len(steps))
    count = random.randrange(1, 5) if gaps else 0
    others = [
        JointEvent(
            around(random, random.randrange(at + longest), longest),
            frozenset(random.sample(gaps, min(random.randrange(3), len(gaps)))),
        )
        for _ in range(count)
    ]
    orders = []
    for _ in range(random.randrange(3) if gaps else 0):
        events = random.sample(range(count), random.randrange(1, count + 1))
        absences = [
            (place, other)
            for place in range(1, len(events))
            for other in range(count)
            if other not in events and random.random() < 0.5
        ]
        orders.append(ForbiddingOrder(random.choice(gaps), tuple(events), tuple(absences)))
    return steps, others, orders


@pytest.mark.random
def test_the_sweep_is_the_enumeration_of_worlds() -> None:
    seen, judged = 0, 0
    for number in draw_numbers(40 * EXAMPLES):
        random = Random(number)
        reach = random.choice((FAR, 2, 3, 4, 6))
        steps, others, orders = drawn(random, 3, reach)
        every = [each for step in steps for each in step] + [each.interval for each in others]
        if prod(each.size for each in every) > MOST_WORLDS:
            continue
        wanted = JointEnumeration(reach).of(steps, others, orders)
        got = JointConfidence(reach).of(steps, others, orders)
        assert abs(wanted - got) < 1e-12, (number, wanted, got)
        judged, seen = judged + 1, seen + (0 < wanted < 1)
        if judged >= 4 * EXAMPLES and seen >= EXAMPLES:
            return
    assert seen, "no example is possible and not certain"


@pytest.mark.parametrize("number", range(6))
def test_sums_of_few_times_are_those_of_all(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, gaps = Random(number), ((0,), (2,), (0, 1, 2))[number % 3]
    steps = [[TimeBounds(at, at + random.choice((0, 56, 60)))] for at in (0, 40)]
    others = [
        JointEvent(TimeBounds(lo, lo + random.choice((52, 70))), frozenset(gaps[:1]))
        for lo in random.sample(range(-30, 70), 2 if number % 3 < 2 else 1)
    ]
    orders = [ForbiddingOrder(gaps[-1], tuple(range(len(others))))]
    confidence = JointConfidence(90)
    got = confidence.of(steps, others, orders)
    monkeypatch.setattr(
        joint_confidence, "_nodes", lambda length, _: ((place, 1.0) for place in range(length))
    )
    assert abs(confidence.of(steps, others, orders) - got) < 1e-12


def test_intervals_of_2_to_the_40() -> None:
    whole = TimeBounds(0, 2**40 - 1)
    steps = [[TimeBounds(-1, -1)], [TimeBounds(2**40, 2**40)]]
    others = [JointEvent(whole)] * 3
    got = JointConfidence(FAR**3).of(steps, others, [ForbiddingOrder(1, (0, 1, 2))])
    assert abs(got - 5 / 6) < 1e-11


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [[TimeBounds(0, 0)], [TimeBounds(99, 99)]]
    others = [JointEvent(TimeBounds(1, 98))] * 8
    orders = [ForbiddingOrder(1, (one, one + 1)) for one in range(7)]
    monkeypatch.setattr(world_sweep, "MOST_STATES", 100)
    with pytest.raises(BudgetError, match="more than 100 states"):
        JointConfidence(1000).of(steps, others, orders)


def test_an_order_that_is_certain_forbids_however_many_others_there_are() -> None:
    steps = [[TimeBounds(0, 0)], [TimeBounds(99, 99)]]
    others = [JointEvent(TimeBounds(1, 40)), *[JointEvent(TimeBounds(30, 98))] * 30]
    orders = [ForbiddingOrder(1, (0, other)) for other in range(1, 31)]
    confidence = JointConfidence(1000)
    with pytest.raises(BudgetError, match="more than 16 may be at one time"):
        confidence.of(steps, others, orders)
    others.append(JointEvent(TimeBounds(41, 98)))
    assert confidence.of(steps, others, [*orders, ForbiddingOrder(1, (0, 31))]) == 0.0
