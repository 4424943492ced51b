"""Every syntax tree that the parser can make, as Hypothesis strategies, and a census of kinds.

The guarantees of the parser for a tree, on which all readers may rely:

- `Integer` and `Float` are never negative, and no float is NaN; a sign is a `Negative` around them.
- A `Percentage` has a number of its own, never one with a sign, and one that can be written without
  an exponent in 100 characters.
- `And`, `Or`, `Sum`, `Product` and `Alternatives` have at least two operands, and a `Sum` or
  `Product` one operator fewer. The same kind may be inside itself: brackets keep their grouping.
- `Script`, `Sequence`, `SetOf`, `Membership`, `Equivalence` and `Output` have at least one entry.
- A name is never empty. Units are plain lower-case words and no keywords; functions are lower-case.
- A value of IN or of an equivalence test is a literal, or a `Negative` of a number or an interval.
- A negated `Group` without quantifier and variable does not hold a plain `Component`: that is a
  negated `Component`. A `Sequence` or `Alternatives` inside a pattern is always in a `Group`.
- An `Index` has a text only if its kind is OTHER. The text spells its names as the printer does.
- A `Window` with `events` has no unit, and `per_partition` only with `events`.
- With a type name every `OutputItem` of an `Output` has an alias.
- Nothing is nested more than 200 levels deep.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from decimal import Decimal
from functools import cache
from itertools import product
from math import isinf
from typing import Any, TypeAlias

from hypothesis import strategies as st

from sase.lang import ast
from sase.lang.builder import MOST_DIGITS
from sase.lang.nested import with_nested_columns
from sase.lang.printer import spelled
from sase.lang.tables import parser

Trees: TypeAlias = st.SearchStrategy[Any]

# ---------------------------------------------------------------- names


def keywords() -> list[str]:
    """Every word that the grammar knows, in lower case."""
    patterns = (terminal.pattern for terminal in parser().terminals)
    words = (re.findall("[a-z_]{2,}", p.value) for p in patterns if r"(?!\w)" in p.value)
    return sorted({word for found in words for word in found})


# Letters that Python's `re.IGNORECASE` takes for an i, an s or a k, as it does İ.
FOLDED = str.maketrans({"i": "ı", "s": "ſ", "k": "\u212a"})
PLAIN = [
    "a", "b", "x", "A", "Shelf", "price", "_", "_1", "i", "len", "LEN", "count", "avg", "e1", "É",
    "имя", "שם", "نام", "名前", "ª", "²", "minutes", "ſ", "İ", "straße", "ΑΣ", "Ωmega",
]  # fmt: skip
ODD = [
    " ", "a b", "`", "``", "a`b", "`a", "a-b", "SHELF-READING", "a--b", "--", "/*", "a/*b*/", "1a",
    "2", "-", "'", '"', "‘", ";", "a;b", "a.b", "a.len", "i-1", "\n", "a\nb", "\r", "\t", "\0",
    "\ufeff", "\u00a0", "\u2028", "שלום עולם", "\u202eabc", "😀", "a\u0301", "i\u0307s", "\ud800",
    "not-a", "in-x", "any-", "a-b-1", "é-ü",
]  # fmt: skip
UNITS = [
    "ns", "ms", "s", "second", "minutes", "hours", "weeks", "fortnights", "e5", "é", "日", "from",
    "event", "seq", "per", "any", "where",
]  # fmt: skip


@cache
def spellings() -> list[str]:
    """Names: plain ones, keywords in any case, and some that only backquotes can hold."""
    changes: list[Callable[[str], str]] = [str.lower, str.upper, str.title]
    changes += [lambda word: word.translate(FOLDED), lambda word: word.replace("i", "İ")]
    words = [change(word) for change in changes for word in keywords()]
    return list(dict.fromkeys(PLAIN * 2 + ODD + words))


# Pools of finished leaves rather than strategies that build them: a tree costs a quarter of the
# time. `test_round_trip.py` puts arbitrary names, texts and numbers in every place of their own.
@cache
def names() -> Trees:
    """Names of every sort."""
    return st.sampled_from([ast.Name(text) for text in spellings()])


# ---------------------------------------------------------------- literals

TEXTS = [
    "", "'", "''", "it's", '"', "’", "‘a’", "`", "\n", "a\r\nb", "\\", "%_\\%", "--", "/* */", ";",
    "שלום", "\u202e", "😀", "\0", "\ud800", "2024-01-31", "5", "-5", "NULL",
]  # fmt: skip
LONGEST = 10**MOST_DIGITS - 1
_INTEGERS = [ast.Integer(n) for n in (0, 1, 2, 7, 42, 2**31, 2**63 - 1, 2**63, 2**70, LONGEST)]
_FLOATS = [
    ast.Float(Decimal(text))
    for text in (
        "0.0",
        "0.1",
        "1.00",
        "2.5",
        "1e16",
        "1e+22",
        "5e-324",
        "1.5e-7",
        "1.7e308",
        "1e999",
        "3.14159265358979323846",
        "0.10",
    )
]
NUMBERS: list[ast.Integer | ast.Float] = [*_INTEGERS, *_FLOATS]
_STRINGS = [ast.String(text) for text in TEXTS]
_INTERVALS = [
    ast.Interval(number, ast.Name(unit)) for number in NUMBERS[::3] for unit in UNITS[::2]
] + [ast.Interval(ast.Float(Decimal("0.5")), ast.Name(unit)) for unit in UNITS]
_TIMES = [kind(text) for kind in (ast.Timestamp, ast.Date, ast.ClockTime) for text in TEXTS[:6]]
_SHORT = [
    ast.Float(Decimal(text))
    for text in ("0.0", "0.1", "2.50", "99.99", f"{10**16}.0", f"{10**22}.0", "1.5e-7", "1e-90")
]
_PERCENTAGES = [ast.Percentage(number) for numbers in (_INTEGERS, _SHORT) for number in numbers]


@cache
def parameters() -> Trees:
    """`:name`."""
    return st.sampled_from([ast.Parameter(text) for text in spellings()])


@cache
def constants() -> Trees:
    """Every literal without a sign."""
    words = [ast.Boolean(True), ast.Boolean(False), ast.Null()]
    pools: tuple[list[Any], ...] = (NUMBERS, _STRINGS, words, _TIMES, _INTERVALS, _PERCENTAGES)
    return st.one_of(*(st.sampled_from(pool) for pool in pools), parameters())


@cache
def literals() -> Trees:
    """The values that may be in an IN list or in an equivalence test."""
    negatives = [ast.Negative(operand) for operand in [*NUMBERS, *_INTERVALS]]
    return st.one_of(constants(), st.sampled_from(negatives))


# ---------------------------------------------------------------- expressions


def _positions() -> list[str]:
    odd = spellings()[::7]
    members = [f"{name}.{m}" for name in ("q", "`a b`") for m in ("len", "price", "`and`", "`a b`")]
    ends = [*map(spelled, odd), *members]
    offsets = ["", "-1", "+1", "-0", "+99", "-01"]
    numbers = ["0", "1", "2", "01", "007", "9" * 30]
    return [*numbers, *(end + offset for end in ends for offset in offsets)]


@cache
def indexes() -> Trees:
    """The index in the brackets of `a[…]`; no variable is called q, so `q.len` is another."""
    real = [ast.Index(kind) for kind in ast.IndexKind if kind is not ast.IndexKind.OTHER]
    ends = _positions()
    firsts = [end for end in ["", *ends[::5]] if end != "1"]
    texts = [*ends, *(f"{first}..{last}" for first in firsts for last in ["", *ends[::7]])]
    existing = {index.kind.value for index in real}
    others = [ast.Index(ast.IndexKind.OTHER, text) for text in texts if text not in existing]
    return st.sampled_from(real) | st.sampled_from(others)


@cache
def _leaves() -> Trees:
    attributes = st.builds(ast.Attribute, names(), st.none() | names())
    within = st.builds(ast.Attribute, names(), names()) | st.builds(
        ast.Indexed, names(), indexes(), names()
    )
    tests = st.builds(ast.EqualAttribute, names(), st.none() | literals())
    return st.one_of(
        constants(),
        *[attributes] * 3,
        *[st.builds(ast.Indexed, names(), indexes(), st.none() | names())] * 2,
        st.builds(ast.Indexed, names(), indexes(), names(), _several(names(), 1, 2)),
        st.builds(ast.InGroup, names(), indexes(), within),
        st.builds(ast.Call, _functions(), st.just(())),
        st.builds(ast.Equivalence, _several(tests, 1, 2)),
    )


@cache
def _functions() -> Trees:
    return st.sampled_from([ast.Name(text.lower()) for text in spellings()])


def _several(parts: Trees, least: int, most: int) -> Trees:
    return st.one_of(*(st.tuples(*[parts] * count) for count in range(least, most + 1)))


def _chains(kind: type[ast.Sum | ast.Product], signs: str, operands: Trees) -> Trees:
    operators = [st.sampled_from(list(product(signs, repeat=count))) for count in (1, 2)]
    pairs, triples = st.tuples(operands, operands), st.tuples(operands, operands, operands)
    short, long = st.builds(kind, pairs, operators[0]), st.builds(kind, triples, operators[1])
    return st.one_of(short, long)


def _cases(inner: Trees) -> Trees:
    one = st.builds(ast.Case, st.tuples(inner), st.tuples(inner), st.none() | inner)
    pairs = st.tuples(inner, inner)
    return one | st.builds(ast.Case, pairs, pairs, st.none() | inner)


@cache
def expressions(depth: int = 3) -> Trees:
    """Values and conditions, mixed as freely as the grammar allows."""
    if not depth:
        return _leaves()
    inner = expressions(depth - 1)
    signs = ["=", "!=", "<", "<=", ">", ">="]
    patterns = st.sampled_from(_STRINGS) | parameters()
    negated = st.booleans()
    return st.one_of(
        _leaves(),
        st.builds(ast.Call, _functions(), _several(inner, 1, 2)),
        _cases(inner),
        st.builds(ast.AtZone, inner, patterns),
        st.builds(ast.Negative, inner | st.builds(ast.Negative, inner)),
        _chains(ast.Sum, "+-", inner),
        _chains(ast.Product, "*/%", inner),
        st.builds(ast.Comparison, st.sampled_from(signs), inner, inner),
        st.builds(ast.Membership, inner, _several(literals(), 1, 3), negated),
        st.builds(ast.Between, inner, inner, inner, negated),
        st.builds(ast.Like, inner, patterns, negated, st.booleans()),
        st.builds(ast.NullTest, inner, negated),
        st.builds(ast.Not, inner | st.builds(ast.Not, inner)),
        st.builds(ast.And, _several(inner, 2, 3)),
        st.builds(ast.Or, _several(inner, 2, 3)),
    )


# ---------------------------------------------------------------- patterns


@cache
def quantifiers() -> Trees:
    """All six forms, also `{0}` and `{3,2}`, which binding refuses."""
    signs = [ast.Quantifier("+", 1, None), ast.Quantifier("*", 0, None), ast.Quantifier("?", 0, 1)]
    ranges = [(0, 0), (2, 2), (LONGEST, LONGEST), (0, None), (1, None), (2, 3), (0, 1), (3, 2)]
    counted = [ast.Quantifier("{}", least, most) for least, most in ranges]
    return st.sampled_from(signs) | st.sampled_from(counted)


@cache
def parts(depth: int = 2) -> Trees:
    """Components, and at level 3 groups and sets."""
    tests = st.one_of(
        st.builds(ast.TypeTest, names()), st.builds(ast.AnyTest, _several(names(), 0, 2))
    )
    negated, variables = st.booleans(), st.none() | names()
    series = st.none() | quantifiers()
    components = st.builds(ast.Component, tests, variables, series, negated)
    if not depth:
        return components
    return st.one_of(
        *[components] * 3,
        st.builds(_group, patterns(depth - 1), variables, series, negated),
        st.builds(ast.SetOf, _several(parts(depth - 1), 1, 2), negated),
    )


def _group(
    pattern: Any, variable: ast.Name | None, quantifier: ast.Quantifier | None, negated: bool
) -> ast.Component | ast.Group:
    plain = isinstance(pattern, ast.Component) and not pattern.negated
    if plain and negated and not variable and not quantifier:
        return ast.Component(pattern.test, pattern.variable, pattern.quantifier, True)
    return ast.Group(pattern, variable, quantifier, negated)


@cache
def patterns(depth: int = 2) -> Trees:
    """The patterns that may follow EVENT."""
    sequences = st.builds(ast.Sequence, _several(parts(depth), 1, 3))
    either = parts(depth) | sequences
    return st.one_of(parts(depth), sequences, st.builds(ast.Alternatives, _several(either, 2, 3)))


# ---------------------------------------------------------------- clauses, queries, scripts


@cache
def windows() -> Trees:
    """WITHIN in time and in events."""
    negatives = [ast.Negative(number) for number in NUMBERS]
    amounts = st.sampled_from([*NUMBERS, *negatives]) | parameters()
    units = st.sampled_from([ast.Name(unit) for unit in UNITS])
    flags = st.booleans()
    in_time = st.builds(ast.Window, amounts, st.none() | units, inclusive=flags)
    in_events = st.builds(
        ast.Window, amounts, events=st.just(True), per_partition=flags, inclusive=flags
    )
    return in_time | in_events


@cache
def outputs() -> Trees:
    """RETURN: columns, or a composite event."""
    plain = st.builds(ast.OutputItem, expressions(1), st.none() | names()) | st.builds(
        ast.OutputItem, st.builds(ast.AllAttributes, names()), st.none()
    )
    named = st.builds(ast.OutputItem, expressions(1), names())
    return st.one_of(
        st.builds(ast.Output, _several(plain, 1, 3)),
        st.builds(ast.Output, _several(named, 1, 2), names()),
    )


@cache
def queries() -> Trees:
    """Queries with any choice of clauses."""
    strategies = st.builds(ast.Strategy, st.sampled_from(ast.StrategyName), _several(names(), 0, 2))
    none = st.none()
    drawn = st.builds(
        ast.Query,
        st.one_of(patterns(1), patterns(1), patterns(2)),
        _several(names(), 0, 2),
        none | strategies,
        none | expressions(2),
        none | windows(),
        none | st.builds(ast.Confidence, st.sampled_from(NUMBERS), st.booleans()),
        none | expressions(1),
        none | outputs(),
        st.one_of(none, st.sampled_from(_INTEGERS), parameters()),
    )

    # To the parser a reference into a series is one to a nested column.
    return drawn.map(with_nested_columns)


@cache
def scripts() -> Trees:
    """Scripts of one to three statements."""
    statements = st.builds(ast.Statement, queries(), st.none() | names())
    return st.builds(ast.Script, st.one_of(*map(_exactly, (statements,) * 3, (1, 1, 2))))


def _exactly(parts: Trees, count: int) -> Trees:
    return st.tuples(*[parts] * count)


# ---------------------------------------------------------------- walking and counting


def children(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below a node."""
    for field in fields(node):
        value = getattr(node, field.name)
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, ast.Node):
                yield child


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """A node and all nodes below it, without recursion."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))


def _kinds_of(node: ast.Node) -> Iterator[str]:
    kind = type(node).__name__
    yield kind
    yield from (f"{kind} in {kind}" for child in children(node) if type(child) is type(node))
    if getattr(node, "negated", False):
        yield f"{kind} negated"
    yield from _details(node, kind)


def _details(node: ast.Node, kind: str) -> Iterable[str]:
    match node:
        case ast.Index(kind=index):
            return [f"Index {index.name}"]
        case ast.Strategy(name=name):
            return [f"Strategy {name.value}"]
        case ast.Float(value=value):
            return ["Float beyond float64"] if isinf(float(value)) else []
        case ast.Quantifier(symbol=symbol, maximum=maximum):
            return [f"Quantifier {symbol}{' open' if symbol == '{}' and maximum is None else ''}"]
        case ast.Comparison(operator=operator):
            return [f"Comparison {operator}"]
        case ast.Sum(operators=operators) | ast.Product(operators=operators):
            return [f"{kind} {operator}" for operator in operators]
        case ast.Name(text=text) if spelled(text) != text:
            return ["Name in backquotes"]
        case ast.Percentage() | ast.Interval():
            return [f"{kind} of {type(node.amount).__name__}"]
        case ast.Negative(operand=operand):
            return [f"Negative of {type(operand).__name__}"]
        case ast.Window(events=events, per_partition=per_partition, inclusive=inclusive):
            flags = {"events": events, "per partition": per_partition, "inclusive": inclusive}
            return [f"Window {flag}" for flag, given in flags.items() if given]
        case ast.Output(type_name=ast.Name()):
            return ["Output composite"]
    return []


def _expected() -> frozenset[str]:
    nodes = {
        value
        for value in vars(ast).values()
        if isinstance(value, type) and issubclass(value, ast.Node) and value is not ast.Node
    }
    negatable = {node for node in nodes if "negated" in {field.name for field in fields(node)}}
    nested = "And Or Not Sum Product Negative Call Comparison Between"
    return frozenset(
        [
            *(node.__name__ for node in nodes),
            *(f"{node.__name__} negated" for node in negatable),
            *(f"{name} in {name}" for name in [*nested.split(), "Group", "SetOf"]),
            *(f"Index {kind.name}" for kind in ast.IndexKind),
            *(f"Strategy {name.value}" for name in ast.StrategyName),
            *(f"Quantifier {form}" for form in ("+", "*", "?", "{}", "{} open")),
            *(f"Comparison {sign}" for sign in ("=", "!=", "<", "<=", ">", ">=")),
            *(f"Sum {sign}" for sign in "+-"),
            *(f"Product {sign}" for sign in "*/%"),
            *(f"Negative of {name}" for name in ("Integer", "Float", "Interval", "Percentage")),
            *(f"{kind} of {name}" for kind in ("Percentage", "Interval") for name in _NUMBERS),
            *(f"Window {flag}" for flag in ("events", "per partition", "inclusive")),
            "Float beyond float64",
            "Name in backquotes",
            "Output composite",
        ]
    )


_NUMBERS = ("Integer", "Float")
KINDS = _expected()


class Census:
    """How often each kind of node was generated in a run."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def count(self, tree: ast.Node) -> None:
        """Count a tree: each of its kinds once."""
        self.counts.update({kind for node in walk(tree) for kind in _kinds_of(node)})

    def missing(self, kinds: frozenset[str] = KINDS) -> list[str]:
        """The kinds that were never generated."""
        return sorted(kinds - self.counts.keys())
