"""Where the default plan has match windows, and its gain by them.

python -m experiments.chosen_windows [--events N]

Patterns of which one component is rare, by key and without one, of level 1 and of runs: how many
times as fast `optimized` is as without match windows, by the time of the processor, including the
cost of a sample of the events."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pyarrow as pa

import plans
import sase
from experiments import machine
from experiments.rare_streams import PLACES, RARE, pattern, rare_stream

EVENTS, ONE_IN, RUNS = 1_000_000, 10_000, 7
TAKEN = '{ rewrite = "prune_by_match_windows", where = "cheaper" },'
LEVEL_1 = tuple(
    pattern(length, place, negated=negated)
    for length in (4, 6)
    for place in PLACES
    for negated in (False, True)
)
OF_RUNS = (
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE skip_till_next_match {{ [attr1] }} WITHIN 10000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE skip_till_next_match WITHIN 1000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE earliest_maximal {{ [attr1] }} WITHIN 10000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE earliest_maximal WITHIN 1000",
    f"EVENT SEQ(SET(E1 a, E2+ b[]), {RARE} r) WHERE earliest_maximal WITHIN 1000",
    f"EVENT SET(E1 a, E2+ b[], E3 c, {RARE} r) WHERE earliest_maximal {{ [attr1] }} WITHIN 10000",
    f"EVENT SET(E1 a, E2 b, E3 c, {RARE} r) WHERE earliest_maximal WITHIN 300",
    "EVENT SET(E1 a, E2+ b[], E3 c, E4 d) WHERE earliest_maximal { [attr1] } WITHIN 10000",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each query."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.chosen_windows", description=__doc__
    )
    parser.add_argument("--events", type=int, default=EVENTS, help=f"how many: {EVENTS:,}")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    table = rare_stream(options.events, ONE_IN)()
    with tempfile.TemporaryDirectory() as folder:
        without = written(Path(folder))
        for query in (*LEVEL_1, *OF_RUNS):
            print(line(query, table, without), flush=True)


def written(folder: Path) -> str:
    """The default recipe without match windows."""
    text = (Path(plans.__file__).parent / "optimized.toml").read_text(encoding="utf-8")
    assert text.count(TAKEN) == 1
    path = folder / "without.toml"
    path.write_text(text.replace(TAKEN, ""), encoding="utf-8")
    return str(path)


def line(query: str, table: pa.Table, without: str) -> str:
    """How many times as fast the default plan is, and whether it has match windows."""
    spent: dict[str, list[float]] = {"optimized": [], without: []}
    has_windows, counts = False, set[int]()
    for _ in range(RUNS):
        for recipe, times in spent.items():
            start = time.process_time()
            matches = sase.match(query, table, plan=recipe, threads=1)
            counts.add(len(matches))
            times.append(time.process_time() - start)
            has_windows |= "MatchWindow" in dict(matches.report.counters)
    assert len(counts) == 1, "both find the same matches"
    gained = median(spent[without]) / median(spent["optimized"])
    said = "match windows" if has_windows else "none"
    return f"{gained:6.2f}  {said:14}{counts.pop():9,} matches  {query}"


if __name__ == "__main__":
    main()
