"""The queries of a funnel: one for each strategy and each number of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sase.base.texts import did_you_mean
from sase.binding import Schema
from sase.errors import PlanError
from sase.lang.ast import StrategyName
from sase.lang.printer import spelled_field, spelled_type

NEXT = StrategyName.SKIP_TILL_NEXT_MATCH.value
# The column of results with the time of the last step but one.
BEFORE = "step_before"
STRATEGIES = tuple(each.value for each in StrategyName)
Steps = Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class FunnelQueries:
    """A statement for each strategy and each number of steps."""

    steps: tuple[str, ...]
    keys: tuple[str, ...]
    within: object = None
    without: tuple[str, ...] = ()
    strategies: tuple[str, ...] = (NEXT,)
    definitions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, steps: Steps, by: object, within: object, without: object, strategies: object
    ) -> FunnelQueries:
        """The queries for the arguments of `funnel`, which are checked."""
        names = _texts("steps", [*steps] if isinstance(steps, Mapping) else steps)
        keys, chosen = _texts("by", by), _texts("strategies", strategies)
        barred = _texts("without", without, may_be_none=True)
        if len(names) < 2:
            raise PlanError(f"steps={list(names)!r}: a funnel has at least two steps")
        for each in chosen:
            if each not in STRATEGIES:
                hint = did_you_mean(each, STRATEGIES) or (f"there are {', '.join(STRATEGIES)}",)
                raise PlanError(f"strategies: there is no strategy {each!r}; {hint[0]}")
        if not isinstance(within, str | int | float | timedelta | None) or within == "":
            raise PlanError(f"within={within!r} is no time: give '1 hour', a timedelta or a number")
        definitions = tuple(steps.items()) if isinstance(steps, Mapping) else ()
        if definitions and barred:
            raise PlanError("without= names types, and these steps are conditions: give types=")
        return cls(names, keys, within, barred, chosen, definitions)

    @property
    def parameters(self) -> dict[str, object] | None:
        """The length of the window, unless it is a text."""
        return None if self.within is None or isinstance(self.within, str) else {"w": self.within}

    @property
    def names(self) -> list[str]:
        """The names of the statements."""
        return [self.name(each, count) for each in self.strategies for count in self.counts]

    @property
    def counts(self) -> range:
        """The numbers of steps."""
        return range(1, len(self.steps) + 1)

    @staticmethod
    def name(strategy: str, count: int) -> str:
        """The name of the statement of a number of steps."""
        return f"{strategy}_{count}"

    def check(self, schema: Schema) -> None:
        """Refuse steps that no event has, and times that are not precise."""
        known = schema.type_names
        if schema.is_imprecise:
            raise PlanError("a funnel is of precise times: name one column as  time=…")
        for name in (*self.steps, *self.without):
            if known is not None and name not in known:
                hint = did_you_mean(name, known) or (f"there are {', '.join(known)}",)
                raise PlanError(f"no event has the type {name!r}; {hint[0]}")
        for key in self.keys:
            if not any(schema.declares(name, key) for name in self.steps):
                hint = did_you_mean(key, schema.names) or ("name a column",)
                raise PlanError(f"by={key!r}: the events have no column `{key}`; {hint[0]}")

    def script(self, time: str) -> str:
        """The text of all statements; `time` is the column of the time."""
        return ";\n".join(
            f"CREATE STREAM {self.name(each, count)} AS {self.query(each, count, time)}"
            for each in self.strategies
            for count in self.counts
        )

    def query(self, strategy: str, count: int, time: str) -> str:
        """The query for the first steps, which returns the key and the time of the last but one."""
        parts = [f"{spelled_type(name)} s{n}" for n, name in enumerate(self.steps[:count], 1)]
        for n in range(1, count):
            barred = (f", !({spelled_type(t)} n{n}_{m})" for m, t in enumerate(self.without, 1))
            parts[n - 1] += "".join(barred)
        keys = [spelled_field(key) for key in self.keys]
        known = (f"s1.{key} IS NOT NULL" for key in keys)
        where = " AND ".join([f"[{', '.join(keys)}]", *known])
        clauses = [f"EVENT SEQ({', '.join(parts)}) WHERE {strategy} {{ {where} }}"]
        if self.within is not None and count > 1:
            clauses.append(f"WITHIN {self.within if isinstance(self.within, str) else ':w'}")
        columns = [f"s1.{key} AS {name}" for key, name in zip(keys, self.columns, strict=True)]
        columns.append(f"s{max(count - 1, 1)}.{spelled_field(time)} AS {BEFORE}")
        return " ".join([*clauses, f"RETURN {', '.join(columns)}"])

    @staticmethod
    def any(step: str) -> str:
        """The query for one event of a step."""
        return f"EVENT {spelled_type(step)} s LIMIT 1"

    @property
    def columns(self) -> list[str]:
        """The columns of the key in the results."""
        return [f"key_{number}" for number, _ in enumerate(self.keys, 1)]


def _texts(name: str, given: object, *, may_be_none: bool = False) -> tuple[str, ...]:
    """One text, or several different ones."""
    texts = (given,) if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) and each for each in texts):
        raise PlanError(f"{name}={given!r}: give a text, or a list of texts")
    if not texts and not may_be_none:
        raise PlanError(f"{name}={given!r}: there is none")
    if name != "steps" and len(set(texts)) < len(texts):
        raise PlanError(f"{name}={given!r}: one is there twice")
    return tuple(texts)
