"""Print a syntax tree on one line that parses to an equal tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from sase.base.paths import path_of
from sase.lang import ast
from sase.lang.ast import StrategyName

# ---------------------------------------------------------------- names

# Keywords at places where the grammar also allows a name. Names after a dot or a colon are never
# keywords, so that `x.limit` needs no backquotes.
_KEYWORDS = (
    "and any as between false having ilike in is like limit not null or return true where with"
    " within"
)
RESERVED = frozenset([*_KEYWORDS.split(), *(strategy.value for strategy in StrategyName)])

_PLAIN = re.compile(r"[^\W\d]\w*")
_HYPHENATED = re.compile(r"[^\W\d]\w*(-\w+)*")


def spelled(name: str) -> str:
    """A name in a condition or a clause."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def _spelled_test(name: str) -> str:
    """A name in an equivalence test."""
    path = path_of(name)
    if path is None or path.member is not None:
        return spelled(name)
    return spelled(path.column) + str(path._replace(column="x"))[1:]


def spelled_field(name: str) -> str:
    """A name after a dot."""
    path = path_of(name)
    is_whole = _PLAIN.fullmatch(name) or (path is not None and path.member is None)
    return name if is_whole else _quoted(name)


def _spelled_of_series(name: str) -> str:
    """A name after an index: `a[1].b.c` may be of an iteration, so a field needs backquotes."""
    path = path_of(name)
    has_fields = path is not None and any(isinstance(step, str) for step in path.steps)
    return _quoted(name) if has_fields else spelled_field(name)


def spelled_type(name: str) -> str:
    """A type name in the EVENT clause, where hyphens are allowed."""
    return name if _HYPHENATED.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


# ---------------------------------------------------------------- printer

# The precedence of nodes; all others are atoms.
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
    ast.AtZone: 8,
}
ATOM = 9


def to_text(node: ast.Node) -> str:
    """The text of a node on one line."""
    return _writer(node)(node)


def bracketed(node: ast.Node, loosest: int) -> str:
    """The text of an operand, in brackets if its precedence is too low for its place."""
    # A direct call of the writer: fewer stack frames for deep trees.
    text = _writer(node)(node)
    # `-` and `%` after a percentage would parse as a modulo, and `--` begins a comment.
    alone = isinstance(node, ast.Percentage)
    return f"({text})" if alone or LEVELS.get(type(node), ATOM) < loosest else text


def _listed(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(map(to_text, nodes))


def _literal(node: Any) -> str:
    match node:
        case ast.Integer(value=value):
            return str(value)
        case ast.Float(value=value):
            digits = str(value).replace("E+", "e").replace("E", "e")
            return digits if "." in digits or "e" in digits else f"{digits}.0"
        case ast.String(value=value):
            return "'{}'".format(value.replace("'", "''"))
        case ast.Boolean(value=value):
            return "TRUE" if value else "FALSE"
        case ast.Timestamp(text=text):
            return f"TIMESTAMP {to_text(ast.String(text))}"
        case ast.Date(text=text):
            return f"DATE {to_text(ast.String(text))}"
        case ast.ClockTime(text=text):
            return f"TIME {to_text(ast.String(text))}"
        case ast.Interval(amount=amount, unit=unit):
            return f"{to_text(amount)} {unit.text}"
        case ast.Percentage(amount=ast.Integer(value=value)):
            return f"{value}%"
        case ast.Percentage(amount=amount):
            digits = format(amount.value, "f")  # percentages have no exponent
            return f"{digits if '.' in digits else digits + '.0'}%"
        case ast.Parameter(name=name):
            return f":{name if _PLAIN.fullmatch(name) else _quoted(name)}"
    return "NULL"


def _value(node: Any) -> str:
    match node:
        case ast.Attribute(name=name, variable=None):
            return to_text(name)
        case ast.Attribute(name=name, variable=ast.Name() as variable):
            return f"{to_text(variable)}.{spelled_field(name.text)}"
        case ast.AllAttributes(variable=variable):
            return f"{to_text(variable)}.*"
        case ast.Index(kind=kind, text=text):
            return text if kind is ast.IndexKind.OTHER else kind.value
        case ast.Indexed():
            names = ", ".join(_spelled_of_series(name.text) for name in node.attributes)
            attributes = f".({names})" if node.others else f".{names}" if names else ""
            return f"{_indexed(node.variable, node.index)}{attributes}"
        case ast.InGroup(group=group, index=index, reference=reference):
            return f"{_indexed(group, index)}.{to_text(reference)}"
        case ast.Call(function=function, arguments=arguments):
            return f"{to_text(function)}({_listed(arguments)})"
        case ast.Case(conditions=conditions, values=values, otherwise=otherwise):
            pairs = zip(conditions, values, strict=True)
            whens = [f"WHEN {condition_text(c)} THEN {_before_when(v)}" for c, v in pairs]
            whens += [] if otherwise is None else [f"ELSE {condition_text(otherwise)}"]
            return " ".join(["CASE", *whens, "END"])
        case ast.AtZone(operand=operand, zone=zone):
            return f"{bracketed(operand, LEVELS[ast.AtZone])} AT TIME ZONE {to_text(zone)}"
        case ast.Negative(operand=operand):
            text = bracketed(operand, LEVELS[ast.Negative])
            return f"-({text})" if text.startswith("-") else f"-{text}"
    loosest = LEVELS[type(node)] + 1
    operands = [bracketed(operand, loosest) for operand in node.operands]
    for place, operator in enumerate(node.operators):
        if operator in "*/" and isinstance(node.operands[place], ast.Percentage):
            operands[place] = to_text(node.operands[place])
    rest = chain.from_iterable(zip(node.operators, operands[1:], strict=True))
    return " ".join([operands[0], *rest])


def _before_when(node: ast.Expression) -> str:
    """A value that WHEN may follow: an attribute `case` would begin another CASE."""
    text = condition_text(node)
    return f"({text})" if text.lower().endswith("case") else text


def _indexed(series: ast.Name, index: ast.Index) -> str:
    name = to_text(series)
    is_last = index.kind is ast.IndexKind.LAST
    return f"{name}[{f'{name}.len' if is_last else to_text(index)}]"


def _condition(node: Any) -> str:
    no = "NOT " if getattr(node, "negated", False) else ""
    match node:
        case ast.Comparison(operator=operator, left=left, right=right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case ast.Membership(operand=operand, values=(ast.Parameter() as one,)):
            return f"{_operand(operand)} {no}IN {to_text(one)}"
        case ast.Membership(operand=operand, values=values):
            return f"{_operand(operand)} {no}IN ({_listed(values)})"
        case ast.Between(operand=operand, low=low, high=high):
            return f"{_operand(operand)} {no}BETWEEN {_operand(low)} AND {_operand(high)}"
        case ast.Like(operand=operand, pattern=pattern, in_any_case=in_any_case):
            word = "ILIKE" if in_any_case else "LIKE"
            return f"{_operand(operand)} {no}{word} {to_text(pattern)}"
        case ast.NullTest(operand=operand):
            return f"{_operand(operand)} IS {no}NULL"
        case ast.Equivalence(tests=tests):
            return f"[{_listed(tests)}]"
        case ast.Not(operand=operand):
            return f"NOT {bracketed(operand, LEVELS[ast.Not])}"
    word = " AND " if isinstance(node, ast.And) else " OR "
    loosest = LEVELS[type(node)] + 1
    return word.join([bracketed(operand, loosest) for operand in node.operands])


def _operand(node: ast.Expression) -> str:
    return bracketed(node, LEVELS[ast.Sum])


def _pattern(node: Any) -> str:
    match node:
        case ast.TypeTest(name=name):
            return spelled_type(name.text)
        case ast.AnyTest(names=names):
            listed = ", ".join(spelled_type(name.text) for name in names)
            return f"ANY({listed})" if listed else "ANY"
        case ast.Quantifier(symbol=symbol, minimum=least, maximum=most):
            return bounds_text(least, most) if symbol == "{}" else symbol
        case ast.Component():
            text = to_text(node.test) + _declared(node)
            return f"!({text})" if node.negated else text
        case ast.Group():
            return f"{'!' if node.negated else ''}({to_text(node.pattern)}){_declared(node)}"
        case ast.SetOf(members=members):
            return f"{'!' if node.negated else ''}SET({_listed(members)})"
        case ast.Sequence(parts=parts):
            return f"SEQ({_listed(parts)})"
    return " OR ".join(map(to_text, node.patterns))


def bounds_text(least: int, most: int | None) -> str:
    """The least and greatest number of events of a series, as a quantifier."""
    return f"{{{least}}}" if most == least else f"{{{least},{'' if most is None else most}}}"


def _declared(node: ast.Component | ast.Group) -> str:
    """The quantifier and variable of a component; a series is marked."""
    quantifier = to_text(node.quantifier) if node.quantifier else ""
    is_list = quantifier not in ("", "?")
    variable = f" {to_text(node.variable)}{'[]' if is_list else ''}" if node.variable else ""
    return quantifier + variable


def _clause(node: Any) -> str:
    match node:
        case ast.Name(text=text):
            return spelled(text)
        case ast.EqualAttribute(attribute=attribute, value=value):
            written = _spelled_test(attribute.text)
            return written + (f" = {to_text(value)}" if value is not None else "")
        case ast.Strategy(name=name, variables=variables):
            return name.value + (f"({_listed(variables)})" if variables else "")
        case ast.Window():
            return _window(node)
        case ast.Confidence(threshold=threshold, strict=strict):
            return f"CONFIDENCE {'>' if strict else '>='} {to_text(threshold)}"
        case ast.OutputItem(expression=expression, alias=alias):
            return condition_text(expression) + (f" AS {to_text(alias)}" if alias else "")
        case ast.Output(items=items, type_name=name):
            return f"{to_text(name)}({_listed(items)})" if name else _listed(items)
        case ast.Query():
            return _query(node)
        case ast.Statement(query=query, stream=stream):
            return (f"CREATE STREAM {to_text(stream)} AS " if stream else "") + to_text(query)
        case ast.Script(statements=statements):
            return "; ".join(map(to_text, statements))
    raise TypeError(f"not a syntax node: {node!r}")


def _window(node: ast.Window) -> str:
    words = [to_text(node.amount)]
    words += [node.unit.text] if node.unit else []
    words += ["EVENTS"] if node.events else []
    words += ["PER PARTITION"] if node.per_partition else []
    words += ["INCLUSIVE"] if node.inclusive else []
    return " ".join(words)


def _query(node: ast.Query) -> str:
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


def condition_text(node: ast.Expression | None) -> str:
    """The text of a whole clause's condition or value; empty for None."""
    return "" if node is None else bracketed(node, LEVELS[ast.Or])


def strategy_text(query: ast.Query) -> str:
    """The strategy with its variables; series are marked."""
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
    """The text of a WHERE clause without its keyword; empty without one."""
    condition, strategy = condition_text(query.where), strategy_text(query)
    if not strategy:
        return condition
    return f"{strategy} {{ {condition} }}" if condition else strategy


_WRITERS: dict[type[ast.Node], Callable[[Any], str]] = {
    **dict.fromkeys(ast.LITERALS, _literal),
    **dict.fromkeys(ast.VALUES, _value),
    **dict.fromkeys(ast.CONDITIONS, _condition),
    **dict.fromkeys(ast.PATTERNS, _pattern),
}


def _writer(node: ast.Node) -> Callable[[Any], str]:
    return _WRITERS.get(type(node), _clause)
