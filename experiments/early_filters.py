"""The costs and savings of early filters: paired medians over θ, by class of condition.

python -m experiments.early_filters [PAIRS]

Runs `postponed` and `postponed_filters` in alternation and prints the median of the ratios of their
times of the processor, its 95 % interval, and the number of events that their walks visited.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pyarrow as pa

import sase
from experiments.compare import bootstrapped
from experiments.figures.postponing import CLASSES, query
from experiments.figures.pp_theta import STREAM, VALUES, WINDOW

OTHER, FILTERS = "postponed", "postponed_filters"
COMPARED = ("true-value consistent", "false-value consistent")
EVENTS, PAIRS = 100_000, 15


def main(pairs: int) -> None:
    """Print a line for each class and value."""
    table = STREAM.stream(EVENTS, 20140600)()
    for name in COMPARED:
        for value in VALUES[name]:
            text = query(CLASSES[name], value, WINDOW)
            plans = {plan: sase.compile(text, table, plan=plan) for plan in (OTHER, FILTERS)}
            matches = plans[FILTERS].run(table, threads=1)
            ratios = [_ratio(plans, table, turn) for turn in range(pairs)]
            ratio = bootstrapped(ratios)
            visits = {plan: _visited(plans[plan], table) for plan in plans}
            print(
                f"{name}, θ = {len(matches) / EVENTS:.4f}: {FILTERS} : {OTHER} ="
                f" {ratio.median:.3f} ({ratio.low:.3f}–{ratio.high:.3f});"
                f" visited {visits[FILTERS]:,} and {visits[OTHER]:,}",
                flush=True,
            )


def _ratio(plans: dict[str, sase.Plan], table: pa.Table, turn: int) -> float:
    """The ratio of one pair of runs, of which either comes first in turn."""
    order = (OTHER, FILTERS) if turn % 2 else (FILTERS, OTHER)
    seconds = {
        plan: _seconds(lambda plan=plan: plans[plan].run(table, threads=1)) for plan in order
    }
    return seconds[FILTERS] / seconds[OTHER]


def _seconds(run: Callable[[], sase.Matches]) -> float:
    start = time.process_time()
    rows = run().rows
    taken = time.process_time() - start
    del rows
    return taken


def _visited(plan: sase.Plan, table: pa.Table) -> int:
    matches = plan.run(table, threads=1)
    assert len(matches) >= 0  # the search begins when they are read
    return int(dict(matches.report.counters)["RunEvaluation"]["visited"])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
