"""Branches that no event of a whole input can complete: a component needs a type that none has."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sase.binding.bound import BoundComponent
from sase.planning.nodes import Union, reading
from sase.planning.shared_scans import shared_scans


def branches_left_out(union: Union, types: Collection[str]) -> dict[int, str]:
    """The branches that need not be searched in events of these types alone, each with the reason.

    Those that share a scan are left out together, or not at all.
    """
    found: dict[int, str] = {}
    for shared in shared_scans(union):
        lacking = missing_types(reading(shared.plan).components, types)
        if lacking:
            reason = f"no event is of type {' or '.join(lacking)}"
            found |= dict.fromkeys(shared.branches, reason)
    return dict(sorted(found.items()))


def missing_types(components: Iterable[BoundComponent], types: Collection[str]) -> tuple[str, ...]:
    """The types of the first component that must bind an event, and has none among these."""
    for each in components:
        if each.minimum > 0 and (lacking := _missing(each, types)):
            return lacking
    return ()


def _missing(component: BoundComponent, types: Collection[str]) -> tuple[str, ...]:
    """The types of which a component that binds an event needs one, where there is none."""
    if component.group is None:
        wanted = component.types
        return wanted if wanted and not any(name in types for name in wanted) else ()
    # Each iteration is of one of the branches.
    lacking = [
        missing_types((e for e in branch.elements if not e.negated), types)
        for branch in component.group.branches
    ]
    return tuple(dict.fromkeys(name for each in lacking for name in each)) if all(lacking) else ()


def left_out_text(found: dict[int, str]) -> tuple[str, ...]:
    """A sentence for each reason, which names the branches."""
    by_reason: dict[str, list[int]] = {}
    for number, reason in found.items():
        by_reason.setdefault(reason, []).append(number + 1)
    return tuple(_sentence(numbers, reason) for reason, numbers in by_reason.items())


def _sentence(numbers: list[int], reason: str) -> str:
    whole = ", ".join(map(str, numbers))
    be = "branches {} are" if len(numbers) > 1 else "branch {} is"
    return f"{be.format(whole)} not searched: {reason}"
