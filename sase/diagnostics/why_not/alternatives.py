"""Find what there is instead of a constant that no event has: common values, and the nearest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sase.binding.bound import Any as Disjunction
from sase.binding.bound import (
    Between,
    Comparison,
    Condition,
    Constant,
    Expression,
    Like,
    Membership,
    Reference,
)
from sase.binding.parts import references
from sase.binding.types import TIMES, Kind
from sase.diagnostics.attributes import Attributes, python_value
from sase.diagnostics.why_not.value_format import format_value, quoted
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Vector
from sase.engine.kernels.expressions.operations import EXACT
from sase.nearest import nearest

SHOWN = 3
# Distinct texts, the commonest, among which the nearest is looked for.
COMPARED = 1000


@dataclass(frozen=True)
class SeenValues:
    """Values of an attribute as text, with how many events have each; the one probably meant.

    Of numbers the least, the greatest and the nearest to the constant.
    """

    attribute: str
    values: tuple[tuple[str, int], ...] = ()
    distinct: int = 0
    nearest: str | None = None
    span: tuple[str, str] | None = None

    def __str__(self) -> str:
        if not self.distinct:
            return f"{self.attribute} is always NULL"
        if self.span is not None:
            low, high = self.span
            text = f"{self.attribute} goes from {low} to {high}" if low != high else ""
            text = text or f"{self.attribute} is always {low}"
            is_inside = self.nearest is not None and self.nearest not in self.span
            return f"{text}, the nearest is {self.nearest}" if is_inside else text
        listed = ", ".join(f"{value} ({count:,})" for value, count in self.values)
        more = f" and {self.distinct - SHOWN:,} others" if self.distinct > SHOWN else ""
        hint = f"; did you mean {self.nearest}?" if self.nearest is not None else ""
        return f"{self.attribute} is {listed}{more}{hint}"


def alternatives_to(condition: Condition, at: Numbers, attributes: Attributes) -> SeenValues | None:
    """Collect what a condition on one attribute reads of events; None where it reads several."""
    read = {each for each in references(condition) if isinstance(each, Reference)}
    if len({each.attribute for each in read}) != 1:
        return None
    reference = next(iter(read))
    given = [each.value for each in _constants(condition)]
    texts = [each for each in given if isinstance(each, str)]
    column = attributes.encoded(reference.attribute, at)
    if column is not None:
        codes = column.values[column.values >= 0]
        return _of_texts(reference.attribute, codes, lambda n: column.dictionary[n].as_py(), texts)
    vector = attributes.vector(reference.attribute, at)
    if not isinstance(vector.tag, int) or reference.type.kind is Kind.BOOLEAN:
        return None
    values = vector.values if vector.valid is None else vector.values[vector.valid]
    if not len(values):
        return SeenValues(reference.attribute)
    if reference.type.kind is Kind.STRING:
        return _of_texts(reference.attribute, values, attributes.text_of, texts)
    numbers = [each for each in given if isinstance(each, int | float)]
    return _of_numbers(reference, vector, values, numbers)


def _constants(condition: Condition) -> list[Constant]:
    """List the literals of a condition."""
    found: list[Expression] = []
    match condition:
        case Comparison(left=left, right=right):
            found = [left, right]
        case Membership(values=values):
            found = [*values]
        case Between(low=low, high=high):
            found = [low, high]
        case Like(pattern=pattern):
            found = [pattern]
        case Disjunction(operands=operands):
            return [each for operand in operands for each in _constants(operand)]
    return [each for each in found if isinstance(each, Constant)]


def _of_texts(
    name: str, codes: Numbers, text_of: Callable[[int], str | None], given: list[str]
) -> SeenValues:
    if not len(codes):
        return SeenValues(name)
    used, counts = np.unique(codes, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:COMPARED]
    found = [(text_of(int(used[n])) or "", int(counts[n])) for n in most]
    found.sort(key=lambda each: (-each[1], each[0]))
    near = (nearest(text, [value for value, _ in found]) for text in given)
    meant = next((each for each in near if each is not None), None)
    shown = tuple((quoted(value), count) for value, count in found[:SHOWN])
    return SeenValues(name, shown, len(used), None if meant is None else quoted(meant))


def _of_numbers(
    reference: Reference, vector: Vector, values: Any, given: list[int | float]
) -> SeenValues:
    tag = vector.tag
    assert isinstance(tag, int)
    kind = reference.type

    def text(number: Any) -> str:
        return format_value(python_value(number.item(), tag, kind.kind), kind)

    near = None
    if given:
        # A constant in the unit of the column: times are nanoseconds.
        scale = 10.0 ** (tag - EXACT) if tag >= EXACT else 1.0
        wanted = float(given[0]) * scale / (1e9 if kind.kind in TIMES else 1.0)
        near = text(values[np.argmin(np.abs(values.astype(np.float64) - wanted))])
    distinct = int(values.min() != values.max()) + 1
    return SeenValues(
        reference.attribute, (), distinct, near, (text(values.min()), text(values.max()))
    )
