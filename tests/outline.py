"""Syntax trees as s-expressions, for the `tree:` sections of the cases.

    (query
      pattern=(seq (SHELF x) !(COUNTER y) (Stock+ a))
      where=(and [id name="J"] (> a[i].price (avg a[..i-1].price)) (= (x.v - (y.v * 2)) 3.0))
      window=(within 12 hours INCLUSIVE))

Every pair of brackets is one node, so that precedence and associativity can be read off; AND, OR,
sums and products are flat, with as many operands as the text has without brackets.

    names        plain, or in backquotes where they are no identifier (a hyphen needs none in types)
    literals     5  5.0  "text" (escaped as in JSON)  TRUE  NULL  80%  :parameter
                 (interval 5 minutes)  (timestamp "2020-01-01")  (date "2020-01-01")
    attributes   x.a  a    of a Kleene variable  a[].p  a[1].p  a[i].p  a[i-1].p  a[len].p  a[..i].p
                 a[..i-1].p, and with an index that does not exist  a[?"i+1"].p
    arithmetic   (a + b - c)  (a * b / c % d)  (neg a)
    functions    (avg a[].p): the name in backquotes if it is a word of this notation
    conditions   (and …) (or …) (not …) (= a b) (!= a b) … (in a 1 2) (between a low high)
                 (like a "x%") (is-null a), negated (not-in …) (not-between …) (not-like …)
                 (is-not-null a); an equivalence test is  [a b="v"]
    components   A  (A x)  (A+ x)  (A{2,} x)  ANY()  (ANY(A B) x), negated !A  !(A x)
    patterns     (seq …)  (or …)  (set …)  !(set …)  (group (seq …) g)  (group+ (seq …) g)
    clauses      a field of the query a line; absent ones are left out. A query of a stream is
                 (create name (query …))
    output       (columns x.a (as (sum …) total))  (new Type (as x.a b))

No two different trees print the same: each kind of node has its own brackets or first word, names
that could be taken for one of these words stand in backquotes, and fields come in a fixed order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from sase.lang import ast
from sase.lang.printer import to_text

WIDTH = 92
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_TYPE_NAME = re.compile(r"[^\W\d]\w*(-\w+)*")
_LITERALS = frozenset(("TRUE", "FALSE", "NULL"))
# The first words of this notation that a name could be taken for.
_WORDS = frozenset(
    (
        "and", "or", "not", "neg", "in", "between", "like", "interval", "timestamp", "date",
        "as", "seq", "set", "group",
    )
)  # fmt: skip


@dataclass(frozen=True)
class _List:
    """Brackets with items, laid out over several lines where one is too short."""

    items: tuple[_Item, ...]
    opening: str = "("
    closing: str = ")"
    broken: bool = False


_Item = str | _List


def outline(tree: ast.Node) -> str:
    """The outline of a syntax tree."""
    if isinstance(tree, ast.Script):
        return "\n".join(outline(statement) for statement in tree.statements)
    return "\n".join(_layout(_item(tree), 0))


def _layout(item: _Item, indent: int) -> list[str]:
    flat = _flat(item)
    if isinstance(item, str) or not _is_broken(item) and indent + len(flat) <= WIDTH:
        return [" " * indent + flat]
    first, *rest = item.items
    lines = [" " * indent + item.opening + _flat(first)]
    for each in rest:
        lines += _layout(each, indent + 2)
    lines[-1] += item.closing
    return lines


def _flat(item: _Item) -> str:
    if isinstance(item, str):
        return item
    return item.opening + " ".join(map(_flat, item.items)) + item.closing


def _is_broken(item: _Item) -> bool:
    return isinstance(item, _List) and (item.broken or any(map(_is_broken, item.items)))


def _form(head: str, *items: _Item, broken: bool = False) -> _List:
    return _List((head, *items), broken=broken)


def _prefixed(prefix: str, item: _Item) -> _Item:
    if isinstance(item, str):
        return prefix + item
    return _List(item.items, prefix + item.opening, item.closing, item.broken)


def _items(nodes: Iterable[Any]) -> tuple[_Item, ...]:
    return tuple(map(_item, nodes))


def _item(node: Any) -> _Item:
    """The item of a node; the kinds of nodes that are not here print their fields by name."""
    for part in (_literal, _value, _condition, _part, _clause):
        if (item := part(node)) is not None:
            return item
    return _form(type(node).__name__.lower(), *_fields(node), broken=True)


def _literal(node: Any) -> _Item | None:
    match node:
        case ast.Integer(value):
            return str(value)
        case ast.Float(value):
            return to_text(node)
        case ast.String(value):
            return json.dumps(value, ensure_ascii=False)
        case ast.Boolean(value):
            return str(value).upper()
        case ast.Null():
            return "NULL"
        case ast.Timestamp(text) | ast.Date(text) | ast.ClockTime(text):
            return _form(type(node).__name__.lower(), json.dumps(text, ensure_ascii=False))
        case ast.Interval(amount, unit):
            return _form("interval", _item(amount), _item(unit))
        case ast.Percentage(amount):
            return f"{_item(amount)}%"
        case ast.Parameter(name):
            return ":" + _name(name)
    return None


def _value(node: Any) -> _Item | None:
    match node:
        case ast.Name(text):
            return _name(text)
        case ast.Attribute(name, variable):
            return _item(name) if variable is None else f"{_item(variable)}.{_item(name)}"
        case ast.Indexed(variable, index, attribute, others):
            suffix = f".{_item(attribute)}" if attribute else ""
            if others:
                suffix = f".({' '.join(map(_item, node.attributes))})"
            return f"{_item(variable)}[{_index(index)}]{suffix}"
        case ast.AllAttributes(variable):
            return f"{_item(variable)}.*"
        case ast.InGroup(group, index, reference):
            return f"{_item(group)}[{_index(index)}].{_item(reference)}"
        case ast.Call(function, arguments):
            return _form(_head(function.text), *_items(arguments))
        case ast.Case(conditions, values, otherwise):
            rest = () if otherwise is None else ("else", _item(otherwise))
            return _form("case", *_items(conditions), "then", *_items(values), *rest)
        case ast.AtZone(operand, zone):
            return _form("at-zone", _item(operand), _item(zone))
        case ast.Negative(operand):
            return _form("neg", _item(operand))
        case ast.Sum(operands, operators) | ast.Product(operands, operators):
            rest = zip(operators, operands[1:], strict=True)
            return _List(
                (_item(operands[0]), *(_prefixed(f"{sign} ", _item(each)) for sign, each in rest))
            )
    return None


def _index(index: ast.Index) -> str:
    if index.kind is ast.IndexKind.OTHER:
        return "?" + json.dumps(index.text, ensure_ascii=False)
    return str(index.kind.value)


def _condition(node: Any) -> _Item | None:
    no = "not-" if getattr(node, "negated", False) else ""
    match node:
        case ast.And(operands) | ast.Or(operands):
            return _form(type(node).__name__.lower(), *_items(operands))
        case ast.Not(operand):
            return _form("not", _item(operand))
        case ast.Comparison(operator, left, right):
            return _form(operator, _item(left), _item(right))
        case ast.Membership(operand, values):
            return _form(f"{no}in", _item(operand), *_items(values))
        case ast.Between(operand, low, high):
            return _form(f"{no}between", *_items((operand, low, high)))
        case ast.Like(operand, pattern, in_any_case=in_any_case):
            return _form(f"{no}{'i' * in_any_case}like", _item(operand), _item(pattern))
        case ast.NullTest(operand, negated):
            return _form("is-not-null" if negated else "is-null", _item(operand))
        case ast.Equivalence(tests):
            return _List(_items(tests), "[", "]")
        case ast.EqualAttribute(attribute, value):
            name = _item(attribute)
            return name if value is None else _prefixed(f"{name}=", _item(value))
    return None


def _part(node: Any) -> _Item | None:
    sign = "!" if getattr(node, "negated", False) else ""
    match node:
        case ast.Component(test, None, None):
            return _prefixed(sign, _test(test))
        case ast.Component(test, variable, quantifier):
            head = f"{_flat(_test(test))}{_quantifier(quantifier)}"
            return _prefixed(sign, _form(head, *_items(filter(None, [variable]))))
        case ast.Group(pattern, variable, quantifier):
            head = f"group{_quantifier(quantifier)}"
            names = _items(filter(None, [variable]))
            return _prefixed(sign, _form(head, _item(pattern), *names))
        case ast.SetOf(members):
            return _prefixed(sign, _form("set", *_items(members)))
        case ast.Sequence(parts):
            return _form("seq", *_items(parts))
        case ast.Alternatives(patterns):
            return _form("or", *_items(patterns))
        case ast.TypeTest() | ast.AnyTest():
            return _test(node)
    return None


def _test(test: ast.TypeTest | ast.AnyTest) -> _Item:
    if isinstance(test, ast.TypeTest):
        return _type_name(test.name)
    return _List(tuple(map(_type_name, test.names)), "ANY(")


def _quantifier(quantifier: ast.Quantifier | None) -> str:
    if quantifier is None:
        return ""
    if quantifier.symbol != "{}":
        return quantifier.symbol
    maximum = "" if quantifier.maximum is None else quantifier.maximum
    return f"{{{quantifier.minimum},{maximum}}}"


def _clause(node: Any) -> _Item | None:
    match node:
        case ast.StrategyName():
            return str(node.value)
        case ast.Strategy(name, variables):
            return _form(name.value, *_items(variables)) if variables else name.value
        case ast.Window(amount, unit, events, per_partition, inclusive):
            words = [_item(unit)] if unit else []
            words += ["EVENTS"] * events + ["PER PARTITION"] * per_partition
            return _form("within", _item(amount), *words, *["INCLUSIVE"] * inclusive)
        case ast.Confidence(threshold, strict):
            return _form("confidence", *([">"] if strict else []), _item(threshold))
        case ast.OutputItem(expression, alias):
            item = _item(expression)
            return item if alias is None else _form("as", item, _item(alias))
        case ast.Output(items, None):
            return _form("columns", *_items(items))
        case ast.Output(items, type_name):
            return _form("new", _item(type_name), *_items(items))
        case ast.Statement(query, None):
            return _item(query)
        case ast.Statement(query, stream):
            return _form(f"create {_item(stream)}", _item(query), broken=True)
    return None


def _fields(node: ast.Node) -> tuple[_Item, ...]:
    """The fields that do not have their default, in their order."""
    found = ((each, getattr(node, each.name)) for each in fields(node) if each.compare)
    return tuple(
        _prefixed(f"{each.name}=", _field_value(value))
        for each, value in found
        if value != each.default
    )


def _field_value(value: Any) -> _Item:
    return _List(_items(value)) if isinstance(value, tuple) else _item(value)


def _name(text: str) -> str:
    return text if _IDENTIFIER.fullmatch(text) and text not in _LITERALS else _quoted(text)


def _head(text: str) -> str:
    return _quoted(text) if text in _WORDS else _name(text)


def _type_name(name: ast.Name) -> str:
    plain = _TYPE_NAME.fullmatch(name.text) and name.text not in _WORDS
    return name.text if plain else _quoted(name.text)


def _quoted(text: str) -> str:
    return "`" + json.dumps(text, ensure_ascii=False)[1:-1].replace("`", "``") + "`"
