"""Check the variables of a pattern: once in a branch, and with one meaning everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from sase.binding.bound import BoundComponent
from sase.binding.names.scope import Scope
from sase.binding.pattern.branches import (
    Placed,
    PlacedComponent,
    PlacedGroup,
    WrittenBranch,
    WrittenPattern,
)
from sase.lang import ast
from sase.source import Span


@dataclass(frozen=True, slots=True)
class _Naming:
    """An occurrence of a variable: its meaning there, and its group."""

    name: ast.Name
    way: str
    home: PlacedGroup | None = None

    @property
    def described(self) -> str:
        """Its meaning and its group, for messages."""
        if self.home is None:
            return self.way
        variable = self.home.part.variable
        return f"{self.way} of {f'the group `{variable.text}`' if variable else 'a group'}"

    @property
    def key(self) -> tuple[str, str | None]:
        """Equal for occurrences that may share a name."""
        if self.home is None:
            return self.way, None
        return self.way, _home_of(self.home)


def check_variables(written: WrittenPattern, every: list[BoundComponent], scope: Scope) -> None:
    """Check that variables occur once in a branch, and mean one event, a series, or a group."""
    homes = {each.place: group for group in written.groups for each in group.components}
    namings = {
        each.part.variable.span: _Naming(
            each.part.variable, _way(every[each.place], each), homes.get(each.place)
        )
        for each in written.components
        if each.part.variable
    }
    for group in written.groups:
        if group.part.variable:
            naming = _Naming(group.part.variable, "a repeated group")
            namings[group.part.variable.span] = naming
    twice = {span for branch in written.branches for span in _named_twice_in(branch)}
    for span in sorted(twice):
        name = namings[span].name
        scope.problems.error(
            "duplicate-variable",
            f"there is already a component called `{name.text}`",
            span,
            "give each component a variable of its own",
        )
    _check_choices(written, {each.name.text for each in namings.values()}, scope)
    first: dict[str, _Naming] = {}
    for span in sorted(namings):
        naming = namings[span]
        before = first.setdefault(naming.name.text, naming)
        if span not in twice and before.key != naming.key:
            scope.problems.error(
                "variable-in-two-ways",
                f"`{naming.name.text}` is {naming.described} here, and {before.described} before",
                span,
                "give one of them another name",
            )


def _named_twice(components: Iterable[Placed]) -> Iterator[Span]:
    """The spans of variables that occur twice in a branch, or in a branch of an iteration."""
    seen: set[str] = set()
    for each in components:
        if each.part.variable:
            if each.part.variable.text in seen:
                yield each.part.variable.span
            seen.add(each.part.variable.text)
        if isinstance(each, PlacedGroup):
            for branch in each.branches:
                yield from _named_twice_in(branch)
            inside = [inner.part.variable for inner in each.components if inner.part.variable]
            yield from (name.span for name in inside if name.text in seen)
            seen.update(name.text for name in inside)


def _named_twice_in(branch: WrittenBranch) -> Iterator[Span]:
    """Like `_named_twice`, with negative groups: their alternatives may share variables."""
    outside = [c for c in branch.components if isinstance(c, PlacedGroup) or c.group is None]
    yield from _named_twice(outside)
    taken = {each.part.variable.text for each in written_in(outside) if each.part.variable}
    taken |= {each.part.variable.text for each in outside if each.part.variable}
    groups: dict[str, int | None] = {}
    alternatives = [negation.components for negation in branch.negations]
    for own in ((each,) for each in branch.alone if each.group is not None), alternatives:
        for components in own:
            yield from _named_twice(components)
            for each in components:
                name = each.part.variable
                if name and (name.text in taken or groups.get(name.text, each.group) != each.group):
                    yield name.span
                elif name:
                    groups[name.text] = each.group


def _way(component: BoundComponent, placed: PlacedComponent) -> str:
    """The meaning of a variable."""
    if component.negated and (placed.group is None or component.inside is not None):
        return "an event that must not occur"
    what = "a series of events" if component.is_series else "one event"
    return what if placed.group is None else f"{what} of a negative group"


def _check_choices(written: WrittenPattern, taken: Set[str], scope: Scope) -> None:
    """Check that groups with `?` of one name are in different alternatives of one parent."""
    branches = (*written.branches, *(b for group in written.groups for b in group.branches))
    repeated = frozenset[str]().union(*(branch.repeated for branch in branches))
    first: dict[str, str | None] = {}
    told: set[str] = set()
    inside = [(name, group) for group in written.groups for name in group.choices]
    for name, group in [*((name, None) for name in written.choices), *inside]:
        home = None if group is None else _home_of(group)
        is_other = name.text in repeated or first.get(name.text, home) != home
        if name.text in taken or (name.text in first and is_other and name.text not in told):
            told.add(name.text)
            scope.problems.error(
                "duplicate-variable",
                f"`{name.text}` is the name of something else already",
                name.span,
                "give the group a name of its own, or none",
            )
        first.setdefault(name.text, home)


def _home_of(group: PlacedGroup) -> str:
    variable = group.part.variable
    return variable.text if variable else f"at {group.place}"


def written_in(components: Iterable[Placed]) -> list[PlacedComponent]:
    """The components, with repeated groups replaced by the components inside."""
    return [
        part
        for each in components
        for part in (each.components if isinstance(each, PlacedGroup) else (each,))
    ]
