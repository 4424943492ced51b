"""The places of columns and rows for programs, and the codes of types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from sase.binding.aggregates import UserAggregate
from sase.binding.bound import Aggregate, Condition, Expression, Operation, Reference
from sase.binding.parts import references
from sase.binding.types import Kind
from sase.engine.expressions.strings import Interner
from sase.errors import SaseError
from sase.heed import heed

# A component and an attribute of its events.
Need = tuple[int, str]

# Kinds that have no scale.
UNSCALED = frozenset((Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.STRING))


class LoweringError(SaseError):
    """A condition or value that programs cannot express."""


@dataclass(frozen=True)
class ProgramLayout:
    """The places that a program reads.

    `places` are columns of `Columns`, shared by components with one attribute. `positions` are the
    rows of components in an evaluation, by default the components' numbers. `lacking` are
    attributes that the `unlisted` types, known to no schema, do not declare. With `mixes` columns
    may have values with different scales. `aggregates` are user-defined.
    """

    places: Mapping[Need, int]
    type_codes: Mapping[str, int] = field(default_factory=dict)
    interner: Interner = field(default_factory=Interner)
    positions: Mapping[int, int] | None = None
    lacking: frozenset[Need] = frozenset()
    unlisted: tuple[int, ...] = (0,)
    mixes: bool = True
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)

    @classmethod
    def over(cls, base: ProgramLayout, **more: object) -> Self:
        """Convert a layout to this class."""
        return cls(**{each.name: getattr(base, each.name) for each in fields(ProgramLayout)} | more)

    def lacks(self, reference: Reference | Aggregate) -> bool:
        """Whether some admitted type lacks the attribute; without a schema all types have it."""
        need = (reference.component, reference.attribute)
        return bool(reference.undeclared_by) or need in self.lacking

    def may_mix(self, *sides: Expression) -> bool:
        """Whether compared values may have different scales."""
        return self.mixes or any(
            side.type.kind not in UNSCALED or side.type.scale is not None for side in sides
        )

    def position(self, component: int) -> int:
        """The row of a component."""
        return component if self.positions is None else self.positions[component]

    def row(self, reference: Reference) -> int:
        """The row of a referenced event."""
        return self.position(reference.component)

    def may_lack_event(self, reference: Reference) -> bool:
        """Whether the referenced event may be missing."""
        return False

    def row_of_arithmetic(self, operation: Operation) -> int:
        """The row that is noted when arithmetic overflows int64."""
        return next((self.row(r) for r in references(operation) if isinstance(r, Reference)), 0)

    def single(self, aggregate: Aggregate) -> Reference | None:
        """The event that an aggregate is equal to, or None."""
        return None

    def value(self, aggregate: Aggregate) -> int:
        """The place of an aggregate's tag and bits."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")

    def confidence(self) -> int:
        """The place of the tag and bits of a match's confidence."""
        raise LoweringError("the confidence is of a match of imprecise time, and there is none")

    def flag(self, aggregate: Aggregate) -> int:
        """The place of a flag: an event in the range lacks the attribute."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")


def columns_needed(terms: Iterable[Condition | Expression]) -> tuple[Need, ...]:
    """The columns that conditions and values read, without duplicates, in the order of places."""
    found: dict[Need, None] = {}
    for term in terms:
        heed()
        read = ((each.component, each.attribute) for each in references(term))
        found |= {(number, name): None for number, name in read if name is not None}
    return tuple(found)
