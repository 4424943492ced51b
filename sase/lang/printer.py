"""Print a syntax tree on one line that parses back to an equal tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import singledispatch
from itertools import chain
from math import isinf

from sase.lang import ast
from sase.lang.names import spelled, spelled_field, spelled_type

# How tightly a node binds; whatever is not listed is an atom.
LEVELS: dict[type[ast.Node], int] = {
    ast.Or: 1,
    ast.And: 2,
    ast.Not: 3,
    ast.Comparison: 4,
    ast.Membership: 4,
    ast.Between: 4,
    ast.Like: 4,
    ast.NullTest: 4,
    ast.Equivalence: 4,
    ast.Sum: 5,
    ast.Product: 6,
    ast.Negative: 7,
}
ATOM = 8


@singledispatch
def to_text(node: ast.Node) -> str:
    """The text of a node on one line."""
    raise TypeError(f"not a syntax node: {node!r}")


def bracketed(node: ast.Node, loosest: int) -> str:
    """The text of an operand, in brackets if it binds more loosely than its place allows."""
    # Straight to the function of the node: every frame saved here is one less in a deep tree.
    text = to_text.dispatch(type(node))(node)
    # `-` and `%` after a percentage would make a modulo of it; `--` would begin a comment.
    alone = isinstance(node, ast.Percentage)
    return f"({text})" if alone or LEVELS.get(type(node), ATOM) < loosest else text


def _listed(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(map(to_text, nodes))


# ---------------------------------------------------------------- names and literals


@to_text.register
def _(node: ast.Name) -> str:
    return spelled(node.text)


@to_text.register
def _(node: ast.Integer) -> str:
    return str(node.value)


@to_text.register
def _(node: ast.Float) -> str:
    return "1e999" if isinf(node.value) else repr(node.value)


@to_text.register
def _(node: ast.String) -> str:
    return "'{}'".format(node.value.replace("'", "''"))


@to_text.register
def _(node: ast.Boolean) -> str:
    return "TRUE" if node.value else "FALSE"


@to_text.register
def _(node: ast.Null) -> str:
    return "NULL"


@to_text.register
def _(node: ast.Timestamp) -> str:
    return f"TIMESTAMP {to_text(ast.String(node.text))}"


@to_text.register
def _(node: ast.Date) -> str:
    return f"DATE {to_text(ast.String(node.text))}"


@to_text.register
def _(node: ast.Interval) -> str:
    return f"{to_text(node.amount)} {node.unit.text}"


@to_text.register
def _(node: ast.Percentage) -> str:
    if isinstance(node.amount, ast.Integer):
        return f"{node.amount.value}%"
    digits = format(Decimal(repr(node.amount.value)), "f")  # a percentage has no exponent
    return f"{digits if '.' in digits else digits + '.0'}%"


@to_text.register
def _(node: ast.Parameter) -> str:
    return f":{spelled_field(node.name)}"


# ---------------------------------------------------------------- expressions


@to_text.register
def _(node: ast.Attribute) -> str:
    if node.variable is None:
        return to_text(node.name)
    return f"{to_text(node.variable)}.{spelled_field(node.name.text)}"


@to_text.register
def _(node: ast.Index) -> str:
    return node.text if node.kind is ast.IndexKind.OTHER else node.kind.value


@to_text.register
def _(node: ast.Indexed) -> str:
    variable = to_text(node.variable)
    is_last = node.index.kind is ast.IndexKind.LAST
    index = f"{variable}.len" if is_last else to_text(node.index)
    attribute = f".{spelled_field(node.attribute.text)}" if node.attribute else ""
    return f"{variable}[{index}]{attribute}"


@to_text.register
def _(node: ast.Call) -> str:
    return f"{to_text(node.function)}({_listed(node.arguments)})"


@to_text.register
def _(node: ast.Negative) -> str:
    operand = bracketed(node.operand, LEVELS[ast.Negative])
    return f"-({operand})" if operand.startswith("-") else f"-{operand}"


@to_text.register
def _(node: ast.Sum | ast.Product) -> str:
    loosest = LEVELS[type(node)] + 1
    operands = [bracketed(operand, loosest) for operand in node.operands]
    for place, operator in enumerate(node.operators):
        if operator in "*/" and isinstance(node.operands[place], ast.Percentage):
            operands[place] = to_text(node.operands[place])
    rest = chain.from_iterable(zip(node.operators, operands[1:], strict=True))
    return " ".join([operands[0], *rest])


# ---------------------------------------------------------------- conditions


@to_text.register
def _(node: ast.Comparison) -> str:
    left, right = bracketed(node.left, LEVELS[ast.Sum]), bracketed(node.right, LEVELS[ast.Sum])
    return f"{left} {node.operator} {right}"


def _tested(node: ast.Membership | ast.Between | ast.Like, word: str) -> str:
    return f"{bracketed(node.operand, LEVELS[ast.Sum])} {'NOT ' if node.negated else ''}{word}"


@to_text.register
def _(node: ast.Membership) -> str:
    return f"{_tested(node, 'IN')} ({_listed(node.values)})"


@to_text.register
def _(node: ast.Between) -> str:
    low, high = bracketed(node.low, LEVELS[ast.Sum]), bracketed(node.high, LEVELS[ast.Sum])
    return f"{_tested(node, 'BETWEEN')} {low} AND {high}"


@to_text.register
def _(node: ast.Like) -> str:
    return f"{_tested(node, 'LIKE')} {to_text(node.pattern)}"


@to_text.register
def _(node: ast.NullTest) -> str:
    operand = bracketed(node.operand, LEVELS[ast.Sum])
    return f"{operand} IS {'NOT ' if node.negated else ''}NULL"


@to_text.register
def _(node: ast.EqualAttribute) -> str:
    value = f" = {to_text(node.value)}" if node.value is not None else ""
    return to_text(node.attribute) + value


@to_text.register
def _(node: ast.Equivalence) -> str:
    return f"[{_listed(node.tests)}]"


@to_text.register
def _(node: ast.Not) -> str:
    return f"NOT {bracketed(node.operand, LEVELS[ast.Not])}"


@to_text.register
def _(node: ast.And) -> str:
    return " AND ".join([bracketed(operand, LEVELS[ast.Not]) for operand in node.operands])


@to_text.register
def _(node: ast.Or) -> str:
    return " OR ".join([bracketed(operand, LEVELS[ast.And]) for operand in node.operands])


# ---------------------------------------------------------------- patterns


@to_text.register
def _(node: ast.TypeTest) -> str:
    return spelled_type(node.name.text)


@to_text.register
def _(node: ast.AnyTest) -> str:
    names = ", ".join(spelled_type(name.text) for name in node.names)
    return f"ANY({names})" if names else "ANY"


@to_text.register
def _(node: ast.Quantifier) -> str:
    if node.symbol != "{}":
        return node.symbol
    if node.maximum == node.minimum:
        return f"{{{node.minimum}}}"
    return f"{{{node.minimum},{'' if node.maximum is None else node.maximum}}}"


@to_text.register
def _(node: ast.Component) -> str:
    text = to_text(node.test) + _declared(node)
    return f"!({text})" if node.negated else text


@to_text.register
def _(node: ast.Group) -> str:
    return f"{'!' if node.negated else ''}({to_text(node.pattern)}){_declared(node)}"


def _declared(node: ast.Component | ast.Group) -> str:
    """The quantifier and the variable of a component; a series shows that it is one."""
    quantifier = to_text(node.quantifier) if node.quantifier else ""
    is_list = quantifier not in ("", "?")
    variable = f" {to_text(node.variable)}{'[]' if is_list else ''}" if node.variable else ""
    return quantifier + variable


@to_text.register
def _(node: ast.SetOf) -> str:
    return f"{'!' if node.negated else ''}SET({_listed(node.members)})"


@to_text.register
def _(node: ast.Sequence) -> str:
    return f"SEQ({_listed(node.parts)})"


@to_text.register
def _(node: ast.Alternatives) -> str:
    return " OR ".join(map(to_text, node.patterns))


# ---------------------------------------------------------------- clauses, queries, scripts


@to_text.register
def _(node: ast.Strategy) -> str:
    return node.name.value + (f"({_listed(node.variables)})" if node.variables else "")


@to_text.register
def _(node: ast.Window) -> str:
    words = [to_text(node.amount)]
    words += [node.unit.text] if node.unit else []
    words += ["EVENTS"] if node.events else []
    words += ["PER PARTITION"] if node.per_partition else []
    words += ["INCLUSIVE"] if node.inclusive else []
    return " ".join(words)


@to_text.register
def _(node: ast.Confidence) -> str:
    return f"CONFIDENCE >= {to_text(node.threshold)}"


@to_text.register
def _(node: ast.OutputItem) -> str:
    return condition_text(node.expression) + (f" AS {to_text(node.alias)}" if node.alias else "")


@to_text.register
def _(node: ast.Output) -> str:
    items = _listed(node.items)
    return f"{to_text(node.type_name)}({items})" if node.type_name else items


def condition_text(node: ast.Expression | None) -> str:
    """The text of a condition or a value that fills a clause; empty where there is none."""
    return "" if node is None else bracketed(node, LEVELS[ast.Or])


def strategy_text(query: ast.Query) -> str:
    """The strategy with its variables, a series written as one."""
    if query.strategy is None or not query.strategy.variables:
        return query.strategy.name.value if query.strategy else ""
    series = set(_series(query.pattern))
    names = [
        to_text(name) + ("[]" if name.text in series else "") for name in query.strategy.variables
    ]
    return f"{query.strategy.name.value}({', '.join(names)})"


def _series(pattern: ast.Pattern) -> Iterator[str]:
    match pattern:
        case ast.Component() | ast.Group():
            if pattern.variable and pattern.quantifier and pattern.quantifier.symbol != "?":
                yield pattern.variable.text
            if isinstance(pattern, ast.Group):
                yield from _series(pattern.pattern)
        case ast.Sequence(parts=parts) | ast.SetOf(members=parts):
            for part in parts:
                yield from _series(part)
        case ast.Alternatives(patterns=patterns):
            for alternative in patterns:
                yield from _series(alternative)


def qualification(query: ast.Query) -> str:
    """The text of a WHERE clause without its keyword; empty where there is none."""
    condition, strategy = condition_text(query.where), strategy_text(query)
    if not strategy:
        return condition
    return f"{strategy} {{ {condition} }}" if condition else strategy


@to_text.register
def _(node: ast.Query) -> str:
    clauses = [
        ("FROM", _listed(node.sources)),
        ("EVENT", to_text(node.pattern)),
        ("WHERE", qualification(node)),
        ("WITHIN", to_text(node.window) if node.window else ""),
        ("WITH", to_text(node.confidence) if node.confidence else ""),
        ("HAVING", condition_text(node.having)),
        ("RETURN", to_text(node.output) if node.output else ""),
        ("LIMIT", to_text(node.limit) if node.limit is not None else ""),
    ]
    return " ".join(f"{keyword} {text}" for keyword, text in clauses if text)


@to_text.register
def _(node: ast.Statement) -> str:
    stream = f"CREATE STREAM {to_text(node.stream)} AS " if node.stream else ""
    return stream + to_text(node.query)


@to_text.register
def _(node: ast.Script) -> str:
    return "; ".join(map(to_text, node.statements))
