"""The nanoseconds of the cost model's units of work, as this machine has them.

Queries run by several recipes. Of each run the work is known, by statistics of a large sample, and
its time; the nanoseconds of the units that fit the times best are printed beside those of
`sase/planning/cost_values.py`.

    python -m experiments.calibrate
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from statistics import median
from time import process_time_ns
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sase
from experiments import machine, trees
from experiments.many_keys import Users
from experiments.regret import TooSlow, prepared, run_once, warm
from experiments.regret_workload import LENGTHS, workload
from sase.engine.pipeline.analyze import analyzed
from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import NANOSECONDS
from sase.planning.plan.nodes import SequenceScan, find
from sase.planning.recipes import recipe_names

QUERIES, SEED, RUNS, SAMPLE, MOST_SECONDS = 40, 7, 3, 200_000, 1.5
# Of many keys: the number of events, of users, and the query.
EVENTS, USERS = 2_000_000, (10, 10_000, 200_000, 1_000_000)
PATTERNS = (
    "view a, cart b, purchase c",
    "view a, purchase b",
    "cart a, purchase b",
    "view a, !(cart n), purchase b",
)
# Of series: the number of events, of keys, and the query.
SERIES_EVENTS, SERIES_KEYS = 30_000, (3, 10, 100)
CONDITIONS = ("b[i].v > a.v + 10", "b[i].v > a.v", "b[i].v < b[i-1].v")
# The factors by which constants are changed, and the gain in the mean factor that a change by e
# must have.
STEPS, CHANGE = (2.0, 1.4, 1.15, 1.05), 0.003

# Queries on imprecise time with confidences that are each mostly of one unit of work.
CONFIDENCES = {
    "placed": "EVENT SEQ(A a, B b, C c, D d) WITHIN 40",
    "spread": "EVENT SEQ(A a, B+ b[], C c) WITHIN 40",
    "forbidden": "EVENT SEQ(A a, B b, !(D n), C c) WITHIN 40",
}
INTERVALS, FEW_EVENTS = (2, 10, 30), 10_000


class Asked(NamedTuple):
    """A query, its stream, and whether the compared plans have runs or scan."""

    text: str
    table: pa.Table
    by_runs: bool = False


def main() -> None:
    """Run, fit and print."""
    work, seconds = [], []
    for text, table, by_runs in chain(_drawn(), _of_many_keys(), _of_series()):
        for amounts, taken in _measured(text, table, by_runs=by_runs):
            work.append(amounts)
            seconds.append(taken)
    units = list(NANOSECONDS)
    matrix = np.array([[amounts.get(unit, 0.0) for unit in units] for amounts in work])
    times, known = np.array(seconds) * 1e9, np.array(list(NANOSECONDS.values()))
    fitted = _fitted(matrix, times, known)
    print(machine.described())
    print(f"{len(seconds)} runs; expected to actual time: {_spread(matrix @ fitted / times)},")
    print(f"with the known ones: {_spread(matrix @ known / times)}")
    for unit, found in zip(units, fitted, strict=True):
        amount = int(np.count_nonzero(matrix[:, units.index(unit)]))
        print(f"  {unit:10} {found:8.1f}   ({NANOSECONDS[unit]:g} known, in {amount} runs)")
    print("confidences, a unit by the length of intervals:")
    for unit, text in CONFIDENCES.items():
        shown = ", ".join(f"{_of_confidence(unit, text, each):,.0f}" for each in INTERVALS)
        print(f"  {unit:10} {shown}   ({NANOSECONDS[unit]:g} known)")


def _of_confidence(unit: str, text: str, length: int) -> float:
    """The nanoseconds of a unit of the work on candidates: a pair of events, or a candidate."""
    rng, until = np.random.default_rng(SEED), np.arange(FEW_EVENTS) * 4
    table = pa.table(
        {
            "lo": until - rng.integers(0, length, FEW_EVENTS),
            "hi": until,
            "type": np.array(list("ABCD"))[rng.integers(0, 4, FEW_EVENTS)],
            "v": rng.integers(0, 1_000, FEW_EVENTS),
        }
    )
    plan = sase.compile(text, table, time=("lo", "hi"))
    plan.run(table, threads=1)
    matches, report = analyzed(plan.engine, table, clock=process_time_ns)
    taken = dict(report.timings)["Confidence"]
    candidates = dict(matches.report.counters)["Confidence"]["in"]
    if unit == "forbidden":
        return taken / candidates
    lengths = [
        sum(len(rows) if isinstance(rows, list) else 1 for rows in match.values())
        for match in matches.rows.to_pylist()
    ]
    return taken / float(np.square(lengths).sum())


def _drawn() -> Iterator[Asked]:
    """Queries and streams that are drawn."""
    for drawn in (*workload(QUERIES, SEED), *trees.workload(QUERIES, SEED)):
        yield Asked(drawn.text, drawn.table(LENGTHS[drawn.number % len(LENGTHS)]))


def _of_many_keys() -> Iterator[Asked]:
    """Plain queries on events of few users and of many."""
    for keys in USERS:
        events = Users.drawn(EVENTS, keys)
        for kind in ("dense", "wide", "text"):
            table = events.table(kind)
            for pattern in PATTERNS:
                yield Asked(f"EVENT SEQ({pattern}) WHERE [user] WITHIN {events.span}", table)


def _of_series() -> Iterator[Asked]:
    """Queries with a series, in windows of some twelve events of a key."""
    rng = np.random.default_rng(SEED)
    for keys in SERIES_KEYS:
        table = pa.table(
            {
                "ts": np.arange(SERIES_EVENTS),
                "type": rng.choice(list("ABC"), SERIES_EVENTS),
                "id": rng.integers(0, keys, SERIES_EVENTS),
                "v": rng.integers(0, 50, SERIES_EVENTS),
            }
        )
        for condition in CONDITIONS:
            text = f"EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND {condition} WITHIN {12 * keys}"
            yield Asked(text, table, by_runs=True)


def _measured(
    text: str, table: pa.Table, *, by_runs: bool
) -> Iterator[tuple[dict[str, float], float]]:
    """The work of each plan of a query, by runs or by a scan, and the seconds that it takes."""
    known, events = prepared(text, table)
    statistics = known.measured(events, SAMPLE)
    seen: list[Any] = []
    for name in recipe_names():
        plan = sase.compile(text, table, plan=name)
        cost = cost_of(plan.operators, statistics)
        is_run = find(plan.operators, SequenceScan) is None
        if is_run != by_runs or plan.operators in seen or cost.nanoseconds > MOST_SECONDS * 1e9:
            continue
        seen.append(plan.operators)
        warm(plan, table)
        try:
            taken = median(run_once(plan, table, MOST_SECONDS * 4)[0] for _ in range(RUNS))
        except TooSlow:
            continue
        amounts: dict[str, float] = {}
        for operator in cost.operators:
            for unit, amount in operator.work:
                amounts[unit] = amounts.get(unit, 0.0) + amount
        yield amounts, taken


def _fitted(matrix: Any, times: Any, known: Any) -> Any:
    """The constants with the least factors between expected and actual times, in the mean.

    Factors and no differences, so that a part that the model does not understand counts once and
    spoils nothing else. Constants only change from the known ones if that pays.
    """

    def loss(constants: Any) -> float:
        off = np.abs(np.log(matrix @ constants / times)).mean()
        return float(off + CHANGE * np.abs(np.log(constants / known)).sum())

    best = known.copy()
    for step in STEPS:
        found = np.zeros_like(best)
        while (found != best).any():
            found = best
            for place, factor in product(range(len(best)), (step, 1 / step)):
                other = best.copy()
                other[place] *= factor
                best = min(best, other, key=loss)
    return best


def _spread(ratios: Any) -> str:
    low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return f"median {middle:.2f}, 80 % between {low:.2f} and {high:.2f}"


if __name__ == "__main__":
    main()
