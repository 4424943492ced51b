"""Expressions and conditions by the naive matcher: a table, and cross-checks with Python."""

# long because: it is a table of expressions with their values, and the same by other means.

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.lang.parser import parse_query
from tests.naive import match

LEAST, GREATEST = -(2**63), 2**63 - 1
NAN, INF = math.nan, math.inf
Row = dict[str, object]


def value(text: str, row: Row, **options: object) -> object:
    """The value of an expression on one event."""
    (found,) = match(parse_query(f"EVENT A RETURN {text} AS v"), [_event(row)], **options)  # type: ignore[arg-type]
    assert found.values is not None
    return found.values["v"]


def holds(text: str, row: Row, **options: object) -> bool:
    """Whether a condition holds for one event."""
    return bool(match(parse_query(f"EVENT A WHERE {text}"), [_event(row)], **options))  # type: ignore[arg-type]


def _event(row: Row) -> Row:
    return {"ts": 0, "type": "A", **row}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


VALUES: list[tuple[str, Row, object]] = [
    # literals
    ("1", {}, 1),
    ("1.5", {}, 1.5),
    ("'it''s'", {}, "it's"),
    ("TRUE", {}, True),
    ("NULL", {}, None),
    ("-9223372036854775808", {}, LEAST),
    ("80% * a", {"a": 1000}, 800.0),
    ("12.5% * a", {"a": 8}, 1.0),
    (":p + 1", {}, 42),
    # integers, exactly
    ("a + b", {"a": 2**53, "b": 1}, 2**53 + 1),
    ("a * b", {"a": 3037000499, "b": 3037000499}, 3037000499**2),
    ("a - b", {"a": LEAST + 1, "b": 1}, LEAST),
    ("-a", {"a": GREATEST}, -GREATEST),
    # a value beyond int64 is NULL, step by step
    ("a + 1", {"a": GREATEST}, None),
    ("a - 1", {"a": LEAST}, None),
    ("a * 2", {"a": 2**62}, None),
    ("-a", {"a": LEAST}, None),
    ("abs(a)", {"a": LEAST}, None),
    ("a + 1 - 1", {"a": GREATEST}, None),
    ("a + (1 - 1)", {"a": GREATEST}, GREATEST),
    ("a + 1.0", {"a": GREATEST}, float(2**63)),
    # division is of floats
    ("a / b", {"a": 7, "b": 2}, 3.5),
    ("a / b", {"a": 6, "b": 2}, 3.0),
    ("a / b", {"a": 2**53 + 1, "b": 1}, float(2**53)),
    ("a / b", {"a": 1, "b": 0}, None),
    ("a / b", {"a": 1.0, "b": -0.0}, None),
    ("a / b", {"a": 0, "b": 0}, None),
    ("a / b", {"a": LEAST, "b": -1}, float(2**63)),
    ("a / b", {"a": 1, "b": INF}, 0.0),
    ("a / b", {"a": INF, "b": INF}, None),
    # modulo has the sign of its left side
    ("a % b", {"a": 7, "b": 3}, 1),
    ("a % b", {"a": -7, "b": 3}, -1),
    ("a % b", {"a": 7, "b": -3}, 1),
    ("a % b", {"a": -7, "b": -3}, -1),
    ("a % b", {"a": -6, "b": 3}, 0),
    ("a % b", {"a": 7.5, "b": 2}, 1.5),
    ("a % b", {"a": -7.5, "b": 2}, -1.5),
    ("a % b", {"a": 7, "b": -2.5}, 2.0),
    ("a % b", {"a": 1, "b": 0}, None),
    ("a % b", {"a": 1.5, "b": 0.0}, None),
    ("a % b", {"a": INF, "b": 2}, None),
    ("a % b", {"a": 5, "b": INF}, 5.0),
    ("a % b", {"a": LEAST, "b": -1}, 0),
    # from left to right
    ("a - b - c", {"a": 10, "b": 4, "c": 3}, 3),
    ("a / b * c", {"a": 8, "b": 4, "c": 2}, 4.0),
    ("a - b * c % d", {"a": 10, "b": 4, "c": 3, "d": 5}, 8),
    # floats
    ("a + b", {"a": 0.1, "b": 0.2}, 0.1 + 0.2),
    ("a * b", {"a": 1e308, "b": 10}, INF),
    ("a - b", {"a": INF, "b": INF}, None),
    ("a * b", {"a": INF, "b": 0}, None),
    ("a + 1", {"a": NAN}, None),
    # NULL passes through operators and functions
    ("a + 1", {"a": None}, None),
    ("-a", {"a": None}, None),
    ("a + 1", {}, None),
    ("abs(a)", {"a": None}, None),
    ("lower(a)", {"a": None}, None),
    ("length(a)", {"a": None}, None),
    ("coalesce(a, b, c)", {"a": None, "b": NAN, "c": 3}, 3),
    ("coalesce(a, b)", {"a": None, "b": None}, None),
    ("least(a, b, c)", {"a": 3, "b": None, "c": 2.5}, 2.5),
    ("greatest(a, b, c)", {"a": 3, "b": None, "c": 2.5}, 3),
    ("greatest(a, b)", {"a": None, "b": None}, None),
    ("least(a, b)", {"a": 2**53 + 1, "b": float(2**53)}, float(2**53)),
    ("greatest(a, b)", {"a": "Z", "b": "a"}, "a"),
    # functions
    ("abs(a)", {"a": -3}, 3),
    ("abs(a)", {"a": -2.5}, 2.5),
    ("upper(a)", {"a": "straße"}, "STRASSE"),
    ("lower(a)", {"a": "İ"}, "i̇"),
    ("length(a)", {"a": "naïve"}, 5),
    ("length(a)", {"a": "👍🏽"}, 2),
    ("length(a)", {"a": ""}, 0),
    # decimals: arithmetic is float64
    ("a", {"a": Decimal("0.10")}, Decimal("0.10")),
    ("a + b", {"a": Decimal("0.1"), "b": Decimal("0.2")}, 0.1 + 0.2),
    ("a * 2", {"a": Decimal("0.1")}, 0.2),
    ("-a", {"a": Decimal("0.1")}, -0.1),
    ("least(a, b)", {"a": Decimal("0.1"), "b": 1}, Decimal("0.1")),
]


@pytest.mark.parametrize(("text", "row", "expected"), VALUES)
def test_values(text: str, row: Row, expected: object) -> None:
    found = value(text, row, params={"p": 41})
    assert found == expected and type(found) is type(expected)


CONDITIONS: list[tuple[str, Row, bool]] = [
    # NULL: an atomic condition is false, and so is the one that NOT makes of it
    ("a = 1", {"a": None}, False),
    ("NOT a = 1", {"a": None}, False),
    ("a != 1", {"a": None}, False),
    ("a = NULL", {"a": None}, False),
    ("a = a", {"a": None}, False),
    ("a IS NULL", {"a": None}, True),
    ("NOT a IS NULL", {"a": None}, False),
    ("a IS NOT NULL", {"a": 0}, True),
    ("a IS NULL", {}, True),
    ("a + 1 IS NULL", {"a": GREATEST}, True),
    ("a / 0 IS NULL", {"a": 1}, True),
    # De Morgan with NULL: NOT (p AND q) is NOT p OR NOT q
    ("NOT (a = 1 AND b = 1)", {"a": None, "b": 2}, True),
    ("NOT (a = 1 AND b = 1)", {"a": None, "b": 1}, False),
    ("NOT (a = 1 OR b = 1)", {"a": None, "b": 2}, False),
    ("NOT (a = 1 OR b = 1)", {"a": 2, "b": 2}, True),
    ("NOT NOT a = 1", {"a": 1}, True),
    ("NOT (NOT a < 1 OR b IS NULL)", {"a": 0, "b": 0}, True),
    ("NOT a < 1", {"a": NAN}, False),
    # NaN is NULL, infinities are values
    ("a = a", {"a": NAN}, False),
    ("a IS NULL", {"a": NAN}, True),
    ("a - a IS NULL", {"a": INF}, True),
    ("a > 9223372036854775807", {"a": INF}, True),
    ("a < b", {"a": -INF, "b": LEAST}, True),
    ("a = b", {"a": INF, "b": INF}, True),
    ("a >= b", {"a": 1e308, "b": INF}, False),
    # numbers compare by exact value
    ("a = b", {"a": 2**53 + 1, "b": float(2**53)}, False),
    ("a > b", {"a": 2**53 + 1, "b": float(2**53)}, True),
    ("a = b", {"a": 2**53, "b": float(2**53)}, True),
    ("a < 9223372036854775808.0", {"a": GREATEST}, True),
    ("a = -9223372036854775808", {"a": LEAST}, True),
    ("a = 0", {"a": -0.0}, True),
    ("a = 0.1", {"a": Decimal("0.1")}, True),
    ("a = 0.1", {"a": 0.1}, True),
    ("a = 0.1", {"a": np.float32(0.1)}, True),
    ("a + 0 = 0.1", {"a": np.float32(0.1)}, False),
    ("a > b", {"a": 0.1, "b": Decimal("0.1")}, True),
    ("-a = -0.1", {"a": np.float32(0.1)}, True),
    ("a = b", {"a": Decimal("0.10"), "b": Decimal("0.1")}, True),
    ("a = 1", {"a": Decimal("1.00")}, True),
    ("a < b", {"a": 999999999999999999, "b": Decimal("999999999999999999")}, False),
    ("a = 0.5", {"a": Decimal("0.5")}, True),
    # strings by code point, booleans
    ("a < b", {"a": "Z", "b": "a"}, True),
    ("a < b", {"a": "\uffff", "b": "\U00010000"}, True),
    ("a < b", {"a": "a", "b": "ab"}, True),
    ("a = 'é'", {"a": "e\u0301"}, False),
    ("a < b", {"a": False, "b": True}, True),
    ("a", {"a": True}, True),
    ("a", {"a": None}, False),
    ("NOT a", {"a": None}, False),
    ("NOT a", {"a": False}, True),
    ("coalesce(a, TRUE)", {"a": None}, True),
    ("TRUE AND NOT FALSE", {}, True),
    ("NULL", {}, False),
    ("NOT NULL", {}, False),
    # IN: a NULL in the list is ignored
    ("a IN (1, 2)", {"a": 2.0}, True),
    ("a IN (1, NULL)", {"a": 2}, False),
    ("a NOT IN (1, NULL)", {"a": 2}, True),
    ("a NOT IN (1, NULL)", {"a": 1}, False),
    ("a NOT IN (1)", {"a": None}, False),
    ("a IN (NULL)", {"a": None}, False),
    ("NOT a IN (1)", {"a": 2}, True),
    ("NOT a NOT IN (1)", {"a": 1}, True),
    ("a IN (-1, :p)", {"a": 41}, True),
    # BETWEEN: a NULL bound makes it false, also under NOT
    ("a BETWEEN 1 AND 3", {"a": 3}, True),
    ("a BETWEEN 3 AND 1", {"a": 2}, False),
    ("a NOT BETWEEN 3 AND 1", {"a": 2}, True),
    ("a BETWEEN b AND 3", {"a": 2, "b": None}, False),
    ("a NOT BETWEEN b AND 1", {"a": 2, "b": None}, False),
    ("NOT a BETWEEN b AND 1", {"a": 2, "b": None}, False),
    ("NOT a BETWEEN 0 AND 1", {"a": 2}, True),
    # LIKE
    ("a LIKE 'X%'", {"a": "X"}, True),
    ("a LIKE 'X_'", {"a": "X"}, False),
    ("a LIKE 'X_'", {"a": "X👍"}, True),
    ("a LIKE '%b%'", {"a": "a\nb\nc"}, True),
    ("a LIKE 'b'", {"a": "abc"}, False),
    ("a LIKE '100\\%'", {"a": "100%"}, True),
    ("a LIKE '100\\%'", {"a": "1000"}, False),
    ("a LIKE 'a\\_b'", {"a": "axb"}, False),
    ("a LIKE 'a\\\\%'", {"a": "a\\b"}, True),
    ("a LIKE '\\x.'", {"a": "x."}, True),
    ("a LIKE '.*'", {"a": "ab"}, False),
    ("a LIKE ''", {"a": ""}, True),
    ("a LIKE '%'", {"a": None}, False),
    ("a NOT LIKE 'x'", {"a": None}, False),
    ("NOT a LIKE 'x'", {"a": "y"}, True),
    # an equivalence test in a pattern of one event
    ("[a]", {"a": None}, True),
    ("[a = 1]", {"a": 1.0}, True),
    ("[a = 1]", {"a": None}, False),
    ("[a = NULL]", {"a": None}, False),
]


@pytest.mark.parametrize(("text", "row", "expected"), CONDITIONS)
def test_conditions(text: str, row: Row, expected: bool) -> None:
    assert holds(text, {"a": None, **row}, params={"p": 41}) == expected


MOMENTS: list[tuple[str, Row, object]] = [
    ("a - b", {"a": moment("2020-01-02T00:00"), "b": moment("2020-01-01")}, timedelta(1)),
    ("a - b", {"a": date(2020, 3, 1), "b": date(2020, 2, 1)}, timedelta(29)),
    ("a + 90 minutes", {"a": moment("2020-01-01T23:00")}, moment("2020-01-02T00:30")),
    ("1.5 hours + a", {"a": moment("2020-01-01T00:00")}, moment("2020-01-01T01:30")),
    ("a - INTERVAL '1' DAY", {"a": moment("2020-01-01T12:00Z")}, moment("2019-12-31T12:00Z")),
    ("a + 12 hours", {"a": date(2020, 1, 1)}, moment("2020-01-01T12:00")),
    ("a + 0.1 seconds", {"a": moment("2020-01-01")}, moment("2020-01-01T00:00:00.1")),
    ("a + 1 week", {"a": None}, None),
    ("a + 300000 weeks * 1", {"a": None}, NotImplementedError),
    ("a + 99999999999999 seconds", {"a": moment("2020-01-01")}, None),
    ("abs(a - b)", {"a": moment("2020-01-01"), "b": moment("2020-01-02")}, timedelta(1)),
    ("DATE '2020-01-01'", {}, date(2020, 1, 1)),
    ("TIMESTAMP '2020-01-01T02:00+02:00'", {}, moment("2020-01-01T00:00Z")),
    ("greatest(a, b)", {"a": date(2020, 1, 1), "b": date(2020, 1, 2)}, date(2020, 1, 2)),
    ("2 * 5 minutes", {}, NotImplementedError),
    ("a > 'x'", {"a": 1}, NotImplementedError),
    ("a + 1", {"a": True}, NotImplementedError),
]


@pytest.mark.parametrize(("text", "row", "expected"), MOMENTS)
def test_timestamps_and_intervals(text: str, row: Row, expected: object) -> None:
    if expected is NotImplementedError:
        with pytest.raises(NotImplementedError):
            value(text, row)
    else:
        assert value(text, row) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("a = b", {"a": moment("2020-01-01T01:00+01:00"), "b": moment("2020-01-01T00:00Z")}, True),
        ("a = DATE '2020-01-01'", {"a": moment("2020-01-01T00:00")}, True),
        ("a > TIMESTAMP '2019-12-31 23:59:59.999999'", {"a": date(2020, 1, 1)}, True),
        ("a - b < 5 minutes", {"a": moment("2020-01-01T00:05"), "b": date(2020, 1, 1)}, False),
        ("a - b <= 300 seconds", {"a": moment("2020-01-01T00:05"), "b": date(2020, 1, 1)}, True),
        ("a BETWEEN 1 second AND 60000 ms", {"a": timedelta(minutes=1)}, True),
        ("a IN (1 minute, 2 minutes)", {"a": timedelta(seconds=120)}, True),
    ],
)
def test_conditions_on_timestamps(text: str, row: Row, expected: bool) -> None:
    assert holds(text, row) == expected


def test_on_integer_time_intervals_are_plain_integers() -> None:
    assert value("ts + 5 minutes", {"ts": 1}, time_unit="s") == 301
    assert value("ts - 1 hour", {"ts": 0}, time_unit="minutes") == -60
    assert value("ts + 1 second", {"ts": 2**63 - 1}, time_unit="ms") is None
    assert value("ts + 7 ns", {"ts": 1}, time_unit="ns") == 8
    assert holds("ts < 5 minutes", {"ts": 299}, time_unit="s")
    assert not holds("ts < 5 minutes", {"ts": 300}, time_unit="s")
    with pytest.raises(NotImplementedError):
        value("ts + 5 minutes", {"ts": 1})
    with pytest.raises(NotImplementedError):
        value("ts + 1500 ms", {"ts": 1}, time_unit="s")


def test_float_time_is_microseconds() -> None:
    assert value("ts", {"ts": 1.5}) == 1_500_000
    assert value("ts", {"ts": 0.0078125}) == 7812  # 7812.5, to even
    assert holds("ts < 2 seconds", {"ts": 1.999999})


@pytest.mark.parametrize(
    "bad", [2**63, -(2**63) - 1, Decimal("1234567890123456789"), Decimal(10**18)]
)
def test_values_that_are_too_wide(bad: object) -> None:
    with pytest.raises(ValueError, match="bad value"):
        value("a", {"a": bad})
    assert value("b", {"a": bad, "b": 1}) == 1


# ---------------------------------------------------------------- cross-checks

int64s = st.one_of(
    st.integers(LEAST, GREATEST),
    st.integers(-10, 10),
    st.sampled_from([LEAST, LEAST + 1, GREATEST, GREATEST - 1, 2**53, 2**53 + 1, 2**62]),
)
floats = st.floats(allow_nan=False)
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9
)
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def near(number: int) -> st.SearchStrategy[int | float]:
    """Numbers that float64 may confuse with an integer."""
    close = [number - 1, number, number + 1]
    return st.sampled_from([*[n for n in close if LEAST <= n <= GREATEST], float(number)])


@given(int64s.flatmap(lambda n: st.tuples(near(n), near(n))), st.sampled_from(list(COMPARISONS)))
def test_comparison_is_that_of_fractions(pair: tuple[int | float, ...], sign: str) -> None:
    a, b = pair
    expected = COMPARISONS[sign](Fraction(a), Fraction(b))
    assert holds(f"a {sign} b", {"a": a, "b": b}) == expected
    assert holds(f"NOT a {sign} b", {"a": a, "b": b}) != expected


@given(decimals, st.one_of(decimals, int64s), st.sampled_from(list(COMPARISONS)))
def test_comparison_of_decimals(a: Decimal, b: Decimal | int, sign: str) -> None:
    expected = COMPARISONS[sign](a, b)  # Python compares them exactly
    assert holds(f"a {sign} b", {"a": a, "b": b}) == expected


@given(int64s, int64s, st.sampled_from("+-*"))
def test_integer_arithmetic(a: int, b: int, sign: str) -> None:
    exact = {"+": a + b, "-": a - b, "*": a * b}[sign]
    expected = exact if -(2**63) <= exact < 2**63 else None
    assert value(f"a {sign} b", {"a": a, "b": b}) == expected


@given(floats, st.one_of(floats, int64s), st.sampled_from("+-*/"))
def test_float_arithmetic_rounds_the_exact_result(a: float, b: float, sign: str) -> None:
    found = value(f"a {sign} b", {"a": a, "b": b})
    if math.isinf(a) or math.isinf(b):
        return  # the table has those
    if sign == "/" and b == 0:
        assert found is None
        return
    with_sign = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    assert found == rounded(with_sign[sign](Fraction(a), Fraction(float(b))))


@given(int64s, int64s)
def test_division_is_that_of_float64(a: int, b: int) -> None:
    expected = rounded(Fraction(float(a)) / Fraction(float(b))) if b else None
    assert value("a / b", {"a": a, "b": b}) == expected


def rounded(exact: Fraction) -> float:
    """The nearest float64, as IEEE 754 has it."""
    try:
        return float(exact)
    except OverflowError:
        return INF if exact > 0 else -INF


@given(int64s, int64s)
def test_modulo_of_integers_is_that_of_decimal(a: int, b: int) -> None:
    expected = Context(prec=60).remainder(Decimal(a), Decimal(b)) if b else None
    assert value("a % b", {"a": a, "b": b}) == expected


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_modulo_of_floats_is_that_of_decimal(a: float, b: float) -> None:
    if b != 0 and abs(b) > 1e-9:
        expected = Context(prec=2000).remainder(Decimal(a), Decimal(b))
        assert value("a % b", {"a": a, "b": b}) == float(expected)


@given(st.text(), st.text())
def test_strings_compare_by_code_point(a: str, b: str) -> None:
    assert holds("a < b", {"a": a, "b": b}) == (list(map(ord, a)) < list(map(ord, b)))
    assert holds("length(a) = b", {"a": a, "b": len(a)})


@given(st.text("ab%_\\", max_size=6))
def test_an_escaped_pattern_is_the_text(text: str) -> None:
    pattern = "".join("\\" + character for character in text)
    assert holds("a LIKE :p", {"a": text}, params={"p": pattern})
    assert not holds("a LIKE :p", {"a": text + "a"}, params={"p": pattern})


atoms = st.sampled_from(["a = 1", "b = 1", "a < b", "c", "a IS NULL", "b IN (1, NULL)"])
formulas = st.recursive(
    atoms,
    lambda inner: st.one_of(
        inner.map(lambda text: f"NOT ({text})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} AND {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} OR {pair[1]})"),
    ),
    max_leaves=6,
)


@given(formulas, st.booleans(), st.integers(0, 2), st.integers(0, 2))
def test_without_null_conditions_are_boolean_algebra(text: str, c: bool, a: int, b: int) -> None:
    spelled = text.replace("a IS NULL", "False").replace("b IN (1, NULL)", "b == 1")
    for old, new in ((" = ", " == "), ("NOT", "not"), ("AND", "and"), ("OR", "or")):
        spelled = spelled.replace(old, new)
    assert holds(text, {"a": a, "b": b, "c": c}) == eval(spelled, {"a": a, "b": b, "c": c})


@given(formulas)
def test_an_event_of_nulls_passes_only_by_is_null(text: str) -> None:
    row: Row = {"a": None, "b": None, "c": None}
    if "IS NULL" not in text:
        assert not holds(text, row)
