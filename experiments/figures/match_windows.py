"""Match windows of the 2012 paper: streams, ways beside the paper's baseline, and their checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from statistics import harmonic_mean
from typing import Any

import pyarrow as pa

import sase
from experiments.core.checks import CPU_RATE, Check, ahead, every
from experiments.core.experiment import Outcome, Verdict, Way
from experiments.core.results import Results
from experiments.core.ways import Make, listed_outcome, recipe
from experiments.window_search import searched
from experiments.window_streams import nyse, onco

SOURCE = "Match windows, KDD 2012"
# The baseline of the paper has no method. Each method has the same searches, of fewer windows.
BASE, OURS, PRUNED = "every window", "all at once", "all at once, pruned"
# Treatments have keys, and trades have none.
ONCO, NYSE = ("f", "fp", "fpc"), ("f", "fc")
# Ways with the same work differ by as much, because some take few milliseconds.
NEAR = 0.9
SHOWN = ("windows", "window_events")
PNYSE = "SEQ(SET(S1+ a[], S2+ g[]), S3+ i[])"
RISING = ("a[i].price > a[i-1].price", "g[i].price > g[i-1].price", "i[i].price < i[i-1].price")
# A tree joins single events.
TREE_OF_PNYSE = "SEQ(SET(S1 a, S2 g), S3 i)"
onco_stream, nyse_stream = cache(onco), cache(nyse)


def pnyse(microseconds: int) -> str:
    """Prices of two shares that rise in any order, then a third one that falls."""
    where = f"earliest_maximal {{ {' AND '.join(RISING)} }}"
    return f"EVENT {PNYSE} WHERE {where} WITHIN {microseconds} INCLUSIVE"


def tree_of_pnyse(microseconds: int) -> str:
    """Of the same shares one event each."""
    return f"EVENT {TREE_OF_PNYSE} WITHIN {microseconds} INCLUSIVE"


def by_automaton(queries: Sequence[str], methods: Sequence[str]) -> dict[str, Make]:
    """SES over every window by itself, with each method; and the engine's runs."""
    keyed = {method: "window_keys" if "p" in method else "window_runs" for method in methods}
    return {
        BASE: _mean(queries, "window_runs", search=searched),
        **{each: _mean(queries, f"{base}_{each}", search=searched) for each, base in keyed.items()},
        OURS: _mean(queries, "ses"),
        PRUNED: _mean(queries, f"match_window_{methods[-1]}"),
    }


def by_tree(queries: Sequence[str], methods: Sequence[str], plan: str) -> dict[str, Make]:
    """A tree of joins over every window by itself, with each method; and one over all events."""
    base = "window_keys" if methods == ONCO else "window_runs"
    search = partial(searched, by_tree=True)
    return {
        BASE: _mean(queries, base, search=search),
        **{each: _mean(queries, f"{base}_{each}", search=search) for each in methods},
        OURS: _mean(queries, plan),
    }


def _mean(queries: Sequence[str], plan: str, *, search: Callable[..., Any] | None = None) -> Make:
    """The mean throughput of several queries, each of which is timed by itself."""

    def make(table: pa.Table) -> Way:
        plans = [sase.compile(query, table, plan=recipe(plan)) for query in queries]

        def run() -> list[tuple[float, float, Any, Any]]:
            return [_timed(each, table, search) for each in plans]

        return Way(run, _told)

    return make


def _timed(
    plan: sase.Plan, table: pa.Table, search: Callable[..., Any] | None
) -> tuple[float, float, Any, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    found = None if search is None else search(plan, table)
    matches = plan.run(table, threads=1) if found is None else found.matches
    rows = matches.rows
    return time.perf_counter() - start, time.process_time() - cpu, (matches, rows), found


def _told(ran: list[tuple[float, float, Any, Any]]) -> Outcome:
    walls, cpu, found, counted = zip(*ran, strict=True)
    outcomes = [listed_outcome(each) for each in found]
    figures = {"own_s": harmonic_mean(walls), "cpu_s": harmonic_mean(cpu)}
    if counted[0] is not None:
        figures["windows"] = sum(each.windows for each in counted)
        figures["window_events"] = sum(each.events for each in counted)
    checks = sum(each.check or 0 for each in outcomes)
    return Outcome(sum(each.matches for each in outcomes), checks, figures)


def factors(results: Results, panel: str) -> dict[Any, float]:
    """By x the greatest factor of a method over the baseline."""
    found: dict[Any, float] = {}
    for way in {*ONCO, *NYSE} & {*results.ways(panel)}:
        for x, ratio in results.ratios(way, BASE, CPU_RATE, panel).items():
            found[x] = max(ratio, found.get(x, 0.0))
    return dict(sorted(found.items()))


def gains_by_more(*panels: str, methods: Sequence[str]) -> Check:
    """Each method gains over the baseline, and is not slower than the one before it."""
    first, *_ = methods
    return every(
        *(ahead(first, BASE, y=CPU_RATE, panel=panel) for panel in panels),
        *(
            ahead(more, less, NEAR, y=CPU_RATE, panel=panel)
            for panel in panels
            for less, more in pairwise(methods)
        ),
    )


def gains_more(
    one: str, other: str, factor: float = 1.0, *, when: Callable[[Any], bool] = lambda x: True
) -> Check:
    """The greatest factor of a panel is some times that of another one, at every chosen point."""
    required = f"at least {factor:g}"

    def check(results: Results) -> Verdict:
        above, below = factors(results, one), factors(results, other)
        ratios = {x: above[x] / below[x] for x in above if x in below and when(x)}
        if not ratios:
            return Verdict(None, f"{one}: too few points", required)
        compared = ", ".join(
            f"{above[x]:,.3g} : {below[x]:,.3g} = {ratio:.3g} at {x}" for x, ratio in ratios.items()
        )
        said = f"greatest factor in {one} : {other} = {compared}"
        return Verdict(min(ratios.values()) >= factor, said, required)

    return check
