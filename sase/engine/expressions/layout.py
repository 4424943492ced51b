"""Where programs find columns and rows, and the codes of types."""

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

# Kinds without a scale.
UNSCALED = frozenset((Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.STRING))


class LoweringError(SaseError):
    """A condition or value that programs cannot express."""


@dataclass(frozen=True)
class ProgramLayout:
    """Where programs find what they refer to.

    `places` are columns of `Columns`, shared by needs of one attribute. `positions` are the
    rows of components in an evaluation; without them that is a component's number. `lacking`
    are attributes that types which no schema lists, whose codes are `unlisted`, do not declare.
    With `mixes` columns may hold values with a scale. `aggregates` are those that users added.
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
        """A layout of this kind with the fields of another."""
        return cls(**{each.name: getattr(base, each.name) for each in fields(ProgramLayout)} | more)

    def lacks(self, reference: Reference | Aggregate) -> bool:
        """Whether some admitted type does not declare the attribute; without a schema all do."""
        need = (reference.component, reference.attribute)
        return bool(reference.undeclared_by) or need in self.lacking

    def may_mix(self, *sides: Expression) -> bool:
        """Whether compared values may be of different scales."""
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
        """Whether there may be no such event."""
        return False

    def row_of_arithmetic(self, operation: Operation) -> int:
        """The row that is noted where arithmetic leaves int64."""
        return next((self.row(r) for r in references(operation) if isinstance(r, Reference)), 0)

    def single(self, aggregate: Aggregate) -> Reference | None:
        """The event that an aggregate means, if it means one."""
        return None

    def value(self, aggregate: Aggregate) -> int:
        """The place of tag and bits of an aggregate."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")

    def confidence(self) -> int:
        """The place of tag and bits of the confidence of a match."""
        raise LoweringError("the confidence is of a match of imprecise time, and there is none")

    def flag(self, aggregate: Aggregate) -> int:
        """The place of the flag that an event in the range lacks the attribute."""
        raise LoweringError(f"{aggregate.function} is of a series, and there is none")


def columns_needed(terms: Iterable[Condition | Expression]) -> tuple[Need, ...]:
    """The columns that conditions and values read, each once, in the order of their places."""
    found: dict[Need, None] = {}
    for term in terms:
        heed()
        read = ((each.component, each.attribute) for each in references(term))
        found |= {(number, name): None for number, name in read if name is not None}
    return tuple(found)
