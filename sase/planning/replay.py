"""How a plan is replayed on a cluster: the strategies that its split allows, and the choice.

by key              rows are sent to the task of their key, with whole histories
by slice            rows are sent to the slices of time that need them, with a halo around each
by key and slice    the histories of hot keys are cut in slices, all others are sent by key
from files          tasks read their slice and its halo from sorted files: no shuffle
one task            the plan cannot be cut
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sase.base.texts import did_you_mean
from sase.binding.bound import EquivalenceTest, WindowKind
from sase.errors import PlanError
from sase.planning.plan.nodes import Operator, Transformation, require
from sase.planning.split import Split

# A slice is at least this many times as long as its halo.
HALO = 4
EARLIEST, LATEST = -(2**63), 2**63 - 1


class ReplayStrategy(StrEnum):
    """How the events are distributed."""

    KEY = "key"
    SLICE = "slice"
    KEY_AND_SLICE = "key_and_slice"
    FILES = "files"
    ONE_TASK = "one_task"


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """Slices of time, with the bounds of each and of its halo.

    A slice owns the times from its bound up to the next bound. It receives the rows from `begins`
    up to, but not including, `ends`.
    """

    bounds: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        assert len(self.bounds) == len(self.begins) == len(self.ends)
        assert list(self.bounds) == sorted(set(self.bounds)), "bounds ascend"
        for halo in (self.begins, self.ends):
            assert list(halo) == sorted(halo), "no halo reaches beyond that of the next slice"

    def __len__(self) -> int:
        return len(self.bounds) + 1

    def owned(self, number: int) -> tuple[int, int]:
        """The first and the last time that a slice owns."""
        low = self.bounds[number - 1] if number else EARLIEST
        high = self.bounds[number] - 1 if number < len(self.bounds) else LATEST
        return low, high

    def seen(self, number: int) -> tuple[int, int]:
        """The first and the last time of the rows that a slice receives."""
        low = self.begins[number - 1] if number else EARLIEST
        high = self.ends[number] - 1 if number < len(self.ends) else LATEST
        return low, high


def time_slices(bounds: Sequence[int], split: Split, slack: int = 0) -> SlicePlan:
    """Slices with the halo of a time window; times may be off by `slack`."""
    assert split.before is not None
    assert split.before.kind is WindowKind.TIME
    reach = split.before.size or 1
    # Matches known only at the end of time are in the order of their last events: one slice owns
    # them.
    latest = LATEST if split.after is None else LATEST - reach - slack
    known = tuple(sorted({each for each in bounds if EARLIEST < each <= latest}))
    begins = (max(each - reach - slack, EARLIEST) for each in known)
    ahead = slack if split.after is None else reach + slack
    return SlicePlan(known, tuple(begins), tuple(min(each + ahead, LATEST) for each in known))


@dataclass(frozen=True, slots=True)
class ReplayChoice:
    """A strategy with the reason for it, and the reasons against the others."""

    strategy: ReplayStrategy
    reason: str
    declined: tuple[tuple[ReplayStrategy, str], ...] = ()


def possible(split: Split, keys: Sequence[EquivalenceTest]) -> dict[ReplayStrategy, str]:
    """For each strategy why it is impossible; empty text if it is possible.

    `keys` are those tests of the split by which rows can be placed.
    """
    no_key = "" if keys else "there is no attribute on which all events of a match agree"
    if not no_key and split.needs_positions:
        no_key = "the window counts all events, and those of one key do not know of the others"
    no_slice = ""
    if split.before is None:
        no_slice = "there is no window" if not split.keys else "the window counts within each key"
        if split.by_key and not split.reason:
            no_slice = "no window says how far a slice of time must look back"
    not_hot = no_key or no_slice
    no_files = no_slice
    if split.needs_positions:
        not_hot = no_key
        no_files = "the window counts events, and a slice of files does not know how many to read"
    return {
        ReplayStrategy.KEY: no_key,
        ReplayStrategy.SLICE: no_slice,
        ReplayStrategy.KEY_AND_SLICE: not_hot,
        ReplayStrategy.FILES: no_files,
        ReplayStrategy.ONE_TASK: "",
    }


def set_declined(plan: Operator) -> str:
    """Why tasks cannot each return a part of the match set; empty text if they can.

    In any cut, the part that owns a final event has all events on which its matches depend.
    """
    if require(plan, Transformation).non_overlapping is not None:
        return "non_overlap takes some of the matches, which depend on each other"
    if require(plan, Transformation).limit is not None:
        return (
            "LIMIT takes the first of all matches, and a task does not know those of the others:"
            " leave it out, or have the matches themselves"
        )
    return ""


def strategy_named(name: str | None) -> ReplayStrategy | None:
    """The strategy with a name."""
    if name is None:
        return None
    try:
        return ReplayStrategy(name)
    except ValueError:
        hint = did_you_mean(str(name), [*ReplayStrategy]) or (
            f"there are {', '.join(ReplayStrategy)}",
        )
        raise PlanError(f"strategy={name!r}: there is no such strategy; {hint[0]}") from None


def chosen(
    declined: Mapping[ReplayStrategy, str],
    forced: ReplayStrategy | None,
    is_skewed: bool,
    parts: int,
) -> ReplayChoice:
    """The forced strategy, else the cheapest one that is possible.

    Keys are skewed if some are known to have more events than a task should.
    """
    others = tuple((each, why) for each, why in declined.items() if why)
    if forced is not None:
        if declined[forced]:
            raise PlanError(f'strategy="{forced}" cannot be taken here: {declined[forced]}')
        return ReplayChoice(forced, "the call names it", others)
    if not declined[ReplayStrategy.FILES]:
        return ReplayChoice(
            ReplayStrategy.FILES, "the files are in the order of time: no row moves", others
        )
    if is_skewed and not declined[ReplayStrategy.KEY_AND_SLICE]:
        reason = f"statistics say that some key holds more than its share of {parts} tasks"
        return ReplayChoice(ReplayStrategy.KEY_AND_SLICE, reason, others)
    if not declined[ReplayStrategy.KEY]:
        return ReplayChoice(ReplayStrategy.KEY, "all events of a match have the same key", others)
    if not declined[ReplayStrategy.SLICE]:
        return ReplayChoice(ReplayStrategy.SLICE, declined[ReplayStrategy.KEY], others)
    return ReplayChoice(ReplayStrategy.ONE_TASK, declined[ReplayStrategy.KEY], others)
