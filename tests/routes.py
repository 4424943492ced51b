"""The ways in which a record of a `.case` file is run.

A route takes a record and gives the lines that came out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import sase
from sase.api.compiled_query import compile_query
from sase.binding import Schema, bind
from sase.binding.input_options import InputOptions
from sase.binding.schema_file import schema_from
from sase.binding.script.script import check_script
from sase.engine.sources.discovered import Discovered
from sase.errors import Diagnostic, QueryError
from sase.lang import ast
from sase.lang.layout import format_text
from sase.lang.parser import parse_condition, parse_query, parse_script
from sase.lang.printer import to_text
from sase.planning.plan.nodes import Operator
from sase.planning.recipes import read_recipe
from sase.source import Source
from tests import naive, script_routes
from tests.casefile import Case
from tests.casevalues import Event, format_value, kind_of
from tests.naive.pattern import Element, RepeatedGroup, written_out
from tests.outline import outline

# None: the route does not run such records.
Route = Callable[[Case], list[str] | None]
NONE = ["none"]


# ---------------------------------------------------------------- results


def naive_matches(case: Case) -> list[str]:
    """The matches that the naive matcher finds."""
    labels = [event.label for event in case.events]
    columns = written_out(parse_query(case.query).pattern).columns
    return [_match_line(match, columns, labels) for match in _naive(case)] or NONE


def naive_returns(case: Case) -> list[str]:
    """The values of RETURN that the naive matcher gives."""
    return [_value_line(case, match.values) for match in _naive(case)] or NONE


def naive_count(case: Case) -> list[str]:
    """How many matches the naive matcher finds."""
    return [str(len(_naive(case)))]


def engine_count(case: Case) -> list[str]:
    """The number that `output="count"` gives."""
    return [str(sase.match(case.query, rows(case), output="count", **keywords(case)))]


def _naive(case: Case) -> list[Any]:
    output: Any = case.options.get("output", "all")
    return naive.match(parse_query(case.query), rows(case), output=output, **keywords(case))


def keywords(case: Case) -> dict[str, Any]:
    """The caller's options for the events of a record, and the parameters."""
    typed_by_conditions = case.family("type")
    one_type = case.options.get("type") == "-"
    return {
        "time": times(case),
        "type": None if typed_by_conditions or one_type else case.options.get("type", "type"),
        "seq": case.options.get("seq"),
        "types": typed_by_conditions or declared_types(case),
        "time_unit": case.options.get("time_unit"),
        "params": case.params or None,
    }


def times(case: Case) -> str | tuple[str, str]:
    """The column of time, or `lo,hi`."""
    earliest, comma, until = case.options.get("time", "ts").partition(",")
    return (earliest, until) if comma else earliest


def rows(case: Case) -> list[dict[str, Any]]:
    """The stream as rows of one table: a column that an event does not give is NULL."""
    names = dict.fromkeys(name for event in case.events for name, _ in event.values)
    empty = dict.fromkeys(names)
    return [{**_type_column(case, event), **empty, **dict(event.values)} for event in case.events]


def _type_column(case: Case, event: Event) -> dict[str, str | None]:
    column = case.options.get("type", "type")
    return {} if case.family("type") or column == "-" else {column: event.type}


def declared_types(case: Case) -> dict[str, list[str]] | None:
    """Each type and the attributes that it declares; None for one wide table."""
    declared = case.schema or {"*": {}}
    return None if "*" in declared else {name: list(kinds) for name, kinds in declared.items()}


def _is_list(component: ast.Component) -> bool:
    return component.quantifier is not None and component.quantifier.symbol != "?"


def _match_line(match: Any, columns: Sequence[Element | RepeatedGroup], labels: list[str]) -> str:
    bound = [
        f"{column.name}={_column(column, events, labels)}"
        for column, events in zip(columns, match.events, strict=True)
    ]
    return " ".join([f"@{format_value(match.detected_at)}", *bound])


def _column(column: Element | RepeatedGroup, events: Any, labels: list[str]) -> str:
    """The labels of the events of a variable; of a group `[{b=b1 c=c2} {b=b3 c=-}]`."""
    if isinstance(column, Element):
        return _bound([labels[row] for row in events], _is_list(column.component))
    iterations = [
        " ".join(
            f"{field.name}={_column(field, rows, labels)}"
            for field, rows in zip(column.columns, iteration, strict=True)
        )
        for iteration in events
    ]
    return f"[{' '.join(f'{{{each}}}' for each in iterations)}]"


def _bound(labels: list[str], is_list: bool) -> str:
    return f"[{' '.join(labels)}]" if is_list else "".join(labels) or "-"


def _value_line(case: Case, values: Mapping[str, Any]) -> str:
    """Values by name; values that depend on a confidence to the digits in which that is exact."""
    shown = {
        name: round(value, 9) if is_imprecise(case) and isinstance(value, float) else value
        for name, value in values.items()
    }
    return " ".join(f"{name}={format_value(value)}" for name, value in shown.items())


def is_imprecise(case: Case) -> bool:
    """Whether its events have two times."""
    return not isinstance(times(case), str)


# ---------------------------------------------------------------- the engine


def engine_matches(recipe: str | None, case: Case) -> list[str] | None:
    """The matches that the engine finds with a recipe, or pushed event by event."""
    found = _engine(recipe, case)
    if found is None:
        return None
    return match_lines(case, found)


def match_lines(case: Case, found: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    """Matches as lines, by the labels of events."""
    labels, lines = [event.label for event in case.events], []
    for row, result in found:
        bound = [f"{name}={_places(places, labels)}" for name, places in row.items()]
        lines.append(" ".join([f"@{format_value(result['detected_at'])}", *bound]))
    return lines or NONE


def _places(places: Any, labels: list[str]) -> str:
    """The labels of rows as `Matches.rows` has them; of a group those of its iterations."""
    if isinstance(places, list) and any(isinstance(each, dict) for each in places):
        iterations = [
            " ".join(f"{name}={_places(rows, labels)}" for name, rows in each.items())
            for each in places
        ]
        return f"[{' '.join(f'{{{each}}}' for each in iterations)}]"
    if isinstance(places, list):
        return _bound([labels[place] for place in places], True)
    return _bound([] if places is None else [labels[places]], False)


def engine_returns(recipe: str | None, case: Case) -> list[str] | None:
    """The values of RETURN that the engine gives."""
    found = _engine(recipe, case)
    if found is None:
        return None
    more = ["ts_start", "ts_end", "detected_at", *["confidence"] * is_imprecise(case)]
    return [
        _value_line(case, {name: value for name, value in result.items() if name not in more})
        for _, result in found
    ] or NONE


def _engine(recipe: str | None, case: Case) -> list[tuple[dict[str, int], dict[str, Any]]] | None:
    """Rows and results of the matches."""
    table = _table(case)
    if not table:
        return None  # nothing says which columns there are
    if _is_mixed(table):
        return _by_type(recipe, case, table)
    if not recipe:
        output = case.options.get("output", "all")
        plan = sase.compile(case.query, table, output=output, **keywords(case))
        return [pair for part in _pushed(plan, table) for pair in results(part)]
    return _bound_case(case).results(recipe)


def _table(case: Case) -> list[dict[str, Any]]:
    """The stream with a column for each attribute that a type declares."""
    names = dict.fromkeys(name for names in (declared_types(case) or {}).values() for name in names)
    return [{**dict.fromkeys(reversed(names)), **row} for row in rows(case)]


def distinct(case: Case, recipes: Iterable[str]) -> Iterator[str]:
    """Those of some recipes that make another plan of a case than the recipes before them."""
    table = _table(case)
    if not table or _is_mixed(table):
        yield from recipes if table else ()
        return
    seen = list[Operator]()
    for recipe in recipes:
        made = _bound_case(case).plan(recipe).operators
        if made not in seen:
            seen.append(made)
            yield recipe


class _BoundCase:
    """The last case, bound once, and the matches of its plans: many recipes make the same plan."""

    def __init__(self, case: Case) -> None:
        options, output = keywords(case), case.options.get("output", "all")
        params = options.pop("params")
        self.case, self._table = case, _table(case)
        source = Discovered.of(self._table, InputOptions(**options))
        self._known = compile_query(case.query, source, params=params, output=output)
        self._plans: dict[str, sase.Plan] = {}
        self._found: list[tuple[Any, list[tuple[dict[str, int], dict[str, Any]]]]] = []

    def plan(self, recipe: str) -> sase.Plan:
        """The plan by a recipe."""
        if recipe not in self._plans:
            known = replace(self._known, recipe=_recipe(recipe))
            self._plans[recipe] = known.plan(known.optimized())
        return self._plans[recipe]

    def results(self, recipe: str) -> list[tuple[dict[str, int], dict[str, Any]]]:
        """The rows and the results of the plan by a recipe."""
        plan = self.plan(recipe)
        for operators, found in self._found:
            if operators == plan.operators:
                return found
        found = results(plan.run(self._table))
        self._found.append((plan.operators, found))
        return found


_last: _BoundCase | None = None
_recipe = cache(read_recipe)


def _bound_case(case: Case) -> _BoundCase:
    global _last
    if _last is None or _last.case is not case:
        _last = _BoundCase(case)
    return _last


def results(matches: sase.Matches) -> list[tuple[dict[str, int], dict[str, Any]]]:
    """The rows and the results of matches."""
    if not len(matches):
        return []
    return list(zip(matches.rows.to_pylist(), matches.to_pylist(), strict=True))


def _by_type(
    recipe: str | None, case: Case, table: list[dict[str, Any]]
) -> list[tuple[dict[str, int], dict[str, Any]]]:
    """The results of a table for each type, where one column cannot hold all values."""
    types = list(dict.fromkeys(row["type"] for row in table))
    order = [place for name in types for place, row in enumerate(table) if row["type"] == name]
    tables = {name: [row for row in table if row["type"] == name] for name in types}
    found = results(sase.match(case.query, tables, plan=recipe or "optimized"))
    return [({name: _at(order, row) for name, row in rows.items()}, each) for rows, each in found]


def _at(order: list[int], rows: Any) -> Any:
    """The places of rows in an order: of one, of none, or of a list."""
    if isinstance(rows, list):
        return [order[row] for row in rows]
    return None if rows is None else order[rows]


def _is_mixed(table: list[dict[str, Any]]) -> bool:
    """Whether a column has integers and floats that would not survive it."""
    for name in table[0]:
        values = [row[name] for row in table]
        wholes = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if any(isinstance(v, float) for v in values) and any(abs(v) > 2**53 for v in wholes):
            return True
    return False


def _pushed(plan: sase.Plan, table: list[dict[str, Any]]) -> list[sase.Matches]:
    """The results of the engine for one event after the other, with the rows of the table."""
    keys = [name for name in (plan.schema.time, plan.schema.seq_column) if name is not None]
    order = sorted(range(len(table)), key=lambda row: tuple(table[row][key] for key in keys))
    if order != list(range(len(table))):
        return [plan.run(table)]
    matcher = plan.open()
    return [*(matcher.push([event]) for event in table), matcher.finish()]


def bound_level(case: Case) -> int:
    """The level of the language that a query needs."""
    bound = bind(parse_query(case.query), schema(case), source=Source(case.query, "query"))
    return bound.level


# ---------------------------------------------------------------- texts and diagnostics


def tree(case: Case) -> list[str]:
    """The outline of the syntax tree."""
    return outline(_parse(case)).split("\n")


def formatted(case: Case) -> list[str]:
    """The text that the formatter gives."""
    condition = case.options.get("entry") == "condition"
    text = to_text(_parse(case)) if condition else format_text(case.query)
    return text.rstrip("\n").split("\n")


def _parse(case: Case) -> ast.Node:
    if case.options.get("entry") == "condition":
        return parse_condition(case.query, "query")
    return parse_script(case.query, "query")


def errors(case: Case) -> list[str]:
    """The errors of parsing, or else of binding."""
    return _texts(case, "error")


def warnings(case: Case) -> list[str]:
    """The warnings of binding."""
    return _texts(case, "warning")


def _texts(case: Case, severity: str) -> list[str]:
    found = [str(each) for each in _diagnostics(case) if each.severity == severity]
    return "\n\n".join(found).split("\n") if found else NONE


def _diagnostics(case: Case) -> list[Diagnostic]:
    """All that is wrong with a query: the one place that knows how binding is called."""
    found = list[Diagnostic]()
    if case.inputs:
        return script_routes.diagnostics(case)
    try:
        if isinstance(_parse(case), ast.Script):
            found += check_script(
                case.query,
                schema(case),
                parameters=case.params or None,
                flat=case.options.get("flat") == "yes",
            )
    except QueryError as error:
        found += error.diagnostics
    return found


def schema(case: Case) -> Schema:
    """The schema of a record, or else the columns of its stream; without either all is open."""
    data: dict[str, Any] = {
        name: case.options[name]
        for name in ("time", "type", "seq", "time_unit")
        if name in case.options and case.options[name] != "-"
    }
    if isinstance(times(case), tuple):
        data["time"] = list(times(case))
    declared = case.schema or {"*": _columns(case)}
    if case.family("type"):
        data["definitions"] = case.family("type")
    if "*" not in declared:
        data["types"] = declared
    elif declared["*"] or case.events:
        data["columns"] = declared["*"]
    return schema_from(data)


def _columns(case: Case) -> dict[str, str]:
    """The kinds of the columns that a stream shows."""
    values = [dict(event.values) for event in case.events]
    names = dict.fromkeys(name for row in values for name in row)
    return {name: kind_of([row.get(name) for row in values]) for name in names}
