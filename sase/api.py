"""The public functions and values: compile a query, run it over events, look at the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery, Condition
from sase.binding.lateness import lateness_in
from sase.engine.options import Options
from sase.errors import DataError, Diagnostic, PlanError
from sase.nearest import did_you_mean
from sase.planning.basic import basic_plan
from sase.planning.driver import Step
from sase.planning.nodes import Operator, Transformation, exchanged, find, shown
from sase.planning.optimizer import optimized
from sase.planning.recipes import read_recipe

if TYPE_CHECKING:
    from sase.engine.events.inputs import Inputs
    from sase.engine.files import Files
    from sase.engine.matcher import Matcher
    from sase.engine.matches import Matches
    from sase.engine.plan import EnginePlan

DEFAULT_PLAN, TIME, TYPE = "optimized", "ts", "type"
# What a plan holds beside the operators and the schema.
_REST = ("query", "definitions", "recipe", "steps", "options", "on_bad_row", "lateness")
_ON_BAD_ROW = ("error", "quarantine")
_OUTPUTS = ("all", "non_overlap", "compressed", "count")


@dataclass(frozen=True)
class Plan:
    """A compiled query: a frozen value, which can be printed, compared, pickled, sent as JSON.

    `steps` are the rewrites of the recipe, each with whether it applied. A bad row is an "error",
    or goes to "quarantine": `on_bad_row` says which. `lateness` is how long events of a stream may
    be late, in raw units of the time column.
    """

    query: str
    operators: Operator
    schema: Schema
    definitions: tuple[tuple[str, Condition], ...] = ()
    recipe: str = DEFAULT_PLAN
    steps: tuple[Step, ...] = ()
    options: Options = Options()
    on_bad_row: str = "error"
    lateness: int = 0
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_on_bad_row(self.on_bad_row)

    def run(
        self,
        events: object,
        *,
        threads: int | None = None,
        max_matches: int | None = None,
        watch: Callable[[int], object] = lambda rows: None,
    ) -> Matches:
        """The matches in events that are all there is; they are sorted if they are not.

        The events are read at once, and searched when the matches are first asked for. `watch` is
        told how many rows have been searched, every now and then.
        """
        from sase.engine.running import run

        return run(self._engine, events, threads=threads, most=max_matches, watch=watch)

    def open(self, *, streaming: bool = True) -> Matcher:
        """A matcher, to which events are pushed as they come."""
        from sase.engine.matcher import Matcher

        return Matcher(self._engine, streaming=streaming)

    def restore(self, snapshot: bytes) -> Matcher:
        """The matcher of which `Matcher.snapshot` made this: it goes on as that one would have."""
        from sase.engine.snapshot import restored

        return restored(self._engine, snapshot)

    @cached_property
    def _engine(self) -> EnginePlan:
        from sase.engine.plan import EnginePlan

        return EnginePlan(
            self.operators,
            self.schema,
            self.definitions,
            self.options,
            self.on_bad_row,
            self.lateness,
        )

    def to_json(self) -> str:
        """The plan as text, from which `from_json` makes an equal one."""
        from sase.planning.serialisation import encoded, plan_to_json

        rest = {name: encoded(getattr(self, name)) for name in _REST}
        return plan_to_json(self.operators, self.schema, **rest)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan of a text that `to_json` gave."""
        from sase.planning.serialisation import decoded, plan_from_json

        stored = plan_from_json(text)
        if set(stored.options) != set(_REST):
            raise PlanError("this is no compiled query: it does not say " + ", ".join(_REST))
        hints = get_type_hints(cls)
        rest = {name: decoded(stored.options[name], hints[name], name) for name in _REST}
        return cls(operators=stored.root, schema=stored.schema, **rest)

    def __str__(self) -> str:
        return shown(self.operators)


def match(
    query: str,
    events: object,
    *,
    time: str = TIME,
    type: str | None = TYPE,
    seq: str | None = None,
    types: Any = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    output: str = "all",
    on_bad_row: str = "error",
    limit: int | None = None,
    max_matches: int | None = None,
    stats: object = None,
    threads: int | None = None,
) -> Matches:
    """The matches of a query in events: compile and run.

    `events` are the path of files (Parquet, CSV, JSON lines, Arrow; a file, a folder or a pattern),
    a pyarrow Table, RecordBatch or reader, a data frame, a list of dicts, or a dict of type name →
    any of these. In files the columns of time and type are found by their usual names. `plan` is
    the name of a recipe, or the path of one of your own. A row is bad whose time, type, `seq` or a
    column that the query names cannot be read: an error, or with `on_bad_row="quarantine"` left out
    and put into `Matches.report.quarantined`.
    """
    check_output(output)
    _refuse_what_waits(stats=stats)
    _check_on_bad_row(on_bad_row)
    inputs = readable(events, time, keeps_rows=on_bad_row == "quarantine")
    compiled = compile(
        query,
        inputs,
        time=time,
        type=type,
        seq=seq,
        types=types,
        time_unit=time_unit,
        params=params,
        plan=plan,
        limit=limit,
        on_bad_row=on_bad_row,
    )
    return compiled.run(inputs, threads=threads, max_matches=max_matches)


def compile(
    query: str,
    schema: object,
    *,
    time: str = TIME,
    type: str | None = TYPE,
    seq: str | None = None,
    types: Any = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    limit: int | None = None,
    on_bad_row: str = "error",
    lateness: object = None,
    stats: object = None,
) -> Plan:
    """The plan of a query over events of a schema.

    `schema` is a `sase.Schema`, a schema of Arrow, or events like those that will come: then the
    keywords say what its columns are. Where the plan is opened for a stream `lateness` says how
    late rows may come: raw units of the time column, a `timedelta`, or a text like "5 seconds".
    """
    _refuse_what_waits(stats=stats)
    _check_on_bad_row(on_bad_row)
    mends = on_bad_row == "quarantine"
    columns = {"time": time, "type": type, "seq": seq}
    known = _schema(schema, mends=mends, types=types, time_unit=time_unit, **columns)
    allowed = lateness_in(lateness, known)
    bound = bind_text(query, known, parameters=dict(params or {}))
    recipe = read_recipe(plan)
    made = optimized(recipe, _limited(basic_plan(bound), limit))
    _check_runs(bound)
    return Plan(
        query,
        made.plan,
        known,
        bound.definitions,
        recipe.name,
        made.steps,
        on_bad_row=on_bad_row,
        lateness=allowed,
        warnings=bound.warnings,
    )


def _schema(given: object, *, mends: bool, **keywords: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    from sase.engine.events import describe
    from sase.engine.files import Files

    inputs = readable(given, keywords["time"], keeps_rows=mends)
    if isinstance(inputs, Files):
        keywords |= named(inputs.schema.names, **keywords)
        return describe(inputs.schema, mends=mends, **keywords)
    if inputs.of_files:
        keywords |= named(inputs.tables[0].names, **keywords)
    return describe(inputs, mends=mends, **keywords)


def named(
    columns: Sequence[str], *, time: str | None, type: str | None, types: Any, **rest: Any
) -> dict[str, str | None]:
    """The time and type columns of files: those named, or if they are not there the usual ones."""
    from sase.engine.files import names_found

    time = None if time == TIME and time not in columns else time
    type = None if type == TYPE and type not in columns else type
    found = names_found(columns, time, type, typed=types is not None)
    return {"time": found.time, "type": found.type}


def readable(events: object, time: str, *, keeps_rows: bool) -> Files | Inputs:
    """Events whose columns are known, and which can be read more than once."""
    from sase.engine.events import opened
    from sase.engine.files import Files, is_path, open_files

    if isinstance(events, Files):
        return events
    if is_path(events):
        try:
            return open_files(events, time)
        except DataError as problem:
            from sase.engine.files.salvage import salvaged_from

            rows = salvaged_from(events, time) if keeps_rows and problem.row is not None else None
            if rows is None:
                raise
            return replace(opened(rows, keeps_rows=keeps_rows), of_files=True)
    return opened(events, keeps_rows=keeps_rows).drained()


def _limited(plan: Operator, limit: int | None) -> Operator:
    """The plan with the lesser of two limits."""
    if limit is None:
        return plan
    if limit < 0:
        raise PlanError(f"limit={limit}: a number of matches is not negative")
    top = find(plan, Transformation)
    assert top is not None and (top.limit is None or isinstance(top.limit, int))
    return exchanged(
        plan, replace(top, limit=limit if top.limit is None else min(limit, top.limit))
    )


def _check_runs(bound: BoundQuery) -> None:
    if bound.level > 1:
        from sase.engine.operators import runs_refused

        raise runs_refused()


def check_output(given: str) -> None:
    """Say of the forms of output that wait for level 2 that they do."""
    _check_is_one("output", given, _OUTPUTS)
    if given != "all":
        raise PlanError(f'output={given!r} waits for level 2: this version gives "all" matches')


def _check_on_bad_row(given: str) -> None:
    _check_is_one("on_bad_row", given, _ON_BAD_ROW)


def _check_is_one(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        hint = did_you_mean(str(given), known) or ("",)
        names = " or ".join(f'"{each}"' for each in known)
        raise PlanError(f"{name}={given!r}: it is {names}; {hint[0]}".removesuffix("; "))


def _refuse_what_waits(**given: object) -> None:
    """Say of options that are part of the interface and not of this version that they are not."""
    for name, value in given.items():
        if value is not None:
            raise PlanError(f"{name}={value!r} is not supported by this version")
