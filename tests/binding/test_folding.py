"""Binding folds to the values that the naive matcher computes."""

from hypothesis import given
from hypothesis import strategies as st

from sase.binding import bind_text
from sase.binding.bound import Constant
from sase.lang.parser import parse_query
from tests import naive

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


LEAVES = st.one_of(INTEGERS, FLOATS, st.none()).map(literal)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"(- {e})"),  # two of them together begin a comment
        inner.map(lambda e: f"abs({e})"),
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
