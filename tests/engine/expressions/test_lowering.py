"""The output of lowering, its refusals, and the overflow of int64 that the run reports."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import pytest

from sase.binding import bind_text
from sase.binding.bound import Operation
from sase.engine.expressions import (
    Interner,
    LoweringError,
    ProgramLayout,
    RowFilter,
    Vector,
    columns_needed,
    columns_of,
    lower,
    make_stack,
)
from sase.engine.kernels.expressions.operations import INTEGER, Op
from sase.engine.kernels.expressions.program import (
    ADDRESS,
    WORD,
    Program,
    evaluate_values,
)
from sase.engine.kernels.expressions.slow_paths import Called
from sase.engine.kernels.jit.signatures import frozen
from tests.engine.expressions.generators import SCHEMA
from tests.engine.expressions.routes import (
    PAIR,
    bound_condition,
    codes_of,
    row_truths,
    selected,
    tuple_truths,
    vectors_of,
)

TYPES = {"A": 0, "B": 1}


def code_of(text: str, types: dict[str, int] = TYPES) -> list[list[int]]:
    condition = bound_condition(text, SCHEMA)
    places = {need: place for place, need in enumerate(columns_needed([condition]))}
    return lower(condition, ProgramLayout(places, types)).code[:, :ADDRESS].tolist()


def called(text: str, *, mixes: bool) -> list[Called]:
    """The functions that operations call, if they call one."""
    condition = bound_condition(text, SCHEMA)
    places = {need: place for place, need in enumerate(columns_needed([condition]))}
    code = lower(condition, ProgramLayout(places, TYPES, mixes=mixes)).code
    return [Called(each) for each in code[:, ADDRESS].tolist() if each]


def test_comparisons_call_nothing_where_values_have_no_scale() -> None:
    plain = "EVENT SEQ(A x, A y) WHERE x.n < y.n AND x.n != 7"
    assert called(plain, mixes=False) == []
    assert called(plain, mixes=True) == [Called.ORDERED] * 2


def test_what_is_seldom_is_called() -> None:
    text = "EVENT SEQ(A x, A y) WHERE x.n + y.n > 1 AND (x.n IN (1, 2) OR y.n BETWEEN 1 AND 2)"
    assert called(text, mixes=False) == [Called.CALCULATED_SIMPLY]
    assert called(text, mixes=True) == [Called.CALCULATED, *[Called.ORDERED] * 3]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing has an address there")
def test_what_is_called_has_an_address_and_else_the_call_goes_wrong() -> None:
    condition = bound_condition("EVENT SEQ(A x, A y) WHERE x.n + y.n > 1", SCHEMA)
    places = {need: place for place, need in enumerate(columns_needed([condition]))}
    lowered = lower(condition, ProgramLayout(places, TYPES))
    unlinked = lowered.code.copy()
    unlinked[:, ADDRESS] = 0
    types, tables = np.zeros(2, np.int16), np.zeros((0, 1), np.int64)
    columns = columns_of([Vector(np.ones(2, np.int64), INTEGER)] * 2, types, tables)
    rows, stack = np.array([[0, 1]]), make_stack(lowered.depth)
    assert selected(lowered.program, columns, rows, stack).tolist() == [True]
    with pytest.raises(RuntimeError, match="not linked"):
        selected(Program(frozen(unlinked)), columns, rows, stack)


def test_a_comparison() -> None:
    assert code_of("EVENT SEQ(A x, A y) WHERE x.n < y.n AND x.n != 7") == [
        [Op.CELL, 0, 0, 0],
        [Op.CELL, 1, 1, 0],
        [Op.COMPARE, 0b001, 0, 0],
        [Op.JUMP_IF_FALSE, 8, 0, 0],
        [Op.CELL, 0, 0, 0],
        [Op.CONSTANT, INTEGER, 7, 0],
        [Op.COMPARE, 0b101, 0, 0],
        [Op.JUMP_IF_FALSE, 8, 0, 0],
        [Op.END, 0, 0, 0],
    ]


def test_a_list_ascends_behind_the_code() -> None:
    assert code_of("EVENT A x WHERE x.n IN (3, NULL, 1, 2)")[1:] == [
        [Op.IN, 1, 3, 6],
        [Op.END, 0, 0, 0],
        [INTEGER, 1, 0, 0],
        [INTEGER, 2, 0, 0],
        [INTEGER, 3, 0, 0],
    ]


def test_an_undeclared_attribute_is_looked_for_first() -> None:
    """Only B does not declare `n`: it may have any code, also one in a later word."""
    many = {"A": 0, "B": WORD + 2}
    code = code_of("EVENT ANY(A, B) x WHERE x.n + x.n > 1", many)
    assert code[0] == [Op.UNDECLARED, 6, 0, 7]
    assert code[6:] == [[Op.END, 0, 0, 0], [0, 0, 0, 0], [1 << 2, 0, 0, 0]]


def test_a_type_that_never_occurs_needs_no_bit() -> None:
    assert code_of("EVENT ANY(A, B) x WHERE x.n > 1", {"A": 0})[-1] == [0, 0, 0, 0]


def test_what_no_type_declares_is_true() -> None:
    text = "EVENT ANY(A, B) x WHERE x.nowhere > 1 AND x.s = 'a'"
    condition = bound_condition(text, SCHEMA)
    places = {(0, "s"): 0}
    assert lower(condition, ProgramLayout(places, TYPES)).code[0].tolist()[0] == Op.UNDECLARED


ROWS: list[dict[str, object]] = [
    {"ts": 0, "type": "A", "n": 1, "s": "b"},
    {"ts": 1, "type": "A", "n": 2**63 - 1, "s": "a"},
    {"ts": 2, "type": "A", "n": None, "s": None},
    {"ts": 3, "type": "A", "n": 2**63 - 1, "s": "B"},
]


def test_int64_that_is_left_is_noted_with_its_place_and_row() -> None:
    condition = bound_condition(f"{PAIR} WHERE x.i = 0 OR y.n + 1 > 0", SCHEMA)
    _, stack = tuple_truths(condition, ROWS, 2)
    count, place, row = stack.notes[:3]
    assert (count, row) == (8, 1)
    needs = columns_needed([condition])
    layout = ProgramLayout({need: at for at, need in enumerate(needs)}, TYPES)
    (noted,) = lower(condition, layout).arithmetic.items()
    assert noted[0] == place
    assert isinstance(noted[1], Operation) and noted[1].name == "+"


def test_notes_are_counted_over_all_blocks() -> None:
    condition = bound_condition("EVENT A x WHERE x.n + 1 > 0", SCHEMA)
    interner = Interner()
    test = RowFilter(condition, TYPES, interner)
    for _ in range(2):
        vectors = vectors_of(test.columns, ROWS, interner)
        assert test.truth(vectors, codes_of(ROWS)).tolist() == [True, False, False, False]
    assert test.stack.notes[:3].tolist() == [4, 2, 1]


def test_what_is_null_is_not_noted() -> None:
    condition = bound_condition("EVENT A x WHERE x.n / 0 IS NULL AND x.n % 0 IS NULL", SCHEMA)
    found, stack = tuple_truths(condition, ROWS, 1)
    assert found == [True] * 4
    assert stack.notes[0] == 0


def values_of(text: str, rows: Sequence[dict[str, object]]) -> list[list[int]]:
    (column,) = bind_text(f"EVENT SEQ(A x, A y) RETURN {text} AS v", SCHEMA).columns or ()
    interner, needs = Interner(), columns_needed([column.value])
    places = {need: place for place, need in enumerate(needs)}
    lowered = lower(column.value, ProgramLayout(places, TYPES, interner))
    vectors = vectors_of(needs, rows, interner)
    columns = columns_of(list(vectors.values()), codes_of(rows), interner.tables())
    chosen = np.array([[0, 1], [1, 0], [2, 0], [0, 2]], np.int64)
    out = np.zeros((4, 2), np.int64)
    evaluate_values(lowered.program, columns, chosen, make_stack(lowered.depth), out)
    return [[tag, bits] for tag, bits in out.tolist()]


def test_values_of_return() -> None:
    assert values_of("x.n - y.n", ROWS) == [[1, 2 - 2**63], [1, 2**63 - 2], [0, 0], [0, 0]]
    assert values_of("length(x.s) + 1", ROWS) == [[1, 2], [1, 2], [0, 0], [1, 2]]
    assert values_of("greatest(x.s, y.s)", ROWS) == [[1, 0], [1, 0], [1, 0], [1, 0]]


def test_tables_of_strings_cover_what_functions_give() -> None:
    rows = [{"ts": 0, "type": "A", "s": text} for text in ("Ab", "aB", "zz", "Z", None)]
    text = "EVENT A x WHERE upper(lower(x.s)) LIKE 'A_' AND length(lower(x.s)) = 2"
    assert row_truths(bound_condition(text, SCHEMA), rows) == [True, True, False, False, False]
    text = "EVENT A x WHERE upper(x.s) > 'Y' AND lower(x.s) < 'zz'"
    assert row_truths(bound_condition(text, SCHEMA), rows) == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EVENT A x WHERE x.n = :p", "the parameter :p has no value"),
        ("EVENT A x WHERE x.n IN (1, :p)", "the parameter :p has no value"),
        ("EVENT A x WHERE x.s LIKE :p", "the parameter :p has no value"),
        ("EVENT A+ x[] WHERE avg(x[].n) = 1", "avg is of a series, and there is none"),
    ],
)
def test_what_cannot_be_lowered_is_said(text: str, message: str) -> None:
    (conjunct,) = bind_text(text, SCHEMA).conjuncts
    with pytest.raises(LoweringError, match=message):
        lower(conjunct.condition, ProgramLayout({(0, "n"): 0, (0, "s"): 1}, TYPES))


def test_what_is_not_known_is_said() -> None:
    condition = bound_condition("EVENT A x WHERE x.n = 1", SCHEMA)
    with pytest.raises(LoweringError, match="there is no column for `n`"):
        lower(condition, ProgramLayout({}, TYPES))


def test_components_can_be_placed() -> None:
    condition = bound_condition("EVENT SEQ(B z, A x) WHERE x.n = 1", SCHEMA)
    lowered = lower(condition, ProgramLayout({(1, "n"): 4}, TYPES, positions={1: 0}))
    assert lowered.columns == ((1, "n"),)
    assert lowered.code[0].tolist() == [Op.CELL, 0, 4, 0, 0]
