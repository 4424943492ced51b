"""The table of functions, the values that binding folds to, and values as text."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.binding import Schema, bind_text
from sase.binding.bound import Constant
from sase.binding.types import FLOAT, INTERVAL, STRING, TIMESTAMP, DataType, Kind
from sase.binding.values.functions import FUNCTIONS, IN_ZONE, TRUNCATED_IN_ZONE, Function
from sase.binding.values.text import condition_text, value_text
from sase.lang.parser import parse_query
from tests import naive

ROOT = Path(__file__).parents[2]
ROWS = [{"ts": number, "type": "A", "s": text} for number, text in enumerate(("İx", "b", "", None))]


def call_of(function: Function) -> str:
    """The call in its form, before the description of the arguments."""
    return re.split(r"(?<=\)|D|'), (?=(?:of|all|with) )", function.form)[0]


def test_docs_list_every_function() -> None:
    lines = (ROOT / "docs" / "language.md").read_text(encoding="utf-8").splitlines()
    listed = lines[lines.index("| function | gives |") + 2 :]
    rows = [
        f"| `{call_of(each)}`, {each.form[len(call_of(each)) + 2 :]} | {each.says} |"
        for name, each in FUNCTIONS.items()
        if name != TRUNCATED_IN_ZONE  # the form of `date_trunc` that binding takes for some times
    ]
    assert listed[: listed.index("")] == rows


@pytest.mark.parametrize("name", FUNCTIONS)
def test_naive_matcher_knows_every_function(name: str) -> None:
    """It computes the call that the docs show, as binding does for constants."""
    entry = FUNCTIONS[name]
    if entry.is_reference:
        pytest.skip("it has no constant: tests/binding/test_nested.py")
    kinds = [("'ab,Abb'", STRING), ("1.5", FLOAT), ("TIMESTAMP '1969-07-20 20:17:40'", TIMESTAMP)]
    value = next(text for text, kind in kinds if entry.accepts(kind))
    call = call_of(entry).replace(", …", "").replace("y.", "x.").replace("x.ts", "x.a")
    if name == IN_ZONE:
        value = value.replace(":40'", ":40Z'")
    query = f"EVENT A x RETURN {call.replace('x.a', value).replace('x.b', value)} AS v"
    columns = bind_text(query).columns
    assert columns is not None
    (match,) = naive.match(parse_query(query), [{"ts": 1, "type": "A"}])
    assert isinstance(columns[0].value, Constant)
    found = columns[0].value.value
    if columns[0].value.type.kind is Kind.TIMESTAMP:
        found = datetime(1970, 1, 1) + timedelta(microseconds=found // 1000)  # noqa: DTZ001
    if columns[0].value.type.kind is Kind.INTERVAL:
        found = timedelta(microseconds=found // 1000)
    assert match.values == {"v": found}
    assert found is not None


def test_function_of_a_text_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binding, folding, conditions and RETURN take one that docs/development.md adds."""
    monkeypatch.setitem(
        FUNCTIONS,
        "backwards",
        Function(
            "backwards(x.a), of a text", "the text from its end", lambda kind: kind == STRING,
            lambda _: STRING, lambda text: text[::-1],
        ),
    )  # fmt: skip
    query = "EVENT A x WHERE backwards(x.s) >= backwards('ab') RETURN upper(backwards(x.s)) AS b"
    assert [match["b"] for match in sase.match(query, ROWS).to_pylist()] == ["Xİ"]
    with pytest.raises(sase.BindingError, match="did you mean `backwards`"):
        sase.match("EVENT A x WHERE bakwards(x.s) = 'a'", ROWS)


# ---------------------------------------------------------------- folding

# Binding folds to the values that the naive matcher computes.


INTEGERS = st.one_of(
    st.integers(-9, 9), st.sampled_from([2**63 - 1, -(2**63), 2**62, 2**53, 2**53 + 1])
)
FLOATS = st.one_of(
    st.sampled_from([0.0, 0.5, -1.5, 2.0**53, 1e308, -1e308, 1e-320]),
    st.floats(-100, 100, allow_nan=False),
)


def literal(value: float | None) -> str:
    """A number as it is written."""
    if value is None:
        return "NULL"
    return f"(-{-value!r})" if value < 0 else repr(value)


OF_NUMBERS = ["round", "floor", "ceil", "sqrt", "ln", "exp", "sign"]
LEAVES = st.one_of(INTEGERS, FLOATS, st.none()).map(literal)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"(- {e})"),  # two of them together begin a comment
        inner.map(lambda e: f"abs({e})"),
        st.tuples(st.sampled_from(OF_NUMBERS), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, st.integers(0, 15)).map(lambda t: f"round({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"power({t[0]}, {t[1]})"),
        st.tuples(st.sampled_from(["coalesce", "least", "greatest"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_a_constant_expression_folds_to_its_value(text: str) -> None:
    """To the same bits, NULL where it overflows or divides by zero."""
    query = f"EVENT A a RETURN {text} AS v"
    columns = bind_text(query).columns
    assert columns is not None
    folded = columns[0].value
    assert isinstance(folded, Constant)
    rows = [{"ts": 1, "type": "A"}]
    (match,) = naive.match(parse_query(query), rows)
    assert match.values is not None
    assert repr(folded.value) == repr(match.values["v"])


@given(EXPRESSIONS, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), EXPRESSIONS, st.booleans())
def test_a_constant_condition_folds_to_its_truth(
    left: str, operator: str, right: str, negated: bool
) -> None:
    """NOT moves to the atom first, so that NULL makes both a condition and its opposite false."""
    condition = f"{left} {operator} {right}"
    query = f"EVENT A a WHERE {f'NOT ({condition})' if negated else condition}"
    holds = not bind_text(query).conjuncts
    assert holds == bool(naive.match(parse_query(query), [{"ts": 1, "type": "A"}]))


# ---------------------------------------------------------------- text

# Values as text, which reads as it was written.


COLUMNS = (("ts", DataType(Kind.TIMESTAMP, "ns")),)


def value(text: str) -> Constant:
    columns = bind_text(f"EVENT A a RETURN {text} AS v", Schema(columns=COLUMNS)).columns
    assert columns is not None
    (column,) = columns
    assert isinstance(column.value, Constant)
    return column.value


@pytest.mark.parametrize(
    "text",
    [
        "5 minutes",
        "1 day",
        "-1 hour",
        "1500 milliseconds",
        "2 weeks",
        "0 seconds",
        "TIMESTAMP '2026-01-31 23:59:59.25'",
        "TIMESTAMP '0900-01-01 00:00:00'",
        "TIMESTAMP '1969-12-31 23:59:59.999999999'",
    ],
)
def test_times_are_written_as_in_a_query(text: str) -> None:
    assert value_text(value(text), {}) == text


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("text", ["500 milliseconds", "2 minutes", "1 second"])
def test_intervals_on_numbers_of_time_are_written_as_such(text: str, unit: str) -> None:
    """Though they are compared as numbers, of raw units."""
    columns = (("ts", DataType(Kind.INTEGER)),)
    schema = Schema(columns=columns, time_unit=unit)
    bound = bind_text(f"EVENT SEQ(A a, B b) WHERE b.ts - a.ts < {text}", schema)
    (conjunct,) = bound.conjuncts
    written = condition_text(conjunct.condition, {0: "a", 1: "b"})
    assert written == f"b.ts - a.ts < {text}"


@given(st.integers(-(2**62), 2**62))
def test_an_interval_is_read_again(nanoseconds: int) -> None:
    given = Constant(INTERVAL, nanoseconds)
    assert value(value_text(given, {})).value == nanoseconds


@given(st.datetimes(), st.integers(0, 999))
def test_a_point_in_time_is_read_again(moment: datetime, rest: int) -> None:
    nanoseconds = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000 + rest  # noqa: DTZ001 - without a zone
    given = Constant(TIMESTAMP, nanoseconds)
    assert value(value_text(given, {})).value == nanoseconds


def test_what_no_calendar_shows_is_its_nanoseconds() -> None:
    assert value_text(Constant(TIMESTAMP, 10**25), {}) == str(10**25)
