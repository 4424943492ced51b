"""What lowering must know of a run: where columns and rows stand, and the codes of types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sase.binding.bound import (
    Aggregate,
    All,
    Any,
    Between,
    Comparison,
    Condition,
    Expression,
    Like,
    Membership,
    NullTest,
    Operation,
    Part,
    Reference,
)
from sase.engine.expressions.strings import Interner
from sase.errors import SaseError

# A component and an attribute of its events.
Need = tuple[int, str]


class LoweringError(SaseError):
    """A condition or value that programs cannot express."""


@dataclass(frozen=True)
class Layout:
    """Where programs find what they refer to.

    `places` are columns of `Columns`, the same for several needs where one column serves them.
    `positions` are components' places in the `rows` of an evaluation; without them it is a
    component's own number. `strangers` are attributes of components that also admit types of which
    the schema says nothing, and which do not declare them: those have the code `stranger`.
    """

    places: Mapping[Need, int]
    type_codes: Mapping[str, int] = field(default_factory=dict)
    interner: Interner = field(default_factory=Interner)
    positions: Mapping[int, int] | None = None
    strangers: frozenset[Need] = frozenset()
    stranger: int = 0

    def lacks(self, reference: Reference) -> bool:
        """Whether some type that the component admits does not declare the attribute.

        Where no schema says which types declare it there is one table, and all do.
        """
        need = (reference.component, reference.attribute)
        return bool(reference.undeclared_by) or need in self.strangers

    def position(self, component: int) -> int:
        """The place of a component's row."""
        return component if self.positions is None else self.positions[component]


def columns_needed(terms: Iterable[Condition | Expression]) -> tuple[Need, ...]:
    """The columns that conditions and values read, each once, in the order of their places."""
    found = (r for term in terms for r in references(term))
    return tuple(dict.fromkeys((r.component, r.attribute) for r in found))


def references(term: Condition | Expression) -> Iterator[Reference]:
    """Every reference to an event, from left to right; at level 1 all are to single events."""
    match term:
        case Reference(part=Part.EVENT):
            yield term
        case Reference() | Aggregate():
            raise LoweringError("series are not evaluated yet")
        case Operation(operands=parts) | All(operands=parts) | Any(operands=parts):
            for part in parts:
                yield from references(part)
        case Comparison(left=left, right=right):
            yield from references(left)
            yield from references(right)
        case Between(operand=operand, low=low, high=high):
            for value in (operand, low, high):
                yield from references(value)
        case Membership(operand=operand) | Like(operand=operand) | NullTest(operand=operand):
            yield from references(operand)
