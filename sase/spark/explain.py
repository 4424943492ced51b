"""EXPLAIN on Spark: what is planned, and with `analyze` what the tasks count."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from sase.engine.pipeline.time_slices import without_limit
from sase.errors import PlanError
from sase.planning.explain import described
from sase.planning.explain.describe import split_text
from sase.planning.explain.forms import SETS, analyze_lists, explained_form
from sase.planning.replay import EARLIEST, SlicePlan
from sase.spark.explanation import Halo, Placement, SparkExplanation, TaskCounter
from sase.spark.replay import FLOWING, Replay, replay
from sase.spark.row_layout import PART


def explain(
    query: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    analyze: bool = False,
    **options: Any,
) -> SparkExplanation:
    """Explain a query on Spark; the options are those of `match`.

    Nothing is run but the jobs that look for the bounds of slices. With `analyze` the query is run
    for what its tasks count; its results are not kept.
    """
    return explained(replay(query, df, **options), analyze=analyze)


def explained(replay: Replay, *, analyze: bool = False) -> SparkExplanation:
    """The explanation of a replay."""
    known, cut, made, statistics = replay.known, replay.cut, replay.made, replay.statistics
    output = "all" if replay.output in FLOWING else replay.output
    form = explained_form(output, known.basic, made.plan, statistics)
    if output in SETS:
        if analyze and not replay.one_by_one(output):
            raise PlanError(analyze_lists(output))
        form = dataclasses.replace(form, reasons=replay.one_by_one(output))
    plan = described(known.query, known.recipe, made, statistics, form=form)
    return SparkExplanation(
        # The search alone is cut, and may be cut in more ways than all with a second step.
        dataclasses.replace(plan, split=split_text(replay.plan.split)),
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
        spark_plan(replay.searched),
        counters(replay) if analyze else (),
    )


def _halo(replay: Replay, *, analyze: bool) -> Halo | None:
    if replay.cut.slices is None:
        return None
    if analyze:
        return measured(replay)
    # Of keys that are not hot no row is in a slice.
    return None if replay.cut.hot else estimated(replay.cut.slices)


def estimated(slices: SlicePlan) -> Halo | None:
    """The halo by the bounds, if as many rows lie in each slice; None where too few are known."""
    lengths = [end - begin for begin, end in zip(slices.bounds, slices.bounds[1:], strict=False)]
    if not lengths or EARLIEST in slices.begins:
        return None
    share = 0.0
    for number, bound in enumerate(slices.bounds):
        # The first and the last slice are open: they are taken to be as long as their neighbours.
        before, behind = lengths[max(number - 1, 0)], lengths[min(number, len(lengths) - 1)]
        share += (bound - slices.begins[number]) / before + (slices.ends[number] - bound) / behind
    return Halo(share / len(slices))


def measured(replay: Replay) -> Halo | None:
    """The halo as it is: a job counts the parts that each row goes to; None if there is no row."""
    parts = sf.size(sf.col(f"`{PART}`"))
    found = (
        replay.rows_with_parts()
        .select(
            sf.count(sf.lit(1)), sf.sum(parts), sf.sum(sf.when(parts > 1, 1).otherwise(0))
        )
        .first()
    )  # fmt: skip
    assert found is not None
    rows, total, several = found
    return Halo(total / rows - 1, several / rows) if rows else None


def spark_plan(df: DataFrame) -> str:
    """Spark's physical plan: what `df.explain()` prints, which Connect has as well."""
    with redirect_stdout(io.StringIO()) as shown:
        df.explain()
    return shown.getvalue().strip()


def counters(replay: Replay) -> tuple[TaskCounter, ...]:
    """Run the query for the counters of its tasks, in the order of the dataflow."""
    value, part = sf.col("value"), sf.col("part")
    found = (
        replay.metrics()
        .groupBy("operator", "counter")
        .agg(sf.sum(value), sf.max(value), sf.max_by(part, value))
        .collect()
    )
    order = ["Task", *(type(each).__name__ for each in replay.operators)]
    every = (TaskCounter(*row) for row in found)
    return tuple(sorted(every, key=lambda each: (order.index(each.operator), each.counter)))


# ---------------------------------------------------------------- what runs where


def _places(replay: Replay) -> Iterator[Placement]:
    plan, cut = replay.plan, replay.cut
    jobs = f"; {'; '.join(cut.notes)}" if cut.notes else ""
    yield Placement("driver", f"binds and plans the query, and cuts the events{jobs}")
    yield from _preparing(replay)
    names = ", ".join(type(each).__name__ for each in replay.operators)
    matcher = f"one matcher for each of {cut.parts:,} parts: {names}"
    if replay.output in SETS and not replay.one_by_one(replay.output):
        matcher = f"a graph of events for each of {cut.parts:,} parts, in which paths are counted"
    yield Placement("Python tasks", matcher)
    if replay.non_overlapping is not None:
        where, take = (
            ("Python tasks", "take") if replay.non_overlapping else ("one Python task", "takes")
        )
        names = ", ".join(test.attribute for test in replay.non_overlapping)
        of = f"of all matches of the same {names}" if names else "of all matches"
        yield Placement(where, f"{take} {of} the first, and then the first behind it (non_overlap)")
    _, limit = without_limit(plan)
    if limit is not None:
        yield Placement("one Python task", f"takes the first {limit:,} results of all parts")


def _preparing(replay: Replay) -> Iterator[Placement]:
    """The steps that bring rows to the matchers."""
    columns = ", ".join(_columns(replay))
    if replay.cut.files is not None:
        yield Placement(
            "Python tasks", f"read {columns} of the row groups of a slice and its halo: no shuffle"
        )
        return
    schema = replay.plan.schema
    order = ", ".join(filter(None, [schema.time, schema.seq]))
    yield Placement("Spark SQL", f"reads {columns}")
    yield Placement("Spark SQL", f"keeps {_kept(replay)}")
    yield Placement("Spark SQL", f"{_placing(replay)}, and sorts each part by {order}")


def _columns(replay: Replay) -> Iterator[str]:
    if replay.plan.scan.columns is None:
        yield "all columns"
    else:
        yield from sorted(replay.plan.named)


def _kept(replay: Replay) -> str:
    wanted = replay.plan.types_wanted
    types = "rows of any type" if wanted is None else f"rows of type {' or '.join(sorted(wanted))}"
    keys = f" that have {', '.join(test.attribute for test in replay.cut.keys)}"
    bad = "puts bad rows aside" if replay.on_bad_row == "quarantine" else "and any bad row"
    return f"{types}{keys if replay.cut.keys else ''}, {bad}"


def _placing(replay: Replay) -> str:
    cut = replay.cut
    if cut.slices is None:
        return "puts each row into the part of its key" if cut.keys else "brings all rows together"
    if not cut.keys:
        return "puts each row into every slice of time that needs it"
    return "puts each row into the part of its key, those of hot keys into slices of time"
