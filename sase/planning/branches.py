"""Branches of a pattern: scans that they share, unneeded ones, and times of detection."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from itertools import chain as chained
from itertools import combinations

from sase.base.limits import heed
from sase.binding.bound import BoundComponent, WindowKind
from sase.cached_property import cached_property
from sase.planning.plan.nodes import (
    Confidence,
    Operator,
    SequenceScan,
    Transformation,
    Union,
    chain,
    exchanged,
    find,
    name_of,
    reading,
    require,
)
from sase.planning.reasoning.run_forms import Waiting, waiting_of
from sase.planning.split import may_end, negations_of, window_of

# ---------------------------------------------------------------- detection

# A copy is the same match of another branch. It may be detected later: after a negated end, or
# where a match may grow. The first branch decides when a match is detected, so it waits for the
# copies.


class DetectionTime(Enum):
    """The time at which the matches of a branch are detected."""

    LAST_EVENT = "at their last event"
    WINDOW_END = "when their window has passed"
    EITHER = "some so, some so"


# Two branches that both have one of these detect the same match at the same time.
_AT_ONE_TIME = {DetectionTime.LAST_EVENT, DetectionTime.WINDOW_END}


# The reason for a window PER PARTITION: a key leaves the window only by events of its own.
KEEPS_EVERY_KEY = (
    "of every key it keeps events until more of that key come, also where none does: in a stream of"
    " ever new keys a window in time keeps less"
)


class CopyWait(Enum):
    """How long matches wait for copies that other branches may find."""

    TIME = "matches that two branches may give wait until their window has passed"
    EVENTS = "matches that two branches may give wait until their window of events has passed"
    END = (
        "matches that two branches may give wait until the end, whatever memory it takes: no window"
        " in time or events bounds it"
    )


def detection_of(branch: Operator) -> DetectionTime:
    """Return the time at which the matches of a branch are detected."""
    heed()
    waiting, negations = waiting_of(branch), negations_of(branch)
    has_ends = any(may_end(reading(branch).components, each) for each in negations)
    if not has_ends and waiting is Waiting.NONE:
        return DetectionTime.LAST_EVENT
    is_end = any(each.before is None for each in negations)
    always = is_end or waiting is Waiting.ALL
    return DetectionTime.WINDOW_END if always else DetectionTime.EITHER


def have_copies(one: Operator, other: Operator) -> bool:
    """Whether two branches may find the same match and detect it at different times."""
    detections = {detection_of(one), detection_of(other)}
    # With imprecise time two branches may disagree on the first of the same events.
    is_imprecise = find(one, Confidence) is not None
    same = {DetectionTime.LAST_EVENT} if is_imprecise else _AT_ONE_TIME
    if len(detections) == 1 and detections <= same:
        return False
    return may_share_matches(one, other)


def may_share_matches(one: Operator, other: Operator) -> bool:
    """Whether two branches may find the same match: the same variables with the same events."""
    return _may_give(one, other) and _may_give(other, one) and not _differ_in_types(one, other)


def _differ_in_types(one: Operator, other: Operator) -> bool:
    """Whether a variable that both branches must bind has no type in common."""
    types = {each.key: each.types for each in reading(one).components if each.minimum > 0}
    common = (each for each in reading(other).components if each.minimum > 0 and each.key in types)
    pairs = ((types[each.key], each.types) for each in common)
    return any(mine is not None and its is not None and not {*mine} & {*its} for mine, its in pairs)


def _may_give(one: Operator, other: Operator) -> bool:
    """Whether a branch has every variable that each match of the other binds."""
    own = {each.key for each in reading(one).components}
    return own >= {each.key for each in reading(other).components if each.minimum > 0}


def branches_with_copies(union: Union) -> tuple[bool, ...]:
    """For each branch, whether another may detect its matches at a different time."""
    known = [False] * len(union.branches)
    for one, other in combinations(range(len(known)), 2):
        if not (known[one] and known[other]):
            is_so = have_copies(union.branches[one], union.branches[other])
            known[one], known[other] = known[one] or is_so, known[other] or is_so
    return tuple(known)


def wait_for_copies(union: Union) -> CopyWait | None:
    """How long matches wait for copies; None if no branch has any."""
    if not any(branches_with_copies(union)):
        return None
    window = window_of(union)
    if window is None or window.kind is WindowKind.PARTITION_EVENTS:
        return CopyWait.END
    return CopyWait.TIME if window.kind is WindowKind.TIME else CopyWait.EVENTS


# ---------------------------------------------------------------- shared scans

#     SEQ(A a, (B b OR C c), D d)     is searched as   SEQ(A a, ANY(B, C) x, D d)
#
# No event is both a B and a C, so the type of the event decides to which branch a match belongs,
# and no two branches find the same match. The walk finds the matches in the order of results.

# The code of a type fits a byte.
MOST_TYPES = 255


@dataclass(frozen=True)
class SharedScan:
    """A plan that finds the matches of some branches, up to HAVING and RETURN.

    `choices` has for each level the components among which the branches choose. There is a branch
    for each combination: `branches` are their numbers, with the choice of the first level varying
    slowest.
    """

    branches: tuple[int, ...]
    choices: tuple[tuple[BoundComponent, ...], ...]
    plan: Operator

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The levels with a choice."""
        return tuple(level for level, each in enumerate(self.choices) if len(each) > 1)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types that determine the branch of a match."""
        return _types_of(chained.from_iterable(self.choices[level] for level in self.levels))


@cache
def shared_scans(union: Union) -> tuple[SharedScan, ...]:
    """The scans of a union, ordered by their first branch; most have one branch."""
    found = [_alone(number, branch) for number, branch in enumerate(union.branches)]
    levels = max(len(each.choices) for each in found)
    # From the last level on, so that the branches are in the order of their choices.
    for level in reversed(range(levels)):
        groups = dict[object, list[SharedScan]]()
        for each in found:
            groups.setdefault(_others(each, level), []).append(each)
        found = [shared for group in groups.values() for shared in _joined(group, level)]
    return tuple(sorted(found, key=lambda each: each.branches))


def _alone(number: int, branch: Operator) -> SharedScan:
    scan = find(branch, SequenceScan)
    components = () if scan is None else scan.components
    return SharedScan((number,), tuple((each,) for each in components), branch)


def _others(shared: SharedScan, level: int) -> object:
    """A key that is equal for plans which may differ only at one level."""
    scan = find(shared.plan, SequenceScan)
    if scan is None or level >= len(shared.choices) or scan.components[level].types is None:
        return shared.branches  # equal to no other
    blank = replace(scan.components[level], variable="", named=False, types=None, is_any=False)
    components = (*scan.components[:level], blank, *scan.components[level + 1 :])
    plan = exchanged(shared.plan, replace(scan, components=components, columns=None))
    choices = (*shared.choices[:level], *shared.choices[level + 1 :])
    return choices, require(plan, Transformation).input


def _joined(group: list[SharedScan], level: int) -> list[SharedScan]:
    """Merge the scans of a group that have no type in common at a level."""
    found = list[list[SharedScan]]()
    for each in group:
        types = set(_types_of(each.choices[level])) if len(group) > 1 else set()
        fitting = (some for some in found if not types & set(_types_at(some, level)))
        some = next((s for s in fitting if len(_types_at(s, level)) + len(types) <= MOST_TYPES), [])
        some.append(each)
        if len(some) == 1:
            found.append(some)
    return [some[0] if len(some) == 1 else _united(some, level) for some in found]


def _united(some: list[SharedScan], level: int) -> SharedScan:
    """Merge several scans into one."""
    first = some[0]
    every = tuple(chained.from_iterable(each.choices[level] for each in some))
    choices = (*first.choices[:level], every, *first.choices[level + 1 :])
    scans = [require(each.plan, SequenceScan) for each in some]
    components = list(scans[0].components)
    names = " or ".join(dict.fromkeys(each.variable for each in every))
    component = replace(components[level], variable=names, types=_types_of(every), is_any=True)
    components[level] = component
    scan = replace(scans[0], components=tuple(components), columns=_columns(scans))
    top = Transformation(require(first.plan, Transformation).input)
    plan = exchanged(first.plan, scan, top)
    return SharedScan(tuple(chained.from_iterable(each.branches for each in some)), choices, plan)


def _columns(scans: list[SequenceScan]) -> tuple[str, ...] | None:
    every = [scan.columns for scan in scans if scan.columns is not None]
    if len(every) < len(scans):
        return None
    return tuple(dict.fromkeys(chained.from_iterable(every)))


def _types_at(some: list[SharedScan], level: int) -> tuple[str, ...]:
    return _types_of(chained.from_iterable(each.choices[level] for each in some))


def _types_of(components: Iterable[BoundComponent]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in components for name in each.types or ()))


@dataclass(frozen=True, slots=True)
class PlacedOperator:
    """An operator of a plan; of a branch with its number, from 1, and `plan` is that of the branch.

    The name is unique in the whole plan.
    """

    operator: Operator
    plan: Operator
    branch: int | None = None

    @property
    def name(self) -> str:
        """The kind of operator, and the number of its branch."""
        return name_of(type(self.operator).__name__, self.branch)


def placed_operators(root: Operator) -> list[PlacedOperator]:
    """All operators from the bottom up, those of the branches first, as they count and are timed.

    Operators of a shared scan have the number of its first branch.
    """
    union, placed = find(root, Union), list[PlacedOperator]()
    branches = () if union is None else union.branches
    for each in () if union is None else shared_scans(union):
        *below, _ = reversed(chain(each.plan))
        placed += [PlacedOperator(one, each.plan, each.branches[0] + 1) for one in below]
        placed += [PlacedOperator(branches[n], branches[n], n + 1) for n in each.branches]
    return [*placed, *(PlacedOperator(operator, root) for operator in reversed(chain(root)))]


# ---------------------------------------------------------------- skipped branches


def branches_left_out(union: Union, types: Collection[str]) -> dict[int, str]:
    """The branches that cannot match events of only these types, each with the reason.

    Branches that share a scan are skipped together, or not at all.
    """
    found: dict[int, str] = {}
    for shared in shared_scans(union):
        lacking = missing_types(reading(shared.plan).components, types)
        if lacking:
            reason = f"no event is of type {' or '.join(lacking)}"
            found |= dict.fromkeys(shared.branches, reason)
    return dict(sorted(found.items()))


def missing_types(components: Iterable[BoundComponent], types: Collection[str]) -> tuple[str, ...]:
    """The types of the first component that must bind an event but has no type among these."""
    for each in components:
        if each.minimum > 0 and (lacking := _missing(each, types)):
            return lacking
    return ()


def _missing(component: BoundComponent, types: Collection[str]) -> tuple[str, ...]:
    """The types of a component that must bind an event, if none of them occurs."""
    if component.group is None:
        wanted = component.types
        return wanted if wanted and not any(name in types for name in wanted) else ()
    # Each iteration follows one of the branches.
    lacking = [
        missing_types((e for e in branch.elements if not e.negated), types)
        for branch in component.group.branches
    ]
    return tuple(dict.fromkeys(name for each in lacking for name in each)) if all(lacking) else ()


def left_out_text(found: dict[int, str]) -> tuple[str, ...]:
    """A sentence for each reason, with the numbers of its branches."""
    by_reason: dict[str, list[int]] = {}
    for number, reason in found.items():
        by_reason.setdefault(reason, []).append(number + 1)
    return tuple(_sentence(numbers, reason) for reason, numbers in by_reason.items())


def _sentence(numbers: list[int], reason: str) -> str:
    whole = ", ".join(map(str, numbers))
    be = "branches {} are" if len(numbers) > 1 else "branch {} is"
    return f"{be.format(whole)} not searched: {reason}"
