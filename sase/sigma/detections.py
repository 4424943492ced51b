"""Convert a detection to a condition on one event.

Sigma's logic is two-valued: a search for a missing field fails, and its negation holds. So `not` is
pushed down to single fields, where it becomes `IS NULL OR …`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from math import isfinite

from sase.errors import WORDS
from sase.lang import ast
from sase.printable import on_one_line
from sase.sigma.conditions import AllOf, ConditionReader, Negated, OneOf, SearchName, Tree
from sase.sigma.documents import Scalar, YamlPart

EVENT = "e"
NEGATED: dict[str, ast.ComparisonOperator] = {
    "=": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip
ORDER: dict[str, ast.ComparisonOperator] = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
AFFIXES = {"contains": ("%", "%"), "startswith": ("", "%"), "endswith": ("%", "")}
MODIFIERS = (*ORDER, *AFFIXES, "all", "cased", "exists", "neq")
_SIGNS = re.compile(r"\\([*?\\])|([*?])", re.DOTALL)

# Makes a condition, or its negation.
Condition = Callable[[bool], ast.Expression]


def condition_of(detection: YamlPart) -> ast.Expression:
    """The condition on an event for a detection."""
    searches = detection.fields("a detection")
    written = searches.pop("condition", None)
    if "timeframe" in searches:
        message = "a time frame of a detection has no equal in a script"
        raise searches["timeframe"].error("sigma-no-equal", message, "write a correlation")
    if written is None:
        raise detection.error("sigma-rule", "a detection has a condition, and this has none")
    trees = [ConditionReader(each, searches).read() for each in written.items()]
    conditions = {name: _search(part) for name, part in searches.items()}
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


def _search(part: YamlPart) -> Condition:
    """AND over the fields of a mapping, OR over a list of mappings."""
    if part.is_list:
        return _several([_search(each) for each in part.items()], is_all=False)
    if not part.is_mapping:
        raise _keywords(part)
    fields = [_field(key, value) for key, value in part.entries()]
    if not fields:
        raise part.error("sigma-rule", "this search has no fields")
    return _several(fields, is_all=True)


def _keywords(part: YamlPart) -> Exception:
    message = "a search in the whole message has no equal in a script"
    return part.error("sigma-no-equal", message, "name the fields that may have it")


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


def _field(key: YamlPart, values: YamlPart) -> Condition:
    name, *modifiers = key.text("a field").split("|")
    if not name:
        raise _keywords(key)
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
    kinds = [each for each in field.modifiers if each in ORDER or each in AFFIXES]
    if len(kinds) > 1 or "exists" in field.modifiers and len(field.modifiers) > 1:
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
    if order is not None:
        if isinstance(value, bool | str | None):
            raise part.error("sigma-rule", "this modifier compares with a number")
        return partial(_comparison, field, order, field.attribute, _literal(part))
    if affix is not None:
        if value is None or isinstance(value, bool):
            raise part.error("sigma-rule", "this modifier compares with a text")
        return partial(_like, field, affix[0] + _pattern(part.text("a text")) + affix[1])
    if value is None:
        return lambda negated: ast.NullTest(field.attribute, negated=negated)
    if not isinstance(value, str):
        return partial(_comparison, field, "=", field.attribute, _literal(part))
    if _has_wildcards(value):
        return partial(_like, field, _pattern(value))
    return partial(_comparison, field, "=", *field.folded(_unescaped(value)))


def _comparison(
    field: Field,
    operator: ast.ComparisonOperator,
    left: ast.Expression,
    right: ast.Expression,
    negated: bool,
) -> ast.Expression:
    asked = ast.Comparison(NEGATED[operator] if negated else operator, left, right)
    return _or_null(field, asked, negated)


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
