"""EXPLAIN on Spark: both plans, the place of each step, the cut, and with `analyze` counters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from sase.api.set_results import ways_of
from sase.engine.pipeline.threads import without_limit
from sase.errors import PlanError
from sase.planning.counting import CountingWay, CountMethod
from sase.planning.explain import Explanation, described
from sase.planning.explain.complexity import explained_complexity
from sase.planning.explain.describe import split_text
from sase.planning.explain.driven import PhysicalPath, paths_of
from sase.planning.explain.forms import SETS, analyze_lists, explained_form
from sase.planning.explain.text import form_lines, physical_lines, tree, wrapped_complexity
from sase.planning.physical.drive import Feed
from sase.planning.plan.nodes import name_of
from sase.planning.quantities import counted, duration, percentage
from sase.planning.replay import EARLIEST, SlicePlan
from sase.printable import Documented, printable_lines
from sase.spark.reading.row_layout import PART
from sase.spark.reading.source import plan_text
from sase.spark.replay import STREAMED, Replay, ReplayKeywords, replay

VERSION = 1


def explain(
    query: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    analyze: bool = False,
    **options: Unpack[ReplayKeywords],
) -> SparkExplanation:
    """Explain a query on Spark; the options are those of `match`.

    The only jobs are those that find the bounds of slices. With `analyze`, the query runs, too, for
    its counters.
    """
    limits = [name for name in ("timeout", "max_memory") if options.get(name) is not None]
    if limits and not analyze:
        raise PlanError(f"{' and '.join(limits)}: without analyze=True no task runs")
    return explained(replay(query, df, **options), analyze=analyze)


def explained(replay: Replay, *, analyze: bool = False) -> SparkExplanation:
    """Explain a replay."""
    compiled, optimized, cut = replay.compiled, replay.optimized, replay.cut
    statistics = replay.statistics
    output = "all" if replay.output in STREAMED else replay.output
    ways = ways_of(compiled, is_number=False)
    if output in SETS:
        reasons = replay.listing_reasons(output)
        if analyze and not reasons:
            raise PlanError(analyze_lists(output))
        how = CountMethod.LISTED if reasons else CountMethod.PATHS
        ways = (CountingWay(how, reasons=reasons),)
    form = explained_form(output, ways, optimized.plan, statistics)
    plan = described(
        compiled.query, compiled.recipe, optimized, statistics, form=form, physical=_paths(replay)
    )
    return SparkExplanation(
        # This is the split of the search; with a second step, the search may be split in more ways.
        dataclasses.replace(
            plan,
            split=split_text(replay.plan.split),
            complexity=explained_complexity(compiled.bound, statistics),
        ),
        str(cut.choice.strategy),
        cut.choice.reason,
        tuple((str(name), why) for name, why in cut.choice.declined),
        tuple(test.attribute for test in cut.keys),
        cut.whole,
        0 if cut.slices is None else len(cut.slices),
        len(cut.hot),
        cut.notes,
        _halo(replay, analyze=analyze),
        tuple(_places(replay)),
        plan_text(replay.searched),
        counters(replay) if analyze else (),
    )


def _paths(replay: Replay) -> tuple[PhysicalPath, ...]:
    """The drives for the rows of a part, which a task loads block by block."""
    if replay.output in SETS and not replay.listing_reasons(replay.output):
        return ()
    paths = paths_of(without_limit(replay.plan)[0], in_pieces=True)
    return tuple(path for path in paths if path.feed is Feed.LOADED)


def _halo(replay: Replay, *, analyze: bool) -> Halo | None:
    if replay.cut.slices is None:
        return None
    if analyze:
        return measured(replay)
    # With hot keys, only their rows are in slices, so the bounds say nothing about the others.
    return None if replay.cut.hot else estimated(replay.cut.slices)


def estimated(slices: SlicePlan) -> Halo | None:
    """The halo from the bounds, if all slices have equally many rows; None without bounds."""
    lengths = [end - begin for begin, end in zip(slices.bounds, slices.bounds[1:], strict=False)]
    if not lengths or EARLIEST in slices.begins:
        return None
    share = 0.0
    for number, bound in enumerate(slices.bounds):
        # The first and the last slice are open; their length is assumed to be that of the next
        # ones.
        before, behind = lengths[max(number - 1, 0)], lengths[min(number, len(lengths) - 1)]
        share += (bound - slices.begins[number]) / before + (slices.ends[number] - bound) / behind
    return Halo(share / len(slices))


def measured(replay: Replay) -> Halo | None:
    """The measured halo: a job counts the parts of each row; None if there is no row."""
    parts = sf.size(sf.col(f"`{PART}`"))
    several = sf.sum(sf.when(parts > 1, 1).otherwise(0))
    found = replay.rows_with_parts().select(sf.count(sf.lit(1)), sf.sum(parts), several).first()
    assert found is not None
    rows, total, shared = found
    return Halo(total / rows - 1, shared / rows) if rows else None


def counters(replay: Replay) -> tuple[TaskCounter, ...]:
    """Run the query for the counters of its tasks, in the order of the dataflow."""
    value, part = sf.col("value"), sf.col("part")
    found = (
        replay.metrics()
        .groupBy("operator", "counter")
        .agg(sf.sum(value), sf.max(value), sf.max_by(part, value))
        .collect()
    )
    order = ["Task", *(each.name for each in replay.plan.placed)]
    every = (TaskCounter(*row) for row in found)
    return tuple(sorted(every, key=lambda each: (order.index(each.operator), each.counter)))


# ---------------------------------------------------------------- places of the steps


def _places(replay: Replay) -> Iterator[Placement]:
    plan, cut = replay.plan, replay.cut
    jobs = f"; {'; '.join(cut.notes)}" if cut.notes else ""
    yield Placement("driver", f"binds and plans the query, and cuts the events{jobs}")
    yield from _preparing(replay)
    names = ", ".join(type(each).__name__ for each in replay.operators)
    matcher = f"one matcher for each of {cut.parts:,} parts: {names}"
    if replay.output in SETS and not replay.listing_reasons(replay.output):
        matcher = f"a graph of events for each of {cut.parts:,} parts, in which paths are counted"
    yield Placement("Python tasks", matcher)
    if (tests := replay.non_overlapping) is not None:
        where, take = ("Python tasks", "take") if tests else ("one Python task", "takes")
        names = ", ".join(test.attribute for test in tests)
        of = f"of all matches of the same {names}" if names else "of all matches"
        yield Placement(where, f"{take} {of} the first, and then the first behind it (non_overlap)")
    _, limit = without_limit(plan)
    if limit is not None:
        yield Placement("one Python task", f"takes the first {limit:,} results of all parts")


def _preparing(replay: Replay) -> Iterator[Placement]:
    """The steps before the rows reach the matchers."""
    plan = replay.plan
    columns = "all columns" if plan.scan.columns is None else ", ".join(sorted(plan.named))
    if replay.cut.files is not None:
        yield Placement(
            "Python tasks", f"read {columns} of the row groups of a slice and its halo: no shuffle"
        )
        return
    order = ", ".join(filter(None, [plan.schema.time, plan.schema.seq]))
    yield Placement("Spark SQL", f"reads {columns}")
    yield Placement("Spark SQL", f"keeps {_kept(replay)}")
    yield Placement("Spark SQL", f"{_placing(replay)}, and sorts each part by {order}")


def _kept(replay: Replay) -> str:
    names = replay.plan.types_wanted
    types = "rows of any type" if names is None else f"rows of type {' or '.join(sorted(names))}"
    keys = f" that have {', '.join(test.attribute for test in replay.cut.keys)}"
    bad = "puts bad rows aside" if replay.compiled.on_bad_row == "quarantine" else "and any bad row"
    return f"{types}{keys if replay.cut.keys else ''}, {bad}"


def _placing(replay: Replay) -> str:
    cut = replay.cut
    if cut.slices is None:
        return "puts each row into the part of its key" if cut.keys else "brings all rows together"
    if not cut.keys:
        return "puts each row into every slice of time that needs it"
    return "puts each row into the part of its key, those of hot keys into slices of time"


# ---------------------------------------------------------------- the explanation as a value


@dataclass(frozen=True, slots=True)
class Placement:
    """A step and its place: the driver, Spark SQL, or Python tasks."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Halo:
    """The share of additional rows in slices, and of `shared` rows, if counted."""

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
    """A counter of an operator: its sum over all tasks, and the part with the greatest value."""

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
class SparkExplanation(Documented):
    """A query over DataFrames: our plan and Spark's, the cut, and the counters of ANALYZE.

    `whole` is the number of parts with all events of their keys, and `slices` the number of slices
    of time.
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
        """Everything as plain data for JSON; docs/spark-replay.md describes it."""
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

    def __str__(self) -> str:
        lines = [f"plan {self.plan.recipe}: {self.plan.summary}", *form_lines(self.plan)]
        lines += ["", *tree(self.plan), ""]
        lines += [*physical_lines(self.plan), *self._cut(), *wrapped_complexity(self.plan), ""]
        lines += self._where()
        if self.counters:
            lines += ["", *self._counted()]
        return printable_lines("\n".join([*lines, "", "the plan of Spark:", self.spark_plan]))

    def _cut(self) -> Iterator[str]:
        yield f"parallel parts: {self.plan.split}"
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
        yield "the place of each step:"
        for place in self.places:
            first, *rest = wrap(f"{place.where}: {place.what}", 98)
            yield f"  {first}"
            yield from (f"    {line}" for line in rest)

    def _counted(self) -> Iterator[str]:
        yield "counted in the tasks, as a sum, and where most:"
        symbols = {
            name_of(each.name, each.branch): name_of(each.symbol, each.branch)
            for each in self.plan.operators
        }
        for operator in dict.fromkeys(each.operator for each in self.counters):
            yield f"  {symbols.get(operator, operator)}"
            for each in self.counters:
                if each.operator == operator and each.total:
                    yield f"    {each}"
