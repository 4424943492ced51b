"""Operations one by one, against Python's exact numbers."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sase.engine.expressions import make_stack
from sase.engine.expressions.lowering import ACCEPTED
from sase.engine.kernels.expressions.operations import (
    EXACT,
    FLOAT,
    INTEGER,
    NOTHING,
    NULL,
    Op,
    Value,
)
from sase.engine.kernels.expressions.program import (
    ARGUMENTS,
    Columns,
    Program,
    evaluate_values,
)
from sase.engine.kernels.expressions.slow_paths import address_for, called
from sase.engine.kernels.jit.signatures import frozen
from tests.engine.expressions.generators import reals, units, wholes
from tests.engine.expressions.routes import selected

LEAST, MOST = -(2**63), 2**63 - 1
NO_COLUMNS = Columns(
    frozen(np.zeros((0, 1), np.int64)),
    frozen(np.zeros((0, 1), np.uint8)),
    frozen(np.zeros(1, np.int16)),
    frozen(np.zeros((0, 1), np.int64)),
)
ROWS = np.zeros((1, 1), np.int64)


def real(number: float) -> Value:
    return FLOAT, int(np.float64(number).view(np.int64))


def whole(number: int) -> Value:
    return INTEGER, number


def program(*code: tuple[int, ...], mixes: bool) -> Program:
    rows = [[*row, *[0] * ARGUMENTS][: 1 + ARGUMENTS] for row in [*code, (Op.END,)]]
    addresses = [address_for(called(Op(row[0]), mixes=mixes)) for row in rows]
    return Program(frozen(np.array([[*row, at] for row, at in zip(rows, addresses, strict=True)])))


def programs(operation: tuple[int, ...], operands: tuple[Value, ...]) -> list[Program]:
    """One for values of all kinds, and one for those without a scale if these are all."""
    code = [(Op.CONSTANT, *each) for each in operands]
    ways = (True, False) if all(tag < EXACT for tag, _ in operands) else (True,)
    return [program(*code, operation, mixes=mixes) for mixes in ways]


def run(operation: tuple[int, ...], *operands: Value) -> tuple[int | float | None, bool]:
    """The value of an operation, and whether it was noted that it left int64."""
    found = set()
    for code in programs(operation, operands):
        stack, out = make_stack(3), np.zeros((1, 2), np.int64)
        evaluate_values(code, NO_COLUMNS, ROWS, stack, out)
        found.add((*out[0].tolist(), bool(stack.notes[0])))
    ((tag, bits, is_noted),) = found
    values = {NULL: None, FLOAT: float(np.int64(bits).view(np.float64))}
    return values.get(tag, bits), is_noted


def holds(test: tuple[int, ...], *operands: Value) -> bool:
    found = set()
    for code in programs(test, operands):
        found.add(bool(selected(code, NO_COLUMNS, ROWS, make_stack(3))[0]))
    (truth,) = found
    return truth


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is called by address then")
def test_a_scale_that_was_not_foreseen_is_an_error() -> None:
    decimal: Value = (EXACT + 2, 150)
    for operation in ((Op.ADD,), (Op.COMPARE, 1)):
        code = program((Op.CONSTANT, *decimal), (Op.CONSTANT, *whole(1)), operation, mixes=False)
        with pytest.raises(RuntimeError, match=r"none was foreseen|not linked"):
            evaluate_values(code, NO_COLUMNS, ROWS, make_stack(3), np.zeros((1, 2), np.int64))


def close(number: int) -> st.SearchStrategy[int]:
    """Integers that float64 may confuse with one."""
    near = [number - 1, number, number + 1, 2 * number]
    return st.sampled_from([each for each in near if LEAST <= each <= MOST])


# Values with their meaning.
numbers = st.one_of(
    wholes.map(lambda each: (whole(each), Fraction(each))),
    reals.filter(math.isfinite).map(lambda each: (real(each), Fraction(each))),
    st.tuples(units, st.integers(0, 18)).map(
        lambda pair: ((EXACT + pair[1], pair[0]), Fraction(pair[0], 10 ** pair[1]))
    ),
)
confusable = st.tuples(units, st.integers(0, 18)).flatmap(
    lambda pair: st.tuples(
        st.just(((EXACT + pair[1], pair[0]), Fraction(pair[0], 10 ** pair[1]))),
        st.sampled_from([-1, 0, 1]).map(
            lambda step: nudged(float(Fraction(pair[0], 10 ** pair[1])), step)
        ),
    )
)


def nudged(number: float, step: int) -> tuple[Value, Fraction]:
    found = math.nextafter(number, math.inf * step) if step else number
    return real(found), Fraction(found)


@given(st.one_of(st.tuples(numbers, numbers), confusable))
def test_order_is_that_of_fractions(pair: tuple[tuple[Value, Fraction], ...]) -> None:
    (left, a), (right, b) = pair
    side = (a > b) - (a < b)
    found = [sign for sign, bits in ACCEPTED.items() if holds((Op.COMPARE, bits), left, right)]
    assert found == [sign for sign, bits in ACCEPTED.items() if bits >> (side + 1) & 1]
    turned = [sign for sign, bits in ACCEPTED.items() if holds((Op.COMPARE, bits), right, left)]
    assert turned == [sign for sign, bits in ACCEPTED.items() if bits >> (1 - side) & 1]


@given(numbers, st.sampled_from([math.inf, -math.inf]))
def test_infinities_are_beyond_every_number(
    number: tuple[Value, Fraction], infinity: float
) -> None:
    sign = "<" if infinity > 0 else ">"
    assert holds((Op.COMPARE, ACCEPTED[sign]), number[0], real(infinity))
    assert holds((Op.COMPARE, ACCEPTED["="]), real(infinity), real(infinity))


times = st.one_of(wholes, units)


@given(times, st.sampled_from([0, 3, 6, 9]), times, st.sampled_from([0, 3, 6, 9]))
def test_times_of_different_units(a: int, left: int, b: int, right: int) -> None:
    values = (EXACT + left, a), (EXACT + right, b)
    x, y = Fraction(a, 10**left), Fraction(b, 10**right)
    assert holds((Op.COMPARE, ACCEPTED["<"]), *values) == (x < y)
    assert holds((Op.COMPARE, ACCEPTED["="]), *values) == (x == y)
    finer = max(left, right)
    scaled = a * 10 ** (finer - left), b * 10 ** (finer - right)
    for op, exact in ((Op.TIME_ADD, sum(scaled)), (Op.TIME_SUBTRACT, scaled[0] - scaled[1])):
        inside = all(LEAST <= each <= MOST for each in (*scaled, exact))
        assert run((op,), *values) == (exact if inside else None, not inside)


WHOLE_ARITHMETIC = {Op.ADD: operator.add, Op.SUBTRACT: operator.sub, Op.MULTIPLY: operator.mul}


@given(wholes.flatmap(lambda each: st.tuples(close(each), wholes)))
def test_integers_stay_in_int64_or_are_noted(pair: tuple[int, int]) -> None:
    a, b = pair
    for op, exactly in WHOLE_ARITHMETIC.items():
        exact = exactly(a, b)
        inside = LEAST <= exact <= MOST
        assert run((op,), whole(a), whole(b)) == (exact if inside else None, not inside)
    rest = None if b == 0 else int(math.copysign(1, a)) * (abs(a) % abs(b))
    assert run((Op.REMAINDER,), whole(a), whole(b)) == (rest, False)
    expected = None if b == 0 else float(a) / float(b)
    assert run((Op.DIVIDE,), whole(a), whole(b)) == (expected, False)


@pytest.mark.parametrize(
    ("op", "a", "b", "leaves"),
    [
        (Op.ADD, MOST - 1, 1, False), (Op.ADD, MOST, 1, True), (Op.ADD, MOST, 0, False),
        (Op.ADD, LEAST + 1, -1, False), (Op.ADD, LEAST, -1, True), (Op.ADD, -1, MOST, False),
        (Op.SUBTRACT, LEAST + 1, 1, False), (Op.SUBTRACT, LEAST, 1, True),
        (Op.SUBTRACT, MOST - 1, -1, False), (Op.SUBTRACT, MOST, -1, True),
        (Op.SUBTRACT, -1, LEAST, False), (Op.SUBTRACT, 0, LEAST, True),
    ],
)  # fmt: skip
def test_the_edges_of_sums(op: Op, a: int, b: int, leaves: bool) -> None:
    exact = WHOLE_ARITHMETIC[op](a, b)
    assert run((op,), whole(a), whole(b)) == (None if leaves else exact, leaves)


@pytest.mark.parametrize(
    ("a", "b", "leaves"),
    [
        (LEAST, 1, False), (LEAST, -1, True), (-1, LEAST, True), (LEAST, 0, False),
        (2**62, 2, True), (2**62, -2, False), (-(2**62), 2, False), (-(2**62), -2, True),
        (2**32, 2**31, True), (-(2**32), 2**31, False), (3037000499, 3037000499, False),
        (3037000500, 3037000500, True), (MOST, 1, False), (MOST, -1, False), (LEAST, LEAST, True),
    ],
)  # fmt: skip
def test_the_edges_of_products(a: int, b: int, leaves: bool) -> None:
    assert run((Op.MULTIPLY,), whole(a), whole(b)) == (None if leaves else a * b, leaves)


# Divisions of floats that miss the nearest by one, on either side.
MISSED = [
    (106857949199210963, 12),
    (50206207496379345, 6),
    (842583376161228755, 17),
    (213577486108040056, 8),
]


@given(st.one_of(units, st.integers(2**53, 10**18 - 1)), st.integers(0, 18))
@example(*MISSED[0])
@example(*MISSED[1])
@example(*MISSED[2])
@example(*MISSED[3])
@example(2**53 + 1, 2)
def test_decimals_become_the_nearest_float(number: int, scale: int) -> None:
    expected = float(Decimal(number).scaleb(-scale))
    assert run((Op.MULTIPLY,), (EXACT + scale, number), real(1.0)) == (expected, False)
    assert run((Op.ABSOLUTE,), (EXACT + scale, number)) == (abs(expected), False)


@given(reals.filter(lambda x: x == x), st.one_of(reals.filter(lambda x: x == x), wholes))
def test_floats_are_those_of_python(a: float, other: float) -> None:
    b = float(other)
    right = whole(other) if isinstance(other, int) else real(b)
    for op, exactly in WHOLE_ARITHMETIC.items():
        found = exactly(a, b)
        assert run((op,), real(a), right) == (None if math.isnan(found) else found, False)
    rest = None if b == 0 or math.isinf(a) else math.fmod(a, b)
    assert run((Op.REMAINDER,), real(a), right) == (rest, False)


@pytest.mark.parametrize("op", [op for op in Op if Op.ADD <= op <= Op.TIME_SUBTRACT])
def test_null_goes_through_arithmetic(op: Op) -> None:
    assert run((op,), NOTHING, whole(1)) == (None, False)
    assert run((op,), whole(1), NOTHING) == (None, False)


def test_choices_skip_null_and_keep_the_left_of_equals() -> None:
    for op in (Op.COALESCE, Op.LEAST, Op.GREATEST):
        assert run((op,), NOTHING, whole(1)) == (1, False)
        assert run((op,), whole(1), NOTHING) == (1, False)
        assert run((op,), NOTHING, NOTHING) == (None, False)
        assert isinstance(run((op,), whole(1), real(1.0))[0], int)
        assert isinstance(run((op,), real(1.0), whole(1))[0], float)


def test_abs_of_the_least_integer_leaves_int64() -> None:
    assert run((Op.ABSOLUTE,), whole(LEAST)) == (None, True)
    assert run((Op.TIME_ABSOLUTE,), (EXACT + 6, LEAST)) == (None, True)
    assert run((Op.TIME_ABSOLUTE,), (EXACT + 6, -5)) == (5, False)
    assert run((Op.ABSOLUTE,), NOTHING) == (None, False)


def test_a_comparison_with_null_is_false() -> None:
    for bits in ACCEPTED.values():
        assert not holds((Op.COMPARE, bits), NOTHING, whole(1))
        assert not holds((Op.COMPARE, bits), NOTHING, NOTHING)
        assert not holds((Op.COMPARE, bits), real(1.0), NOTHING)
