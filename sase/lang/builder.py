"""Build the syntax tree from the parser's raw tree; each rule has fields or a method here.

Nothing here recurses, so deeply nested brackets cannot exhaust Python's stack. A query with a tree
nested deeper than `DEEPEST` is refused, so later code may recurse.
"""
# long because: it is the one list of how each grammar rule is built.

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import isinf
from typing import Any, NamedTuple

from lark import Token, Tree

from sase.base.limits import heed
from sase.base.paths import Path
from sase.base.texts import to_decimal
from sase.errors import Diagnostic, QuerySyntaxError
from sase.lang import ast
from sase.lang.nested import with_nested_columns
from sase.lang.printer import spelled
from sase.source import NOWHERE, Source, Span

DEEPEST = 200
# The most digits of an integer: far more than int64 has, and far fewer than Python can convert.
MOST_DIGITS = 100
# Rules that add a level of nesting. Brackets are counted separately from operators: they leave no
# node, and the printer adds some, such as `-(-x)` for `- - x`.
BRACKETS = frozenset(("parentheses", "call", "case", "group"))
OPERATORS = frozenset((
    "any_of", "all_of", "negated", "comparison", "membership", "between", "like", "ilike",
    "null_test", "sum_of", "product_of", "minus", "call", "case", "at_zone", "group", "set_of",
    "alternatives", "sequence",
))  # fmt: skip

OPERATOR_SPELLINGS = {
    "==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "×": "*", "÷": "/", "−": "-",
}  # fmt: skip
# Rules with the fields of a node as children: `_` skips a keyword, an optional keyword sets a flag,
# and `*` takes all remaining children.
_NODES: dict[str, tuple[type[ast.Node], str]] = {
    "script": (ast.Script, "*statements"),
    "statement": (ast.Statement, "stream query"),
    "time_window": (ast.Window, "amount unit inclusive"),
    "confidence": (ast.Confidence, "_ threshold"),
    "confidence_above": (ast.Confidence, "strict threshold"),
    "alternatives": (ast.Alternatives, "*patterns"),
    "sequence": (ast.Sequence, "_ *parts"),
    "set_of": (ast.SetOf, "_ *members"),
    "single": (ast.Component, "test variable"),
    "series": (ast.Component, "test quantifier variable"),
    "group": (ast.Group, "pattern quantifier variable"),
    "type_test": (ast.TypeTest, "name"),
    "any_of": (ast.Or, "*operands"),
    "all_of": (ast.And, "*operands"),
    "negated": (ast.Not, "_ operand"),
    "membership": (ast.Membership, "operand negated *values"),
    "between": (ast.Between, "operand negated low high"),
    "like": (ast.Like, "operand negated pattern"),
    "null_test": (ast.NullTest, "operand negated"),
    "equivalence": (ast.Equivalence, "*tests"),
    "test": (ast.EqualAttribute, "attribute _ value"),
    "minus": (ast.Negative, "_ operand"),
    "negative_number": (ast.Negative, "_ operand"),
    "bare_attribute": (ast.Attribute, "name"),
    "at_zone": (ast.AtZone, "operand _ zone"),
    "null": (ast.Null, ""),
    "interval": (ast.Interval, "amount unit"),
}
# Rules that always make the same node.
_FIXED: dict[str, Callable[..., ast.Node]] = {
    "one_or_more": partial(ast.Quantifier, "+", 1, None),
    "zero_or_more": partial(ast.Quantifier, "*", 0, None),
    "optional": partial(ast.Quantifier, "?", 0, 1),
    "true": partial(ast.Boolean, True),
    "false": partial(ast.Boolean, False),
}
_FLAGS = frozenset(("negated", "inclusive", "strict"))
_QUOTES = {"'": "'", '"': '"', "‘": "’", "“": "”"}
_LISTED = re.compile(
    r"""([-−])?\s*([0-9.]+(?:[eE][+-]?[0-9]+)?|'(?:[^']|'')*'|"(?:[^"]|"")*"|‘[^’]*’|“[^”]*”)"""
)
_NUMBER = re.compile(r"\s*(?:([-−])\s*)?((?:[0-9]*\.)?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*")


def build(tree: Tree[Token], source: Source) -> Any:
    """The syntax node for a raw tree."""
    order, waiting = [], [(tree, 0, 0)]
    while waiting:
        node, brackets, operators = waiting.pop()
        brackets += node.data in BRACKETS
        operators += node.data in OPERATORS
        if max(brackets, operators) > DEEPEST:
            raise _nested_too_deeply(node, source)
        order.append(node)
        waiting.extend((c, brackets, operators) for c in node.children if isinstance(c, Tree))
    builder = _Builder(source)
    values: dict[int, Any] = {}
    for node in reversed(order):
        heed()
        children = [values.pop(id(c)) if isinstance(c, Tree) else c for c in node.children]
        make = getattr(builder, node.data, None) or partial(_node, node.data)
        values[id(node)] = make(_span(node), *children)
    return values[id(tree)]


def _node(rule: str, span: Span, *children: Any) -> ast.Node:
    """The node of a rule with its fields as children."""
    if rule in _FIXED:
        return _FIXED[rule](span=span)
    kind, names = _NODES[rule]
    fields: dict[str, Any] = {}
    for place, name in enumerate(names.split()):
        if name in _FLAGS:
            fields[name] = children[place] is not None
        elif name.startswith("*"):
            fields[name[1:]] = children[place:]
        elif name != "_":
            fields[name] = children[place]
    return kind(**fields, span=span)


def _span(node: Tree[Token]) -> Span:
    meta = node.meta
    return NOWHERE if meta.empty else Span(meta.start_pos, meta.end_pos)


def _nested_too_deeply(node: Tree[Token], source: Source) -> QuerySyntaxError:
    start = node.meta.start_pos
    return syntax_error(
        "nested-too-deeply",
        f"this is nested more than {DEEPEST} levels deep",
        Span(start, start + 1),
        source,
        "write a long AND or OR without brackets: it may have any length",
    )


def syntax_error(
    code: str, message: str, span: Span, source: Source, *hints: str
) -> QuerySyntaxError:
    """An error with one diagnostic."""
    return QuerySyntaxError([Diagnostic(code, message, span, source, hints)])


class _Qualification(NamedTuple):
    strategy: ast.Strategy | None
    condition: ast.Expression | None


class _Builder:
    """A method for each other rule, with its name; `span` is the text that the rule matched."""

    def __init__(self, source: Source) -> None:
        self.source = source
        # Whether some reference may be to an iteration of a group, or to a nested column.
        self.has_iterations = False

    # -- scripts and clauses

    def query(
        self,
        span: Span,
        sources: tuple[ast.Name, ...] | None,
        pattern: ast.Pattern,
        where: _Qualification | None,
        *clauses: Any,
    ) -> ast.Query:
        strategy, condition = where or (None, None)
        query = ast.Query(pattern, sources or (), strategy, condition, *clauses, span=span)
        return with_nested_columns(query) if self.has_iterations else query

    def sources(self, _: Span, *names: ast.Name) -> tuple[ast.Name, ...]:
        return names

    def where(self, _: Span, content: _Qualification | ast.Expression) -> _Qualification:
        return content if isinstance(content, _Qualification) else _Qualification(None, content)

    def selection(
        self, _: Span, strategy: ast.Strategy, condition: ast.Expression | None
    ) -> _Qualification:
        return _Qualification(strategy, condition)

    def strategy(self, span: Span, name: Token, *variables: ast.Name | None) -> ast.Strategy:
        named = tuple(variable for variable in variables if variable)
        return ast.Strategy(ast.StrategyName(name.lower()), named, span=span)

    def event_window(
        self, span: Span, amount: Any, per: Token | None, inclusive: Token | None
    ) -> ast.Window:
        return ast.Window(
            amount,
            events=True,
            per_partition=per is not None,
            inclusive=inclusive is not None,
            span=span,
        )

    def columns(self, span: Span, *items: tuple[ast.OutputItem, ...]) -> ast.Output:
        return ast.Output(tuple(chain.from_iterable(items)), span=span)

    def composite(
        self, span: Span, type_name: ast.Name, *items: tuple[ast.OutputItem, ...]
    ) -> ast.Output:
        return ast.Output(tuple(chain.from_iterable(items)), type_name, span=span)

    def item(
        self, span: Span, expression: ast.Expression, alias: ast.Name | None = None
    ) -> tuple[ast.OutputItem, ...]:
        return (ast.OutputItem(expression, alias, span=span),)

    plain_item = named_item = item

    def several_items(
        self, _: Span, variable: ast.Name, *fields: ast.Name
    ) -> tuple[ast.OutputItem, ...]:
        return tuple(
            ast.OutputItem(ast.Attribute(field, variable, span=field.span), span=field.span)
            for field in fields
        )

    def every_item(self, span: Span, variable: ast.Name, _: Token) -> tuple[ast.OutputItem, ...]:
        return (ast.OutputItem(ast.AllAttributes(variable, span=span), span=span),)

    # -- patterns

    def negative(self, span: Span, *children: Any) -> ast.PatternPart:
        part: ast.PatternPart | ast.Sequence = children[-1]
        if isinstance(part, ast.Sequence):
            part = ast.Group(part, span=part.span)
        match part:
            case ast.Group(pattern=ast.Component() as inner, quantifier=None, variable=None):
                part = inner if not inner.negated else part
        return replace(part, negated=True, span=span)

    def any_test(self, span: Span, *names: ast.Name | None) -> ast.AnyTest:
        return ast.AnyTest(tuple(name for name in names if name), span=span)

    def exactly(self, span: Span, count: Token) -> ast.Quantifier:
        return ast.Quantifier("{}", self._int(count), self._int(count), span=span)

    def at_least(self, span: Span, minimum: Token) -> ast.Quantifier:
        return ast.Quantifier("{}", self._int(minimum), None, span=span)

    def at_least_at_most(self, span: Span, minimum: Token, maximum: Token) -> ast.Quantifier:
        return ast.Quantifier("{}", self._int(minimum), self._int(maximum), span=span)

    # -- conditions

    def ilike(
        self,
        span: Span,
        operand: ast.Expression,
        negated: Token | None,
        pattern: ast.String | ast.Parameter,
    ) -> ast.Like:
        return ast.Like(operand, pattern, negated is not None, True, span=span)

    def comparison(
        self, span: Span, left: ast.Expression, operator: Token, right: ast.Expression
    ) -> ast.Comparison:
        return ast.Comparison(_canonical(operator), left, right, span=span)

    # -- expressions

    def sum_of(self, span: Span, *children: Any) -> ast.Sum:
        return ast.Sum(children[::2], tuple(map(_canonical, children[1::2])), span=span)

    def product_of(self, span: Span, *children: Any) -> ast.Product:
        return ast.Product(children[::2], tuple(map(_canonical, children[1::2])), span=span)

    def parentheses(self, _: Span, inner: Any) -> Any:
        return inner

    selected = having = limit = parentheses

    def indexed(
        self, span: Span, variable: ast.Name, index: ast.Index | None, attribute: ast.Name | None
    ) -> ast.Indexed:
        index = index or ast.Index(ast.IndexKind.ALL, span=Span(variable.span.end, span.end))
        if index.text == f"{spelled(variable.text)}.len":
            index = ast.Index(ast.IndexKind.LAST, span=index.span)
        return ast.Indexed(variable, index, attribute, span=span)

    def attribute(
        self, span: Span, variable: ast.Name, first: ast.Name, *steps: ast.Name | ast.Index
    ) -> ast.Attribute:
        return ast.Attribute(self._nested(first, steps), variable, span=span)

    def within(
        self,
        span: Span,
        variable: ast.Name,
        index: ast.Index | None,
        first: ast.Name,
        *steps: ast.Name | ast.Index,
    ) -> ast.Indexed | ast.InGroup:
        """`g[i].b.p`, `g[i].s[1].p`, or `a[i].user.id`, which binding tells from the first."""
        whole, inner = self.indexed(span, variable, index, None), Span(first.span.start, span.end)
        reference: ast.Attribute | ast.Indexed
        match steps:
            case (ast.Name() as name, *rest):
                reference = ast.Attribute(self._nested(name, rest), first, span=inner)
            case (ast.Index() as place, ast.Name() as name, *rest):
                series = self.indexed(inner, first, place, None)
                reference = replace(series, attribute=self._nested(name, rest))
            case _:
                return replace(whole, attribute=self._nested(first, steps))
        self.has_iterations = True
        return ast.InGroup(variable, whole.index, reference, span=span)

    def nested(self, _: Span, first: ast.Name, *steps: ast.Name | ast.Index) -> ast.Name:
        return self._nested(first, steps)

    def step(self, span: Span, step: ast.Name | ast.Index | None) -> ast.Name | ast.Index:
        return ast.Index(ast.IndexKind.ALL, span=span) if step is None else step

    def nested_test(self, span: Span, first: ast.Name, *rest: Any) -> ast.EqualAttribute:
        *steps, _, value = rest
        return ast.EqualAttribute(self._nested(first, steps), value, span=span)

    def _nested(self, first: ast.Name, steps: Sequence[ast.Name | ast.Index]) -> ast.Name:
        """The name of a value within a nested column."""
        if not steps:
            return first
        for step in steps:
            if isinstance(step, ast.Index) and not step.written.isdecimal():
                raise syntax_error(
                    "unknown-index",
                    "an element of a list has a number here, from 1",
                    step.span,
                    self.source,
                    f"write  {first.text}[1]",
                )
        found = (each.text if isinstance(each, ast.Name) else int(each.written) for each in steps)
        text = str(Path(first.text, tuple(found)))
        end = steps[-1].span.end + isinstance(steps[-1], ast.Index)  # with its bracket
        return ast.Name(text, span=Span(first.span.start, end))

    def several_indexed(
        self, span: Span, variable: ast.Name, index: ast.Index | None, *attributes: ast.Name
    ) -> ast.Indexed:
        return replace(self.indexed(span, variable, index, attributes[0]), others=attributes[1:])

    def at(self, span: Span, text: str) -> ast.Index:
        return _index(text, span)

    def span_of(self, span: Span, first: str | None, last: str | None) -> ast.Index:
        first = "" if first == "1" else first or ""
        return _index(f"{first}..{last or ''}", span)

    def position(self, _: Span, *parts: Any) -> str:
        match [part for part in parts if part is not None]:
            case [ast.Name(text=name), ast.Name(text=member), *offset]:
                member = "len" if member.lower() == "len" else spelled(member)
                return "".join((f"{spelled(name)}.{member}", *offset))
            case [ast.Name(text=name), *offset]:
                return "".join((spelled(name), *offset))
        return str(parts[0])

    def offset(self, _: Span, sign: Token, count: Token) -> str:
        return f"{_canonical(sign)}{count}"

    def call(self, span: Span, function: ast.Name, *arguments: ast.Expression | None) -> ast.Call:
        name = replace(function, text=function.text.lower())
        return ast.Call(name, tuple(a for a in arguments if a is not None), span=span)

    def case(self, span: Span, *parts: ast.Expression | None) -> ast.Case:
        *pairs, otherwise = parts
        return ast.Case(tuple(pairs[::2]), tuple(pairs[1::2]), otherwise, span=span)  # type: ignore[arg-type]

    # -- literals

    def long_membership(
        self, span: Span, operand: ast.Expression, negated: Token | None, listed: Token
    ) -> ast.Membership:
        values = list[ast.Expression]()
        for found in _LISTED.finditer(self.source.text, listed.start_pos or 0, _end(listed)):
            heed()
            text, place = found[2], Span(*found.span(2))
            value: ast.Expression
            if text[0] in _QUOTES:
                value = self.string(place, text)
            elif text.isdigit():
                value = ast.Integer(self._int(text, place), span=place)
            else:
                value = self.float(place, text)
            if found[1]:
                value = ast.Negative(value, span=Span(*found.span()))
            values.append(value)
        return ast.Membership(operand, tuple(values), negated is not None, span=span)

    def integer(self, span: Span, digits: Token) -> ast.Integer:
        return ast.Integer(self._int(digits), span=span)

    def float(self, span: Span, text: str) -> ast.Float:
        return ast.Float(to_decimal(text), span=span)

    def string(self, span: Span, text: str) -> ast.String:
        close = _QUOTES[text[0]]
        return ast.String(text[1:-1].replace(close * 2, close), span=span)

    def percentage(self, span: Span, text: Token) -> ast.Percentage:
        return ast.Percentage(self._number(text.rstrip("%").rstrip(), span), span=span)

    def timestamp(self, span: Span, _: Token, text: ast.String) -> ast.Timestamp:
        return ast.Timestamp(text.value, span=span)

    def date(self, span: Span, _: Token, text: ast.String) -> ast.Date:
        return ast.Date(text.value, span=span)

    def clock_time(self, span: Span, _: Token, text: ast.String) -> ast.ClockTime:
        return ast.ClockTime(text.value, span=span)

    def interval_string(
        self, span: Span, _: Token, text: ast.String, unit: ast.Name
    ) -> ast.Interval | ast.Negative:
        number = _NUMBER.fullmatch(text.value)
        if number is None:
            raise syntax_error(
                "bad-interval",
                f"the amount of an interval is a number, not {text.value!r}",
                text.span,
                self.source,
                f"INTERVAL '5' {unit.text.upper()}, or  5 {unit.text}",
            )
        interval = ast.Interval(self._number(number[2], text.span), unit, span=span)
        return ast.Negative(interval, span=span) if number[1] else interval

    def parameter(self, span: Span, name: ast.Name) -> ast.Parameter:
        return ast.Parameter(name.text, span=span)

    def unit(self, span: Span, name: Token) -> ast.Name:
        # Lower case can change the number of letters, which makes some names invalid.
        return ast.Name(name.lower() if name.isascii() else str(name), span=span)

    # -- names

    def name(self, span: Span, token: Token) -> ast.Name:
        quoted = token.startswith("`")
        return ast.Name(token[1:-1].replace("``", "`") if quoted else str(token), span=span)

    field = name
    type_name = name

    # -- numbers

    def _number(self, text: str, span: Span) -> ast.Integer | ast.Float:
        if text.isdecimal():
            return ast.Integer(self._int(text, span), span=span)
        if isinf(float(text)):
            raise self._too_long(text, span)
        return ast.Float(to_decimal(text), span=span)

    def _int(self, digits: str, span: Span | None = None) -> int:
        if len(digits) <= MOST_DIGITS:
            return int(digits)
        if span is None and isinstance(digits, Token):
            span = Span(_end(digits) - len(digits), _end(digits))
        raise self._too_long(digits, span or NOWHERE)

    def _too_long(self, digits: str, span: Span) -> QuerySyntaxError:
        return syntax_error(
            "number-too-long",
            f"a number of {len(digits)} digits fits no column",
            span,
            self.source,
            f"integers go up to {2**63 - 1}; a larger value is written as a float: 1e20",
        )


def _end(token: Token) -> int:
    return token.end_pos or 0


def _canonical(operator: Token) -> Any:
    return OPERATOR_SPELLINGS.get(operator, str(operator))


def _index(text: str, span: Span) -> ast.Index:
    try:
        return ast.Index(_INDEXES[text], span=span)
    except KeyError:
        return ast.Index(ast.IndexKind.OTHER, text, span=span)


_INDEXES = {
    kind.value: kind
    for kind in (
        ast.IndexKind.FIRST,
        ast.IndexKind.CURRENT,
        ast.IndexKind.PREVIOUS,
        ast.IndexKind.BEFORE_CURRENT,
        ast.IndexKind.UP_TO_CURRENT,
    )
}
