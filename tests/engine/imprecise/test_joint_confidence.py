"""The confidence of jointly forbidden candidates: a sweep as by enumeration of worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import factorial, prod
from random import Random

import pytest
from hypothesis import settings

from sase.engine.operators.imprecise import joint_sweep
from sase.engine.operators.imprecise.candidate_confidence import (
    CandidateConfidence,
    PlacedNegative,
    TimeBounds,
)
from sase.engine.operators.imprecise.joint_candidates import (
    ForbiddingOrder,
    JointCandidate,
    JointEvent,
)
from sase.engine.operators.imprecise.joint_confidence import JointConfidence
from sase.engine.operators.imprecise.world_enumeration import JointEnumeration
from sase.errors import BudgetError
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples
MOST_WORLDS = 4000
FAR = 10**6


def around(random: Random, at: int, longest: int) -> TimeBounds:
    """An interval about a time."""
    lo = at - random.randrange(longest)
    return TimeBounds(lo, lo + random.randrange(longest + 1))


def drawn(random: Random, longest: int, reach: int) -> JointCandidate:
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
    return JointCandidate(steps, others, orders)


@pytest.mark.random
def test_the_sweep_is_the_enumeration_of_worlds() -> None:
    seen, judged = 0, 0
    for number in draw_numbers(40 * EXAMPLES):
        random = Random(number)
        reach = random.choice((FAR, 2, 3, 4, 6))
        candidate = drawn(random, 3, reach)
        if prod(each.size for each in candidate.bounds) > MOST_WORLDS:
            continue
        (wanted,) = JointEnumeration(reach).of([candidate])
        (got,) = JointConfidence(reach).of([candidate])
        assert abs(wanted - got) < 1e-12, (number, wanted, got)
        judged, seen = judged + 1, seen + (0 < wanted < 1)
        if judged >= 4 * EXAMPLES and seen >= EXAMPLES:
            return
    assert seen, "no example is possible and not certain"


@pytest.mark.random
def test_sums_over_the_times_of_the_ends_are_those_of_each_by_itself() -> None:
    """Of long intervals, with too many worlds: pieces are summed by a few places."""
    for number in draw_numbers(EXAMPLES):
        random = Random(number)
        longest = random.choice((20, 40, 60))
        candidate = drawn(random, longest, 1)
        confidence = JointConfidence(random.randrange(1, 3 * longest))
        (found,) = confidence.of([candidate])
        steps = [step[:1] for step in candidate.steps]
        (wanted,) = confidence.of([candidate._replace(steps=steps)])
        by_ends = confidence.of([candidate._replace(steps=each) for each in with_ends(steps)])
        ends = {0, len(steps) - 1}
        assert abs(sum(by_ends) / prod(steps[end][0].size for end in ends) - wanted) < 1e-11, number
        if steps == candidate.steps:
            assert found == wanted, number


def with_ends(steps: Sequence[Sequence[TimeBounds]]) -> Iterator[list[list[TimeBounds]]]:
    """The steps with each time of the first event, and of the last one."""
    first, last = steps[0][0], steps[-1][0]
    for time in range(first.lo, first.hi + 1):
        one = [TimeBounds(time, time)]
        if len(steps) == 1:
            yield [one]
        else:
            between = list(map(list, steps[1:-1]))
            for end in range(last.lo, last.hi + 1):
                yield [one, *between, [TimeBounds(end, end)]]


@pytest.mark.random
@pytest.mark.parametrize("longest", [20, 10**4, 10**9])
def test_what_forbids_by_itself_is_as_by_polynomials(longest: int) -> None:
    """Another way comes to the same where events are independent, and orders are of one event."""
    for number in draw_numbers(6 * EXAMPLES):
        random = Random(number)
        reach = random.choice((4 * longest, longest, longest // 2))
        steps, others, _ = drawn(random, longest, 1)
        placed = [
            PlacedNegative(each.interval, random.randrange(len(steps) + 1)) for each in others
        ]
        alone = {event for event in range(len(others)) if random.random() < 0.5}
        joint = [
            JointEvent(each.interval, frozenset({each.place} if event in alone else ()))
            for event, each in enumerate(placed)
        ]
        orders = [
            ForbiddingOrder(each.place, (event,))
            for event, each in enumerate(placed)
            if event not in alone
        ]
        wanted = CandidateConfidence(reach).of(steps, placed)
        (found,) = JointConfidence(reach).of([JointCandidate(steps, joint, orders)])
        assert abs(found - wanted) < 1e-11, number


@pytest.mark.random
def test_candidates_are_each_a_matter_of_itself() -> None:
    """To the bit, whatever is computed before it and however much room there is."""
    random = Random(draw_numbers(1)[0])
    candidates = [drawn(random, random.choice((3, 30)), 1) for _ in range(200)]
    together = JointConfidence(20).of(candidates)
    some = random.sample(range(len(candidates)), 4 * EXAMPLES)
    assert [JointConfidence(20).of([candidates[each]])[0] for each in some] == [
        together[each] for each in some
    ]


@pytest.mark.random
def test_what_is_kept_for_the_next_sweep_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(draw_numbers(1)[0])
    candidates = [drawn(random, random.choice((3, 30)), 1) for _ in range(2 * EXAMPLES)]
    wanted = JointConfidence(20).of(candidates)
    monkeypatch.setattr(joint_sweep, "MOST_KEPT", 5)
    monkeypatch.setattr(joint_sweep, "MOST_EVENTS", 2)
    assert JointConfidence(20).of(candidates).tolist() == wanted.tolist()


def test_more_events_and_orders_than_a_word_has_bits() -> None:
    steps = [[TimeBounds(0, 0)], [TimeBounds(10**3, 10**3)]]
    others = [JointEvent(TimeBounds(at, at + 12)) for at in range(1, 900, 10)]
    orders = [ForbiddingOrder(1, (at + 1, at)) for at in range(89)]
    orders += [ForbiddingOrder(1, (at + 2, at + 1, at)) for at in range(88)]
    (one,) = JointConfidence(10**4).of([JointCandidate(steps, others[:2], orders[:1])])
    assert one == pytest.approx(1 - 3 / 169)
    (all_of_them,) = JointConfidence(10**4).of([JointCandidate(steps, others, orders)])
    at = [0.0] * 1000  # how likely none is before the one listed before it, which is at a time
    at[0] = 1.0
    for other in others:
        sums, (lo, hi) = list(accumulate(at)), other.interval
        at = [sums[time] / 13 if lo <= time <= hi else 0.0 for time in range(1000)]
    assert all_of_them == pytest.approx(sum(at), rel=1e-12)


def test_long_sweeps_are_asked_whether_to_go_on() -> None:
    """They stop in between, and go on to the same."""
    asked = list[int]()
    steps = [[TimeBounds(0, 0)], [TimeBounds(10**3, 10**3)]]
    others = [JointEvent(TimeBounds(1 + at, 900 + at)) for at in range(8)]
    orders = [ForbiddingOrder(1, tuple(range(8)))]
    (found,) = JointConfidence(10**4, asked.append).of([JointCandidate(steps, others, orders)])
    assert len(asked) > 2
    assert found == pytest.approx(1 - 1 / factorial(8), abs=1e-6)


def test_intervals_of_2_to_the_40() -> None:
    whole = TimeBounds(0, 2**40 - 1)
    steps = [[TimeBounds(-1, -1)], [TimeBounds(2**40, 2**40)]]
    others = [JointEvent(whole)] * 3
    candidate = JointCandidate(steps, others, [ForbiddingOrder(1, (0, 1, 2))])
    (got,) = JointConfidence(FAR**3).of([candidate])
    assert abs(got - 5 / 6) < 1e-11


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [[TimeBounds(0, 0)], [TimeBounds(99, 99)]]
    others = [JointEvent(TimeBounds(1, 98))] * 8
    orders = [ForbiddingOrder(1, (one, one + 1)) for one in range(7)]
    monkeypatch.setattr(joint_sweep, "MOST_STATES", 100)
    with pytest.raises(BudgetError, match="more than 100 states"):
        JointConfidence(1000).of([JointCandidate(steps, others, orders)])


def test_an_order_that_is_certain_forbids_however_many_others_there_are() -> None:
    steps = [[TimeBounds(0, 0)], [TimeBounds(99, 99)]]
    others = [JointEvent(TimeBounds(1, 40)), *[JointEvent(TimeBounds(30, 98))] * 30]
    orders = [ForbiddingOrder(1, (0, other)) for other in range(1, 31)]
    confidence = JointConfidence(1000)
    with pytest.raises(BudgetError, match="More than 16 of these may be at one time"):
        confidence.of([JointCandidate(steps, others, orders)])
    others.append(JointEvent(TimeBounds(41, 98)))
    orders.append(ForbiddingOrder(1, (0, 31)))
    assert confidence.of([JointCandidate(steps, others, orders)]) == [0.0]
