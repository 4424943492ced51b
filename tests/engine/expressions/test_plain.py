"""Which conditions on a series are compared before an event is bound, and with which values."""

from __future__ import annotations

import pytest

from sase.binding import bind_text
from sase.engine.expressions import ProgramLayout, columns_needed, lower_terms
from sase.engine.expressions.comparisons import (
    NOT_DIRECT,
    BoundAt,
    DirectComparison,
    direct_comparison,
)
from sase.engine.expressions.series import Fills, NodeWords, SeriesLayout, Term
from sase.engine.kernels.kleene.run_nodes import (
    BEGIN,
    EVENT_BEFORE,
    KNOWN_EVENT,
    KNOWN_VALUE,
    MOMENTS,
    TAKE,
    VALUE_BEFORE,
)
from sase.engine.kernels.sentinels import NOTHING

PATTERN = "EVENT SEQ(A x, A+ a[], A b) WHERE"
LESS, EQUAL, GREATER = 0b001, 0b010, 0b100
OWN = {"x": None, "a": 1, "b": None}


def found(condition: str, variable: str, moment: int) -> DirectComparison:
    """The comparison for a condition at a moment of a component."""
    query = bind_text(f"{PATTERN} {condition} WITHIN 9")
    (conjunct,) = query.conjuncts
    level = "xab".index(variable)
    term = Term(conjunct.condition, MOMENTS * level + moment, OWN[variable])
    needs = columns_needed([conjunct.condition])
    base = ProgramLayout({need: 0 if need[1] == "n" else 1 for need in needs})
    fills = Fills(term, {0: 0, 1: 1, 2: 2}, NodeWords(0), base)
    lower_terms([(term.term, SeriesLayout.over(base, fills=fills))])
    return direct_comparison(term.term, fills, BoundAt(level, moment))


@pytest.mark.parametrize(
    ("condition", "variable", "moment", "accepted", "column", "source", "other"),
    [
        ("a[i].n > a[i-1].n", "a", TAKE, GREATER, 0, EVENT_BEFORE, 0),
        ("a[i-1].m <= a[i].n", "a", TAKE, GREATER | EQUAL, 0, EVENT_BEFORE, 1),
        ("a[i].n = a[1].n", "a", TAKE, EQUAL, 0, KNOWN_EVENT, 0),
        ("a[i].n > min(a[..i-1].n)", "a", TAKE, GREATER, 0, VALUE_BEFORE, NOTHING),
        ("a[i].n > x.m", "a", TAKE, GREATER, 0, KNOWN_EVENT, 1),
        ("a[1].n > x.m", "a", BEGIN, GREATER, 0, KNOWN_EVENT, 1),
        ("b.n < x.n", "b", BEGIN, LESS, 0, KNOWN_EVENT, 0),
        ("b.n < a[a.len].n", "b", BEGIN, LESS, 0, KNOWN_EVENT, 0),
        ("b.n < max(a[].n)", "b", BEGIN, LESS, 0, KNOWN_VALUE, NOTHING),
    ],
)
def test_what_is_compared(
    condition: str,
    variable: str,
    moment: int,
    accepted: int,
    column: int,
    source: int,
    other: int,
) -> None:
    known = found(condition, variable, moment)
    assert (known.accepted, known.column, known.source, known.other) == (
        accepted,
        column,
        source,
        other,
    )


@pytest.mark.parametrize(
    ("condition", "variable", "moment"),
    [
        ("a[i].n > a[i-1].n + 1", "a", TAKE),
        ("a[i].n > a[i-1].n", "a", BEGIN),
        ("a[i].n > avg(a[..i-1].n)", "a", TAKE),
        ("a[i].n > min(a[..i].n)", "a", TAKE),
        ("b.n < sum(a[].n)", "b", BEGIN),
        ("a[i].n < b.n", "b", BEGIN),
        ("a[i].n > 3 OR a[i].m > x.m", "a", TAKE),
    ],
)
def test_what_needs_a_program(condition: str, variable: str, moment: int) -> None:
    assert found(condition, variable, moment) == NOT_DIRECT
