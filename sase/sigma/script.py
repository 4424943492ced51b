"""Convert rules and correlations to a script, with a stream for each rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from sase.base.texts import did_you_mean
from sase.errors import Diagnostic, RuleError
from sase.lang import ast
from sase.lang.layout import format_text
from sase.lang.printer import to_text
from sase.printable import on_one_line, printable
from sase.sigma.detections import EVENT, AllOf, ConditionReader, SearchName, condition_of
from sase.sigma.rules import Correlation, Detection, Rule, YamlPart, documents, read_rules
from sase.source import Source

# ---------------------------------------------------------------- correlations

# Queries use skip till next match, so there is one match for each event that begins a time frame
# in which the condition holds: its run takes the next useful events.

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# Conditions on a count, and the number to add to it; a run cannot wait for other conditions.
LEAST = {"gte": 0, "gt": 1}
UPPER = ("lt", "lte", "eq", "neq")
SERIES = "a"
MOST_VALUES = 62  # the most components of a pattern
Referred = Sequence[Rule]
# Columns of a rule's stream: column name to event field.
Columns = dict[str, str]


def query_of(correlation: Correlation, referred: Referred, columns: Columns) -> ast.Query:
    """The query of a correlation; `columns` are those of its stream."""
    kind = correlation.kind.text("the type")
    if kind not in KINDS:
        message = f"a correlation of the type {kind} has no equal in a script"
        raise correlation.kind.error("sigma-no-equal", message, f"there are: {', '.join(KINDS)}")
    pattern, conditions, first = KINDS[kind](correlation, referred)
    names = [ast.Name(name) for name in correlation.group_names]
    shown = {**{name: name for name in correlation.group_names}, **columns}
    items = [ast.OutputItem(first(ast.Name(of)), ast.Name(name)) for name, of in shown.items()]
    is_series = isinstance(pattern, ast.Component) and pattern.quantifier is not None
    is_single = isinstance(pattern, ast.Component) and not is_series
    if is_single:
        # An equivalence test does not exclude a single event without a group, so the test for NULL
        # does.
        conditions = [*(ast.NullTest(first(name), negated=True) for name in names), *conditions]
    elif names:
        test = ast.Equivalence(tuple(ast.EqualAttribute(name) for name in names))
        conditions = [test, *conditions]
    where = ast.And(tuple(conditions)) if len(conditions) > 1 else None
    return ast.Query(
        pattern,
        sources=tuple(ast.Name(rule.name) for rule in referred),
        strategy=None if is_single else ast.Strategy(ast.StrategyName.SKIP_TILL_NEXT_MATCH),
        where=where or (conditions[0] if conditions else None),
        window=_window(correlation.timespan),
        output=ast.Output(tuple(items or [_number_of_events()])) if items or is_series else None,
    )


def counted_field(correlation: Correlation) -> list[YamlPart]:
    """The field with the values that are counted, or none."""
    condition = correlation.condition
    if condition is None or not condition.is_mapping:
        return []
    return [value for key, value in condition.entries() if key.node.value == "field"]


def _number_of_events() -> ast.OutputItem:
    """The column of a stream if no field is equal in all events of a series."""
    length = ast.Attribute(ast.Name("len"), ast.Name(SERIES))
    return ast.OutputItem(length, ast.Name("events"))


def _window(part: YamlPart) -> ast.Window:
    found = re.fullmatch(r"([0-9]{1,9})([a-zA-Z])", part.text("a timespan"))
    if found is None or int(found[1]) == 0:
        raise part.error("sigma-rule", "a timespan is a number and a letter, such as 90m")
    if found[2] not in UNITS:
        message = f"a timespan in {found[2]} has no equal in a script"
        raise part.error("sigma-no-equal", message, f"there are: {', '.join(UNITS)}")
    amount, unit = int(found[1]), UNITS[found[2]]
    return ast.Window(ast.Integer(amount), ast.Name(unit if amount > 1 else unit.removesuffix("s")))


Made = tuple[ast.Pattern, list[ast.Expression], Callable[[ast.Name], ast.Expression]]


# ---------------------------------------------------------------- counts


def _event_count(correlation: Correlation, referred: Referred) -> Made:
    count, _ = _least(correlation, ("gt", "gte"))
    quantifier = ast.Quantifier("{}", count, count)
    series = ast.Component(_of(referred), ast.Name(SERIES), quantifier)
    return series, [], _of_first_in_series


def _of_first_in_series(name: ast.Name) -> ast.Expression:
    return ast.Indexed(ast.Name(SERIES), ast.Index(ast.IndexKind.FIRST, "1"), name)


def _value_count(correlation: Correlation, referred: Referred) -> Made:
    """A component for each distinct value, pairwise different: a run waits for a new value."""
    count, given = _least(correlation, ("gt", "gte", "field"))
    if "field" not in given:
        raise _condition(correlation).error("sigma-rule", "the condition lacks the `field`")
    if count > MOST_VALUES:
        message = f"a pattern has at most {MOST_VALUES} components, and this takes {count}"
        raise _condition(correlation).error("sigma-no-equal", message)
    field = ast.Name(given["field"].text("the name of a field"))
    variables = [ast.Name(f"e{n}") for n in range(1, count + 1)]
    values = [ast.Attribute(field, variable) for variable in variables]
    differ: list[ast.Expression] = [
        ast.Comparison("!=", later, earlier) for earlier, later in combinations(values, 2)
    ]
    conditions = differ or [ast.NullTest(values[0], negated=True)]
    components = tuple(ast.Component(_of(referred), variable) for variable in variables)
    return _sequence(components), conditions, _of_variable("e1")


def _condition(correlation: Correlation) -> YamlPart:
    if correlation.condition is None:
        message = "a correlation that counts has a condition, and this has none"
        raise correlation.kind.error("sigma-rule", message)
    return correlation.condition


def _least(correlation: Correlation, names: Sequence[str]) -> tuple[int, dict[str, YamlPart]]:
    """The least count for which the condition holds, and its fields."""
    given = _condition(correlation).fields("a condition of a count")
    for key, value in given.items():
        if key in UPPER:
            message = f"`{key}` asks for the end of a time frame, and here it has none"
            raise value.error("sigma-no-equal", message, "`gte` and `gt` have an equal")
        if key not in names:
            hint = did_you_mean(key, names)
            raise value.error("sigma-rule", f"a condition of this type has no `{key}`", *hint)
    found = [_number(value) + LEAST[key] for key, value in given.items() if key in LEAST]
    if not found:
        raise _condition(correlation).error("sigma-rule", "the condition lacks `gte` or `gt`")
    if max(found) < 1:
        raise _condition(correlation).error("sigma-rule", "this condition holds without any event")
    return max(found), given


def _number(part: YamlPart) -> int:
    value = part.value
    if not isinstance(value, int) or isinstance(value, bool):
        raise part.error("sigma-rule", "a whole number is expected here")
    return value


# ---------------------------------------------------------------- temporal


def _temporal(correlation: Correlation, referred: Referred) -> Made:
    components = _each(correlation, referred)
    pattern = ast.SetOf(components) if len(components) > 1 else components[0]
    return pattern, [], _of_variable("e1")


def _temporal_ordered(correlation: Correlation, referred: Referred) -> Made:
    return _sequence(_each(correlation, referred)), [], _of_variable("e1")


def _each(correlation: Correlation, referred: Referred) -> tuple[ast.Component, ...]:
    """A component for each rule; a condition may only state that all are meant."""
    part = correlation.condition
    if part is not None and not _means_all(part, referred):
        message = "only that all rules find something has an equal in a script"
        raise part.error("sigma-no-equal", message, "leave the condition out for that")
    return tuple(
        ast.Component(ast.TypeTest(ast.Name(rule.name)), ast.Name(f"e{n}"))
        for n, rule in enumerate(referred, start=1)
    )


def _means_all(part: YamlPart, referred: Referred) -> bool:
    if part.is_mapping:
        given, count = part.fields("a condition"), len(referred)
        exact = {"gte": count, "gt": count - 1, "eq": count}
        return bool(given) and all(
            key in exact and _number(value) == exact[key] for key, value in given.items()
        )
    names = {key: rule.name for rule in referred for key in (rule.name, *rule.keys)}
    tree = ConditionReader(part, names).read()
    operands = tree.operands if isinstance(tree, AllOf) else (tree,)
    named = [names[each.name] for each in operands if isinstance(each, SearchName)]
    return len(named) == len(operands) and {*named} == {rule.name for rule in referred}


# ---------------------------------------------------------------- patterns


def _of(referred: Referred) -> ast.TypeTest | ast.AnyTest:
    names = tuple(ast.Name(rule.name) for rule in referred)
    return ast.AnyTest(names) if len(names) > 1 else ast.TypeTest(names[0])


def _sequence(components: tuple[ast.Component, ...]) -> ast.Pattern:
    return ast.Sequence(components) if len(components) > 1 else components[0]


def _of_variable(variable: str) -> Callable[[ast.Name], ast.Expression]:
    return lambda name: ast.Attribute(name, ast.Name(variable))


KINDS: Mapping[str, Callable[[Correlation, Referred], Made]] = {
    "event_count": _event_count,
    "value_count": _value_count,
    "temporal": _temporal,
    "temporal_ordered": _temporal_ordered,
}


# ---------------------------------------------------------------- script

TITLE = 200


def script_of(
    texts: Iterable[tuple[str, str]],
    *,
    one_input: bool = False,
    type: str | None = None,
    message: str | None = None,
) -> str:
    """The script of the rules in texts with names; a RuleError has the problems of all.

    A detection reads the input with the name of its log source, or with `one_input` the only input;
    events of the given type, or of any. Keywords are sought in the field `message`.
    """
    rules = read_rules(part for text, name in texts for part in documents(Source(text, name)))
    statements, problems = list[str](), list[Diagnostic]()
    converter = _Converter(rules, one_input=one_input, type=type, message=message)
    for rule in rules:
        try:
            statements.append(converter.statement(rule))
        except RuleError as problem:
            problems += problem.diagnostics
    if problems:
        raise RuleError(problems)
    return format_text(";\n\n".join(statements)) if statements else ""


class _Converter:
    """Converts rules, and tracks the columns that correlations need of other rules."""

    def __init__(
        self, rules: Sequence[Rule], *, one_input: bool, type: str | None, message: str | None
    ) -> None:
        self._one_input, self._type, self._message = one_input, type, message
        self._by_key = {key: rule for rule in rules for key in (rule.name, *rule.keys)}
        self._columns: dict[str, Columns] = {rule.name: {} for rule in rules}
        for rule in rules:
            if isinstance(rule, Correlation):
                self._want_columns(rule)
            elif isinstance(rule, Detection) and not one_input and rule.log_source in self._columns:
                message = (
                    f"a rule and the log source of this rule are both called {rule.log_source}"
                )
                raise rule.place.error("sigma-rule", message, "give the rule another `name`")

    def statement(self, rule: Rule) -> str:
        """The statement of a rule, with its title as comment."""
        columns = self._columns[rule.name]
        if isinstance(rule, Correlation):
            self._refuse_cycle(rule)
            query = query_of(rule, self._referred(rule), columns)
        else:
            assert isinstance(rule, Detection)
            query = self._detection(rule, columns)
        made = to_text(ast.Statement(query, ast.Name(rule.name)))
        level = f" ({rule.level})" if rule.level else ""
        return f"-- {printable(on_one_line(rule.title + level, TITLE))}\n{made}"

    def _detection(self, rule: Detection, columns: Columns) -> ast.Query:
        event = ast.Name(EVENT)
        shown = {**{name: name for name in rule.fields}, **columns}
        items = tuple(
            ast.OutputItem(ast.Attribute(ast.Name(field), event), ast.Name(column))
            for column, field in shown.items()
        )
        test = ast.TypeTest(ast.Name(self._type)) if self._type else ast.AnyTest()
        return ast.Query(
            ast.Component(test, event),
            sources=() if self._one_input else (ast.Name(rule.log_source),),
            where=condition_of(rule.detection, self._message),
            output=ast.Output(items) if items else None,
        )

    def _referred(self, correlation: Correlation) -> list[Rule]:
        """The rules that a correlation refers to, without duplicates."""
        found = list[Rule]()
        for part in correlation.rules:
            key = part.text("the name of a rule")
            rule = self._by_key.get(key)
            if rule is None:
                hint = did_you_mean(key, self._by_key) or ("name its file, too",)
                raise part.error("sigma-rule", f"there is no rule {key}", *hint)
            if rule in found:
                raise part.error("sigma-rule", f"the rule {key} is here twice")
            found.append(rule)
        return found

    def _want_columns(self, correlation: Correlation) -> None:
        """Record the columns that a correlation needs of each rule that it refers to."""
        parts = [*correlation.group_by, *counted_field(correlation)]
        for rule in self._referred(correlation):
            columns = self._columns[rule.name]
            for part in parts:
                column, field = part.text("the name of a field"), correlation.field(part, rule)
                if columns.setdefault(column, field) != field:
                    message = f"of {rule.name}, {column} means {columns[column]} elsewhere"
                    hint = "give the alias another name"
                    raise part.error("sigma-no-equal", message, hint)
                if isinstance(rule, Correlation) and field not in rule.group_names:
                    message = f"{rule.name} does not group by {field}: its events may differ in it"
                    raise part.error("sigma-no-equal", message)

    def _refuse_cycle(self, correlation: Correlation, way: tuple[str, ...] = ()) -> None:
        for part, rule in zip(correlation.rules, self._referred(correlation), strict=True):
            if rule.name in way or rule is correlation:
                names = " → ".join([*way, correlation.name, rule.name])
                raise part.error("sigma-rule", f"these correlations refer in a circle: {names}")
            if isinstance(rule, Correlation):
                self._refuse_cycle(rule, (*way, correlation.name))
