"""Read a stored plan: it must be equal to the plan made from its query, schema and rewrites.

A fingerprint detects damage, but anyone can compute a new one, and kernels index arrays by the
numbers of a plan. So the stored numbers are not trusted. The query is bound to the stored schema
again, and the stored rewrites are applied again. The result of this process is the plan. Only the
choices of statistics are taken from the stored operators; each of them is one of several legal
choices.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from reprlib import repr as brief
from typing import Any

from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery, Condition, Constant
from sase.binding.types import RESOLUTIONS, DataType, Kind
from sase.binding.values.folding import INT64_MAX
from sase.binding.values.literals import Given, constants
from sase.errors import PlanError, SaseError
from sase.lang.ast import StrategyName
from sase.planning.driver import RewriteCall, RewriteStep
from sase.planning.engine_plan import Options, user_aggregates
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import (
    Operator,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Union,
    branches_of,
    exchanged,
    find,
    require,
    with_branch,
)
from sase.planning.rewrites import REWRITES, Declined
from sase.planning.rewrites.partition_stacks import tests_of
from sase.planning.serialisation import decoded, plan_from_json, refusing_depth

PARAMETERS = "params"
# The parts of a plan in JSON in addition to the operators and the schema; `params` is optional.
PARTS: dict[str, Any] = {
    "query": str,
    "definitions": tuple[tuple[str, Condition], ...],
    "recipe": str,
    "steps": tuple[RewriteStep, ...],
    "options": Options,
    "on_bad_row": str,
    "lateness": int | None,
    PARAMETERS: tuple[tuple[str, Given], ...],
}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# The greatest sizes of the engine's arrays in a stored plan, because these are allocated.
MOST_OF_BLOCK, MOST_OF_CHUNK, MOST_OF_STACK = 1 << 24, 1 << 20, 1 << 20
# The most applied rewrites of a stored plan; a recipe has far fewer.
MOST_STEPS = 1000


@refusing_depth()
def read_parts(text: str, key: bytes | None = None) -> dict[str, Any]:
    """Read the parts of a plan from its text; a `PlanError` names the place of an error."""
    stored = plan_from_json(text, key)
    user_aggregates(stored.root)
    _check_text(text)
    if set(stored.options) - {PARAMETERS} != set(PARTS) - {PARAMETERS}:
        raise PlanError("this is no compiled query: it does not say " + ", ".join(PARTS))
    parts = {name: decoded(data, PARTS[name], name) for name, data in stored.options.items()}
    _check_options(parts["options"], parts["lateness"])
    _check_schema(stored.schema)
    return {**parts, "schema": stored.schema, **_made_again(stored.root, stored.schema, parts)}


def _check_text(text: str) -> None:
    """Refuse unpaired surrogates, which no column and no value of events can contain."""
    try:
        text.encode()
        if _SURROGATE.search(text):
            json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half = ascii(problem.object[problem.start])
        raise PlanError(f"this plan has half of a character in a text: {half}") from problem


def _made_again(root: Operator, schema: Schema, parts: dict[str, Any]) -> dict[str, Any]:
    """The parts made again from the query of a stored plan; they must equal the stored ones."""
    try:
        parameters = _parameters(parts.get(PARAMETERS, ()))
        bound = bind_text(parts["query"], schema, parameters=parameters)
        operators = _Replay(root, bound).operators(parts["steps"])
    except PlanError:
        raise
    except SaseError as problem:
        raise PlanError(f"query: it does not fit the schema of this plan: {problem}") from problem
    if root != operators:
        raise PlanError(_difference(root, operators, "plan"))
    if parts["definitions"] != bound.definitions:
        raise PlanError(_difference(parts["definitions"], bound.definitions, "definitions"))
    return {
        "operators": operators,
        "definitions": bound.definitions,
        "warnings": bound.warnings,
    }


@dataclass(frozen=True)
class _Replay:
    """Makes operators again, with the choices of statistics in the stored ones."""

    stored: Operator
    bound: BoundQuery

    def operators(self, steps: tuple[RewriteStep, ...]) -> Operator:
        """The basic plan after the applied rewrites."""
        if len(steps) > MOST_STEPS:
            raise PlanError(f"steps: these are {len(steps)}, and may be {MOST_STEPS}")
        plan = self._basic()
        for number, step in enumerate(steps):
            if step.applied:
                plan = self._after_step(plan, step, f"steps[{number}]")
        return plan

    def _after_step(self, plan: Operator, step: RewriteStep, place: str) -> Operator:
        """The plan after a rewrite of the plan or of one of its branches."""
        branches, stored = branches_of(plan), branches_of(self.stored)
        if (step.branch is not None) is not (find(plan, Union) is not None):
            raise PlanError(f"{place}: a rewrite is of a branch where there are some")
        if step.branch is None:
            return self.after(plan, step.call, place)
        if not 0 <= step.branch < min(len(branches), len(stored)):
            raise PlanError(f"{place}: there is no branch {brief(step.branch)}")
        of_branch = _Replay(stored[step.branch], self.bound)
        after = of_branch.after(branches[step.branch], step.call, place)
        return with_branch(plan, step.branch, after)

    def _basic(self) -> Operator:
        """The basic plan with the limit and the non-overlap of the stored one, if legal."""
        basic, top = basic_plan(self.bound), find(self.stored, Transformation)
        given = require(basic, Transformation)
        if top is None or given == top:
            return basic
        limit, within = given.limit, given.non_overlapping
        if isinstance(top.limit, int) and _is_below(top.limit, limit):
            limit = top.limit
        if top.non_overlapping is not None:
            whole = self.bound.strategy is StrategyName.STRICT_CONTIGUITY
            within = () if whole else self.bound.equivalences
        return exchanged(basic, replace(given, limit=limit, non_overlapping=within))

    def after(self, plan: Operator, call: RewriteCall, place: str) -> Operator:
        """The plan after a rewrite."""
        rewrite = REWRITES.get(call.rewrite)
        given: dict[str, Any] = dict(call.parameters)
        if rewrite is None or not given.keys() <= rewrite.parameters:
            raise PlanError(f"{place}: there is no rewrite {brief(str(call))}")
        if call.rewrite == "partition_stacks" and not given:
            given = self._attribute(plan)
        after = rewrite(plan, **given)
        if isinstance(after, Declined):
            raise PlanError(f"{place}: {call} does not apply: {after.reason}")
        if call.rewrite == "push_conditions_into_construction":
            return self._ordered(after)
        return after

    def _attribute(self, plan: Operator) -> dict[str, str]:
        """The test by which statistics chose to partition, as a parameter."""
        scan = find(self.stored, SequenceScan)
        match scan and scan.partitions:
            case ((test,),) if test in tests_of(plan):
                return {"on": test.attribute}
        return {}

    def _ordered(self, plan: Operator) -> Operator:
        """The plan with the conditions of construction in the order chosen by statistics."""
        stored, made = (find(each, SequenceConstruction) for each in (self.stored, plan))
        if stored is None or made is None:
            return plan
        order = [each for each in stored.conditions if each in made.conditions]
        if len(order) != len(made.conditions) or set(order) != set(made.conditions):
            return plan
        own = {each: each for each in made.conditions}
        return exchanged(plan, replace(made, conditions=tuple(own[each] for each in order)))


def _is_below(limit: int, value: object) -> bool:
    return 0 <= limit <= (value if isinstance(value, int) else INT64_MAX)


# ---------------------------------------------------------------- parts that are only checked


def _parameters(stored: tuple[tuple[str, Given], ...]) -> Mapping[str, object]:
    """The values of parameters as the caller gave them."""
    given = {
        name: list(map(_given, known)) if isinstance(known, tuple) else _given(known)
        for name, known in stored
    }
    for name, known in stored:
        if constants({name: given[name]}) != ((name, known),):
            raise PlanError(f"params: the value of `{brief(name)}` is not of its type")
    return given


def _given(known: Constant) -> object:
    value = known.value
    if value is None and known.type.kind is Kind.FLOAT:
        return math.nan
    try:
        if known.type.kind is Kind.TIMESTAMP and isinstance(value, int):
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value // 1000)
        if known.type.kind is Kind.INTERVAL and isinstance(value, int):
            return timedelta(microseconds=value // 1000)
    except OverflowError:
        return None
    return value


def _check_options(options: Options, lateness: int | None) -> None:
    bounds = {"block": MOST_OF_BLOCK, "chunk": MOST_OF_CHUNK, "stack": MOST_OF_STACK}
    for name, most in bounds.items():
        if getattr(options, name) > most:
            found = brief(getattr(options, name))
            raise PlanError(f"options.{name}: this is {found}, and may be {most}")
    if lateness is not None and not 0 <= lateness <= INT64_MAX:
        raise PlanError(f"lateness: this is {brief(lateness)}: it is from 0 to {INT64_MAX}")


def _check_schema(schema: Schema) -> None:
    """Refuse duplicate names and unknown types."""
    types = schema.types or ()
    _check_distinct([each.name for each in types], "schema.types")
    _check_distinct([name for name, _ in schema.definitions], "schema.definitions")
    for table in (schema.columns or (), *(each.attributes or () for each in types)):
        _check_distinct([name for name, _ in table], "schema: columns")
        for name, kind in table:
            _check_type(kind, f"schema: the type of `{name[:40]}`")


def _check_distinct(names: Sequence[str], place: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise PlanError(f"{place}: {brief(twice)} is there twice")


def _check_type(kind: DataType, place: str) -> None:
    if kind.resolution is not None and kind.resolution not in RESOLUTIONS:
        known = ", ".join(RESOLUTIONS)
        raise PlanError(f"{place}: there is no resolution {brief(kind.resolution)}, but {known}")
    if kind.scale is not None and not 0 <= kind.scale <= 18:
        raise PlanError(f"{place}: there is no scale {brief(kind.scale)}: it is from 0 to 18")
    if kind.width not in (None, 16, 32):
        raise PlanError(f"{place}: there is no width {brief(kind.width)}: it is 16 or 32 bits")
    if kind.parts and kind.kind is not Kind.OTHER:
        raise PlanError(f"{place}: {kind} has no parts")
    _check_distinct([name for name, _ in kind.parts], f"{place}: parts")
    for _, part in kind.parts:
        _check_type(part, place)


# ---------------------------------------------------------------- differences


def _difference(stored: object, made: object, place: str) -> str:
    """Say where a stored value differs from the one made from the query, with both values."""
    while True:
        inner = next(_unlike(stored, made, place), None)
        if inner is None:
            return (
                f"{place}: this is {brief(stored)}, and the query of this plan comes to"
                f" {brief(made)}: the plan was changed, or is of another version of SASE; compile"
                " its query again"
            )
        stored, made, place = inner


def _unlike(stored: Any, made: Any, place: str) -> Iterator[tuple[Any, Any, str]]:
    """The parts of two values that differ, with their places."""
    if type(stored) is not type(made):
        return
    if is_dataclass(stored):
        names = [each.name for each in fields(stored) if each.compare]
        pairs = [(getattr(stored, n), getattr(made, n), f"{place}.{n}") for n in names]
    elif isinstance(stored, tuple) and len(stored) == len(made):
        pairs = [(s, m, f"{place}[{n}]") for n, (s, m) in enumerate(zip(stored, made, strict=True))]
    else:
        return
    yield from (pair for pair in pairs if pair[0] != pair[1])
