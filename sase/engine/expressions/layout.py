"""What lowering must know of a run: where columns and rows stand, and the codes of types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from sase.binding.bound import Aggregate, Condition, Expression, Operation, Reference
from sase.binding.parts import references
from sase.binding.types import Kind
from sase.engine.expressions.strings import Interner
from sase.errors import SaseError

# A component and an attribute of its events.
Need = tuple[int, str]

# Kinds of values that have no scale, and are compared without one.
UNSCALED = frozenset((Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.STRING))


class LoweringError(SaseError):
    """A condition or value that programs cannot express."""


@dataclass(frozen=True)
class ProgramLayout:
    """Where programs find what they refer to.

    `places` are columns of `Columns`, the same for several needs where one column serves them.
    `positions` are components' places in the `rows` of an evaluation; without them it is a
    component's own number. `lacking` are attributes of components that also admit types of which
    the schema says nothing, and which do not declare them: those have the code `unknown_type`. With
    `mixes` some columns may hold decimals or times, which have a scale.
    """

    places: Mapping[Need, int]
    type_codes: Mapping[str, int] = field(default_factory=dict)
    interner: Interner = field(default_factory=Interner)
    positions: Mapping[int, int] | None = None
    lacking: frozenset[Need] = frozenset()
    unknown_type: int = 0
    mixes: bool = True

    @classmethod
    def over(cls, base: ProgramLayout, **more: object) -> Self:
        """A layout of this kind with all that another one has."""
        return cls(**{each.name: getattr(base, each.name) for each in fields(ProgramLayout)} | more)

    def lacks(self, reference: Reference | Aggregate) -> bool:
        """Whether some type that the component admits does not declare the attribute.

        Where no schema says which types declare it there is one table, and all do.
        """
        need = (reference.component, reference.attribute)
        return bool(reference.undeclared_by) or need in self.lacking

    def may_mix(self, *sides: Expression) -> bool:
        """Whether values that are compared may be of different scales."""
        return self.mixes or any(side.type.kind not in UNSCALED for side in sides)

    def position(self, component: int) -> int:
        """The place of a component's row."""
        return component if self.positions is None else self.positions[component]

    def row(self, reference: Reference) -> int:
        """The place of the row of an event that is referred to."""
        return self.position(reference.component)

    def may_lack_event(self, reference: Reference) -> bool:
        """Whether there may be no such event."""
        return False

    def row_of_arithmetic(self, operation: Operation) -> int:
        """The place of a row with which it is noted that arithmetic left int64."""
        return next((self.row(r) for r in references(operation) if isinstance(r, Reference)), 0)

    def single(self, aggregate: Aggregate) -> Reference | None:
        """The event that an aggregate means, if it means one."""
        return None

    def value(self, aggregate: Aggregate) -> int:
        """The place of the tag and bits of an aggregate."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")

    def flag(self, aggregate: Aggregate) -> int:
        """The place that says whether an event in its range lacks the attribute."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")


def columns_needed(terms: Iterable[Condition | Expression]) -> tuple[Need, ...]:
    """The columns that conditions and values read, each once, in the order of their places."""
    found = (r for term in terms for r in references(term))
    needs = ((r.component, r.attribute) for r in found)
    return tuple(dict.fromkeys((number, name) for number, name in needs if name is not None))
