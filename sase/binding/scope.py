"""The state of binding a query: the names in scope, and the diagnostics so far."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from sase.binding.bound import BoundComponent, Placeholder
from sase.binding.schema import Schema
from sase.binding.types import UNKNOWN, DataType
from sase.errors import Diagnostic
from sase.lang import ast
from sase.nearest import did_you_mean
from sase.source import Source, Span


class Clause(Enum):
    """Where an expression stands, since not every form is allowed everywhere."""

    WHERE = "WHERE"
    HAVING = "HAVING"
    RETURN = "RETURN"
    TYPE = "the condition of a type"


@dataclass
class Problems:
    """Collects every diagnostic of a query, so that all are reported at once."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """A diagnostic that was made elsewhere."""
        self.found.append(diagnostic)

    def error(self, code: str, message: str, span: Span, *hints: str) -> None:
        """Something that makes the query unusable."""
        self.found.append(Diagnostic(code, message, span, self.source, hints))

    def warning(self, code: str, message: str, span: Span, *hints: str) -> None:
        """Something that is allowed and was probably not meant."""
        self.found.append(Diagnostic(code, message, span, self.source, hints, "warning"))

    def in_order(self, severity: str) -> list[Diagnostic]:
        """The diagnostics of a severity, each once, in the order of their places."""
        chosen = dict.fromkeys(d for d in self.found if d.severity == severity)
        return sorted(chosen, key=lambda diagnostic: diagnostic.span)


@dataclass
class Scope:
    """The components, the schema and the parameters that the clauses of a query refer to."""

    schema: Schema
    problems: Problems
    components: tuple[BoundComponent, ...] = ()
    parameters: Mapping[str, object] | None = None
    clause: Clause = Clause.WHERE
    # How often each group with `?` is there: in the whole pattern that is open.
    choices: Mapping[str, int | None] = field(default_factory=dict)
    # The conjuncts of WHERE that are never true.
    never_true: list[Span] = field(default_factory=list)
    # Of which negative group a component is an alternative by itself.
    alternatives: Mapping[int, int] = field(default_factory=dict)
    # Of a branch: the scope of the whole pattern, with the variables that the branch lacks.
    whole: Scope | None = None
    # Of what is asked within iterations of one branch of a group: the component, and the branch.
    iteration: tuple[int, int] | None = None

    def of_branch(
        self,
        components: tuple[BoundComponent, ...],
        choices: Mapping[str, int | None],
        alternatives: Mapping[int, int],
    ) -> Scope:
        """The scope of a branch of the pattern that this is of."""
        return replace(
            self,
            components=components,
            choices=choices,
            alternatives=alternatives,
            never_true=[],
            whole=self,
        )

    def hiding(self, hidden: Container[int]) -> Scope:
        """The scope in which some components, by their index, have no names."""
        components = tuple(
            replace(each, named=False) if each.index in hidden else each for each in self.components
        )
        return replace(self, components=components, never_true=[])

    def element_of(self, component: BoundComponent) -> int:
        """Which negative element an absent component is of: the same of all of a group."""
        group = self.alternatives.get(component.index, component.inside)
        return component.index if group is None else -1 - group

    def lacks(self, variable: ast.Name | None) -> bool:
        """Whether a variable is of the pattern, and this branch does not have it."""
        if variable is None or self.whole is None or self.has(variable.text):
            return False
        return self.whole.has(variable.text)

    def has(self, variable: str) -> bool:
        """Whether a variable is of a component, or in a repeated group."""
        return self.component(variable) is not None or self.inside(variable) is not None

    @property
    def groups(self) -> list[BoundComponent]:
        """The repeated groups."""
        return [component for component in self.components if component.group is not None]

    def inside(self, variable: str) -> tuple[BoundComponent, BoundComponent] | None:
        """The repeated group in which a variable is, and the component of the variable there."""
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
        """Every variable, in the order of the pattern."""
        return [component.variable for component in self.components if component.named]

    @property
    def inner_components(self) -> list[BoundComponent]:
        """All components, and in the place of a repeated group those inside."""
        inside = [
            (each,) if each.group is None else each.group.variables for each in self.components
        ]
        return [component for each in inside for component in each]

    @property
    def names(self) -> list[str]:
        """Every variable, those inside of repeated groups behind the others."""
        inside = (each.variable for each in self.inner_components if each.named)
        return list(dict.fromkeys((*self.variables, *inside)))

    @property
    def positives(self) -> list[str]:
        """The variables of positive components."""
        return [each.variable for each in self.components if each.named and not each.is_absent]

    def refuse(self, code: str, message: str, span: Span, *hints: str) -> Placeholder:
        """An error, and the value that replaces what is wrong, so that it causes no others."""
        self.problems.error(code, message, span, *hints)
        return Placeholder(UNKNOWN, "", span=span)

    def attribute_hints(self, name: str, known: list[str]) -> tuple[str, ...]:
        """What an unknown attribute may have meant, or all that there are."""
        every = (f"the attributes are {', '.join(known)}",) if known else ()
        return did_you_mean(name, known) or every

    def declarations(self, component: BoundComponent, attribute: str) -> dict[str, DataType | None]:
        """By type of a component that of the attribute, None where it has none.

        Where nothing is known of types one without a name stands for them all.
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

    def declares(self, component: BoundComponent, attribute: str) -> bool:
        """Whether some type of a component declares an attribute, as far as is known."""
        return any(attribute in known for known in self._of(component))

    def _of(self, component: BoundComponent) -> Iterator[Mapping[str, DataType]]:
        for name in component.types or self.schema.type_names or ("",):
            yield self.schema.attributes(name) or {}


def unit_of_integer_time(span: Span, scope: Scope) -> None:
    """The error for a time with a unit where the time column holds integers of an unknown one."""
    times = f"the time column `{scope.schema.time}` holds"
    if scope.schema.is_merged:
        times = "the time columns of these streams hold"
    scope.problems.error(
        "unit-of-integer-time",
        f"{times} integers, and what they count is not known",
        span,
        'say it with  time_unit="ms"  (--time-unit ms), or write a plain number of its units',
    )


def unknown(node: ast.Node) -> Placeholder:
    """The value that replaces an expression with an error, so that it causes no others."""
    return Placeholder(UNKNOWN, "", span=node.span)


def is_unknown(value: object) -> bool:
    """Whether an expression stands for one that has an error."""
    return isinstance(value, Placeholder) and not value.name
