"""The outline of syntax trees: no two different trees print the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from itertools import combinations
from typing import Any, TypeAlias

from sase.errors import SaseError
from sase.lang import ast
from sase.lang.parser import parse_condition, parse_query, parse_script
from tests.outline import outline
from tests.test_cases import all_cases

# Each line holds conditions that look alike and have different trees.
ALIKE = [
    ["a AND b AND c", "(a AND b) AND c", "a AND (b AND c)", "a OR b OR c", "a AND b OR c"],
    ["NOT a AND b", "NOT (a AND b)", "NOT a OR b", "NOT NOT a", "NOT a", "a", "`not`(a)"],
    ["a - b - c = 0", "a - (b - c) = 0", "(a - b) - c = 0", "a - b + c = 0", "a + b - c = 0"],
    ["a * b / c = 0", "a * (b / c) = 0", "a / b * c = 0", "a % b * c = 0", "a * b + c = 0"],
    ["-a = 1", "a = -1", "a - 1", "-(a - 1)", "- -a = 1", "neg(a) = 1", "`-a` = 1", "-1 = a"],
    ["a = 5", "a = 5.0", "a = '5'", 'a = "5.0"', "a = `5`", "a = 5%", "a = 5.0%", "a = 5 s"],
    ["a = TRUE", "a = 'TRUE'", "a = `TRUE`", "a = :TRUE", "a = NULL", "a = `NULL`", "a IS NULL"],
    ["a = `true`(b)", "a = `true`", "a = TRUE", "a = tru"],
    ["a = 1e999", "a = inf", "a = 'inf'", "a = `1e999`", "a = 1e99"],
    ["x.y = 1", "`x.y` = 1", "x[].y = 1", "y.x = 1", "`x`.`y.z` = 1", "`x.y`.z = 1"],
    ["a[1].p", "a[i].p", "a[i-1].p", "a[a.len].p", "a[].p", "a[..i].p", "a[..i-1].p", "a.len"],
    ["a[2].p", "a[i+1].p", "a[i..].p", "a[b.len].p", "a[len].p", "a[`i`].p"],
    ["a[]", "a[].p", "a", "a.p", "a[1]", "a()"],
    ["a IN (1)", "a NOT IN (1)", "NOT a IN (1)", "a = 1", "a IN (1, 1)", "`in`(a, 1)"],
    ["a BETWEEN 1 AND 2", "a NOT BETWEEN 1 AND 2", "NOT a BETWEEN 1 AND 2", "between(a, 1, 2)"],
    ["a LIKE 'x'", "a NOT LIKE 'x'", "a LIKE :x", "a = 'x'", "like(a, 'x')"],
    ["a IS NULL", "a IS NOT NULL", "NOT a IS NULL", "a = NULL"],
    ["[a]", "a", "[a, b]", "[`a b`]", "[a = 'b']", "[a = :b]", "`[a]`"],
    ["[a, b = 1]", "[a = 1, b]", "[a, b] AND c", "[a] AND [b] AND c", "[a] AND [b]"],
    ["a = DATE '1'", "a = TIMESTAMP '1'", "a = date('1')", "a = INTERVAL '1' s", "a = '1'"],
    ["a = interval(1, s)", "a = 1 s", "a = interval(1)", "a = 1 m"],
    ["and(a, b)", "a AND b", "or(a, b)", "a OR b", "And(a, b)"],
    ["f(a) = g(b)", "f(a, b)", "f(a)", "f((a) + b)", "f(a + b)", "(f) + (a)", "f()"],
    ["a = 'x\ny'", "a = 'x\\ny'", "a = 'x y'", "a = 'xny'", 'a = "x\ny "'],
    ["a = '\"'", "a = ''''", "a = '\\\"'", "a = '`'"],
    ["`a``b` = 1", "`a` = 1", "`a b` = 1", "`a\\b` = 1", '`a"b` = 1'],
    ["a < b", "a <= b", "a > b", "a >= b", "a = b", "a != b", "b < a"],
]
# And patterns, as they stand behind EVENT.
ALIKE_PATTERNS = [
    ["A", "SEQ(A)", "A A", "(A)", "SET(A)", "SEQ((A))", "ANY(A)", "ANY", "`ANY`", "!A"],
    ["SEQ(A, B)", "SET(A, B)", "ANY(A, B)", "A OR B", "(SEQ(A, B))", "SEQ(A b)"],
    ["A+ a", "A* a", "A? a", "A{1} a", "A{1,} a", "A{0,1} a", "A{1,1} b", "(A)+ a", "A a"],
    ["group+ a", "(a)+", "(A)+ a", "`group` a", "(group) a", "group a", "(A) a"],
    ["SEQ(a)", "`seq` a", "`SEQ` a", "seq+ a", "(SEQ(a))+"],
    ["!A a", "!(A a)+", "!(A a) b", "!(SEQ(A a))", "!SET(A a)", "(!A a)", "!A+ a"],
    ["A-B", "`A-B` c", "A", "`A -B`"],
    ["A", "`or` A", "A or B or C", "A or (B or C)", "(A or B) or C"],
]
# And clauses, as they stand behind EVENT A x.
ALIKE_CLAUSES = [
    ["", "WITHIN 5", "WITHIN 5.0", "WITHIN 5 s", "WITHIN 5 EVENTS", "WITHIN -5", "LIMIT 5"],
    ["WITHIN 5 INCLUSIVE", "WITHIN 5 inclusives", "WITHIN 5 s INCLUSIVE", "WITHIN :n"],
    ["WITHIN 5 EVENTS PER PARTITION", "WITHIN 5 EVENTS", "WITHIN 5 EVENTS INCLUSIVE"],
    ["RETURN a, b", "RETURN a AS b", "RETURN `as`(a, b)", "RETURN a(a AS b)", "RETURN a"],
    ["WHERE x.v", "HAVING x.v", "RETURN x.v", "WHERE strict_contiguity { x.v }"],
    ["WHERE strict_contiguity", "WHERE strict_contiguity(x)", "WHERE partition_contiguity(x)"],
    ["WHERE `strict_contiguity`", "WHERE strict_contiguity", "WHERE TRUE", "WHERE `TRUE`"],
    [
        "LIMIT 1",
        "LIMIT :n",
        "LIMIT 0",
        "WITH CONFIDENCE >= 1",
        "WITH CONFIDENCE >= 1.0",
        "WITH CONFIDENCE > 1",
    ],
]
GROUPS = [
    *ALIKE,
    *([f"EVENT {text}" for text in group] for group in ALIKE_PATTERNS),
    *([f"EVENT A x {text}" for text in group] for group in ALIKE_CLAUSES),
]


# The new value of each, if not every combination of fields makes sense.
OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "%", "%": "*",
    "=": "!=", "!=": "<", "<": "<=", "<=": ">", ">": ">=", ">=": "=",
}  # fmt: skip
QUANTIFIERS = [
    ast.Quantifier("+", 1, None),
    ast.Quantifier("*", 0, None),
    ast.Quantifier("?", 0, 1),
    ast.Quantifier("{}", 0, 1),
    ast.Quantifier("{}", 1, None),
    ast.Quantifier("{}", 1, 1),
]
INDEXES = [
    *(ast.Index(kind) for kind in ast.IndexKind if kind is not ast.IndexKind.OTHER),
    ast.Index(ast.IndexKind.OTHER, "2"),
    ast.Index(ast.IndexKind.OTHER, "1 "),
]


def parse(text: str) -> ast.Node:
    return parse_query(text) if text.startswith("EVENT ") else parse_condition(text)


def test_different_trees_print_differently() -> None:
    pairs = [pair for group in GROUPS for pair in combinations(map(parse, group), 2)]
    alike = [(outline(left) == outline(right), left == right) for left, right in pairs]
    assert [pair for pair, (shown, meant) in zip(pairs, alike, strict=True) if shown != meant] == []


def test_trees_of_different_groups_differ_too() -> None:
    trees = {parse(text) for group in GROUPS for text in group}
    assert len(trees) > 150
    assert len({outline(tree) for tree in trees}) == len(trees)


def scripts() -> Iterator[ast.Script]:
    """The trees of all cases; one that does not parse fails its own test."""
    for case in all_cases():
        if case.section("tree") is not None and case.options.get("entry") != "condition":
            with suppress(SaseError):
                yield parse_script(case.query)


def test_every_change_of_a_tree_shows() -> None:
    """Each field of each kind of node below each kind of node, changed by itself.

    Of each kind of change the cases have hundreds: the first ones are enough.
    """
    seen = Counter[tuple[str, ...]]()
    hidden = list[Any]()
    for script in scripts():
        before = outline(script)
        for change, changed in _changed(script):
            seen[change] += 1
            if seen[change] <= MOST and outline(changed) == before:
                hidden.append(changed)
    assert hidden == []
    assert len(seen) > 500  # so that the loop is not empty by accident


# A change: the kinds and the fields of a node and of that above it, and a name for the change.
Change: TypeAlias = tuple[str, ...]
MOST = 5


def _changed(node: Any, above: Change = ()) -> Iterator[tuple[Change, Any]]:
    """The nodes that differ from this one in one field of it or of a node below."""
    for field in fields(node):
        if field.compare:
            old, place = getattr(node, field.name), (*above, type(node).__name__, field.name)
            for change, new in _changed_value(old, place):
                yield change, replace(node, **{field.name: new})
            if isinstance(old, tuple) and old and not isinstance(node, ast.Sum | ast.Product):
                yield (*place, "one more"), replace(node, **{field.name: (*old, old[0])})


def _changed_value(old: Any, place: Change) -> Iterator[tuple[Change, Any]]:
    match old:
        case ast.Quantifier():
            yield from (((*place, repr(new)), new) for new in QUANTIFIERS if new != old)
        case ast.Index():
            yield from (((*place, repr(new)), new) for new in INDEXES if new != old)
        case ast.Node():
            yield from _changed(old, place[-2:])
        case tuple():
            for index, element in enumerate(old):
                for change, new in _changed_value(element, place):
                    yield change, (*old[:index], new, *old[index + 1 :])
        case bool():
            yield (*place, "turned"), not old
        case int() | float():
            yield (*place, "one more"), old + 1
        case ast.StrategyName():
            yield (*place, old), next(name for name in ast.StrategyName if name is not old)
        case str() if old in OPERATORS:
            yield (*place, old), OPERATORS[old]
        case str():
            yield from (((*place, sign), f"{old}{sign}") for sign in "x1- `'\\\n\"[]().:%")


def test_the_layout_is_only_white_space() -> None:
    for script in scripts():
        lines = outline(script).split("\n")
        assert all(len(line) <= 100 or " " not in line.strip() for line in lines), lines
        assert json.dumps(" ".join(line.strip() for line in lines)).count("  ") == 0
