"""How far the plan that the optimizer chooses is from the best recipe, and estimates from results.

Each query of a random workload runs by every recipe and by the plan that statistics of a sample
choose, in turn; medians are compared. A run that takes much longer than the best is broken off.

    python -m experiments.regret --queries 200 --seed 1 --csv experiments/results/regret.csv
"""

from __future__ import annotations

import argparse
import csv
import signal
import sys
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import sase
from experiments import machine
from experiments.regret_workload import EVENTS, Drawn, workload
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.binding.input_options import InputOptions
from sase.engine.columns import Events
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources.discovered import Discovered
from sase.planning.cost.cost import cost_of
from sase.planning.recipes import recipe_names

RUNS, SLOW, NEAR, LONGEST, SAMPLE = 5, 3.0, 1.5, 10.0, 20_000
LEAST_SECONDS = 0.05
MOST_MATCHES = 2_000_000
CHOSEN = "chosen"


class TooSlow(Exception):
    """A run that says no more than that it is not the best."""


class Cell(NamedTuple):
    """The result of a query: the seconds of each plan, and estimated and actual results."""

    drawn: Drawn
    seconds: dict[str, float]
    expected: float
    results: int
    sampling: float
    planning: float

    @property
    def best(self) -> float:
        """The least of the recipes."""
        return min(seconds for name, seconds in self.seconds.items() if name != CHOSEN)

    @property
    def regret(self) -> float:
        """How many times as long as the best recipe the chosen plan takes."""
        return self.seconds[CHOSEN] / self.best

    @property
    def q_error(self) -> float:
        """The factor between estimated and actual results, with at least 1 on both sides."""
        one, other = max(self.expected, 1.0), max(float(self.results), 1.0)
        return max(one, other) / min(one, other)


def main() -> None:
    """Run the workload, write a line of CSV for each query, and say how far it is off."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path, default=Path(__file__).parent / "results/regret.csv")
    parser.add_argument("--part", type=_part, default=(0, 1), help="such as 1/2: every second one")
    parser.add_argument("--told", nargs="+", type=Path, help="only sum up what is in such files")
    arguments = parser.parse_args()
    if arguments.told is None:
        _measure(arguments)
    print(machine.described())
    print("\n".join(_summary(list(_read(arguments.told or [arguments.csv])))))


def _part(text: str) -> tuple[int, int]:
    number, count = map(int, text.split("/"))
    return number % count, count


def _measure(arguments: argparse.Namespace) -> None:
    arguments.csv.parent.mkdir(exist_ok=True)
    machine.compile_kernels()
    with arguments.csv.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        place, count = arguments.part
        for drawn in workload(arguments.queries, arguments.seed):
            cell = measured_query(drawn) if drawn.number % count == place else None
            if cell is not None:
                writer.writerow(_row(cell))
                file.flush()
            print(f"{drawn.number + 1}/{arguments.queries}", end="\r", file=sys.stderr)


def _read(paths: list[Path]) -> Iterator[dict[str, str]]:
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def measured_query(drawn: Drawn, count: int = EVENTS, longest: float = LONGEST) -> Cell | None:
    """The cell of a query; None if it has too many matches, or all plans take over `longest` s."""
    table = drawn.table(count)
    known, events = prepared(drawn.text, table)
    begin = time.perf_counter()
    statistics = known.measured(events, SAMPLE)
    sampled = time.perf_counter()
    made = known.optimized(statistics, loaded=True)
    planned = time.perf_counter()
    expected = cost_of(made.plan, statistics).results
    if expected > MOST_MATCHES:
        return None
    plans = {CHOSEN: known.plan(made)}
    for name in recipe_names():
        if name != "optimized":
            plans[name] = sase.compile(drawn.text, table, plan=name)
    seconds, results = _compared(plans, table, longest)
    if not seconds:
        return None
    return Cell(drawn, seconds, expected, results, sampled - begin, planned - sampled)


def prepared(text: str, table: Any) -> tuple[CompiledQuery, Events]:
    """A query that is compiled for a stream, and the events as they are measured."""
    known = compile_query(text, Discovered.of(table, InputOptions()))
    return known, Pipeline(known.unoptimized).load(table)[1]


def _compared(plans: dict[str, Any], table: Any, longest: float) -> tuple[dict[str, float], int]:
    """The median seconds of each plan; plans that are alike run once for all of them."""
    alike: dict[Any, list[str]] = {}
    for name, plan in plans.items():
        alike.setdefault(plan.operators, []).append(name)
    found: dict[Any, list[float]] = {}
    results, best = -1, inf
    for operators, names in alike.items():
        warm(plans[names[0]], table)
        try:
            taken, count = run_once(plans[names[0]], table, min(SLOW * best, longest))
        except TooSlow:
            continue
        assert results in (-1, count), f"{names[0]} finds {count} and not {results}"
        results, best = count, min(best, taken)
        found[operators] = [taken]
    if all(CHOSEN not in alike[operators] for operators in found):
        assert best > longest / SLOW, "another plan is within the time, and the chosen one is not"
        return {}, results
    near = [each for each, taken in found.items() if taken[0] < NEAR * best]
    near += [o for o in found if CHOSEN in alike[o] and o not in near]
    for _ in range(RUNS - 1 if best < 1 else 1):  # long times vary little
        for operators in near:
            found[operators].append(run_once(plans[alike[operators][0]], table, inf)[0])
    return {
        name: median(taken) for operators, taken in found.items() for name in alike[operators]
    }, results


def warm(plan: Any, table: Any) -> None:
    """Have the kernels of a plan compiled, by few events: of more some plans build billions."""
    len(plan.run(table.slice(0, 100), threads=1))


def run_once(plan: Any, table: Any, most: float) -> tuple[float, int]:
    """The processor's seconds of a run in one thread, and its matches; TooSlow after `most`."""
    signal.signal(signal.SIGALRM, _give_up)
    # Again and again: it is lost where it is raised while memory is given back.
    signal.setitimer(signal.ITIMER_REAL, 0 if most == inf else max(most, 0.5), 0.5)
    try:
        begin = time.process_time()
        count = plan.run(table, threads=1).rows.num_rows
        return time.process_time() - begin, count
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(number: int, frame: object) -> None:
    raise TooSlow


_HEADER = (
    "number", "query", "types", "domains", "skew", "length", "tests", "conditions", "negation",
    "window", "results", "expected", "q_error", "chosen_ms", "best_ms", "best", "regret",
    "sampling_ms", "planning_ms",
)  # fmt: skip


def _row(cell: Cell) -> tuple[object, ...]:
    drawn = cell.drawn
    recipes = {name: each for name, each in cell.seconds.items() if name != CHOSEN}
    return (
        drawn.number, drawn.text, drawn.types, " ".join(map(str, drawn.domains)), drawn.skew,
        drawn.length, drawn.tests, drawn.conditions, drawn.negation, drawn.window, cell.results,
        f"{cell.expected:.1f}", f"{cell.q_error:.2f}", f"{cell.seconds[CHOSEN] * 1e3:.1f}",
        f"{cell.best * 1e3:.1f}", min(recipes, key=lambda name: recipes[name]),
        f"{cell.regret:.3f}", f"{cell.sampling * 1e3:.1f}", f"{cell.planning * 1e3:.1f}",
    )  # fmt: skip


def _summary(cells: list[dict[str, str]]) -> Iterator[str]:
    large = [cell for cell in cells if float(cell["best_ms"]) >= LEAST_SECONDS * 1e3]
    yield f"{len(cells)} queries over {EVENTS:,} events each, {len(large)} of at least 50 ms"
    regrets = sorted(float(cell["regret"]) for cell in large)
    if len(regrets) > 1:
        within = sum(regret <= 1.25 for regret in regrets) / len(regrets)
        yield f"regret: within 1.25 for {within:.1%} (wanted: 90 %), worst {regrets[-1]:.2f} (2)"
    yield f"q-error of results: {_quantiles(cells, 'q_error')} (wanted: 2 and 10)"
    for part in ("negation", "length", "tests", "conditions", "skew", "window"):
        for value in sorted({cell[part] for cell in cells}):
            some = [cell for cell in cells if cell[part] == value]
            yield f"  {part} {value}: {_quantiles(some, 'q_error')}"
    yield f"ms for statistics: {_quantiles(cells, 'sampling_ms')}"
    yield f"ms for planning: {_quantiles(cells, 'planning_ms')}"


def _quantiles(cells: list[dict[str, str]], name: str) -> str:
    values = [float(cell[name]) for cell in cells]
    if len(values) < 2:
        return f"{values[0]:.2f}" if values else "none"
    return f"median {median(values):.2f}, 90 % {quantiles(values, n=10)[-1]:.2f} ({len(values)})"


if __name__ == "__main__":
    main()
