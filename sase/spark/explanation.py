"""EXPLAIN on Spark as a value: our plan, its placement, the cut, and Spark's physical plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

from sase.planning.explain import Explanation
from sase.planning.explain.text import form_lines, tree
from sase.planning.quantities import counted, duration, percentage

VERSION = 1


@dataclass(frozen=True, slots=True)
class Placement:
    """A step and where it runs: on the driver, by Spark SQL, or in Python tasks."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Halo:
    """The rows that slices share: `overhead` is the share of rows that come on top.

    `shared` is the share of rows that are seen by more than one slice, where it was counted.
    """

    overhead: float
    shared: float | None = None

    def __str__(self) -> str:
        if self.shared is None:
            return f"about {percentage(self.overhead)} more rows, by the bounds and the window"
        return (
            f"{percentage(self.shared)} of the rows are in more than one slice, and tasks get"
            f" {percentage(self.overhead)} more rows for it"
        )


@dataclass(frozen=True, slots=True)
class TaskCounter:
    """A counter of an operator: the sum over all tasks, and the part where it is largest."""

    operator: str
    counter: str
    total: int
    most: int
    part: int

    def __str__(self) -> str:
        show = duration if self.counter.endswith("_ns") else counted
        name = self.counter.removesuffix("_ns").replace("_", " ")
        return f"{name}: {show(self.total)} (most {show(self.most)}, in part {self.part})"


@dataclass(frozen=True)
class SparkExplanation:
    """A query over DataFrames: `str` and `to_dict` show it.

    `plan` is our own, `spark_plan` that of Spark; `whole` parts hold histories of keys, and
    `slices` parts a slice of time each. `counters` are there where the query was run for it.
    """

    plan: Explanation
    strategy: str
    reason: str
    declined: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    whole: int
    slices: int
    hot_keys: int
    notes: tuple[str, ...]
    halo: Halo | None
    places: tuple[Placement, ...]
    spark_plan: str
    counters: tuple[TaskCounter, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data of JSON; docs/spark-replay.md describes it."""
        halo = None if self.halo is None else asdict(self.halo)
        return {
            "version": VERSION,
            "plan": self.plan.to_dict(),
            "cut": {
                "strategy": self.strategy,
                "reason": self.reason,
                "declined": [{"strategy": name, "reason": why} for name, why in self.declined],
                "keys": list(self.keys),
                "parts": self.whole,
                "slices": self.slices,
                "hot_keys": self.hot_keys,
                "told": list(self.notes),
                "halo": halo,
            },
            "places": [asdict(each) for each in self.places],
            "spark_plan": self.spark_plan,
            "counters": [asdict(each) for each in self.counters],
        }

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [f"plan {self.plan.recipe}: {self.plan.summary}", *form_lines(self.plan)]
        lines += ["", *tree(self.plan), ""]
        lines += [*self._cut(), "", *self._where()]
        if self.counters:
            lines += ["", *self._counted()]
        return "\n".join([*lines, "", "the plan of Spark:", self.spark_plan])

    def _cut(self) -> Iterator[str]:
        yield f"may be cut {self.plan.split}"
        yield f"cut by {self.strategy}: {self.reason}"
        yield f"  parts: {', '.join(self._parts())}"
        if self.halo is not None:
            yield f"  halo: {self.halo}"
        yield from (f"  {each}" for each in self.notes)
        yield from (f"  not by {name}: {why}" for name, why in self.declined)

    def _parts(self) -> Iterator[str]:
        if self.keys:
            yield f"{self.whole:,} by the hash of {', '.join(self.keys)}"
        elif self.whole:
            yield f"{self.whole:,}"
        if self.slices:
            of = f" of the histories of {self.hot_keys:,} hot keys" if self.keys else ""
            yield f"{self.slices:,} slices of time{of}"

    def _where(self) -> Iterator[str]:
        yield "what runs where:"
        for place in self.places:
            first, *rest = wrap(f"{place.where}: {place.what}", 98)
            yield f"  {first}"
            yield from (f"    {line}" for line in rest)

    def _counted(self) -> Iterator[str]:
        yield "counted in the tasks, as a sum, and where most:"
        symbols = {each.name: each.symbol for each in self.plan.operators}
        for operator in dict.fromkeys(each.operator for each in self.counters):
            yield f"  {symbols.get(operator, operator)}"
            for each in self.counters:
                if each.operator == operator and each.total:
                    yield f"    {each}"
