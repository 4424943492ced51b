"""The tree of a plan: the order in which the parts of a sequence are joined (ZStream).

A tree over the levels of a sequence is the order in which the gaps between them are closed. Gap `g`
is the one after level `g`. Closing it joins all parts that end there with all that begin after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sase.binding.bound import BoundComponent, Conjunct

if TYPE_CHECKING:
    from sase.planning.plan.nodes import EdgeCondition


class JoinPart(NamedTuple):
    """A join: its first level, the last level of its left side, and its last level."""

    low: int
    split: int
    high: int


def parts_of(joins: Sequence[int]) -> Iterator[JoinPart]:
    """The joins of a tree in the order in which gaps are closed; the last one makes sequences."""
    begins = {level: level for level in range(len(joins) + 1)}
    ends = dict(begins)
    for gap in joins:
        low, high = begins[gap], ends[gap + 1]
        yield JoinPart(low, gap, high)
        begins[high], ends[low] = low, high


def part_of(joins: Sequence[int], components: Sequence[BoundComponent], conjunct: Conjunct) -> int:
    """The number of the first join that binds all components of a condition."""
    levels = [n for n, each in enumerate(components) if each.index in conjunct.references]
    first, last = min(levels), max(levels)
    covering = (part.low <= first and last <= part.high for part in parts_of(joins))
    return next(number for number, covers in enumerate(covering) if covers)


def leaf_levels(components: Sequence[BoundComponent]) -> list[int]:
    """The components of runs that have a leaf: those with an event in every match."""
    return [level for level, each in enumerate(components) if each.minimum > 0]


def decided_by_joins(
    components: Sequence[BoundComponent], conditions: Sequence[EdgeCondition]
) -> list[Conjunct]:
    """The conditions of runs on several single events, all of which are in leaves.

    The leaf of a series has only its last event.
    """
    leaves = (components[level] for level in leaf_levels(components))
    singles = {each.index for each in leaves if each.is_single}
    conjuncts = (edge.conjunct for edge in conditions if not edge.ranges)
    return [each for each in conjuncts if each.references and set(each.references) <= singles]


def set_joins(components: Sequence[BoundComponent]) -> tuple[int, ...]:
    """The tree that joins the members of each set one after the other, and then the elements."""
    gaps = range(len(components) - 1)
    sets = [each.set_of for each in components]
    inside = [gap for gap in gaps if sets[gap] is not None and sets[gap] == sets[gap + 1]]
    return (*inside, *(gap for gap in gaps if gap not in inside))


def tree_text(joins: Sequence[int], names: Sequence[str]) -> str:
    """A tree in brackets, such as `((a b) c)`."""
    texts = {level: name for level, name in enumerate(names)}
    for low, split, _ in parts_of(joins):
        texts[low] = f"({texts[low]} {texts[split + 1]})"
    return texts[0]
