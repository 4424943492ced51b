"""docs/semantics.md, Scripts: the queries of a script, one after the other, through tables.

The matches of a statement become a table of composite events, which the statements read that name
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sase.lang import ast
from tests.naive.events import Clock, Row, Stream, Types, read_stream
from tests.naive.expressions import Event, Series, is_list
from tests.naive.imprecise import imprecise_detected_at, imprecise_found, imprecise_result
from tests.naive.pattern import Element
from tests.naive.problem import Problem, state
from tests.naive.results import Match, detected_at, first, precise, result
from tests.naive.union import Found

Kind = Literal["integer", "float", "date", "naive", "aware"]


@dataclass(frozen=True)
class Input:
    """A table that the caller gives, and the caller's options for its columns."""

    rows: Sequence[Row]
    time: str | tuple[str, str] = "ts"
    type: str | None = "type"
    seq: str | None = None
    types: Types = None
    time_unit: str | None = None


@dataclass(frozen=True)
class ScriptMatch:
    """A result: in `match.events` each row is a pair of the name of a stream and a row of it."""

    match: Match
    type: str | None  # of the composite event; None where no stream is made of it
    attributes: Mapping[str, object]  # of the composite event


@dataclass(frozen=True)
class Table:
    """The input of a statement: events by rows, each with a key of its own; its clock and time."""

    events: tuple[Event, ...]
    clock: Clock
    time: str
    composite: bool
    clashes: bool = False  # a column has the name of the time
    types: Mapping[str | None, frozenset[str]] = field(default_factory=dict)  # that are listed
    imprecise: bool = False
    ordered: bool = False  # simultaneous events stand in an order


Origin = tuple[str | None, int]  # the name of a stream, and a row of it


class TooManyResultsError(ValueError):
    """A statement finds more than the caller has time for."""


def run_script(
    script: ast.Script,
    inputs: Mapping[str | None, Input],
    params: Mapping[str, object] | None = None,
    *,
    most: int | None = None,
) -> dict[str, list[ScriptMatch]]:
    """The results of each statement, by the name of its stream, or `query_N`."""
    return _read(script, inputs, params, most).found


def row_origins(
    script: ast.Script,
    inputs: Mapping[str | None, Input],
    params: Mapping[str, object] | None = None,
) -> dict[str, list[Origin]]:
    """The meaning of the numbers of rows in the results of each statement: places in its input."""
    return _read(script, inputs, params, None).origins


def _read(
    script: ast.Script,
    inputs: Mapping[str | None, Input],
    params: Mapping[str, object] | None,
    most: int | None,
) -> _Reading:
    statements = _by_name(script, inputs)
    tables = {name: _given(each) for name, each in inputs.items()}
    reading = _Reading(statements, tables, params, most)
    for name in statements:
        reading.read(name)
    reading.found = {name: reading.found[name] for name in statements}
    return reading


def _by_name(script: ast.Script, inputs: Mapping[str | None, Input]) -> dict[str, ast.Statement]:
    found = dict[str, ast.Statement]()
    for number, statement in enumerate(script.statements, start=1):
        name = statement.stream.text if statement.stream else f"query_{number}"
        if name in found or name in inputs:
            raise ValueError(f"two streams are called {name}")
        found[name] = statement
    return found


@dataclass
class _Reading:
    """The tables that are there, and the statements that are being read."""

    statements: Mapping[str, ast.Statement]
    tables: dict[str | None, Table]
    params: Mapping[str, object] | None
    most: int | None
    found: dict[str, list[ScriptMatch]] = field(default_factory=dict)
    origins: dict[str, list[Origin]] = field(default_factory=dict)
    way: list[str] = field(default_factory=list)

    def read(self, name: str) -> None:
        """Find the matches of a statement, after those that it reads."""
        if name in self.way:
            raise ValueError(f"a cycle: {' → '.join([*self.way[self.way.index(name) :], name])}")
        if name not in self.found:
            self.way.append(name)
            self._run(name, self.statements[name])
            self.way.pop()

    def _run(self, name: str, statement: ast.Statement) -> None:
        query, sources = statement.query, self._sources(statement.query)
        stream, origin = _merged([(each, self._table(each)) for each in sources])
        in_order = [origin[event.row] for event in stream.events]
        self.origins[name] = in_order if len(sources) > 1 else origin
        stated = state(replace(query, sources=()), stream, self.params or {})
        stated = stated if stream.events else ()
        shown, times = self._results(query, stated, origin, _type_name(statement), sources)
        if self.most is not None and len(shown) > self.most:
            raise TooManyResultsError(f"{name} has {len(shown)} results")
        self.found[name] = shown
        if statement.stream is not None:
            time = self._table(sources[0]).time
            type_name = _type_name(statement)
            names = {item.alias.text for item in _items(query) if item.alias}
            self.tables[name] = _composite(shown, times, stream.clock, time, {type_name: names})

    def _results(
        self,
        query: ast.Query,
        stated: Sequence[Problem],
        origin: Sequence[Origin],
        type_name: str | None,
        sources: Sequence[str | None],
    ) -> tuple[list[ScriptMatch], list[int]]:
        """The results in order, and when each is detected."""
        params = self.params or {}
        if any(self._table(each).imprecise for each in sources):
            likely = first(query, imprecise_found(query, stated, params), params)
            matches = [imprecise_result(query, *each) for each in likely]
            found, times = [f for f, _ in likely], [imprecise_detected_at(f) for f, _ in likely]
        else:
            found = precise(query, stated, params, "all")
            matches = [result(query, each) for each in found]
            times = [detected_at(each) for each in found]
        pairs = zip(found, matches, strict=True)
        return [_shown(each, match, origin, type_name) for each, match in pairs], times

    def _sources(self, query: ast.Query) -> list[str | None]:
        """The names after FROM; without it the input that has no name, or the only one."""
        names: list[str | None] = [name.text for name in query.sources]
        if len(set(names)) < len(names):
            raise ValueError("a stream is named twice after FROM")
        if names:
            return names
        given = [name for name in self.tables if name not in self.statements]
        if None not in given and len(given) != 1:
            raise ValueError("no FROM, and several inputs, all with names")
        return [None] if None in given else given

    def _table(self, name: str | None) -> Table:
        if name not in self.tables:
            if name not in self.statements or self.statements[name].stream is None:
                raise ValueError(f"an unknown stream: {name}")
            self.read(name)
        table = self.tables[name]
        if table.clashes:
            raise ValueError(f"a column is called {table.time}, as the time of composite events is")
        return table


def _given(each: Input) -> Table:
    stream = read_stream(each.rows, each.time, each.type, each.seq, each.types, each.time_unit)
    rows, imprecise = sorted(stream.events, key=lambda event: event.row), False
    time = each.time
    if isinstance(time, tuple):
        (time, _), imprecise = time, True
    ordered = each.seq is not None
    return Table(
        tuple(rows), stream.clock, time, composite=False, imprecise=imprecise, ordered=ordered
    )


def _type_name(statement: ast.Statement) -> str | None:
    """The type of the events that the results of a statement are."""
    output = statement.query.output
    created = output and output.type_name or statement.stream
    return created.text if created else None


def _items(query: ast.Query) -> tuple[ast.OutputItem, ...]:
    return query.output.items if query.output else ()


def _composite(
    shown: Sequence[ScriptMatch],
    times: Sequence[int],
    clock: Clock,
    time: str,
    returned: Mapping[str | None, set[str]],
) -> Table:
    """A composite event's time is when it is detected, its `seq` the rank among the results."""
    names = frozenset(name for each in shown for name in each.attributes) | {time}
    types = {type_name: names | own for type_name, own in returned.items()}
    events = (
        Event(
            row,
            row,
            at,
            (at, row),
            each.type,
            {**each.attributes, time: clock.value(at)},
            types[each.type],
        )
        for row, (each, at) in enumerate(zip(shown, times, strict=True))
    )
    clashes = any(time in each.attributes for each in shown)
    return Table(tuple(events), clock, time, composite=True, clashes=clashes, types=types)


def _merged(
    tables: Sequence[tuple[str | None, Table]],
) -> tuple[Stream, list[Origin]]:
    """One stream, and of each row of it where it comes from.

    At the same time primitive events come before composite ones, and `FROM a, b` has a before b.
    Beside an input of imprecise time events are at `time` to `time`. Of streams that make one type
    it has the attributes of all.
    """
    imprecise = any(table.imprecise for _, table in tables)
    if imprecise and len(tables) > 1 and any(t.composite or t.ordered for _, t in tables):
        raise ValueError("imprecise time beside a stream whose simultaneous events have an order")
    # Of an input without events nothing tells how it has time, but the unit that is said.
    known = [table.clock for _, table in tables if table.events or table.clock.unit]
    clock = _finest(known or [tables[0][1].clock])
    events, origin = list[Event](), list[Origin]()
    declared: dict[str | None, frozenset[str]] = {}
    for _, table in tables:
        for name, names in table.types.items():
            declared[name] = declared.get(name, frozenset()) | names
    for place, (stream, table) in enumerate(tables):
        for event in table.events:
            scale = _scale(table.clock, clock)
            time = event.time * scale
            until = event.until * scale if table.imprecise else time
            key = (time, table.composite, place, *event.key[1:])
            if imprecise:
                key = (time, until, place, event.row)
            names = event.declared
            if event.type in table.types:
                names = declared[event.type]
            events.append(
                replace(event, row=len(origin), time=time, key=key, until=until, declared=names)
            )
            origin.append((stream, event.row))
    ordered = sorted(events, key=lambda event: event.key)
    numbered = (replace(event, position=place) for place, event in enumerate(ordered))
    return Stream(tuple(numbered), clock), origin


def _finest(clocks: Sequence[Clock]) -> Clock:
    """Inputs of different resolution are brought to the finest; counts do not mix with dates."""
    kinds: set[str] = {clock.kind for clock in clocks}
    if len(kinds) > 1 and not kinds <= {"date", "naive", "aware"}:
        raise ValueError(f"the times of inputs are {', '.join(sorted(kinds))}")
    kind: Kind = next(kind for kind in _KINDS if kind in kinds)
    units = [clock.unit for clock in clocks]
    if kind == "integer" and None in units and len(set(units)) > 1:
        raise ValueError("of one input it is said what its integers count, of another not")
    return Clock(kind, None if None in units else min(unit for unit in units if unit))


_KINDS: tuple[Kind, ...] = ("aware", "naive", "date", "float", "integer")


def _scale(clock: Clock, finest: Clock) -> int:
    return clock.unit // finest.unit if clock.unit and finest.unit else 1


def _shown(
    found: Found,
    match: Match,
    origin: Sequence[Origin],
    type_name: str | None,
) -> ScriptMatch:
    attributes = match.values if match.values is not None else _flat(found)
    events = _of_inputs(match.events, origin)
    return ScriptMatch(replace(match, events=events), type_name, attributes)


def _of_inputs(rows: Any, origin: Sequence[Origin]) -> Any:
    if isinstance(rows, int):
        return origin[rows]
    return tuple(_of_inputs(each, origin) for each in rows)


def _flat(found: Found) -> dict[str, object]:
    """Without RETURN: `x_a` for each attribute of the event of a variable."""
    flat = dict[str, object]()
    for column, bound in zip(found.problem.pattern.columns, found.mapping, strict=True):
        if isinstance(column, Element) and not is_list(column.component):
            series: Series = bound  # type: ignore[assignment]
            for event in series:
                flat |= {f"{column.name}_{name}": event.values.get(name) for name in event.declared}
    return flat
