"""Type the expressions with a value, and fold their constant parts."""

# long because: it is the one recursion over the forms of an expression.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from reprlib import repr as brief
from typing import TYPE_CHECKING

from sase.base.limits import heed
from sase.base.texts import did_you_mean, nearest
from sase.base.time_zones import is_known, is_utc
from sase.base.time_zones import names as time_zones
from sase.binding.bound import (
    Aggregate,
    ConditionValue,
    Constant,
    Expression,
    MatchConfidence,
    Operation,
    Placeholder,
    Reference,
    Truth,
)
from sase.binding.names.group_references import (
    Range,
    attributes_of,
    bind_of_group,
    find_range,
    has_range,
    is_of_group,
    some_inner,
    variables_of,
)
from sase.binding.names.nested import member_of
from sase.binding.names.references import bind_attribute, bind_indexed, declared
from sase.binding.names.scope import Clause, Scope, is_unknown, unit_of_integer_time, unknown
from sase.binding.types import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    NUMBERS,
    STRING,
    TIMES,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    Kind,
    merged,
)
from sase.binding.values.folding import INT64_MAX, fold_operation
from sase.binding.values.functions import (
    AGGREGATES,
    FUNCTIONS,
    IN_ZONE,
    TRUNCATED_IN_ZONE,
    Function,
    is_of_time,
    shown,
    signed,
)
from sase.binding.values.literals import alike, beside, bind_literal, is_written
from sase.binding.values.other_languages import INSTEAD
from sase.binding.values.time_zones import warn_of_zones
from sase.lang import ast
from sase.lang.printer import spelled_field, to_text

if TYPE_CHECKING:
    from sase.binding.values.aggregates import UserAggregate


def bind_value(node: ast.Expression, scope: Scope) -> Expression:
    """The typed expression of a syntax node; after an error an unknown value."""
    return beside(bind_operand(node, scope), FLOAT)


def bind_operand(node: ast.Expression, scope: Scope) -> Expression:
    """Type an operand, in which literals with a decimal point stay exact."""
    heed()
    literal = bind_literal(node, scope)
    if literal is not None:
        return _checked_range(literal, scope)
    match node:
        case ast.Attribute(variable=variable) | ast.Indexed(variable=variable) if scope.lacks(
            variable
        ):
            return _absent(node, scope)
        case ast.InGroup() if any(map(scope.lacks, variables_of(node))):
            return _absent(node, scope)
        case ast.Attribute(variable=None, name=ast.Name("confidence")) if (
            scope.schema.is_imprecise and scope.clause in (Clause.HAVING, Clause.RETURN)
        ):
            return MatchConfidence(FLOAT, span=node.span)
        case ast.Attribute() | ast.Indexed() | ast.InGroup() if is_of_group(node, scope):
            return bind_of_group(node, scope)
        case ast.Attribute():
            return bind_attribute(node, scope)
        case ast.Indexed():
            return bind_indexed(node, scope)
        case ast.Negative():
            return _negative(node, scope)
        case ast.Sum() | ast.Product():
            return _chain(node, scope)
        case ast.Call():
            return _call(node, scope)
        case ast.Case():
            return _case(node, scope)
        case ast.AtZone():
            return _at_zone(node, scope)
    return scope.refuse(
        "condition-as-value",
        _IS_CONDITION,
        node.span,
        "conditions are joined with AND, OR and NOT; they are not compared or computed with",
        *joined_texts(node, scope),
    )


_IS_CONDITION = "this is a condition, and a value is needed here"


def joined_texts(node: ast.Expression, scope: Scope) -> Iterator[str]:
    """A remedy if `||` in or next to a value may be meant to concatenate texts."""
    text, (start, end) = scope.problems.source.text, node.span
    near = text[:start].rstrip()[-2:], text[end:].lstrip()[:2]
    if "||" in near or "||" in text[start:end]:
        yield "`||` is OR here; a text is joined with literals by  concat(x.a, 'abc')"


def _checked_range(literal: Expression, scope: Scope) -> Expression:
    if (
        isinstance(literal, Constant)
        and literal.value == INT64_MAX + 1
        and (literal.type == INTEGER)
    ):
        scope.problems.error(
            "integer-out-of-range",
            f"{literal.value} is beyond the integers of 64 bits",
            literal.span,
            f"the largest is {INT64_MAX}",
        )
    return literal


def _absent(node: ast.Expression, scope: Scope) -> Expression:
    """The value of a variable that a finished match's branch lacks: NULL, or length 0."""
    assert scope.whole is not None
    value = bind_value(node, scope.whole)
    is_count = isinstance(value, Aggregate) and value.function == "count"
    return Constant(value.type, 0 if is_count else None, span=node.span)


# The most terms of a sum or product: each becomes an operation nested in the next.
MOST_TERMS = 100


def _operation(
    name: str, data_type: DataType, operands: tuple[Expression, ...], node: ast.Node, scope: Scope
) -> Expression:
    """The operation, or its value if all operands are constants."""
    if any(map(is_unknown, operands)):
        return unknown(node)
    values = [operand.value for operand in operands if isinstance(operand, Constant)]
    if len(values) < len(operands):
        return Operation(data_type, name, operands, span=node.span)
    folded = fold_operation(name, values, bounded=data_type.kind not in TIMES)
    if folded is None and all(value is not None for value in values):
        reason = "it divides by zero, or leaves the integers of 64 bits"
        if name in FUNCTIONS and name != "abs":
            reason = f"{name} has no value for these arguments"
        scope.problems.warning("constant-is-null", f"this is always NULL: {reason}", node.span)
    return Constant(data_type, folded, span=node.span)


# ---------------------------------------------------------------- arithmetic


def _negative(node: ast.Negative, scope: Scope) -> Expression:
    literal = bind_literal(node.operand, scope)
    operand = literal if literal is not None else bind_operand(node.operand, scope)
    if not operand.type.is_number and operand.type.kind is not Kind.INTERVAL:
        message = f"a minus needs a number, and this is {operand.type.described()}"
        _mismatch(message, node, scope, "write a number without quotes")
        return unknown(node)
    data_type = operand.type if is_written(operand) else signed(operand.type)
    return _operation("neg", data_type, (operand,), node, scope)


def _chain(node: ast.Sum | ast.Product, scope: Scope) -> Expression:
    """`a + b - c` as binary operations, from left to right."""
    if len(node.operands) > MOST_TERMS:
        return scope.refuse(
            "too-many-terms",
            f"this has {len(node.operands)} terms, and at most {MOST_TERMS} can be computed with",
            node.span,
            "put values that belong together into a column of the input",
        )
    result, *others = [bind_value(operand, scope) for operand in node.operands]
    for operator, right in zip(node.operators, others, strict=True):
        result, right = on_raw_time(result, right, scope)
        data_type = arithmetic(operator, result.type, right.type)
        if data_type is None:
            both = f"{result.type.described()} and {right.type.described()}"
            hint = _arithmetic_hint(result.type, right.type)
            _mismatch(f"`{operator}` cannot join {both}", node, scope, hint)
            return unknown(node)
        if operator == "-":
            warn_of_zones((result, right), scope)
        result = _operation(operator, data_type, (result, right), node, scope)
    return result


def on_raw_time(left: Expression, right: Expression, scope: Scope) -> tuple[Expression, Expression]:
    """Convert an interval beside a number to raw units, if time is an integer."""
    if scope.schema.has_raw_time:
        if left.type.kind is Kind.INTERVAL and right.type.kind in NUMBERS:
            left = _raw(left, scope)
        elif right.type.kind is Kind.INTERVAL and left.type.kind in NUMBERS:
            right = _raw(right, scope)
    return left, right


def _raw(interval: Expression, scope: Scope) -> Expression:
    if not isinstance(interval, Constant) or not isinstance(interval.value, int):
        return interval
    if scope.schema.nanoseconds is None:
        unit_of_integer_time(interval.span, scope)
        return Placeholder(UNKNOWN, "", span=interval.span)
    units = Fraction(interval.value, scope.schema.nanoseconds)
    if abs(units) > INT64_MAX:
        scope.problems.error(
            "integer-out-of-range",
            "this interval is beyond the integers of 64 bits, in units of the time column",
            interval.span,
            f"integers go up to {INT64_MAX}",
        )
    elif units.denominator == 1:
        return Constant(INTEGER, int(units), span=interval.span, interval=interval.value)
    return Constant(FLOAT, float(units), span=interval.span, interval=interval.value)


def arithmetic(operator: str, left: DataType, right: DataType) -> DataType | None:
    """The type of an operator's result; None if the operator does not accept the operands."""
    kinds = (left.kind, right.kind)
    if Kind.UNKNOWN in kinds and not {Kind.STRING, Kind.BOOLEAN, Kind.OTHER} & set(kinds):
        return UNKNOWN
    if Kind.NULL in kinds and {*kinds} <= {*NUMBERS, *TIMES, Kind.NULL}:
        return NULL  # NULL propagates through every operator
    if left.is_number and right.is_number:
        if operator == "/":
            return FLOAT
        both = merged([left, right])
        return FLOAT if both.kind in (Kind.DECIMAL, Kind.FLOAT) else both
    times = {TIMESTAMP.kind, INTERVAL.kind, Kind.NULL}
    if operator not in "+-" or not set(kinds) <= times:
        return None
    match operator, *kinds:
        case "-", Kind.TIMESTAMP, Kind.TIMESTAMP:
            return INTERVAL
        case "+", Kind.TIMESTAMP, Kind.TIMESTAMP:
            return None
        case _, Kind.TIMESTAMP, _:
            return left
        case "+", _, Kind.TIMESTAMP:
            return right
        case _, _, Kind.TIMESTAMP:
            return None
    return INTERVAL


def _arithmetic_hint(left: DataType, right: DataType) -> str:
    kinds = {left.kind, right.kind}
    if Kind.TIMESTAMP in kinds and kinds & {Kind.INTEGER, Kind.FLOAT}:
        return "add or subtract an interval, such as  5 minutes"
    if Kind.INTERVAL in kinds and kinds & {Kind.INTEGER, Kind.FLOAT}:
        return "an interval is added to a timestamp; on integer time write plain numbers"
    return "arithmetic is on numbers; two timestamps can be subtracted"


def _mismatch(message: str, node: ast.Node, scope: Scope, *hints: str) -> None:
    scope.problems.error("incompatible-types", message, node.span, *hints)


# ---------------------------------------------------------------- functions and aggregates


def _call(node: ast.Call, scope: Scope) -> Expression:
    name = node.function.text
    function = FUNCTIONS.get(name)
    if name in AGGREGATES or (function is None and _added(name)):
        return _aggregate(node, scope)
    if function is None:
        _unknown_function(node, scope)
        return unknown(node)
    if (counts := _counts(function, len(node.arguments))) is not None:
        return scope.refuse(
            "wrong-arguments",
            f"{name} takes {counts}, and {_here(len(node.arguments))}",
            node.span,
            f"it is called as  {function.form}",
        )
    if function.as_case is not None:
        return _case(replace(function.as_case(*node.arguments), span=node.span), scope)
    if function.is_reference:
        return _membership(node, function, scope)
    bind = bind_operand if function.is_choice else bind_value
    operands = tuple(bind(argument, scope) for argument in node.arguments)
    if function.is_choice:
        operands = alike(_on_one_clock(operands, scope))
        warn_of_zones(operands, scope)
    return _function(name, operands, node, scope)


def _membership(node: ast.Call, function: Function, scope: Scope) -> Expression:
    """`list_contains(x.tags, 'a')`: a reference to a value that is computed as events are read."""
    listed, member = node.arguments
    name = node.function.text
    problems = len(scope.problems.found)
    value, given = bind_operand(listed, scope), bind_operand(member, scope)
    if len(scope.problems.found) > problems:
        return unknown(node)
    is_list = function.wrong([value.type]) is None
    if not is_list or not isinstance(listed, ast.Attribute | ast.Indexed | ast.InGroup):
        return scope.refuse(
            "incompatible-types",
            f"{name} takes a list of an event, and this is {value.type.described()}",
            listed.span,
            f"it is called as  {function.form}",
        )
    is_plain = given.type.kind in (Kind.STRING, Kind.BOOLEAN, *NUMBERS)
    if not (isinstance(given, Constant) and is_plain and function.options[0].accepts(given.value)):
        return scope.refuse(
            "wrong-arguments",
            f"{name} takes {function.options[0].described} here, as a literal or a parameter",
            member.span,
            f"it is called as  {function.form}",
        )
    element = next((kind for _, kind in value.type.parts), UNKNOWN)
    if not element.compares_with(given.type):
        return scope.refuse(
            "incompatible-types",
            f"an element of the list is {element.described()}, and this {given.type.described()}",
            member.span,
            f"it is called as  {function.form}",
        )
    return replace(bind_operand(member_of(listed, given.value), scope), span=node.span)


def _at_zone(node: ast.AtZone, scope: Scope) -> Expression:
    """A time as clocks of a zone show it."""
    value, zone = bind_value(node.operand, scope), bind_value(node.zone, scope)
    is_known_time = isinstance(value, Constant) and value.type.kind is Kind.TIMESTAMP
    if value.type.zoned is False or (is_known_time and not value.type.zoned):
        return scope.refuse(
            "time-zone",
            "AT TIME ZONE is of a time with a zone, and this has none",
            node.operand.span,
            "a time without a zone is as its clock showed it: its parts need no zone",
        )
    if isinstance(value, Reference | Aggregate):  # which may have another zone in other events
        value = replace(value, type=replace(value.type, zone=None))
    if isinstance(zone, Constant) and isinstance(zone.value, str) and not is_known(zone.value):
        return scope.refuse(
            "time-zone",
            f"there is no time zone {brief(zone.value)}",
            zone.span,
            *did_you_mean(zone.value[:40], time_zones()),
            "a zone is a name such as 'Europe/Berlin', or an offset such as '+01:00'",
        )
    return _function(IN_ZONE, (zone, value), node, scope)


def _of_zone(
    name: str, operands: tuple[Expression, ...], zone: Constant, node: ast.Node, scope: Scope
) -> Expression:
    """A function of a time in the zone of its column."""
    if not is_known(str(zone.value)):
        return scope.refuse(
            "time-zone",
            f"the time has the zone {brief(str(zone.value))}, which is not known here",
            node.span,
            "name one with  AT TIME ZONE 'Europe/Berlin' ; `pip install tzdata` has all zones",
        )
    if name == "date_trunc":
        unit, value = operands
        return _function(TRUNCATED_IN_ZONE, (unit, zone, value), node, scope)
    (value,) = operands
    local = _function(IN_ZONE, (zone, value), node, scope)
    return _function(name, (local,), node, scope)


def bind_item(node: ast.Expression, scope: Scope) -> Expression:
    """The expression of a value, or of a condition as a value."""
    return beside(_item(node, scope), FLOAT)


def _item(node: ast.Expression, scope: Scope) -> Expression:
    return _truth(node, scope) if isinstance(node, ast.CONDITIONS) else bind_operand(node, scope)


def _truth(node: ast.Expression, scope: Scope) -> Expression:
    """A condition as a value."""
    texts = tuple(joined_texts(node, scope))
    is_joined = isinstance(node, ast.Or) and not any(
        isinstance(o, ast.CONDITIONS) for o in node.operands
    )
    if texts and is_joined:
        return scope.refuse("condition-as-value", _IS_CONDITION, node.span, *texts)
    condition = scope.bind_condition(node, scope)
    if isinstance(condition, Truth):
        return Constant(BOOLEAN, condition.value, span=node.span)
    return ConditionValue(BOOLEAN, condition, span=node.span)


def _case(node: ast.Case, scope: Scope) -> Expression:
    conditions = [_truth(each, scope) for each in node.conditions]
    otherwise = node.otherwise or ast.Null(span=node.span)
    values = tuple(_item(each, scope) for each in (*node.values, otherwise))
    values = alike(_on_one_clock(values, scope))
    warn_of_zones(values, scope)
    pairs = chain.from_iterable(zip(conditions, values, strict=False))
    return _function("case", (*pairs, values[-1]), node, scope)


_NUMBERS = ("no", "one", "two", "three", "four")


def _counts(function: Function, given: int) -> str | None:
    """The numbers of arguments that a function takes, if the given one is none of them."""
    if function.values is None:
        return None if given else "arguments"
    most = function.values + len(function.options)
    least = most - function.optional
    if least <= given <= most:
        return None
    counts = " or ".join(_NUMBERS[count] for count in range(least, most + 1))
    return f"{counts} argument{'s' * (most > 1)}"


def _here(count: int) -> str:
    return "here is one" if count == 1 else f"here are {count or 'none'}"


def _added(name: str) -> UserAggregate | None:
    from sase.binding.values.aggregates import find

    return find(name)


def _on_one_clock(operands: tuple[Expression, ...], scope: Scope) -> tuple[Expression, ...]:
    """Convert intervals among numbers to raw units, if time is an integer."""
    number = next((o for o in operands if o.type.kind in NUMBERS), None)
    if number is None:
        return operands
    return tuple(on_raw_time(number, operand, scope)[1] for operand in operands)


def _function(
    name: str, operands: tuple[Expression, ...], node: ast.Node, scope: Scope
) -> Expression:
    function = FUNCTIONS[name]
    types = [operand.type for operand in operands]
    place = function.wrong(types)
    wrong = None if place is None else operands[place]
    if wrong is None and function.is_choice:
        values = function.values_of(operands)
        pairs = ((v, merged(o.type for o in values[:place])) for place, v in enumerate(values))
        wrong = next((o for o, before in pairs if not o.type.compares_with(before)), None)
    if wrong is not None:
        return scope.refuse(
            "incompatible-types",
            f"{shown(name)} does not take {wrong.type.described()} here",
            wrong.span,
            f"it is called as  {function.form}",
        )
    zone = next((each.type.zone for each in operands if each.type.zone is not None), None)
    if zone is not None and not is_utc(zone) and is_of_time(name):
        return _of_zone(name, operands, Constant(STRING, zone, span=node.span), node, scope)
    if function.operation is None and not _is_of_one_text(name, operands, scope):
        return unknown(node)
    if not _options_fit(name, operands, scope):
        return unknown(node)
    return _operation(name, function.result(types), operands, node, scope)


def _options_fit(name: str, operands: tuple[Expression, ...], scope: Scope) -> bool:
    """Whether the options are valid literals or parameters; others are reported."""
    function = FUNCTIONS[name]
    options = function.options_of(operands)
    for option, given in zip(function.options, options, strict=False):
        if isinstance(given, Constant) and (given.value is None or option.accepts(given.value)):
            continue
        if not isinstance(given, Placeholder):
            scope.problems.error(
                "wrong-arguments",
                f"{shown(name)} takes {option.described} here, as a literal or a parameter",
                given.span,
                f"it is called as  {function.form}",
            )
        if not isinstance(given, Placeholder) or is_unknown(given):
            return False
    known = [each.value for each in options if isinstance(each, Constant)]
    if function.problem is None or len(known) < len(options) or None in known:
        return True
    problem = function.problem(*known)
    if problem is not None:
        scope.problems.error(
            "bad-pattern", problem, options[0].span,
            "https://github.com/google/re2/wiki/Syntax  has its language",
        )  # fmt: skip
    return problem is None


def _is_of_one_text(name: str, operands: tuple[Expression, ...], scope: Scope) -> bool:
    """Whether at most one value is not a literal; others are reported."""
    function = FUNCTIONS[name]
    texts = [each for each in operands if not isinstance(each, Constant | Placeholder)]
    if function.values is not None or len(texts) < 2:
        return True
    scope.problems.error(
        "wrong-arguments",
        f"{name} takes one text of an event, beside literals, and here is another",
        texts[1].span,
        "join texts of events before, as a column",
    )
    return False


def _unknown_function(node: ast.Call, scope: Scope) -> None:
    from sase.binding.values.aggregates import names

    name = node.function
    every = [*filter(str.isidentifier, FUNCTIONS), *AGGREGATES, *names()]
    instead = INSTEAD.get(name.text.lower())
    hints = did_you_mean(name.text, every) or (f"the functions are {', '.join(every)}",)
    hints = hints if instead is None else (instead,)
    if instead is None and any(map(has_range, node.arguments)) and not nearest(name.text, every):
        added = f"aggregates of your own are added in Python by  sase.aggregate('{name.text}', …)"
        hints = (*hints, f"{added} , before the query is compiled")
    if scope.clause is Clause.RETURN and all(isinstance(a, ast.Attribute) for a in node.arguments):
        hints = (*hints, f"a new event names its attributes:  RETURN {name.text}(x.a AS a)")
    is_near = instead is None and nearest(name.text, ["len"])
    if is_near and any(isinstance(a, ast.Attribute) for a in node.arguments):
        hints = ("the length of a text is  length(x.a) , of a series  a.len",)
    scope.problems.error(
        "unknown-function", f"there is no function `{name.text}`", name.span, *hints
    )


_OF_ANYTHING = ("count", "min", "max", "first", "last")


def _aggregate(node: ast.Call, scope: Scope) -> Expression:
    name = node.function.text
    argument = node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(argument, ast.Indexed | ast.InGroup) or not has_range(argument):
        _refuse_aggregate(node, scope)
        return unknown(node)
    if any(map(scope.lacks, variables_of(argument))):
        return _absent(node, scope)
    over, user = find_range(argument, scope), None if name in AGGREGATES else _added(name)
    if over is None:
        return unknown(node)
    if not _takes(1 if user is None else len(user.over), argument, node, scope):
        return unknown(node)
    if user is not None:
        return _user_aggregate(user, argument, over, node, scope)
    attribute, *_ = *attributes_of(argument), None
    if attribute is None or over.declares is None:
        if name == "count":
            return Aggregate(
                INTEGER, name, over.component, over.part, inner=over.inner, span=node.span
            )
        return scope.refuse(
            "event-as-value",
            f"{name} needs an attribute of the events",
            argument.span,
            f"write  {name}({to_text(argument)}.{_example(over, scope)})",
        )
    data_type, undeclared_by = declared(over.declares, attribute, scope)
    aggregate = AGGREGATES[name]
    if not aggregate.accepts(data_type):
        return scope.refuse(
            "incompatible-types",
            f"{name} does not take `{attribute.text}`: it is {data_type.described()}",
            argument.span,
            f"of other values there are  {' '.join(_OF_ANYTHING)}",
        )
    return Aggregate(
        aggregate.result(data_type),
        name,
        over.component,
        over.part,
        attribute.text,
        undeclared_by,
        inner=over.inner,
        span=node.span,
    )


def _example(over: Range, scope: Scope) -> str:
    """An attribute that may follow a range, for an example."""
    return "p" if over.declares else some_inner(scope.components[over.component], scope)


def _takes(count: int, argument: ast.Indexed | ast.InGroup, node: ast.Call, scope: Scope) -> bool:
    """Whether a call names the right number of attributes; none is reported elsewhere."""
    name, found = node.function.text, len(attributes_of(argument))
    if found in (0, count):
        return True
    form = "p" if count == 1 else f"({', '.join(f'p{place + 1}' for place in range(count))})"
    scope.problems.error(
        "wrong-arguments",
        f"{name} takes {'one attribute' if count == 1 else f'{count} attributes'},"
        f" and {'here is one' if found == 1 else f'here are {found}'}",
        argument.span,
        f"write  {name}({to_text(replace(argument, attribute=None, others=()))}.{form})"
        if isinstance(argument, ast.Indexed)
        else "an aggregate over iterations is of one attribute",
    )
    return False


def _user_aggregate(
    user: UserAggregate,
    argument: ast.Indexed | ast.InGroup,
    range_: Range,
    node: ast.Call,
    scope: Scope,
) -> Expression:
    if not attributes_of(argument) or range_.declares is None:
        return scope.refuse(
            "event-as-value",
            f"{user.name} needs attributes of the events",
            argument.span,
            f"it is called as  {user.form}",
        )
    over: list[Aggregate] = []
    named = zip(attributes_of(argument), user.over, strict=True)
    for place, (attribute, wanted) in enumerate(named):
        data_type, undeclared_by = declared(range_.declares, attribute, scope)
        if not user.accepts(place, data_type):
            return scope.refuse(
                "incompatible-types",
                f"{user.name} does not take `{attribute.text}`: it is {data_type.described()}",
                attribute.span,
                f"it was added over {wanted.described()} there, as its  kinds=  say",
            )
        found = Aggregate(
            data_type, user.name, range_.component, range_.part, attribute.text, undeclared_by,
            place=place, trend=user.trend, inner=range_.inner, span=node.span,
        )  # fmt: skip
        over.append(found)
    return replace(over[0], type=user.type, others=tuple(over[1:]), span=node.span)


def _refuse_aggregate(node: ast.Call, scope: Scope) -> None:
    name = node.function.text
    series = next((c for c in scope.components if c.is_series and c.named and not c.group), None)
    variable = series.variable if series else "a"
    hints = [f"write  {name}({variable}[].p)"]
    if scope.clause.value == "WHERE":
        hints = [f"{hints[0]} , {name}({variable}[..i-1].p)  or  {name}({variable}[..i].p)"]
    alternative = {"min": "least", "max": "greatest", "count": "length"}.get(name)
    if alternative and all(isinstance(a, ast.Attribute) for a in node.arguments):
        hints.append(f"for values of single events there is  {alternative}")
    for argument in node.arguments:
        if isinstance(argument, ast.Attribute) and argument.variable is not None:
            owner = scope.component(argument.variable.text)
            if owner is not None and owner.is_series:
                attribute = spelled_field(argument.name.text)
                hints = [f"write  {name}({owner.variable}[].{attribute})"]
    scope.problems.error(
        "aggregate-without-range",
        f"{name} is an aggregate: it takes a range of a series",
        node.span,
        *hints,
    )
