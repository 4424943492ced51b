"""The ways in which the script of a record of a `.case` file is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sase
from sase.errors import Diagnostic, QueryError
from sase.lang import ast
from sase.lang.parser import parse_script
from tests.casefile import Case
from tests.casevalues import format_value
from tests.naive.expressions import is_list
from tests.naive.pattern import Element, written_out
from tests.naive.scripts import Input, Origin, ScriptMatch, row_origins, run_script

NONE = ["none"]
OPTIONS = ("time", "type", "seq", "time_unit")
TIMES = ("detected_at", "ts_start", "ts_end", "confidence")


def inputs(case: Case) -> dict[str | None, Input]:
    """The inputs of a record, each with its rows as one table."""
    names: tuple[str | None, ...] = case.inputs or (None,)
    return {name: Input(_rows(case, name), **_options(case, name)) for name in names}


def _options(case: Case, name: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"time": "ts", "type": "type"}
    for option in OPTIONS:
        value = case.family(option).get(str(name), case.options.get(option))
        if value is not None:
            found[option] = tuple(value.split(",")) if "," in value else value
    return found


def _rows(case: Case, name: str | None) -> list[dict[str, Any]]:
    events = [event for event in case.events if _input_of(case, event.label) == name]
    empty = dict.fromkeys(column for event in events for column, _ in event.values)
    column = _options(case, name)["type"]
    return [{column: event.type, **empty, **dict(event.values)} for event in events]


def _input_of(case: Case, label: str) -> str | None:
    return label.partition(".")[0] if case.inputs else None


def _labels(case: Case) -> dict[str | None, list[str]]:
    """The labels of the rows of each input."""
    found: dict[str | None, list[str]] = {name: [] for name in case.inputs or (None,)}
    for event in case.events:
        found[_input_of(case, event.label)].append(event.label)
    return found


# ---------------------------------------------------------------- results


def naive_results(case: Case) -> list[str]:
    """The matches of the naive way."""
    tree = parse_script(case.query)
    labels, lines = _labels(case), list[str]()
    for name, found in run_script(tree, inputs(case), case.params).items():
        lines += [_naive_line(name, each, _lists(tree, name), labels) for each in found]
    return lines or NONE


def _lists(tree: ast.Script, name: str) -> set[str]:
    """The variables of a statement that have lists of events."""
    for number, statement in enumerate(tree.statements, start=1):
        if name == (statement.stream.text if statement.stream else f"query_{number}"):
            columns = written_out(statement.query.pattern).columns
            return {e.name for e in columns if isinstance(e, Element) and is_list(e.component)}
    raise AssertionError(name)


def _naive_line(
    name: str, found: ScriptMatch, lists: set[str], labels: Mapping[str | None, list[str]]
) -> str:
    match = found.match
    bound = {
        variable: [*events] if variable in lists else (*events, None)[0]
        for variable, events in zip(match.names, match.events, strict=True)
    }
    return _line(name, match.detected_at, bound, match.values, labels)


def engine_results(recipe: str | None, case: Case, threads: int | None = None) -> list[str]:
    """The results of the engine with a recipe and some threads, or pushed event by event."""
    origins = row_origins(parse_script(case.query), inputs(case), case.params)
    script, given = _script(case, recipe or "optimized"), _given(case)
    parts = (
        [script.run(given.get(None), streams=_named(given), threads=threads)]
        if recipe
        else _pushed(case, script)
    )
    labels = _labels(case)
    lines = [
        _engine_line(name, row, result, origins[name], labels)
        for name in script.statements
        for part in parts
        if name in part
        for row, result in zip(part[name].rows.to_pylist(), part[name].to_pylist(), strict=True)
    ]
    return lines or NONE


def _script(case: Case, recipe: str) -> sase.Script:
    given = _given(case)
    options = {name: _options(case, name) for name in given}
    every = {key: {name: each.get(key) for name, each in options.items()} for key in OPTIONS}
    shared = every if case.inputs else options[None]
    return sase.Script(
        case.query, given.get(None), streams=_named(given), params=case.params or None, plan=recipe,
        strict=True, **shared,
    )  # fmt: skip


def _given(case: Case) -> dict[str | None, Any]:
    return {name: each.rows for name, each in inputs(case).items()}


def _named(given: Mapping[str | None, Any]) -> dict[str, Any] | None:
    return {name: rows for name, rows in given.items() if name is not None} or None


def _pushed(case: Case, script: sase.Script) -> list[Mapping[str, sase.Matches]]:
    """The events of all inputs one by one, in the order of their times."""
    matcher, given = script.open(), _given(case)
    times = {name: _options(case, name)["time"] for name in given}
    times = {name: each[0] if isinstance(each, tuple) else each for name, each in times.items()}
    every = [(row[times[name]], name, row) for name, rows in given.items() for row in rows]
    every.sort(key=lambda each: each[0] if isinstance(each[0], int) else str(each[0]))
    pushed = [matcher.push(name, [row]) for _, name, row in every if name in script.inputs]
    return [*pushed, matcher.finish()]


def _engine_line(
    name: str, row: dict[str, Any], result: dict[str, Any], origins: Sequence[Origin],
    labels: Mapping[str | None, list[str]],
) -> str:  # fmt: skip
    bound = {
        variable: [origins[each] for each in places] if isinstance(places, list)
        else None if places is None else origins[places]
        for variable, places in row.items()
    }  # fmt: skip
    columns = {key: value for key, value in result.items() if key not in TIMES}
    values = None if columns.keys() == bound.keys() else columns
    return _line(name, result["detected_at"], bound, values, labels)


def _line(
    name: str, detected: object, bound: Mapping[str, Any], values: Mapping[str, Any] | None,
    labels: Mapping[str | None, list[str]],
) -> str:  # fmt: skip
    events = [f"{variable}={_shown(each, labels)}" for variable, each in bound.items()]
    columns = [f"{column}={format_value(value)}" for column, value in (values or {}).items()]
    return " ".join(
        [name, f"@{format_value(detected)}", *events, *(["|", *columns] if columns else [])]
    )


def _shown(bound: Any, labels: Mapping[str | None, list[str]]) -> str:
    if isinstance(bound, list):
        return f"[{' '.join(_shown(each, labels) for each in bound)}]"
    if bound is None:
        return "-"
    stream, row = bound
    return labels[stream][row] if stream in labels else f"{stream}#{row + 1}"


# ---------------------------------------------------------------- errors


def diagnostics(case: Case) -> list[Diagnostic]:
    """The mistakes of a script over the inputs that a record names."""
    try:
        _script(case, "optimized")
    except QueryError as problem:
        return list(problem.diagnostics)
    return []
