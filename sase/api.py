"""The public functions and values: compile a query, run it over events, look at the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery, Condition
from sase.binding.lateness import lateness_in
from sase.engine.options import Options
from sase.errors import Diagnostic, PlanError
from sase.planning.basic import basic_plan
from sase.planning.nodes import Operator, Transformation, exchanged, find, shown
from sase.planning.recipes import Step, cooked, read_recipe

if TYPE_CHECKING:
    from sase.engine.matcher import Matcher
    from sase.engine.matches import Matches
    from sase.engine.plan import EnginePlan

DEFAULT_PLAN = "optimized"
# What a plan holds beside the operators and the schema.
_REST = ("query", "definitions", "recipe", "steps", "options", "lateness")


@dataclass(frozen=True)
class Plan:
    """A compiled query: a frozen value, which can be printed, compared, pickled, sent as JSON.

    `steps` are the rewrites of the recipe, each with whether it applied; `lateness` is how long
    events of a stream may be late, in raw units of the time column.
    """

    query: str
    operators: Operator
    schema: Schema
    definitions: tuple[tuple[str, Condition], ...] = ()
    recipe: str = DEFAULT_PLAN
    steps: tuple[Step, ...] = ()
    options: Options = Options()
    lateness: int = 0
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    def run(self, events: object, *, threads: int | None = None) -> Matches:
        """The matches in events that are all there is; they are sorted if they are not."""
        if threads not in (None, 1):
            raise PlanError("this version runs a plan in one thread: leave out  threads=…")
        return self.open(streaming=False).run(events)

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
            self.operators, self.schema, self.definitions, self.options, self.lateness
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
    time: str = "ts",
    type: str | None = "type",
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

    `events` are a pyarrow Table, RecordBatch or reader, a data frame, a list of dicts, or a dict of
    type name → any of these. `plan` is the name of a recipe, or the path of one of your own.
    """
    from sase.engine.events import opened

    _refuse_what_waits(output=output, on_bad_row=on_bad_row, max_matches=max_matches, stats=stats)
    inputs = opened(events).drained()
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
    )
    return compiled.run(inputs, threads=threads)


def compile(
    query: str,
    schema: object,
    *,
    time: str = "ts",
    type: str | None = "type",
    seq: str | None = None,
    types: Any = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    limit: int | None = None,
    lateness: object = None,
    stats: object = None,
) -> Plan:
    """The plan of a query over events of a schema.

    `schema` is a `sase.Schema`, a schema of Arrow, or events like those that will come: then the
    keywords say what its columns are. Where the plan is opened for a stream `lateness` says how
    late rows may come: raw units of the time column, a `timedelta`, or a text like "5 seconds".
    """
    _refuse_what_waits(stats=stats)
    known = _schema(schema, time=time, type=type, seq=seq, types=types, time_unit=time_unit)
    allowed = lateness_in(lateness, known)
    bound = bind_text(query, known, parameters=dict(params or {}))
    recipe = read_recipe(plan)
    operators, steps = cooked(recipe, _limited(basic_plan(bound), limit))
    _check_runs(bound)
    return Plan(
        query,
        operators,
        known,
        bound.definitions,
        recipe.name,
        steps,
        lateness=allowed,
        warnings=bound.warnings,
    )


def _schema(given: object, **keywords: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    from sase.engine.events import describe

    return describe(given, **keywords)


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


def _refuse_what_waits(**given: object) -> None:
    """Say of options that are part of the interface and not of this version that they are not."""
    usual = {"output": "all", "on_bad_row": "error"}
    for name, value in given.items():
        if value != usual.get(name):
            raise PlanError(f"{name}={value!r} is not supported by this version")
