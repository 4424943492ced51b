"""Match windows: factors of throughput over a plan without them (Figures 6 to 8, KDD 2012).

python -m experiments.match_windows [--figures 6a,6b,…] [--events N] [--patterns N] [--by-itself]

A line has, for each method, how many times the throughput of the plain plan it has, the mean of
some random patterns; of runs also how many times fewer steps these take; and in brackets the
windows that were searched, and the events handed on. The plain plan evaluates the same runs over
all events, of all keys together; the trees of Figure 7 join by key as it is. With `--by-itself`
there is also how many times the throughput of the paper's plain window the best of them has, which
is searched by itself for each event (`experiments/plain_windows.py`). Streams are stand-ins, see
`experiments/window_streams.py`. Behind the figures stand the findings of the paper.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

import pyarrow as pa

import sase
from experiments import machine
from experiments.plain_windows import searched_by_itself
from experiments.window_findings import METHODS, PLAIN, Figures, Point, findings
from experiments.window_streams import DAY, ONCO_EVENTS, ONCO_TYPES, nyse, onco

TRADES, DAYS, MILLISECONDS = 1_000_000, range(5, 51, 5), range(10, 101, 10)
TRADED = tuple(f"S{number}" for number in range(1, 51))
PONCO = "SEQ(SET(C c, D d), SET(P+ p[], R+ r[]), SET(B b, H h))"
PNYSE = "SEQ(SET(S1+ a[], S2+ g[]), S3+ i[])"
# The part that a tree joins: no series.
TREE_ONCO = "SEQ(SET(C c, D d), SET(B b, H h))"
TREE_NYSE = "SEQ(SET(S1 a, S2 g), S3 i)"
RISING = ("a[i].price > a[i-1].price", "g[i].price > g[i-1].price", "i[i].price < i[i-1].price")
RUNS = ("evaluate_runs", "push_simple_conditions")
TREE = (
    "infer_equivalence_tests",
    "use_active_instance_stacks",
    "build_composite_key",
    "partition_stacks",
    "push_window_into_scan",
    "push_window_into_construction",
    "join_by_tree",
)
SET_TREE = ("evaluate_runs", "partition_stacks", "push_simple_conditions")
TREE_OF_SETS = "tree of sets"
FORMS = {"runs": RUNS, "tree": TREE, TREE_OF_SETS: SET_TREE}


@dataclass(frozen=True)
class Cell:
    """A point of a figure: the queries with averaged throughputs, and the stream."""

    label: str
    queries: tuple[str, ...]
    table: pa.Table
    form: str = "runs"


# The points of a figure, of a number of events and patterns.
Cells: TypeAlias = Callable[[int | None, int], Iterator[Cell]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each point, and its support for the findings of the paper."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.match_windows", description=__doc__
    )
    parser.add_argument("--figures", default=",".join(FIGURES), help="which: all of them")
    parser.add_argument("--events", type=int, help="how many, instead of those of the paper")
    parser.add_argument("--patterns", type=int, default=10, help="random patterns a point: 10")
    parser.add_argument("--by-itself", action="store_true", help="measure plain windows, too")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        recipes = {form: written(Path(folder), form) for form in FORMS}
        for figure in options.figures.split(","):
            figures[figure] = points = []
            for cell in FIGURES[figure](options.events, options.patterns):
                points.append(measured(cell, recipes[cell.form]))
                if options.by_itself and cell.form == "runs":
                    measure_by_itself(points[-1], cell, recipes[cell.form][PLAIN])
                print(f"{figure:4}{points[-1].line}", flush=True)
    for finding in findings(figures):
        print(finding)


def written(folder: Path, form: str) -> dict[str, str]:
    """Recipes of runs or of a tree: plain, and with each method and nothing else."""
    found = {}
    for method in (PLAIN, *METHODS):
        rewrites = [f'"{name}"' for name in FORMS[form]]
        if form == TREE_OF_SETS:
            rewrites.append('{ algorithm = "by joins" }')
        if method in ("fp", "fpc") and form == "runs":
            rewrites.append('"partition_stacks"')
        if method != PLAIN:
            rewrites.append(f'{{ rewrite = "prune_by_match_windows", by = "{method}" }}')
        path = folder / f"{form.replace(' ', '_')}_{method}.toml"
        path.write_text(f'summary = "{method}"\nrewrites = [{", ".join(rewrites)}]\n')
        found[method] = str(path)
    return found


def measured(cell: Cell, recipes: dict[str, str]) -> Point:
    """The throughputs of a point, and the figures that explain them."""
    point = Point(cell.label)
    for query in cell.queries:
        counts = set[int]()
        for method, recipe in recipes.items():
            seconds, report, count = run(query, cell.table, recipe)
            point.add(method, seconds, dict(report.counters))
            counts.add(count)
        assert len(counts) == 1, "every method finds the same matches"
        point.matches += counts.pop()
    return point


def measure_by_itself(point: Point, cell: Cell, recipe: str) -> None:
    """Search each window of a point by itself: the second time, when kernels are loaded."""
    searched_by_itself(cell.queries[0], cell.table.slice(0, 1000), recipe)
    matches = 0
    for query in cell.queries:
        start = time.process_time()
        found, windows, events = searched_by_itself(query, cell.table, recipe)
        point.add_windows(time.process_time() - start, windows, events)
        matches += found
    assert matches == point.matches, "they have the same matches"


def run(query: str, table: pa.Table, recipe: str) -> tuple[float, sase.Report, int]:
    """The processor's seconds of the fastest of three runs, one thread, its report, its matches."""
    plan, best, count = sase.compile(query, table, plan=recipe), float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        matches = plan.run(table, threads=1)
        count = len(matches)
        best = min(best, time.process_time() - start)
    return best, matches.report, count


def random_patterns(
    kind: str, types: Sequence[str], length: int, count: int, asked: str
) -> tuple[str, ...]:
    """Patterns of distinct types: a sequence, or a set; the condition on each is behind it."""
    random = Random(length)
    found = []
    for _ in range(count):
        parts = ", ".join(
            f"{name} v{place}" for place, name in enumerate(random.sample([*types], length))
        )
        found.append(f"EVENT {kind}({parts}) {asked}")
    return tuple(found)


def by_length(kind: str, *, trades: bool, form: str = "runs") -> Cells:
    """Patterns of two to ten variables: one variable is a single event, and has no window.

    A tree finds every match.
    """

    def cells(events: int | None, patterns: int) -> Iterator[Cell]:
        table = nyse(events or TRADES) if trades else onco(events or ONCO_EVENTS)
        types, where = (TRADED, "true") if trades else (ONCO_TYPES, "[pid]")
        where = where if form != "runs" else f"earliest_maximal {{ {where} }}"
        asked = f"WHERE {where} WITHIN {20_000 if trades else 10 * DAY} INCLUSIVE"
        for length in range(2, 11):
            queries = random_patterns(kind, types, length, patterns, asked)
            yield Cell(f"k={length}", queries, table, form)

    return cells


def _ponco(days: int) -> str:
    where = "[pid] AND p[i].v >= p[i-1].v AND r[i].v >= r[i-1].v"
    return f"EVENT {PONCO} WHERE earliest_maximal {{ {where} }} WITHIN {days * DAY} INCLUSIVE"


def _pnyse(milliseconds: int) -> str:
    where, window = " AND ".join(RISING), milliseconds * 1000
    return f"EVENT {PNYSE} WHERE earliest_maximal {{ {where} }} WITHIN {window} INCLUSIVE"


def by_days(events: int | None, patterns: int) -> Iterator[Cell]:
    """Windows of 5 to 50 days."""
    table = onco(events or ONCO_EVENTS)
    for days in DAYS:
        yield Cell(f"{days} days", (_ponco(days),), table)


def tree_by_days(events: int | None, patterns: int) -> Iterator[Cell]:
    """The same for the part that a tree joins: the single events, with every match of these."""
    table = onco(events or ONCO_EVENTS)
    for days in DAYS:
        query = f"EVENT {TREE_ONCO} WHERE [pid] WITHIN {days * DAY} INCLUSIVE"
        yield Cell(f"{days} days", (query,), table, TREE_OF_SETS)


def by_milliseconds(events: int | None, patterns: int) -> Iterator[Cell]:
    """Windows of 10 to 100 milliseconds."""
    table = nyse(events or TRADES)
    for milliseconds in MILLISECONDS:
        yield Cell(f"{milliseconds} ms", (_pnyse(milliseconds),), table)


def tree_by_milliseconds(events: int | None, patterns: int) -> Iterator[Cell]:
    """The same for single events, which a tree joins."""
    table = nyse(events or TRADES)
    for milliseconds in MILLISECONDS:
        yield Cell(f"{milliseconds} ms", (_tree_of_nyse(milliseconds),), table, TREE_OF_SETS)


def by_events(events: int | None, patterns: int) -> Iterator[Cell]:
    """Streams of 100 events up to the most, ten times as many each."""
    for count in _up_to(events or TRADES):
        yield Cell(f"{count:,}", (_pnyse(20),), nyse(count))


def tree_by_events(events: int | None, patterns: int) -> Iterator[Cell]:
    """The same for single events, which a tree joins."""
    for count in _up_to(events or TRADES):
        yield Cell(f"{count:,}", (_tree_of_nyse(20),), nyse(count), TREE_OF_SETS)


def _tree_of_nyse(milliseconds: int) -> str:
    return f"EVENT {TREE_NYSE} WITHIN {milliseconds * 1000} INCLUSIVE"


def _up_to(most: int) -> Iterator[int]:
    count = 100
    while count <= most:
        yield count
        count *= 10


FIGURES: dict[str, Cells] = {
    "6a": by_length("SEQ", trades=False),
    "6b": by_length("SET", trades=False),
    "6c": by_length("SEQ", trades=True),
    "6d": by_length("SET", trades=True),
    "6e": by_days,
    "6f": by_milliseconds,
    "7a": by_length("SEQ", trades=False, form="tree"),
    "7b": by_length("SET", trades=False, form=TREE_OF_SETS),
    "7c": by_length("SEQ", trades=True, form="tree"),
    "7d": by_length("SET", trades=True, form=TREE_OF_SETS),
    "7e": tree_by_days,
    "7f": tree_by_milliseconds,
    "8a": by_events,
    "8b": tree_by_events,
}


if __name__ == "__main__":
    main()
