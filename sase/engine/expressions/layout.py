"""The places of columns and rows for programs, and the tags of types and literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Self

import numpy as np

from sase.base.limits import heed
from sase.binding.bound import (
    Aggregate,
    Condition,
    Constant,
    Expression,
    Operation,
    Placeholder,
    Reference,
    Scalar,
)
from sase.binding.conditions.parts import references
from sase.binding.types import TIMES, DataType, Kind
from sase.binding.values.aggregates import UserAggregate
from sase.binding.values.literals import units_of
from sase.engine.expressions.strings import Interner
from sase.engine.kernels.expressions.operations import (
    ABOVE,
    BELOW,
    EXACT,
    FLOAT,
    INTEGER,
    LEAST,
    LITERAL,
    MOST,
    NOTHING,
    NULL,
    Value,
)
from sase.errors import SaseError

# ---------------------------------------------------------------- layout

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


# ---------------------------------------------------------------- constants

# Decimal digits of a second by resolution; days are converted to seconds.
RESOLUTIONS = {"d": 0, "s": 0, "ms": 3, "us": 6, "ns": 9}
NANOSECOND = 9


def tag_of(data_type: DataType) -> int:
    """The tag of a column's cells."""
    if data_type.kind in TIMES and data_type.resolution is not None:
        return EXACT + RESOLUTIONS[data_type.resolution]
    if data_type.kind is Kind.DECIMAL:
        return EXACT + (data_type.scale or 0)
    return FLOAT if data_type.kind is Kind.FLOAT else INTEGER


def is_time(*expressions: Expression) -> bool:
    """Whether arithmetic on these values is that of times."""
    return any(expression.type.kind in TIMES for expression in expressions)


def is_text(*expressions: Expression) -> bool:
    """Whether these values are compared as texts."""
    return any(expression.type.kind is Kind.STRING for expression in expressions)


def literal(expression: Constant | Placeholder) -> Scalar:
    """The value of a literal."""
    if isinstance(expression, Placeholder):
        raise LoweringError(f"the parameter :{expression.name} has no value")
    return expression.value


def constant(expression: Constant, interner: Interner) -> Value:
    """The tag and bits of a literal."""
    match expression.value:
        case None:
            return NOTHING
        case bool(truth):
            return INTEGER, int(truth)
        case int(count) if expression.type.kind in TIMES:
            return _time(count)
        case int(whole):
            return INTEGER, whole
        case float(real):
            return (FLOAT, int(np.float64(real).view(np.int64))) if real == real else (NULL, 0)
        case Decimal() as number:
            units, scale, side = units_of(number)
            return (LITERAL, ABOVE, BELOW)[side] + scale, units
        case str(text):
            return INTEGER, interner.code(text)


def _time(nanoseconds: int) -> Value:
    """A time in the coarsest exact unit, or the finest that fits int64."""
    scale = next(s for s in range(NANOSECOND + 1) if nanoseconds % 10 ** (NANOSECOND - s) == 0)
    while not LEAST <= nanoseconds // 10 ** (NANOSECOND - scale) <= MOST:
        scale -= 1
        if scale < 0:
            raise LoweringError(f"{nanoseconds} nanoseconds are beyond every time")
    units, rest = divmod(nanoseconds, 10 ** (NANOSECOND - scale))
    # The cut-off digits must not make it equal to a time in a coarser unit.
    return EXACT + scale, units + (rest > 0 and units % 10 == 0)
