"""The state of binding a query: the names in scope, and the diagnostics so far."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain

from sase.base.interface import option
from sase.base.paths import Path, path_of
from sase.base.texts import did_you_mean
from sase.binding.bound import BoundComponent, Condition, Placeholder
from sase.binding.schema import Schema
from sase.binding.types import UNKNOWN, DataType
from sase.errors import Diagnostic
from sase.lang import ast
from sase.source import Source, Span


class Clause(Enum):
    """The clause of an expression, since some forms are valid only in some clauses."""

    WHERE = "WHERE"
    HAVING = "HAVING"
    RETURN = "RETURN"
    TYPE = "the condition of a type"


@dataclass
class Problems:
    """Collects the diagnostics of a query, so that all are reported at once."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic made elsewhere."""
        self.found.append(diagnostic)

    def error(self, code: str, message: str, span: Span, *hints: str) -> None:
        """Add an error: the query is unusable."""
        self.found.append(Diagnostic(code, message, span, self.source, hints))

    def warning(self, code: str, message: str, span: Span, *hints: str) -> None:
        """Add a warning: the text is valid, but probably not meant."""
        self.found.append(Diagnostic(code, message, span, self.source, hints, "warning"))

    def in_order(self, severity: str) -> list[Diagnostic]:
        """The diagnostics of a severity without duplicates, in text order."""
        chosen = dict.fromkeys(d for d in self.found if d.severity == severity)
        return sorted(chosen, key=lambda diagnostic: diagnostic.span)


@dataclass
class Scope:
    """The components, schema and parameters that the clauses of a query refer to."""

    schema: Schema
    problems: Problems
    # Binds a condition within a value.
    bind_condition: Callable[[ast.Expression, Scope], Condition]
    components: tuple[BoundComponent, ...] = ()
    parameters: Mapping[str, object] | None = None
    clause: Clause = Clause.WHERE
    # How often each group with `?` occurs: 0, 1, or None for the whole pattern.
    choices: Mapping[str, int | None] = field(default_factory=dict)
    # The conjuncts of WHERE that are never true.
    never_true: list[Span] = field(default_factory=list)
    # By component that is a whole alternative: its negative group.
    alternatives: Mapping[int, int] = field(default_factory=dict)
    # For a branch: the scope of the whole pattern, which has the variables that the branch lacks.
    whole: Scope | None = None
    # For conditions within iterations of a group's branch: the component and the branch.
    iteration: tuple[int, int] | None = None
    # For the conditions of a negative element: the first component of the element.
    forbidding: int | None = None

    def of_branch(
        self,
        components: tuple[BoundComponent, ...],
        choices: Mapping[str, int | None],
        alternatives: Mapping[int, int],
    ) -> Scope:
        """The scope of a branch of this pattern."""
        return replace(
            self,
            components=components,
            choices=choices,
            alternatives=alternatives,
            never_true=[],
            whole=self,
        )

    def hiding(self, hidden: Container[int]) -> Scope:
        """A scope in which some components, by index, have no names."""
        components = tuple(
            replace(each, named=False) if each.index in hidden else each for each in self.components
        )
        return replace(self, components=components, never_true=[])

    def element_of(self, component: BoundComponent) -> int:
        """The negative element of an absent component: equal for all components of a group."""
        group = self.alternatives.get(component.index, component.inside)
        return component.index if group is None else -1 - group

    def lacks(self, variable: ast.Name | None) -> bool:
        """Whether the pattern has a variable, but this branch does not."""
        if variable is None or self.whole is None or self.has(variable.text):
            return False
        return self.whole.has(variable.text)

    def has(self, variable: str) -> bool:
        """Whether a variable belongs to a component, or is in a repeated group."""
        return self.component(variable) is not None or self.inside(variable) is not None

    @property
    def groups(self) -> list[BoundComponent]:
        """The repeated groups."""
        return [component for component in self.components if component.group is not None]

    def inside(self, variable: str) -> tuple[BoundComponent, BoundComponent] | None:
        """The repeated group that contains a variable, and the variable's component in it."""
        for each in self.components:
            found = None if each.group is None else each.group.variable(variable)
            if found is not None:
                return each, found
        return None

    def component(self, variable: str) -> BoundComponent | None:
        """The component of a variable."""
        named = (c for c in self.components if c.named and c.variable == variable)
        return next(named, None)

    @property
    def variables(self) -> list[str]:
        """The variables outside of groups, in pattern order."""
        return [component.variable for component in self.components if component.named]

    @property
    def inner_components(self) -> list[BoundComponent]:
        """All components, with repeated groups replaced by the components inside."""
        inside = [
            (each,) if each.group is None else each.group.variables for each in self.components
        ]
        return [component for each in inside for component in each]

    @property
    def names(self) -> list[str]:
        """All variables, those inside repeated groups last."""
        inside = (each.variable for each in self.inner_components if each.named)
        return list(dict.fromkeys((*self.variables, *inside)))

    @property
    def positives(self) -> list[str]:
        """The variables of positive components."""
        return [each.variable for each in self.components if each.named and not each.is_absent]

    def refuse(self, code: str, message: str, span: Span, *hints: str) -> Placeholder:
        """Report an error; return a value in place of the wrong one, so that no error follows."""
        self.problems.error(code, message, span, *hints)
        return Placeholder(UNKNOWN, "", span=span)

    def attribute_hints(self, name: str, names: list[str]) -> tuple[str, ...]:
        """Hints for an unknown attribute: a similar one, or the list of all."""
        every = (f"the attributes are {', '.join(names)}",) if names else ()
        return did_you_mean(name, names) or every

    def declarations(self, component: BoundComponent, attribute: str) -> dict[str, DataType | None]:
        """The type of an attribute by event type of a component; None for types without it.

        If types are unknown, one entry with an empty name means all.
        """
        schema = self.schema
        types = schema.type_names if component.types is None else component.types
        declared = {name: schema.attributes(name) for name in types or ("",)}
        common = schema.common.get(attribute, UNKNOWN)
        return {n: common if each is None else each.get(attribute) for n, each in declared.items()}

    def attribute_names(self, component: BoundComponent) -> list[str]:
        """The attributes that some type of a component declares, as far as is known."""
        return list(
            dict.fromkeys(attribute for known in self._of(component) for attribute in known)
        )

    def nested_names(self, component: BoundComponent, name: str) -> list[str]:
        """The values within the column that a name begins with, if it is a nested one."""
        path = path_of(name)
        if path is None:
            return []
        known = [own[path.column] for own in self._of(component) if path.column in own]
        inner = (_values_within(kind, Path(path.column)) for kind in known)
        return list(dict.fromkeys(map(str, chain.from_iterable(inner))))

    def declares(self, component: BoundComponent, attribute: str) -> bool:
        """Whether some type of a component declares an attribute, as far as is known."""
        return any(attribute in known for known in self._of(component))

    def _of(self, component: BoundComponent) -> Iterator[Mapping[str, DataType]]:
        for name in component.types or self.schema.type_names or ("",):
            yield self.schema.attributes(name) or {}


def _values_within(nested: DataType, path: Path) -> Iterator[Path]:
    for name, kind in nested.parts:
        inner = path._replace(steps=(*path.steps, name or 1))
        yield from _values_within(kind, inner) if kind.parts else (inner,)


def unit_of_integer_time(span: Span, scope: Scope) -> None:
    """Report a duration with a unit, where the time column has integers of an unknown unit."""
    times = f"the time column `{scope.schema.time}` holds"
    if scope.schema.is_merged:
        times = "the time columns of these streams hold"
    scope.problems.error(
        "unit-of-integer-time",
        f"{times} integers, and their unit is not known",
        span,
        f"say it with  {option('time_unit', 'ms')} , or write a plain number of its units",
    )


def unknown(node: ast.Node) -> Placeholder:
    """The value in place of an erroneous expression, so that no error follows."""
    return Placeholder(UNKNOWN, "", span=node.span)


def is_unknown(value: object) -> bool:
    """Whether an expression replaces an erroneous one."""
    return isinstance(value, Placeholder) and not value.name
