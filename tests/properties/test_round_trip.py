"""Text and tree: printing, formatting with comments, spans, and trees as plain values."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sase.lang import ast
from sase.lang.layout import format_text
from sase.lang.parser import parse_condition, parse_script
from sase.lang.printer import to_text
from sase.lang.tables import parser
from sase.source import NOWHERE, Span
from tests.long import LONG
from tests.properties import trees
from tests.properties.trees import Census, children, walk

PROFILE = settings().max_examples
# Below this the census says nothing: the debug profile has a handful of examples.
ENOUGH = 500


def many(factor: int) -> settings:
    """Settings with a multiple of the examples of the profile."""
    return settings(max_examples=factor * PROFILE)


# ---------------------------------------------------------------- printing


def test_the_text_of_a_tree_parses_back() -> None:
    census = Census()

    @many(5)
    @given(trees.scripts())
    def on_scripts(script: ast.Script) -> None:
        census.count(script)
        assert parse_script(to_text(script)) == script

    @many(20)
    @given(trees.expressions())
    def on_conditions(condition: ast.Expression) -> None:
        census.count(condition)
        assert parse_condition(to_text(condition)) == condition

    on_scripts()
    on_conditions()
    if PROFILE * 5 >= ENOUGH:
        assert census.missing() == []


def parses_back(condition: ast.Expression) -> bool:
    """Whether the text of a condition gives the condition."""
    return bool(parse_condition(to_text(condition)) == condition)


def test_the_census_finds_what_is_missing() -> None:
    census = Census()
    census.count(parse_script("EVENT SEQ(A a, B+ b[]) WHERE a.x = b[i].x"))
    missing = census.missing()
    assert {"SetOf", "Index LAST", "Component negated", "Window events"} <= set(missing)
    assert not {"Script", "Index CURRENT", "Quantifier +", "Comparison ="} & set(missing)


words = st.text(st.characters(), min_size=1, max_size=12)


@many(3)
@given(words)
@example("`")
@example("\ud800")
@example("i\u0307s")
def test_any_name_can_stand_wherever_a_name_can(text: str) -> None:
    name = ast.Name(text)
    series = ast.Quantifier("+", 1, None)
    item = ast.OutputItem(ast.Attribute(name, name), name)
    query = ast.Query(
        ast.Sequence(
            (
                ast.Component(ast.TypeTest(name), name),
                ast.Component(ast.AnyTest((name, name)), name, series),
                ast.Component(ast.TypeTest(name), negated=True),
                ast.Group(ast.Sequence((ast.SetOf((ast.Component(ast.TypeTest(name)),)),)), name),
            )
        ),
        sources=(name, name),
        strategy=ast.Strategy(ast.StrategyName.SKIP_TILL_ANY_MATCH, (name, name)),
        where=ast.And((anything_with(name), ast.Attribute(name))),
        window=ast.Window(ast.Parameter(text)),
        having=ast.Call(ast.Name(text.lower()), (ast.Attribute(name),)),
        output=ast.Output((item, item), name),
        limit=ast.Parameter(text),
    )
    script = ast.Script((ast.Statement(query, name),))
    assert parse_script(to_text(script)) == script


def anything_with(name: ast.Name) -> ast.Expression:
    """A condition with a name wherever it may stand in one."""
    indexed = ast.Indexed(name, ast.Index(ast.IndexKind.LAST), name)
    return ast.Or(
        (
            ast.Comparison(">=", ast.Attribute(name, name), indexed),
            ast.Equivalence((ast.EqualAttribute(name), ast.EqualAttribute(name, ast.Null()))),
            ast.Not(ast.Parameter(name.text)),
            ast.Sum((ast.Attribute(name), ast.Negative(ast.Attribute(name))), ("-",)),
        )
    )


@many(3)
@given(
    st.text(st.characters()),
    st.floats(min_value=0.0, allow_nan=False, allow_infinity=False),
    st.integers(0),
)
def test_any_text_and_number_can_be_a_literal(text: str, value: float, integer: int) -> None:
    value = abs(value)
    tested = ast.Attribute(ast.Name("a"))
    for number in (ast.Float(Decimal(repr(value))), ast.Integer(integer)):
        minutes = ast.Interval(number, ast.Name("minutes"))
        literals: list[Any] = [
            number,
            minutes,
            ast.Percentage(number if 1e-80 < number.value < 1e90 else ast.Float(Decimal("0.5"))),
            ast.Negative(number),
            ast.Negative(minutes),
            *(kind(text) for kind in (ast.String, ast.Timestamp, ast.Date)),
        ]
        assert parses_back(ast.Membership(tested, tuple(literals)))
        minuses: list[Any] = ["-"] * (len(literals) - 1)
        percents: list[Any] = ["%"] * (len(literals) - 1)
        assert parses_back(ast.Sum(tuple(literals), tuple(minuses)))
        assert parses_back(ast.Product(tuple(literals), tuple(percents)))
        assert parses_back(ast.And(tuple(literals)))
    assert parses_back(ast.Like(tested, ast.String(text)))


# ---------------------------------------------------------------- layout

COMMENT_OR_QUOTED = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)"""
    r"""|'(?:[^']|'')*'|"(?:[^"]|"")*"|‘[^’]*’|“[^”]*”|`(?:[^`]|``)*`""",
    re.DOTALL,
)


def comments_of(text: str) -> list[str]:
    """The comments of a text, found without the grammar."""
    found = COMMENT_OR_QUOTED.finditer(text)
    return [match["comment"].rstrip() for match in found if match["comment"]]


@many(2)
@given(trees.scripts())
def test_formatting_keeps_the_tree_and_is_stable(script: ast.Script) -> None:
    formatted = format_text(to_text(script))
    assert parse_script(formatted) == script
    assert format_text(formatted) == formatted
    assert formatted.endswith("\n") and not formatted.startswith("\n")


COMMENTS = [
    "/**/", "/* c */", "/* it's \"; */", "/* -- */", "/* /* */", "/***/", "/* ** * / */", "/* ` */",
    "/* a\n   b */", "/*\n*/", "-- c\n", "--\n", "-- it's; \"`\n", "-- /* \n", "-- */\n", "----\n",
    "-- c   \n", "/* WHERE */", "-- EVENT A;\n", "/* 1 */ /* 2 */", "-- 1\n-- 2\n",
    "-- 1\n\n\n/* 2 */", "/* 1 */ -- 2\n", "/* שלום */", "-- \u2028 \x0c \x85\n", "\n-- c\n",
    "\n/* c */\n", "\n\n/* c */",
]  # fmt: skip


@st.composite
def commented(draw: st.DrawFn, script: ast.Script) -> str:
    """The text of a script with comments at random places between its tokens."""
    text = to_text(script)
    reader = parser().parse_interactive(text, start="script")
    tokens = list(reader.iter_parse())
    places = sorted({0, *(token.end_pos or 0 for token in tokens)})
    chosen = draw(st.lists(st.sampled_from(places), min_size=1, max_size=4))
    for place in sorted(chosen, reverse=True):
        comment = draw(st.sampled_from(COMMENTS))
        text = f"{text[:place]} {comment} {text[place:]}"
    return text


@many(4)
@given(st.data(), trees.scripts())
def test_comments_survive_formatting(data: st.DataObject, script: ast.Script) -> None:
    text = data.draw(commented(script))
    assert parse_script(text) == script
    formatted = format_text(text)
    assert comments_of(formatted) == comments_of(text)
    assert parse_script(formatted) == script
    assert format_text(formatted) == formatted


NESTED = (
    "EVENT A WHERE {0} = 1 AND b IN (1) AND (e OR f(g)) OR c = 2 AND (d OR f(3)) WITHIN 5",
    "EVENT SEQ(A a, B b) WHERE strict_contiguity {{ (a OR {0} AND c OR d AND ({0} OR f)) AND h }} "
    "HAVING x RETURN a.x, b.y; EVENT B RETURN T({0} AS a, b AS b) LIMIT 5",
)


@pytest.mark.parametrize("text", NESTED)
@pytest.mark.parametrize("name", ["a", "a" * 60], ids=["short", "long"])
@pytest.mark.parametrize("comment", ["/* c */", "-- c\n", "\n-- c\n", "\n/* c */\n"])
def test_a_comment_between_any_two_tokens(text: str, name: str, comment: str) -> None:
    """Behind each token is some comment, and each comment is behind a quarter with either name."""
    text, turn = text.format(name), len(name) + len(comment)
    script = parse_script(text)
    tokens = [*parser().parse_interactive(text, start="script").iter_parse()]
    for token in tokens if LONG else tokens[turn % 4 :: 4]:
        place = token.end_pos or 0
        formatted = format_text(f"{text[:place]} {comment} {text[place:]}")
        assert comments_of(formatted) == [comment.strip()]
        assert parse_script(formatted) == script
        assert format_text(formatted) == formatted


# ---------------------------------------------------------------- spans


@many(2)
@given(trees.scripts())
def test_spans_lie_inside_each_other(script: ast.Script) -> None:
    """They do, but for `x.(a, b)` in RETURN: two columns share one variable, see below."""
    text = to_text(script)
    spans_are_right(parse_script(text), text)


def spans_are_right(tree: ast.Node, text: str) -> None:
    """Every span lies in the span of the node above; every name is spelled in its own."""
    assert tree.span != NOWHERE
    for node in walk(tree):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        for child in children(node):
            assert contains(node.span, child.span), (node, child)
        if isinstance(node, ast.Name):
            name_is_spelled(node, text)


def contains(outer: Span, inner: Span) -> bool:
    """Whether a span lies inside another."""
    return outer.start <= inner.start <= inner.end <= outer.end


def name_is_spelled(name: ast.Name, text: str) -> None:
    """The text of its span; functions and units are kept in lower case."""
    spelling = text[slice(*name.span)]
    if spelling.startswith("`"):
        spelling = spelling[1:-1].replace("``", "`")
    assert name.text in (spelling, spelling.lower())


def test_several_columns_share_one_variable() -> None:
    text = "EVENT A x RETURN x.(a, b)"
    output = parse_script(text).statements[0].query.output
    assert output is not None
    for item in output.items:
        assert isinstance(item.expression, ast.Attribute) and item.expression.variable
        assert text[slice(*item.span)] == item.expression.name.text
        assert text[slice(*item.expression.variable.span)] == "x"


@many(3)
@given(trees.expressions())
def test_the_text_of_a_span_is_the_expression(condition: ast.Expression) -> None:
    """It is, but for the number in a percentage: its span has the sign as well."""
    text = f"  {to_text(condition)}  "
    tree = parse_condition(text)
    amounts = [node.amount for node in walk(tree) if isinstance(node, ast.Percentage)]
    for node in walk(tree):
        if isinstance(node, EXPRESSIONS) and not any(node is amount for amount in amounts):
            assert parse_condition(text[slice(*node.span)]) == node


EXPRESSIONS = (
    *ast.LITERALS, *ast.CONDITIONS, ast.Attribute, ast.Indexed, ast.Call, ast.Negative, ast.Sum,
    ast.Product,
)  # fmt: skip


# ---------------------------------------------------------------- trees as values


@many(1)
@given(trees.scripts())
def test_a_tree_is_a_value(script: ast.Script) -> None:
    parsed = parse_script(to_text(script))
    assert hash(parsed) == hash(script)
    assert repr(parsed) == repr(script)
    copy = pickle.loads(pickle.dumps(parsed))
    assert copy == parsed
    assert [node.span for node in walk(copy)] == [node.span for node in walk(parsed)]


@many(1)
@given(trees.scripts(), st.integers(0, 99))
def test_equality_ignores_spans_and_nothing_else(script: ast.Script, start: int) -> None:
    moved = replace(script, span=Span(start, start))
    assert moved == script and hash(moved) == hash(script)
    query = script.statements[0].query
    other = replace(query, limit=ast.Integer(5) if query.limit is None else None)
    assert other != query
    assert replace(script, statements=script.statements * 2) != script
