"""The classes of conjuncts and the places where they are checked: data that planning reads."""

import pytest

from sase.binding import OPEN, BoundQuery, bind_text
from sase.binding.bound import Conjunct

PATTERN = "SEQ(A a, !(N n), B+ b[], C? c, D d, !(M m), E+ e[], F f) "


def bound(where: str) -> BoundQuery:
    """A query over a pattern that has every sort of component."""
    return bind_text(f"EVENT {PATTERN} WHERE {where} WITHIN 10")


def described(conjunct: Conjunct, query: BoundQuery) -> str:
    """A conjunct's class and place in one line, with variables for numbers."""
    names = [component.variable for component in query.components]
    at = names[conjunct.component] if conjunct.component is not None else "-"
    ranges = [f"{names[q.component]}{'>1' if q.but_first else ''}" for q in conjunct.quantified]
    over = f" over {' '.join(ranges)}" if ranges else ""
    return f"{conjunct.kind.name} {at} {conjunct.when.name}{over}"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (":p > 3", "CONSTANT - EVENT"),
        ("a.x > 3", "SINGLE a EVENT"),
        ("a.x > d.x", "SEVERAL d EVENT"),
        ("f.x > a.x", "SEVERAL f EVENT"),
        ("n.x > 3", "NEGATIVE n EVENT"),
        ("n.x > f.x", "NEGATIVE n EVENT"),
        # A condition is checked when its last identifier is bound: b[1] < b[i] < b as a whole.
        ("b[1].x > 3", "SINGLE b FIRST"),
        ("b[1].x > a.x", "SEVERAL b FIRST"),
        ("b[i].x > 3", "SINGLE b EVERY"),
        ("b[i].x > a.x", "SEVERAL b EVERY"),
        ("b[i].x > b[i-1].x", "SEVERAL b FURTHER"),
        ("b[i].x > b[1].x", "SEVERAL b FURTHER"),
        ("b[i-1].x > 3", "SEVERAL b FURTHER"),
        ("b[i].x > avg(b[..i-1].x)", "SEVERAL b FURTHER"),
        ("sum(b[..i].x) < 9", "SEVERAL b EVERY"),
        ("b.len > 3", "SEVERAL b WHOLE"),
        ("b[b.len].x > 3", "SEVERAL b WHOLE"),
        ("avg(b[].x) > a.x", "SEVERAL b WHOLE"),
        ("b[i].x < b.len", "SEVERAL b WHOLE over b"),
        ("b[i].x < max(b[].x) + b[1].x", "SEVERAL b WHOLE over b>1"),
        # With a later variable it must hold for every event of the series.
        ("d.x > b[i].x", "SEVERAL d EVENT over b"),
        ("d.x > b[i].x - b[i-1].x", "SEVERAL d EVENT over b>1"),
        ("d.x > b[1].x", "SEVERAL d EVENT"),
        ("d.x > b[b.len].x", "SEVERAL d EVENT"),
        ("b[i].x < e[i].x", "SEVERAL e EVERY over b"),
        ("b[i].x < e[i-1].x", "SEVERAL e FURTHER over b"),
        ("b[i].x < e.len", "SEVERAL e WHOLE over b"),
        ("m.x > b[i].x", "NEGATIVE m EVENT over b"),
        # `c.x` of an optional component means c[i].x.
        ("c.x > 3", "SINGLE c EVERY"),
        ("d.x > c.x", "SEVERAL d EVENT over c"),
    ],
)
def test_class_and_place(where: str, expected: str) -> None:
    """One conjunct, its class, where it is checked, and its range."""
    query = bound(where)
    assert [described(conjunct, query) for conjunct in query.conjuncts] == [expected]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("NOT a.x < d.x", "a.x >= d.x"),
        ("NOT (a.x = 1 OR d.x != 2)", "a.x != 1 AND d.x = 2"),
        ("NOT (a.x = 1 AND d.x > 2)", "a.x != 1 OR d.x <= 2"),
        ("NOT NOT a.x IN (1, 2)", "a.x IN (1, 2)"),
        ("NOT a.x IN (1, 2)", "a.x NOT IN (1, 2)"),
        ("NOT a.x NOT BETWEEN 1 AND d.x", "a.x BETWEEN 1 AND d.x"),
        ("NOT a.x LIKE 'x%'", "a.x NOT LIKE 'x%'"),
        ("NOT a.x IS NULL", "a.x IS NOT NULL"),
        ("a.ok", "a.ok = TRUE"),
        ("NOT a.ok", "a.ok = FALSE"),
        ("(a.x = 1 AND (d.x = 2 AND f.x = 3))", "a.x = 1 AND d.x = 2 AND f.x = 3"),
        ("a.x = 1 OR (d.x = 2 OR f.x = 3)", "a.x = 1 OR d.x = 2 OR f.x = 3"),
        ("a.x = 1 AND TRUE AND 1 < 2", "a.x = 1"),
        ("a.x = 1 OR FALSE OR 2 < 1", "a.x = 1"),
        ("a.x = 1 OR TRUE", "TRUE"),
        ("a.x = 1 + 2 * 3", "a.x = 7"),
        ("a.x = -9223372036854775808", "a.x = -9223372036854775807 - 1"),
        ("a.x = 7 % -4 AND a.y = -7 % 4", "a.x = 3 AND a.y = -3"),
        ("a.x > 90 % 100", "a.x > 90"),
        ("a.x IN (NULL, 1)", "a.x IN (1)"),
        ("a.s = lower('AbC')", "a.s = 'abc'"),
        ("a.x = coalesce(NULL, 5)", "a.x = 5"),
        ("a.t < DATE '1970-01-02' + 1 hour", "a.t < TIMESTAMP '1970-01-02 01:00'"),
        ("a.t < TIMESTAMP '1970-01-02T01:00+01:00'", "a.t < DATE '1970-01-02'"),
    ],
)
def test_normal_form(written: str, same: str) -> None:
    """Two ways to write a condition bind to the same conjuncts."""
    assert bound(written).conjuncts == bound(same).conjuncts


def test_a_decided_conjunct_stays_only_if_it_is_false() -> None:
    """TRUE says nothing, FALSE everything."""
    assert bound("1 = 1").conjuncts == ()
    query = bound("1 = 2")
    assert [described(conjunct, query) for conjunct in query.conjuncts] == ["CONSTANT - EVENT"]
    assert [warning.code for warning in query.warnings] == ["never-true"]


def test_equivalence_tests_are_kept_apart() -> None:
    """They are written at the top of the conjunction, however it is bracketed."""
    query = bind_text("EVENT SEQ(A a, B b) WHERE a.x > 1 AND ([id] AND ([k = 'v'] AND b.x = 2))")
    assert [test.attribute for test in query.equivalences] == ["id", "k"]
    assert len(query.conjuncts) == 2
    assert OPEN.types is None
