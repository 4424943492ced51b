"""Ways to run a query: by a recipe, listed, counted or compressed; and figures of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import sase
from experiments.core.experiment import LeftOut, Outcome, Way
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.engine.pipeline.analyze import COMPILED, analyzed
from sase.engine.pipeline.batch import held
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.set_results import CountedHistories, ListedMatches
from sase.engine.sources.discovered import Discovered
from sase.planning.counting import MERGING, counting_histories
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import SequenceConstruction, require
from sase.planning.recipes import recipe_names

RECIPES = Path(__file__).parents[1] / "recipes"
Make = Callable[[Any], Way]
# The most matches that may be found one by one.
ANY_NUMBER = 2**63


def recipe(name: str) -> str:
    """A recipe of the package, or of these experiments; LeftOut where there is none yet."""
    if name in recipe_names():
        return name
    own = RECIPES / f"{name}.toml"
    if not own.exists():
        raise LeftOut(f"there is no recipe `{name}` in this version")
    return str(own)


def listed(
    text: str,
    plan: str = "optimized",
    *,
    needs: tuple[str, ...] = (),
    probes: tuple[Callable[[sase.Plan, pa.Table], Mapping[str, float]], ...] = (),
    threads: int = 1,
    lines: bool = True,
    **rest: Any,
) -> Make:
    """All matches as row numbers, by a plan that is compiled before the clock starts.

    It is left out where all rewrites that it `needs` declined, as it is then another one's plan.
    Without `lines` also runs that never fork are nodes.
    """

    def make(table: pa.Table) -> Way:
        compiled = sase.compile(text, table, plan=recipe(plan), **_types(table), **rest)
        own = [step for step in compiled.steps if step.rewrite in needs]
        if own and not any(step.applied for step in own):
            told = "; ".join(f"{step.rewrite} declined: {step.declined}" for step in own)
            raise LeftOut(f"it is another recipe's plan: {told}")
        compiled = replace(compiled, options=replace(compiled.options, lines=lines))

        def run() -> Any:
            matches = compiled.run(table, threads=threads)
            return matches, matches.rows

        def probe() -> dict[str, float]:
            return {name: value for each in probes for name, value in each(compiled, table).items()}

        return Way(run, listed_outcome, probe if probes else None)

    return make


def by_statistics(text: str, plan: str = "optimized", sample: int = 20_000) -> Make:
    """All matches as row numbers, by the plan that statistics of the events choose of a recipe.

    They are measured, and the plan is made, before the clock starts; `joined` is 1 of a tree.
    """

    def make(table: pa.Table) -> Way:
        source = Discovered.of(table, InputOptions())
        known = compile_query(text, source, plan=recipe(plan))
        statistics = known.measured(Pipeline(known.unoptimized).load(table)[1], sample)
        compiled = known.plan(known.optimized(statistics, loaded=True))
        joins = require(compiled.operators, SequenceConstruction).joins

        def run() -> Any:
            matches = compiled.run(table, threads=1)
            return matches, matches.rows

        def told(ran: Any) -> Outcome:
            outcome = listed_outcome(ran)
            return outcome._replace(figures={**outcome.figures, "joined": float(bool(joins))})

        return Way(run, told)

    return make


def in_a_row(make: Make, repeats: int, enough: float) -> Make:
    """A way several times one after the other, or for some seconds, of which the median counts.

    Between the runs of several ways its data leave the caches and the memory of Arrow. A program
    that repeats its work by itself is timed in this way.
    """

    def make_it(data: Any) -> Way:
        way = make(data)

        def run() -> tuple[Any, list[float], list[float]]:
            walls, processor, found = list[float](), list[float](), None
            while len(walls) < repeats and sum(walls) < enough:
                found = None  # the memory of the last matches is there for the next
                start, cpu_start = time.perf_counter(), time.process_time()
                found = way.run()
                walls.append(time.perf_counter() - start)
                processor.append(time.process_time() - cpu_start)
            return found, walls, processor

        def told(ran: tuple[Any, list[float], list[float]]) -> Outcome:
            found, walls, processor = ran
            outcome = way.told(found)
            figures = {"own_s": median(walls), "cpu_s": median(processor)}
            return outcome._replace(figures={**outcome.figures, **figures})

        return Way(run, told, way.probe)

    return make_it


def counted(text: str, plan: str = "optimized") -> Make:
    """The number of matches alone, compiled each time."""

    def make(table: pa.Table) -> Way:
        named = recipe(plan)

        def run() -> Any:
            return sase.match(text, table, plan=named, output="count", threads=1, **_types(table))

        return Way(run, lambda count: Outcome(int(count), None, counters(count.report)))

    return make


def one_by_one(text: str, plan: str = "optimized") -> Make:
    """The number of matches, each found and dropped, by a plan that is compiled before."""

    def make(table: pa.Table) -> Way:
        compiled = sase.compile(text, table, plan=recipe(plan), **_types(table))

        def run() -> tuple[int, ListedMatches]:
            found = ListedMatches(compiled.run(table, threads=1), (), holds=False)
            return found.count(ANY_NUMBER), found

        return Way(run, lambda ran: Outcome(ran[0], None, counters(ran[1].report)))

    return make


def by_histories(text: str) -> Make:
    """The number of matches by the histories of merged runs, by a plan that is compiled before."""

    def make(table: pa.Table) -> Way:
        engine = counting(sase.compile(text, table, plan=MERGING, **_types(table)))

        def run() -> CountedHistories:
            return counted_histories(engine, table)

        return Way(run, lambda f: Outcome(f.count(ANY_NUMBER), None, counters(f.report)))

    return make


def counting(plan: sase.Plan) -> EnginePlan:
    """The plan that counts the histories of one that merges runs."""
    operators = counting_histories(plan.operators)
    assert operators is not None, "the plan merges no runs"
    return replace(plan, operators=operators).engine


def counted_histories(engine: EnginePlan, table: pa.Table) -> CountedHistories:
    """The count of a table's matches."""
    whole = held(engine, table)
    assert whole is not None, "a table is in memory"
    return CountedHistories(engine, *whole)


def compressed(text: str, plan: str = "optimized", *, rows: bool = False) -> Make:
    """The matches as a set that is counted, compiled each time.

    With `rows` it is made in its collapsed form: a row for each event that some end at.
    """

    def make(table: pa.Table) -> Way:
        named = recipe(plan)

        def run() -> Any:
            found = sase.match(
                text, table, plan=named, output="compressed", threads=1, **_types(table)
            )
            return found, found.to_arrow().num_rows if rows else found.count()

        def told(ran: Any) -> Outcome:
            found, made = ran
            return Outcome(found.count(), None, {"rows": made}) if rows else Outcome(made)

        return Way(run, told)

    return make


def _types(table: pa.Table) -> dict[str, Any]:
    """A table without a column of types is one of the type Stock."""
    return {} if "type" in table.column_names else {"type": None, "types": ["Stock"]}


def listed_outcome(found: Any) -> Outcome:
    """The outcome of matches and their rows: the sum of all row numbers is checked."""
    matches, rows = found
    flat = [
        column.combine_chunks().flatten() if pa.types.is_list(column.type) else column
        for column in rows.columns
    ]
    total = sum(pc.sum(column).as_py() or 0 for column in flat)
    held = sum(len(column) - column.null_count for column in flat)
    return Outcome(rows.num_rows, total, {"held": held, **counters(matches.report)})


def counters(report: Any) -> dict[str, float]:
    """The counters of operators that experiments show; of lists the sum."""
    wanted = {
        "sequences", "visited", "walks", "instances", "candidates",
        "runs", "initiated", "split", "steps", "merged", "merged_alive", "backtracked", "reread",
        "most_alive", "dismissed", "safe", "entries", "pointers",
    }  # fmt: skip
    found: dict[str, float] = {}
    for _, counted in report.counters:
        for name, value in counted.items():
            if name in wanted:
                found[name] = sum(value) if isinstance(value, list) else value
    return found


def cost_by_operator(plan: sase.Plan, table: pa.Table) -> dict[str, float]:
    """The seconds of the processor for each operator in a run that counts.

    That is not one in which kernels are compiled.
    """
    matches, report = analyzed(plan.engine, table, clock=time.process_time_ns)
    if COMPILED in (*matches.report.notes, *report.notes):
        _, report = analyzed(plan.engine, table, clock=time.process_time_ns)
    return {f"{name}_s": nanoseconds / 1e9 for name, nanoseconds in report.timings}


def in_batches(window: int) -> Callable[[sase.Plan, pa.Table], Mapping[str, float]]:
    """Throughput as the 2006 paper defines it: batches of W until it converges."""

    def probe(plan: sase.Plan, table: pa.Table) -> dict[str, float]:
        rates = _rates(plan, table, window)
        return {"paper_events_per_s": converged(rates)}

    return probe


def _rates(plan: sase.Plan, table: pa.Table, window: int) -> Iterator[tuple[int, float]]:
    """Of batch after batch how many events it has, and the seconds that they take."""
    matcher = plan.open()
    for batch in table.combine_chunks().to_batches(max_chunksize=window):
        start = time.perf_counter()
        rows = matcher.push(batch).rows
        taken = time.perf_counter() - start
        del rows
        yield batch.num_rows, taken


AVERAGED, NEAR, IN_A_ROW = 6, 0.05, 3


def converged(batches: Iterator[tuple[int, float]]) -> float:
    """The average over six batches, once it changed by at most 5 % three times in a row.

    Where the stream ends before that it is the last average.
    """
    seen: list[tuple[int, float]] = []
    before, near = 0.0, 0
    for each in batches:
        seen.append(each)
        events, seconds = map(sum, zip(*seen[-AVERAGED:], strict=True))
        now = events / max(seconds, 1e-9)
        near = near + 1 if abs(now - before) <= NEAR * before else 0
        before = now
        if near == IN_A_ROW:
            break
    return before
