"""Convert a collection of rules to a script, with a stream for each rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sase.errors import Diagnostic, RuleError
from sase.lang import ast
from sase.lang.layout import format_text
from sase.lang.printer import to_text
from sase.nearest import did_you_mean
from sase.printable import on_one_line, printable
from sase.sigma.correlations import Columns, counted_field, query_of
from sase.sigma.detections import EVENT, condition_of
from sase.sigma.documents import documents
from sase.sigma.rules import Correlation, Detection, Rule, read_rules
from sase.source import Source

TITLE = 200


def script_of(
    texts: Iterable[tuple[str, str]], *, one_input: bool = False, type: str | None = None
) -> str:
    """The script of the rules in texts with names; a RuleError has the problems of all.

    A detection reads the input with the name of its log source, or with `one_input` the only input;
    events of the given type, or of any.
    """
    rules = read_rules(part for text, name in texts for part in documents(Source(text, name)))
    statements, problems = list[str](), list[Diagnostic]()
    converter = _Converter(rules, one_input=one_input, type=type)
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

    def __init__(self, rules: Sequence[Rule], *, one_input: bool, type: str | None) -> None:
        self._one_input, self._type = one_input, type
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
            where=condition_of(rule.detection),
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
                raise part.error("sigma-rule", f"the rule {key} stands here twice")
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
