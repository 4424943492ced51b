"""Merge the occurrences of each variable in several branches into one component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sase.binding.bound import BoundComponent, RepeatedGroup


def by_variable(every: Sequence[BoundComponent]) -> tuple[BoundComponent, ...]:
    """A component for each variable, in the order of first occurrence, with the types of all.

    Those of negative sequences come last.
    """
    every = sorted(every, key=lambda each: each.inside is not None)
    found: dict[tuple[bool, str], BoundComponent] = {}
    for each in every:
        known = found.get(each.key)
        found[each.key] = each if known is None else _united(known, each)
    return tuple(
        replace(each, index=index, set_of=None) for index, each in enumerate(found.values())
    )


def _united(one: BoundComponent, other: BoundComponent) -> BoundComponent:
    types = None
    if one.types is not None and other.types is not None:
        types = tuple(dict.fromkeys((*one.types, *other.types)))
    maxima = (one.maximum, other.maximum)
    return replace(
        one,
        types=types,
        is_any=one.is_any or other.is_any or set(one.types or ()) != set(other.types or ()),
        minimum=min(one.minimum, other.minimum),
        maximum=None if None in maxima else max(each or 0 for each in maxima),
        group=_united_groups(one.group, other.group),
    )


def _united_groups(one: RepeatedGroup | None, other: RepeatedGroup | None) -> RepeatedGroup | None:
    """Merge two occurrences of a repeated group."""
    if one is None or other is None:
        return None  # one of them is an error
    variables = by_variable([*one.variables, *other.variables])
    keys = [each.key for each in variables]
    branches = (
        replace(each, variables=tuple(keys.index(element.key) for element in each.elements))
        for each in (*one.branches, *other.branches)
    )
    return RepeatedGroup(variables, tuple(branches), one.choices | other.choices)
