"""Which branches of a pattern share a scan: those whose plans differ in types alone.

    SEQ(A a, (B b OR C c), D d)     is searched as   SEQ(A a, ANY(B, C) x, D d)

No event is both a B and a C, so its type tells of each match which branch it is of, and no two
branches give the same one. The walk meets the matches in the order of results, as of one branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain as chained

from sase.binding.bound import BoundComponent
from sase.cached_property import cached_property
from sase.planning.nodes import (
    Operator,
    SequenceScan,
    Transformation,
    Union,
    chain,
    exchanged,
    find,
    name_of,
    require,
)

# The types by which matches are told apart have a byte.
MOST_TYPES = 255


@dataclass(frozen=True)
class SharedScan:
    """A plan that finds the matches of some branches, as far as HAVING and RETURN.

    `choices` are by level the components of which each branch has one, in as many ways as there
    are `branches`: these are by number, that of the first level varying slowest.
    """

    branches: tuple[int, ...]
    choices: tuple[tuple[BoundComponent, ...], ...]
    plan: Operator

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The levels at which there is a choice."""
        return tuple(level for level, each in enumerate(self.choices) if len(each) > 1)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types that tell its branches apart."""
        return _types_of(chained.from_iterable(self.choices[level] for level in self.levels))


@cache
def shared_scans(union: Union) -> tuple[SharedScan, ...]:
    """The scans of a union, by the first branch of each; most have one branch."""
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
    """All that plans have in common which may differ at a level alone."""
    scan = find(shared.plan, SequenceScan)
    if scan is None or level >= len(shared.choices) or scan.components[level].types is None:
        return shared.branches  # which it has in common with none
    blank = replace(scan.components[level], variable="", named=False, types=None, is_any=False)
    components = (*scan.components[:level], blank, *scan.components[level + 1 :])
    plan = exchanged(shared.plan, replace(scan, components=components, columns=None))
    choices = (*shared.choices[:level], *shared.choices[level + 1 :])
    return choices, require(plan, Transformation).input


def _joined(group: list[SharedScan], level: int) -> list[SharedScan]:
    """The scans of a group, each of those that no type is in two of."""
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
    """One scan in the place of some."""
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


def operator_names(root: Operator) -> list[str]:
    """The names of all operators from the bottom up, those of the branches first.

    What a scan shares is named by its first branch.
    """
    union, names = find(root, Union), list[str]()
    for each in () if union is None else shared_scans(union):
        *above, _ = (type(operator).__name__ for operator in reversed(chain(each.plan)))
        names += [name_of(kind, each.branches[0] + 1) for kind in above]
        names += [name_of(Transformation.__name__, number + 1) for number in each.branches]
    return [*names, *(type(operator).__name__ for operator in reversed(chain(root)))]
