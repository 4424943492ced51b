"""The confidence of a candidate with single events or sequences that may forbid it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context
from sase.engine.operators.imprecise.candidate_confidence import (
    CandidateConfidence,
    PlacedNegative,
    TimeBounds,
)
from sase.engine.operators.imprecise.interval_sequences import PlacedMatch
from sase.engine.operators.imprecise.joint_candidates import (
    ForbiddingOrder,
    JointCandidate,
    JointEvent,
)
from sase.engine.operators.imprecise.joint_confidence import JointConfidence
from sase.engine.operators.imprecise.world_enumeration import JointEnumeration, WorldEnumeration
from sase.errors import BudgetError

# The most matches of negative sequences in a candidate's gaps.
MOST_ORDERS = 1 << 12


@dataclass
class Forbidding:
    """Events and sequences' matches that may forbid a candidate, with the levels before them."""

    events: list[tuple[int, int]] = field(default_factory=list)
    matches: list[tuple[int, PlacedMatch]] = field(default_factory=list)

    def add(self, split: int, match: PlacedMatch) -> None:
        """Add a match of a sequence; a single event is added as such."""
        if len(match.events) == 1:
            self.events.append((split, match.events[0]))
        else:
            self.matches.append((split, match))
            if len(self.matches) > MOST_ORDERS:
                raise BudgetError(
                    f"more than {MOST_ORDERS:,} matches of negative parts may lie in the gaps of"
                    f" one candidate: give the query a smaller WITHIN, or narrow the conditions"
                    f" of the negative parts"
                )


class ForbiddenConfidence:
    """Computes confidences of candidates one by one, by the bounds of events."""

    def __init__(self, context: Context, reach: int, sets: Numbers, *, enumerates: bool) -> None:
        self._sets, check = sets, context.check
        self._alone = WorldEnumeration(reach, check) if enumerates else CandidateConfidence(reach)
        self._joint = (
            JointEnumeration(reach, check) if enumerates else JointConfidence(reach, check)
        )

    def write(
        self,
        bindings: Bindings,
        forbidding: dict[int, Forbidding],
        bounds: Callable[[Numbers], list[TimeBounds]],
    ) -> None:
        """Write the confidences of some candidates, reduced by events that may forbid them."""
        begins, joint = bindings.begins, dict[int, JointCandidate]()
        for number, each in forbidding.items():
            own = bounds(bindings.events[begins[number] : bindings.ends[number]])
            steps, before = self._steps(own, bindings.lengths[:, number].tolist())
            asked = self._asked(steps, before, each, bounds)
            if isinstance(asked, JointCandidate):
                joint[number] = asked
            else:
                bindings.confidences[number] = self._alone.of(steps, asked)
        if joint:
            bindings.confidences[list(joint)] = self._joint.of(list(joint.values()))

    def _steps(
        self, own: Sequence[TimeBounds], lengths: Sequence[int]
    ) -> tuple[list[list[TimeBounds]], list[int]]:
        """The steps of a candidate, and the number of steps before each level."""
        steps, before, begin = list[list[TimeBounds]](), [0], 0
        for length, is_set in zip(lengths, self._sets, strict=True):
            events = list(own[begin : begin + length])
            steps += [events] if is_set and events else [[each] for each in events]
            before.append(len(steps))
            begin += length
        return steps, before

    def _asked(
        self,
        steps: Sequence[Sequence[TimeBounds]],
        before: Sequence[int],
        forbidding: Forbidding,
        bounds: Callable[[Numbers], list[TimeBounds]],
    ) -> list[PlacedNegative] | JointCandidate:
        """The events that may forbid independently, or a candidate with joint ones."""
        gaps: dict[int, set[int]] = {}
        for split, event in forbidding.events:
            gaps.setdefault(event, set()).add(before[split])
        orders = {(before[split], match) for split, match in forbidding.matches}
        events = sorted({*gaps, *(event for _, each in orders for event in _events_of(each))})
        intervals = bounds(np.array(events, np.int64))
        if not orders and all(len(each) == 1 for each in gaps.values()):
            return [
                PlacedNegative(interval, *gaps[event])
                for event, interval in zip(events, intervals, strict=True)
            ]
        number = {event: at for at, event in enumerate(events)}
        others = [
            JointEvent(interval, frozenset(gaps.get(event, ())))
            for event, interval in zip(events, intervals, strict=True)
        ]
        numbered = [
            ForbiddingOrder(
                gap,
                tuple(number[event] for event in match.events),
                tuple((place, number[event]) for place, event in match.absences),
            )
            for gap, match in orders
        ]
        return JointCandidate(steps, others, sorted(numbered))


def _events_of(match: PlacedMatch) -> Iterator[int]:
    yield from match.events
    yield from (event for _, event in match.absences)
