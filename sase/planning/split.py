"""How a plan may be cut into parts, for threads and for tasks.

A match lies in one part of a cut by key, because all its events agree on the key, and so do the
events that could forbid it. In a cut by time a slice owns the matches with their last event in it,
and looks back as far as a match can reach. With a negated end it owns those with their first event
in it, and looks ahead as well. Neither changes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sase.binding.bound import BoundComponent, BoundWindow, EquivalenceTest, WindowKind
from sase.lang.ast import StrategyName
from sase.planning.plan.negatives import NegativeElement
from sase.planning.plan.nodes import (
    Confidence,
    Negation,
    Operator,
    RunEvaluation,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Union,
    Window,
    branches_of,
    chain,
    find,
    reading,
    require,
)
from sase.planning.reasoning.run_forms import Waiting, waiting_of

DETECTED = "matches wait for an absence at their end, and only time tells which are first"
GROWS = "matches wait that may grow, and only time tells which are first"
OVERLAPS = "whether a match overlaps depends on those before it"
NOTHING_SHARED = "it has neither a window nor an attribute that all events agree on"


@dataclass(frozen=True, slots=True)
class Split:
    """The tests with keys by which the events may be parted, and the halo of a slice of time.

    `before` is how far back, `after` how far ahead; with neither there are no slices. `reason` says
    why there is no cut at all.
    """

    keys: tuple[EquivalenceTest, ...] = ()
    before: BoundWindow | None = None
    after: BoundWindow | None = None
    reason: str = ""
    # With imprecise time: the number of windows that may lie between the detection of a match and
    # the events on which it depends.
    windows: int = 0

    @property
    def needs_positions(self) -> bool:
        """Whether events must be numbered before they are parted."""
        return self.before is not None and self.before.kind is WindowKind.EVENTS

    @property
    def by_key(self) -> bool:
        """Whether the plan can be cut by keys only."""
        return self.before is None and bool(self.keys)

    @property
    def by_first(self) -> bool:
        """Whether the first event decides which slice owns a match."""
        return self.after is not None

    @property
    def by_detection(self) -> bool:
        """Whether the time at which a match is detected decides which slice owns it."""
        return self.windows > 0

    def around(self, longest: int) -> Split:
        """The split with the halo for imprecise time, given the longest interval.

        All events of a match, and all that may forbid it, have begun when it is detected. They
        began no earlier than the windows and twice that interval before: one event ends at the time
        of detection, and another one is within the window by its latest time.
        """
        if not self.by_detection or self.before is None:
            return self
        reach = self.windows * (self.before.size or 1) + 2 * longest
        return replace(self, before=replace(self.before, size=reach))


def split_of(plan: Operator) -> Split:
    """The split of a plan.

    A run depends only on the events from its first to its last, so it is cut like a sequence. But
    strict contiguity counts all events, so they cannot be parted by keys; and non-overlapping
    results depend on earlier ones. A union is cut in a way that is valid for each of its branches.
    """
    union = find(plan, Union)
    if union is not None:
        return _of_branches(union, require(plan, Transformation).non_overlapping)
    scan, window = find(plan, SequenceScan), window_of(plan)
    source, negations = scan or require(plan, RunEvaluation), negations_of(plan)
    is_ranked = window is not None and window.kind is WindowKind.PARTITION_EVENTS
    # A rank counts the events that agree on the written tests.
    inferred = () if scan is None or is_ranked else scan.inferred
    keys = () if _is_strict(source) else _keys((*source.tests, *inferred), source, negations)
    ends = [may_end(source.components, negation) for negation in negations]
    if find(plan, Confidence) is not None:
        # Matches are ordered by the time of detection. With a negated end that is a window after
        # their events; a negated start forbids events up to a window before them.
        reason = "" if keys or window is not None else NOTHING_SHARED
        return Split(keys, before=window, reason=reason, windows=2 if any(ends) else 1)
    always = [negation.before is None for negation in negations]
    non_overlapping = require(plan, Transformation).non_overlapping
    if ends != always or (any(ends) and non_overlapping is not None):
        return Split(reason=DETECTED)
    waiting = waiting_of(plan)
    if _is_told_late(waiting, window, non_overlapping):
        return Split(reason=GROWS)
    if non_overlapping is not None:
        # With keys as the only cut, a part does not know the number of events of the others.
        counts = window is not None and window.kind is WindowKind.EVENTS
        keys = () if counts else tuple(test for test in keys if test in non_overlapping)
    if window is None or is_ranked or non_overlapping is not None:
        return Split(keys, reason="" if keys else _why_whole(source, non_overlapping))
    waits = any(ends) or waiting is Waiting.ALL
    return Split(keys, before=window, after=window if waits else None)


def _is_told_late(
    waiting: Waiting,
    window: BoundWindow | None,
    non_overlapping: tuple[EquivalenceTest, ...] | None,
) -> bool:
    """Whether parts cannot order the matches that wait because they may grow.

    They can if all of them wait, by the time of the first event or until the end.
    """
    if waiting is Waiting.NONE:
        return False
    counts = window is not None and window.kind is not WindowKind.TIME
    return waiting is Waiting.SOME or counts or non_overlapping is not None


def _of_branches(union: Union, non_overlapping: tuple[EquivalenceTest, ...] | None) -> Split:
    """The split by which every branch may be cut."""
    # A branch of one event is cut as the others are.
    every = [split_of(branch) for branch in union.branches if not _is_alone(branch)]
    if not every:
        return Split(reason=NOTHING_SHARED)
    first = every[0]
    reason = next((each.reason for each in every if each.reason), "")
    if reason or any(each.after is not None for each in every):
        return Split(reason=reason or DETECTED)
    if len({waiting_of(branch) for branch in union.branches}) > 1:
        return Split(reason=GROWS)
    keys = _shared_keys(union, every)
    if non_overlapping is not None:
        counts = first.needs_positions
        own = {test.attribute for test in non_overlapping}
        keys = () if counts else tuple(test for test in keys if test.attribute in own)
        return Split(keys, reason="" if keys else OVERLAPS)
    # With imprecise time a match of two branches may be detected at two times; which branch reports
    # it is known only at the later one.
    is_late = any(each.windows > 1 for each in every)
    if not keys and (is_late or first.before is None):
        return Split(reason=DETECTED if is_late else NOTHING_SHARED)
    if is_late:
        return Split(keys)
    return Split(keys, before=first.before, windows=max(each.windows for each in every))


def _shared_keys(union: Union, every: list[Split]) -> tuple[EquivalenceTest, ...]:
    """The keys of all branches, as tests of the whole pattern.

    A branch of one event is parted by written keys only, as its event may have no other.
    """
    of_each = [{test.attribute for test in each.keys if not test.attributes} for each in every]
    names = set.intersection(*of_each)
    written = {test.attribute: test for test in _keys(union.tests, union, [])}
    if len(every) < len(union.branches):
        return tuple(test for name, test in written.items() if name in names)
    # An attribute that every branch declares, the whole pattern declares.
    declared = (True,) * (max(each.index for each in union.components) + 1)
    inferred = (replace(test, declared=declared) for test in every[0].keys)
    return tuple(
        written.get(test.attribute, test)
        for test in inferred
        if test.attribute in names and not test.attributes
    )


def _is_alone(plan: Operator) -> bool:
    """Whether every match of a branch is one event, independent of all other events."""
    components = reading(plan).components
    is_one = len(components) == 1 and components[0].is_single
    return is_one and not (negations_of(plan) or window_of(plan))


def may_end(components: Sequence[BoundComponent], negation: NegativeElement) -> bool:
    """Whether a match may have no event after a negative element."""
    after = -1 if negation.after is None else negation.after
    return all(component.minimum == 0 for component in components[after + 1 :])


def _is_strict(source: SequenceScan | RunEvaluation) -> bool:
    strict = StrategyName.STRICT_CONTIGUITY
    return isinstance(source, RunEvaluation) and source.strategy is strict


def _why_whole(
    source: SequenceScan | RunEvaluation, non_overlapping: tuple[EquivalenceTest, ...] | None
) -> str:
    if non_overlapping is not None:
        return OVERLAPS
    if _is_strict(source) and source.tests:
        return "strict contiguity counts every event, and there is no window in time or events"
    return NOTHING_SHARED


def window_of(plan: Operator) -> BoundWindow | None:
    """The window of the query, from whichever operator checks it."""
    holders = Window | Negation | SequenceConstruction | SequenceScan | RunEvaluation
    operators = (each for branch in branches_of(plan) for each in chain(branch))
    windows = (each.window for each in operators if isinstance(each, holders))
    return next((window for window in windows if window is not None), None)


def negations_of(plan: Operator) -> list[NegativeElement]:
    """The negative components and sequences, from whichever operators check them."""
    found: list[NegativeElement] = []
    for branch in branches_of(plan):
        for operator in chain(branch):
            if isinstance(operator, Confidence | Negation | SequenceConstruction):
                found += operator.elements
    return found


def _keys(
    tests: tuple[EquivalenceTest, ...],
    scan: SequenceScan | RunEvaluation | Union,
    negations: list[NegativeElement],
) -> tuple[EquivalenceTest, ...]:
    """The tests that every type of every component declares: other events may lack a key."""
    every = [*scan.components, *(each for n in negations for each in n.components)]
    return tuple(t for t in tests if t.value is None and t.is_declared_by(every))
