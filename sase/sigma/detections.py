"""Convert a detection and its `condition` to a condition on one event."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import TypeAlias

from sase.base import regular_expressions
from sase.errors import WORDS
from sase.lang import ast
from sase.printable import on_one_line
from sase.sigma.encodings import BASE64, WIDE, addresses_of, encoded, with_dashes
from sase.sigma.rules import Scalar, YamlPart

# ---------------------------------------------------------------- conditions

_TOKEN = re.compile(r"\s*([()|]|[^\s()|]+)")


@dataclass(frozen=True)
class SearchName:
    """The name of a search."""

    name: str


@dataclass(frozen=True)
class Negated:
    """`not a`."""

    operand: Tree


@dataclass(frozen=True)
class AllOf:
    """`a and b`."""

    operands: tuple[Tree, ...]


@dataclass(frozen=True)
class OneOf:
    """`a or b`."""

    operands: tuple[Tree, ...]


Tree: TypeAlias = SearchName | Negated | AllOf | OneOf
MOST_LEVELS = 100


class ConditionReader:
    """Parses a condition from left to right; `names` are the valid ones."""

    def __init__(self, part: YamlPart, names: Collection[str]) -> None:
        self._part, self._names = part, names
        self._tokens = _TOKEN.findall(part.text("a condition"))
        self._levels = 0

    def read(self) -> Tree:
        """The whole condition."""
        tree = self._some()
        if self._tokens:
            raise self._unexpected()
        return tree

    def _some(self) -> Tree:
        return _all_or_one(OneOf, self._separated("or", self._all))

    def _all(self) -> Tree:
        return _all_or_one(AllOf, self._separated("and", self._negated))

    def _separated(self, word: str, read: Callable[[], Tree]) -> list[Tree]:
        found = [read()]
        while self._next() == word:
            self._tokens.pop(0)
            found.append(read())
        return found

    def _negated(self) -> Tree:
        if self._next() != "not":
            return self._operand()
        self._tokens.pop(0)
        return Negated(self._deeper(self._negated))

    def _operand(self) -> Tree:
        word = self._next()
        if word == "(":
            self._tokens.pop(0)
            tree = self._deeper(self._some)
            if self._next() != ")":
                raise self._unexpected()
            self._tokens.pop(0)
            return tree
        if word in ("1", "any", "all") and [each.lower() for each in self._tokens[1:2]] == ["of"]:
            return self._several(word)
        if not word or word in ("and", "or", ")", "|", "of"):
            raise self._unexpected()
        name: str = self._tokens.pop(0)
        if name not in self._names:
            raise self._part.error("sigma-rule", f"the condition names {name}, which is not there")
        return SearchName(name)

    def _several(self, word: str) -> Tree:
        """`1 of them`, `all of selection*`."""
        pattern = "*" if self._next(2) == "them" else "".join(self._tokens[2:3])
        names = [each for each in self._names if _fits(each, pattern.split("*"))]
        if pattern == "*":
            names = [each for each in names if not each.startswith("_")]
        if not names:
            raise self._part.error("sigma-rule", f"no search is called {pattern or 'so'}")
        del self._tokens[:3]
        return _all_or_one(AllOf if word == "all" else OneOf, map(SearchName, names))

    def _next(self, place: int = 0) -> str:
        return self._tokens[place].lower() if place < len(self._tokens) else ""

    def _deeper(self, read: Callable[[], Tree]) -> Tree:
        self._levels += 1
        if self._levels > MOST_LEVELS:
            raise self._part.error("sigma-rule", f"more than {MOST_LEVELS} brackets in brackets")
        tree = read()
        self._levels -= 1
        return tree

    def _unexpected(self) -> Exception:
        word = self._tokens[0] if self._tokens else "the end"
        if word == "|":
            message = "an aggregation behind `|` has no equal in a script"
            return self._part.error("sigma-no-equal", message, "write a correlation of this rule")
        return self._part.error("sigma-rule", f"{word} is not expected in this condition")


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name matches parts with any text between them."""
    first, *others = parts
    if not others:
        return name == first
    *between, last = others
    place = len(first)
    if not name.startswith(first) or not name.endswith(last):
        return False
    for part in between:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return place <= len(name) - len(last)


def _all_or_one(kind: type[AllOf] | type[OneOf], operands: Iterable[Tree]) -> Tree:
    first, *others = operands
    return kind((first, *others)) if others else first


# ---------------------------------------------------------------- detections

# Sigma's logic is two-valued: a search for a missing field fails, and its negation holds. So `not`
# is pushed down to single fields, where it becomes `IS NULL OR …`.

EVENT = "e"
NEGATED: dict[str, ast.ComparisonOperator] = {
    "=": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip
ORDER: dict[str, ast.ComparisonOperator] = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
AFFIXES = {"contains": ("%", "%"), "startswith": ("", "%"), "endswith": ("%", "")}
ENCODED = (*BASE64, *WIDE)
ALONE = ("exists", "fieldref", "cidr", "re")
FLAGS = {"i": "i", "ignorecase": "i", "m": "m", "multiline": "m", "s": "s", "dotall": "s"}
MODIFIERS = (*ORDER, *AFFIXES, *ENCODED, *ALONE, *FLAGS, "windash", "all", "cased", "neq")
_SIGNS = re.compile(r"\\([*?\\])|([*?])", re.DOTALL)

# Makes a condition, or its negation.
Condition = Callable[[bool], ast.Expression]


def condition_of(detection: YamlPart, message: str | None = None) -> ast.Expression:
    """The condition on an event for a detection; keywords are sought in the field `message`."""
    searches = detection.fields("a detection")
    written = searches.pop("condition", None)
    if "timeframe" in searches:
        message = "a time frame of a detection has no equal in a script"
        raise searches["timeframe"].error("sigma-no-equal", message, "write a correlation")
    if written is None:
        raise detection.error("sigma-rule", "a detection has a condition, and this has none")
    trees = [ConditionReader(each, searches).read() for each in written.items()]
    conditions = {name: _search(part, message) for name, part in searches.items()}
    tree = OneOf(tuple(trees)) if len(trees) > 1 else trees[0]
    return _expression(tree, conditions, negated=False)


def _expression(tree: Tree, conditions: dict[str, Condition], *, negated: bool) -> ast.Expression:
    match tree:
        case SearchName(name):
            return conditions[name](negated)
        case Negated(operand):
            return _expression(operand, conditions, negated=not negated)
        case AllOf(operands) | OneOf(operands):
            parts = [_expression(each, conditions, negated=negated) for each in operands]
            return _joined(parts, is_all=isinstance(tree, AllOf) != negated)


def _joined(parts: Sequence[ast.Expression], *, is_all: bool) -> ast.Expression:
    kind: type[ast.And] | type[ast.Or] = ast.And if is_all else ast.Or
    flat = [
        each for part in parts for each in (part.operands if isinstance(part, kind) else [part])
    ]
    return kind(tuple(flat)) if len(flat) > 1 else flat[0]


def _several(conditions: Sequence[Condition], *, is_all: bool) -> Condition:
    def condition(negated: bool) -> ast.Expression:
        return _joined([each(negated) for each in conditions], is_all=is_all != negated)

    return condition


# ---------------------------------------------------------------- searches


def _search(part: YamlPart, message: str | None) -> Condition:
    """AND over the fields of a mapping, OR over a list of mappings or keywords."""
    if part.is_list:
        return _several([_search(each, message) for each in part.items()], is_all=False)
    if not part.is_mapping:
        return _keyword(part, part, message)
    fields = [_field(key, value, message) for key, value in part.entries()]
    if not fields:
        raise part.error("sigma-rule", "this search has no fields")
    return _several(fields, is_all=True)


def _keyword(place: YamlPart, part: YamlPart, message: str | None) -> Condition:
    """The search for a keyword in the field with the whole message."""
    if message is None:
        raise place.error(
            "sigma-no-equal",
            "a search in the whole message has no equal in a script",
            "name the fields that may have it, or with  --message FIELD  the one with the message",
        )
    field = Field(message, ("contains",), place)
    return _text(field, AFFIXES["contains"], str(part.text("a keyword")))


@dataclass(frozen=True)
class Field:
    """A field with its modifiers."""

    name: str
    modifiers: tuple[str, ...]
    key: YamlPart

    @property
    def attribute(self) -> ast.Attribute:
        """Its value in the event."""
        return ast.Attribute(ast.Name(self.name), ast.Name(EVENT))

    def folded(self, text: str) -> tuple[ast.Expression, ast.String]:
        """Its value and a text, in lower case unless the field is `cased`."""
        if "cased" in self.modifiers:
            return self.attribute, ast.String(text)
        return ast.Call(ast.Name("lower"), (self.attribute,)), ast.String(text.lower())


def _field(key: YamlPart, values: YamlPart, message: str | None) -> Condition:
    name, *modifiers = key.text("a field").split("|")
    if not name:
        for modifier in modifiers:
            if modifier not in ("all", "contains"):
                said = f"the modifier {modifier} of keywords has no equal in a script"
                raise key.error("sigma-no-equal", said)
        keywords = [_keyword(key, each, message) for each in values.items()]
        return _several(keywords, is_all="all" in modifiers)
    for modifier in modifiers:
        if modifier not in MODIFIERS:
            raise key.error("sigma-no-equal", f"the modifier {modifier} has no equal in a script")
    field = Field(name, tuple(modifiers), key)
    _check_modifiers(field)
    items = [(each, each.value) for each in values.items()]
    if "neq" in modifiers and len(items) > 1:
        raise values.error("sigma-no-equal", "`neq` of several values may mean any of them, or all")
    plain = [part for part, value in items if _is_plain(value, field)]
    kinds = {isinstance(part.value, str) for part in plain}
    if len(plain) == len(items) > 1 and len(kinds) == 1:
        found: Condition = partial(_membership, field, plain)
    else:
        found = _several(
            [_value(field, part, value) for part, value in items], is_all="all" in modifiers
        )
    return (lambda negated: found(not negated)) if "neq" in modifiers else found


def _check_modifiers(field: Field) -> None:
    known = set(field.modifiers)
    kinds = known & {*ORDER, *AFFIXES, *ALONE}
    encodings, changes = known & {*BASE64}, known & {"windash", *ENCODED}
    is_wrong = (
        len(kinds) > 1
        or len(encodings) > 1
        or (kinds - {*AFFIXES} and changes)
        or (known & {*WIDE} and not encodings)
        or (known & {*FLAGS} and "re" not in known)
        or ("exists" in known and len(known) > 1)
    )
    if is_wrong:
        raise field.key.error("sigma-rule", "these modifiers do not go together")


def _is_plain(value: Scalar, field: Field) -> bool:
    """Whether a value can be in an IN list."""
    if any(each != "cased" for each in field.modifiers) or value is None:
        return False
    if isinstance(value, str):
        return not _has_wildcards(value)
    return not isinstance(value, bool)


def _membership(field: Field, values: Sequence[YamlPart], negated: bool) -> ast.Expression:
    operand: ast.Expression = field.attribute
    literals = list[ast.Expression]()
    for part in values:
        if isinstance(part.value, str):
            operand, literal = field.folded(_unescaped(part.value))
            literals.append(literal)
        else:
            literals.append(_literal(part))
    distinct = tuple(dict.fromkeys(literals))
    return _or_null(field, ast.Membership(operand, distinct, negated), negated)


def _or_null(field: Field, atom: ast.Expression, negated: bool) -> ast.Expression:
    return ast.Or((ast.NullTest(field.attribute), atom)) if negated else atom


def _literal(part: YamlPart) -> ast.Expression:
    match value := part.value:
        case bool():
            return ast.Boolean(value)
        case int() if abs(value) < 2**63:
            return ast.Integer(value) if value >= 0 else ast.Negative(ast.Integer(-value))
        case float() if isfinite(value):
            number = ast.Float(Decimal(repr(abs(value))))
            return number if value >= 0 else ast.Negative(number)
    written = on_one_line(str(part.node.value), WORDS)
    raise part.error("sigma-no-equal", f"there is no number {written} in a script")


# ---------------------------------------------------------------- one value


def _value(field: Field, part: YamlPart, value: Scalar) -> Condition:
    affix = next((AFFIXES[each] for each in field.modifiers if each in AFFIXES), None)
    order = next((ORDER[each] for each in field.modifiers if each in ORDER), None)
    if "exists" in field.modifiers:
        if not isinstance(value, bool):
            raise part.error("sigma-rule", "`exists` is true or false")
        return lambda negated: ast.NullTest(field.attribute, negated=value != negated)
    if "fieldref" in field.modifiers:
        return partial(_same, field, replace(field, name=part.text("a field")))
    if "cidr" in field.modifiers:
        return _within(field, part)
    if "re" in field.modifiers:
        pattern = _regular(field, part.text("a regular expression"))
        problem = regular_expressions.problem(pattern.value)
        if problem is not None:
            raise part.error("sigma-no-equal", problem)
        return partial(_matched, field, pattern)
    changed = _changed(field, part, value)
    if changed is not None:
        return _several([_text(field, affix, each) for each in changed], is_all=False)
    if order is not None:
        if isinstance(value, bool | str | None):
            raise part.error("sigma-rule", "this modifier compares with a number")
        return partial(_comparison, field, order, field.attribute, _literal(part))
    if affix is not None:
        if value is None or isinstance(value, bool):
            raise part.error("sigma-rule", "this modifier compares with a text")
        return _text(field, affix, part.text("a text"))
    if value is None:
        return lambda negated: ast.NullTest(field.attribute, negated=negated)
    if not isinstance(value, str):
        return partial(_comparison, field, "=", field.attribute, _literal(part))
    return _text(field, None, value)


def _text(field: Field, affix: tuple[str, str] | None, text: str) -> Condition:
    """The comparison with a text, which may have wildcards or be a part."""
    if affix is not None:
        return partial(_like, field, affix[0] + _pattern(text) + affix[1])
    if _has_wildcards(text):
        return partial(_like, field, _pattern(text))
    return partial(_comparison, field, "=", *field.folded(_unescaped(text)))


def _changed(field: Field, part: YamlPart, value: Scalar) -> list[str] | None:
    """The texts that modifiers make of a text; None without such modifiers."""
    known = field.modifiers
    if not {"windash", *ENCODED} & {*known}:
        return None
    if not isinstance(value, str):
        raise part.error("sigma-rule", "this modifier changes a text")
    texts = with_dashes(value) if "windash" in known else [value]
    if {*ENCODED} & {*known}:
        if _has_wildcards(value):
            raise part.error("sigma-rule", "a text with wildcards has no encoding")
        texts = [each for text in texts for each in encoded(_unescaped(text), known)]
    return texts


def _within(field: Field, part: YamlPart) -> Condition:
    """Whether an address is of a range."""
    try:
        found = addresses_of(part.text("a range of addresses"))
    except ValueError as problem:
        message = f"only ranges of IPv4 have an equal in a script: {problem}"
        raise part.error("sigma-no-equal", message) from problem
    return _several([_text(field, None, each) for each in found], is_all=False)


def _comparison(
    field: Field,
    operator: ast.ComparisonOperator,
    left: ast.Expression,
    right: ast.Expression,
    negated: bool,
) -> ast.Expression:
    asked = ast.Comparison(NEGATED[operator] if negated else operator, left, right)
    return _or_null(field, asked, negated)


def _regular(field: Field, pattern: str) -> ast.String:
    """A regular expression with its flags."""
    flags = "".join(dict.fromkeys(FLAGS[each] for each in field.modifiers if each in FLAGS))
    return ast.String(f"(?{flags}){pattern}" if flags else pattern)


def _matched(field: Field, pattern: ast.String, negated: bool) -> ast.Expression:
    found: ast.Expression = ast.Call(ast.Name("regexp_matches"), (field.attribute, pattern))
    return _or_null(field, ast.Not(found) if negated else found, negated)


def _same(field: Field, other: Field, negated: bool) -> ast.Expression:
    """Whether two fields are equal; a missing one is not."""
    if not negated:
        return ast.Comparison("=", field.attribute, other.attribute)
    missing = tuple(ast.NullTest(each.attribute) for each in (field, other))
    return ast.Or((*missing, ast.Comparison("!=", field.attribute, other.attribute)))


def _like(field: Field, pattern: str, negated: bool) -> ast.Expression:
    operand, text = field.folded(pattern)
    return _or_null(field, ast.Like(operand, text, negated), negated)


def _has_wildcards(text: str) -> bool:
    return any(found[2] for found in _SIGNS.finditer(text))


def _unescaped(text: str) -> str:
    return _SIGNS.sub(lambda found: found[1] or found[2], text)


def _pattern(text: str) -> str:
    """A text as a LIKE pattern: `*` and `?` become `%` and `_`."""
    pattern, place = "", 0
    for found in _SIGNS.finditer(text):
        pattern += _escaped(text[place : found.start()])
        pattern += _escaped(found[1]) if found[1] else {"*": "%", "?": "_"}[found[2]]
        place = found.end()
    return pattern + _escaped(text[place:])


def _escaped(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)
