"""Evaluate conditions on one event over the rows of a block, by NumPy where the result is exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any as Anything
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import (
    All,
    Any,
    Between,
    Comparison,
    Condition,
    Constant,
    Expression,
    Like,
    Membership,
    NullTest,
    Operation,
    Reference,
    Truth,
)
from sase.binding.types import TIMES
from sase.binding.values.folding import COMPARISONS
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Mask
from sase.engine.expressions.layout import NANOSECOND, Need, ProgramLayout, columns_needed
from sase.engine.expressions.lowering import Lowered, lower, make_stack
from sase.engine.expressions.strings import RANK, Interner, Table
from sase.engine.expressions.vectors import Vector, columns_of
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER
from sase.engine.kernels.expressions.program import Stack, evaluate_rows
from sase.lang.ast import TURNED
from sase.planning.physical.vectorized import can_vectorize

# ---------------------------------------------------------------- vectorized

# NumPy compares int64 with floats by rounding the integers, so a constant is first converted to
# the kind of the column: `x < 2.5` becomes `x <= 2` for integers.

_COMPARED: Mapping[str, Callable[[Anything, Anything], Mask]] = COMPARISONS
Pair: TypeAlias = tuple[int | float, int | float]
INT64: Pair = (-(2**63), 2**63 - 1)
# Values from which NumPy's search is faster than comparisons.
MANY_VALUES = 16


def evaluate_vectorized(
    condition: Condition, vectors: Mapping[Need, Vector], interner: Interner
) -> Mask:
    """Evaluate a condition on one event for every row."""
    return _Vectorized(vectors, interner).truth(condition)


class _Vectorized:
    """The vectors and strings of a block."""

    def __init__(self, vectors: Mapping[Need, Vector], interner: Interner) -> None:
        self.vectors, self.interner = vectors, interner

    def truth(self, condition: Condition) -> Mask:
        match condition:
            case Truth(value=value):
                return np.full(len(next(iter(self.vectors.values())).values), value)
            case All(operands=operands) | Any(operands=operands):
                join = np.logical_and if isinstance(condition, All) else np.logical_or
                result = self.truth(operands[0])
                for operand in operands[1:]:
                    join(result, self.truth(operand), out=result)
                return result
            case Comparison(operator=sign, left=Reference() as read, right=Constant() as given):
                return self.mask_nulls(read, self.compared(read, sign, given))
            case Comparison(operator=sign, left=Constant() as given, right=Reference() as read):
                return self.mask_nulls(read, self.compared(read, TURNED[sign], given))
            case Comparison(
                operator=sign,
                left=Operation(operands=(Reference() as read, Constant(value=int(by)))),
                right=Constant() as given,
            ):
                vector = self.vector(read)
                assert vector.tag == INTEGER
                if sign in ("=", "!=") and given.value == 0:
                    is_whole = _multiples(vector.values, by)
                    return self.mask_nulls(read, is_whole if sign == "=" else ~is_whole)
                rest = replace(vector, values=_remainders(vector.values, by))
                return self.mask_nulls(read, self.of_vector(rest, sign, given))
        return self.other(condition)

    def other(self, condition: Condition) -> Mask:
        match condition:
            case Between(operand=Reference() as reference, low=low, high=high, negated=negated):
                inside = self.compared(reference, ">=", low)
                inside &= self.compared(reference, "<=", high)
                return self.mask_nulls(reference, ~inside if negated else inside)
            case Membership(operand=Reference() as reference, values=values, negated=negated):
                found = self.member(reference, values)
                return self.mask_nulls(reference, ~found if negated else found)
            case Like(operand=Reference() as reference, pattern=pattern, negated=negated):
                assert isinstance(pattern, Constant)
                table = self.table(Table("like", (str(pattern.value),)))
                return self.mask_nulls(
                    reference, table[self.vector(reference).values] == (not negated)
                )
            case NullTest(operand=Reference() as reference, negated=negated):
                vector = self.vector(reference)
                if vector.valid is None:
                    return np.full(len(vector.values), negated)
                return vector.valid.copy() if negated else ~vector.valid
        raise AssertionError(condition)

    def vector(self, reference: Reference) -> Vector:
        return self.vectors[reference.component, reference.attribute]

    def table(self, table: Table) -> Anything:
        number = self.interner.table(table)
        return self.interner.tables()[number]

    def mask_nulls(self, reference: Reference, mask: Mask) -> Mask:
        """Clear the rows where the attribute is NULL."""
        valid = self.vector(reference).valid
        if valid is not None:
            mask &= valid
        return mask

    def compared(self, reference: Reference, sign: str, expression: Expression) -> Mask:
        """Compare an attribute with a constant; results for NULLs are arbitrary."""
        assert isinstance(expression, Constant)
        return self.of_vector(self.vector(reference), sign, expression)

    def of_vector(self, vector: Vector, sign: str, constant: Constant) -> Mask:
        """Compare values with a constant."""
        if isinstance(constant.value, str):
            code = self.interner.code(constant.value)
            if sign in ("=", "!="):
                return _COMPARED[sign](vector.values, code)
            ranks = self.table(RANK)
            return _COMPARED[sign](ranks[vector.values], ranks[code])
        assert isinstance(vector.tag, int)
        sign, bound = _bound(sign, constant.value, constant.type.kind in TIMES, vector.tag)
        return _COMPARED[sign](vector.values, bound)

    def member(self, reference: Reference, values: tuple[Expression, ...]) -> Mask:
        """Whether an attribute is among constants."""
        vector = self.vector(reference)
        found = np.zeros(len(vector.values), np.bool_)
        if len(values) < MANY_VALUES:
            for value in values:
                found |= self.compared(reference, "=", value)
            return found
        kept: list[int | float] = []
        for value in values:
            assert isinstance(value, Constant)
            if isinstance(value.value, str):
                kept.append(self.interner.code(value.value))
            elif isinstance(vector.tag, int):
                is_time = value.type.kind in TIMES
                sign, bound = _bound("=", value.value, is_time, vector.tag)
                kept += [bound] if sign == "=" else []
        # A narrow integer equals no constant outside of its range.
        kind = np.float64 if vector.tag == FLOAT else np.int64
        return np.isin(vector.values, np.array(kept, kind))


def _remainders(values: Anything, by: int) -> Anything:
    """Return signed remainders like `np.fmod`, many times faster, by rounding down."""
    values, whole = _rounded(values, by)
    rest = np.subtract(values, whole, out=whole)
    if len(values) and values.min() < 0:
        rest[(values < 0) & (rest != 0)] -= by
    return rest


def _multiples(values: Anything, by: int) -> Mask:
    """Mark the integers that are multiples."""
    values, whole = _rounded(values, by)
    is_whole: Mask = values == whole
    return is_whole


def _rounded(values: Anything, by: int) -> tuple[Anything, Anything]:
    """Integers in a narrow type if that is fast, and rounded down to multiples; may wrap."""
    size = values.dtype.itemsize
    if size < 4 or by >= 2**31:
        values = values.astype(np.int64)
    elif size > 4 and max(-int(values.min(initial=0)), int(values.max(initial=0))) < 2**31:
        values = values.astype(np.int32)
    whole = values // values.dtype.type(by)
    whole *= by
    return values, whole


@lru_cache(maxsize=1024)
def _bound(sign: str, value: Anything, is_time: bool, tag: int) -> tuple[str, int | float]:
    """The comparison with a number of the column's kind that is equal to one with a constant."""
    if tag == FLOAT:
        near = float(value)
        value = near if isinstance(value, Decimal) else value
        lower = near if near <= value else math.nextafter(near, -math.inf)
        upper = lower if near == value else math.nextafter(lower, math.inf)
        return _between(sign, (lower, upper), (-math.inf, math.inf))
    if isinstance(value, float) and math.isinf(value):
        return _always(_COMPARED[sign](0.0, value), INT64)
    if tag == INTEGER and type(value) is int and not is_time and INT64[0] <= value <= INT64[1]:
        return sign, value
    exact = Fraction(value, 10**NANOSECOND) if is_time else Fraction(value)
    if tag >= EXACT:
        exact *= 10 ** (tag - EXACT)
    if not INT64[0] <= exact <= INT64[1]:
        return _always(_COMPARED[sign](0, exact), INT64)
    return _between(sign, (math.floor(exact), math.ceil(exact)), INT64)


def _between(sign: str, nearest: Pair, limits: Pair) -> tuple[str, int | float]:
    """The comparison equivalent to one with a constant between two adjacent numbers."""
    lower, upper = nearest
    if lower == upper:
        return sign, lower
    if sign in ("=", "!="):
        return _always(sign == "!=", limits)
    return ("<=", lower) if sign in ("<", "<=") else (">=", upper)


def _always(holds: Anything, limits: Pair) -> tuple[str, int | float]:
    """A comparison that is true for every number, or for none."""
    return ("<=", limits[1]) if holds else ("<", limits[0])


# ---------------------------------------------------------------- row filter


@dataclass(frozen=True)
class FilterColumns:
    """The attributes of a condition on one event, and whether NumPy can evaluate it."""

    columns: tuple[Need, ...]
    is_vectorized: bool

    @classmethod
    def of(cls, condition: Condition) -> FilterColumns:
        """The attributes that a condition reads."""
        columns = columns_needed([condition])
        return cls(columns, can_vectorize(condition) and bool(columns))


class RowFilter:
    """A condition on one event: evaluated by NumPy if possible, otherwise by a program."""

    def __init__(
        self,
        condition: Condition,
        type_codes: Mapping[str, int],
        interner: Interner,
        lacking: frozenset[Need] = frozenset(),
        unlisted: tuple[int, ...] = (0,),
        *,
        reads: FilterColumns | None = None,
    ) -> None:
        reads = reads or FilterColumns.of(condition)
        self.condition, self.interner, self.columns = condition, interner, reads.columns
        self._types = type_codes, lacking, unlisted
        self.is_vectorized = reads.is_vectorized and not lacking

    @cached_property
    def lowered(self) -> Lowered:
        """The program; most conditions need none."""
        codes, lacking, unlisted = self._types
        places = {need: place for place, need in enumerate(self.columns)}
        positions = {component: 0 for component, _ in self.columns}
        layout = ProgramLayout(places, codes, self.interner, positions, lacking, unlisted)
        return lower(self.condition, layout)

    @cached_property
    def stack(self) -> Stack:
        """The stack of the program, with notes of overflows."""
        return make_stack(self.lowered.depth)

    @property
    def arithmetic(self) -> dict[int, Operation]:
        """The operations that may overflow int64; none if NumPy evaluates."""
        return {} if self.is_vectorized else dict(self.lowered.arithmetic)

    def truth(self, vectors: Mapping[Need, Vector], types: NDArray[np.int16]) -> Mask:
        """Evaluate the condition for every row."""
        if self.is_vectorized and all(isinstance(vectors[need].tag, int) for need in self.columns):
            return evaluate_vectorized(self.condition, vectors, self.interner)
        return self.by_program(vectors, types)

    def by_program(self, vectors: Mapping[Need, Vector], types: NDArray[np.int16]) -> Mask:
        """Evaluate the condition for every row by its program."""
        program = self.lowered.program  # may request tables
        read = [vectors[need] for need in self.columns]
        out = np.empty(len(types), np.bool_)
        columns = columns_of(read, types, self.interner.tables())
        evaluate_rows(program, columns, self.stack, out)
        return out
