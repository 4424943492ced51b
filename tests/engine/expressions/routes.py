"""The ways to evaluate a condition: the naive matcher's, and each of the engine's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product

import numpy as np

from sase.binding import Schema, bind_text
from sase.binding.bound import All, Condition, Truth
from sase.engine.expressions import (
    Interner,
    ProgramLayout,
    RowFilter,
    Vector,
    columns_needed,
    columns_of,
    lower,
    make_stack,
)
from sase.engine.expressions.layout import Need
from sase.engine.kernels.expressions.checks import Checks, select
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER, NULL
from sase.engine.kernels.expressions.program import Columns, Program, Stack
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import NOTHING
from sase.lang.parser import parse_query
from sase.source import NOWHERE
from tests.engine.expressions.generators import EPOCH, MICROSECOND
from tests.naive import problems
from tests.naive.conditions import holds

Row = Mapping[str, object]
PAIR = "EVENT SEQ(ANY(A, B) x, ANY(A, B) y)"


def naive_truths(
    text: str, rows: Sequence[Row], declared: Mapping[str, Sequence[str]]
) -> list[bool]:
    """The truth of a query's WHERE for every choice of events for its components."""
    (stated,) = problems(parse_query(text), rows, types=declared, time_unit="s")
    return [
        all(
            holds(each, stated.scope_of(dict(enumerate((event,) for event in chosen))))
            for each in stated.conditions
        )
        for chosen in product(stated.stream.events, repeat=len(stated.components))
    ]


def bound_condition(text: str, schema: Schema) -> Condition:
    """The whole WHERE of a query."""
    conditions = tuple(c.condition for c in bind_text(text, schema, parameters={}).conjuncts)
    if not conditions:
        return Truth(True, span=NOWHERE)
    return conditions[0] if len(conditions) == 1 else All(conditions, span=NOWHERE)


def vectors_of(
    needs: Sequence[Need], rows: Sequence[Row], interner: Interner
) -> dict[Need, Vector]:
    """The attributes of events; where they are all of one kind the vector has one tag."""
    return {need: vector([row.get(need[1]) for row in rows], interner) for need in needs}


def vector(values: Sequence[object], interner: Interner) -> Vector:
    cells = [cell(value, interner) for value in values]
    found = {tag for tag, _ in cells} - {NULL}
    if len(found) > 1:
        bits = [np.float64(x).view(np.int64) if tag == FLOAT else x for tag, x in cells]
        return Vector(np.array(bits, np.int64), np.array([tag for tag, _ in cells], np.uint8))
    (tag,) = found or {INTEGER}
    valid = np.array([tag != NULL for tag, _ in cells])
    data = np.array([x for _, x in cells], np.float64 if tag == FLOAT else np.int64)
    return Vector(data, tag, None if valid.all() else valid)


def cell(value: object, interner: Interner) -> tuple[int, int | float]:
    match value:
        case None:
            return NULL, 0
        case float():
            return (NULL, 0) if math.isnan(value) else (FLOAT, value)
        case bool() | int():
            return INTEGER, int(value)
        case Decimal():
            return EXACT + 3, int(value.scaleb(3))
        case str():
            return INTEGER, interner.code(value)
        case datetime():
            return EXACT + 6, (value - EPOCH) // MICROSECOND
        case date():
            return EXACT, (value - EPOCH.date()).days * 86400
        case timedelta():
            return EXACT + 6, value // MICROSECOND
    raise AssertionError(value)


def codes_of(rows: Sequence[Row]) -> np.ndarray:
    return np.array([{"A": 0, "B": 1}[str(row["type"])] for row in rows], np.int16)


def tuple_truths(condition: Condition, rows: Sequence[Row], width: int) -> tuple[list[bool], Stack]:
    """The truth for every tuple of events, by the kernel for tuples; and its stack."""
    interner, needs = Interner(), columns_needed([condition])
    vectors = vectors_of(needs, rows, interner)
    places = {need: place for place, need in enumerate(needs)}
    lowered = lower(condition, ProgramLayout(places, {"A": 0, "B": 1}, interner))
    stack = make_stack(lowered.depth)
    chosen = np.array(list(product(range(len(rows)), repeat=width)), np.int64)
    read = list(vectors.values()) or [Vector(np.zeros(len(rows), np.int64), INTEGER)]
    columns = columns_of(read, codes_of(rows), interner.tables())
    return selected(lowered.program, columns, chosen, stack).tolist(), stack


def selected(program: Program, columns: Columns, rows: np.ndarray, stack: Stack) -> np.ndarray:
    """The truth of a program for tuples of rows, by the kernel of residual filters."""
    width = rows.shape[1]
    checks = Checks(
        (1 << 62) - 1,
        frozen(np.zeros(0, np.int64)),
        frozen(np.zeros((0, 0), np.int64)),
        frozen(np.array([0, *[NOTHING] * (width - 1)], np.int64)),
        program,
        columns,
        stack,
        np.zeros(width, np.int64),
    )
    keep = np.empty(len(rows), np.bool_)
    select(np.ascontiguousarray(rows.T), checks, None, keep)
    return keep


def row_truths(condition: Condition, rows: Sequence[Row], fast: bool = False) -> list[bool]:
    """The truth for every event, by the kernel for rows or, where that is possible, by NumPy."""
    interner = Interner()
    test = RowFilter(condition, {"A": 0, "B": 1}, interner)
    vectors = vectors_of(test.columns, rows, interner)
    evaluate = test.truth if fast else test.by_program
    if not test.columns:
        vectors, test.columns = (
            {(0, "n"): Vector(np.zeros(len(rows), np.int64), INTEGER)},
            ((0, "n"),),
        )
    found: list[bool] = evaluate(vectors, codes_of(rows)).tolist()
    # Integers as they come, which may be narrow, are no others.
    given = {need: narrowed(vector) for need, vector in vectors.items()}
    assert evaluate(given, codes_of(rows)).tolist() == found
    return found


def narrowed(vector: Vector) -> Vector:
    """The integers of a vector in the fewest bytes that hold them."""
    if vector.values.dtype != np.int64 or not isinstance(vector.tag, int) or vector.tag != INTEGER:
        return vector
    ends = int(vector.values.min(initial=0)), int(vector.values.max(initial=0))
    kind = np.promote_types(*map(np.min_scalar_type, ends))
    return replace(vector, values=vector.values.astype(kind if kind.kind in "iu" else np.int64))
