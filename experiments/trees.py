"""Trees of joins on random patterns with a rare component: the chosen plan, the walk, the best.

Each query runs by every recipe and by the plan that statistics of a sample choose, in turn, as in
`experiments/regret.py`; the comparison is of medians of the time of the processor.

    python -m experiments.trees [--queries N] [--events N] [--seed N]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import pyarrow as pa

from experiments import machine
from experiments.rare_streams import PLACES, RARE, rare_stream
from experiments.regret import CHOSEN, Cell, measured_query
from experiments.regret_workload import LEVELS, Drawn

WALK, FEWEST = "negation_in_construction", 10_000
# Of more matches it is these that take the time, by whatever plan.
MANY = 100_000
RATES, LENGTHS, TYPES = (50, 100, 300, 1_000, 3_000, FEWEST, 50_000), (3, 4, 5, 6), (8, 20)
KEYS, WINDOWS, WITHOUT_KEY = (10, 100, 1_000, 100_000), (100, 1_000, 10_000), (20, 60, 150)
NEGATIONS = ("none", "none", "start", "middle", "end")
ON_ONE, ON_TWO, ON_RARE = f"a.attr2 < {LEVELS // 2}", "a.attr2 < b.attr3", "r.attr2 < 500"
CONDITIONS = ([], [], [], [ON_ONE], [ON_TWO], [ON_ONE, ON_TWO], [ON_RARE])


@dataclass(frozen=True)
class RareQuery(Drawn):
    """A query in which the component at a place has one of `one_in` events."""

    place: str
    one_in: int

    def table(self, events: int = 0) -> pa.Table:
        """The stream."""
        return rare_stream(events, self.one_in, types=self.types, domains=self.domains)()

    @property
    def is_wanted(self) -> bool:
        """Whether the chosen plan shall be three times as fast as the walk."""
        return self.one_in == FEWEST and self.place != "first" and self.length > min(LENGTHS)


def workload(count: int, seed: int) -> Iterator[RareQuery]:
    """Queries of 3 to 6 components, every fifth without a key, some with a negative one."""
    rng = random.Random(seed)
    for number in range(count):
        length, place = rng.choice(LENGTHS), PLACES[number % len(PLACES)]
        types, negation, has_key = rng.choice(TYPES), rng.choice(NEGATIONS), number % 5 > 0
        parts = [f"E{number} {name}" for number, name in enumerate("abcde"[: length - 1], 1)]
        parts.insert({"first": 0, "middle": length // 2, "last": length - 1}[place], f"{RARE} r")
        if negation != "none":
            at = {"start": 0, "middle": rng.randrange(1, length), "end": length}[negation]
            parts.insert(at, f"!(E{types} n)")
        conditions, keys = rng.choice(CONDITIONS), rng.choice(KEYS)
        window = rng.choice(WINDOWS if has_key else WITHOUT_KEY)
        asked = " AND ".join(["[attr1]"] * has_key + conditions)
        where = f" WHERE {asked}" if asked else ""
        text = f"EVENT SEQ({', '.join(parts)}){where} WITHIN {window}"
        domains, rate = (keys, LEVELS, LEVELS), rng.choice(RATES)
        drawn = (text, length, int(has_key), len(conditions), negation, window)
        yield RareQuery(number, types, domains, 0.0, *drawn, place, rate)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each query, and how far the chosen plans are from the walk and the best."""
    parser = argparse.ArgumentParser(prog="python -m experiments.trees", description=__doc__)
    parser.add_argument("--queries", type=int, default=30, help="how many: 30")
    parser.add_argument("--events", type=int, default=3_000_000, help="of each stream: 3,000,000")
    parser.add_argument("--seed", type=int, default=1, help="of the queries: 1")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    machine.compile_kernels()
    found = list[tuple[RareQuery, Cell]]()
    for query in workload(options.queries, options.seed):
        cell = measured_query(query, options.events)
        if cell is not None and WALK in cell.seconds:
            found.append((query, cell))
            print(_line(query, cell), flush=True)
    print("\n".join(summary(found)))


def _line(query: RareQuery, cell: Cell) -> str:
    recipes = {name: seconds for name, seconds in cell.seconds.items() if name != CHOSEN}
    best = min(recipes, key=lambda name: recipes[name])
    told = f"1 in {query.one_in:6,} {query.place:6} chosen {1e3 * cell.seconds[CHOSEN]:7.1f} ms"
    told += f"  walk : chosen {_lead(cell):5.2f}  regret {cell.regret:.2f} ({best})"
    return f"{told}  {query.text}"


def _lead(cell: Cell) -> float:
    """How many times as long as the chosen plan the walk takes."""
    return cell.seconds[WALK] / cell.seconds[CHOSEN]


def summary(found: Sequence[tuple[RareQuery, Cell]]) -> Iterator[str]:
    """How far the chosen plans are from the walk, and from the best recipe."""
    wanted = [cell for query, cell in found if query.is_wanted]
    for which, some in (
        (f"up to {MANY:,} matches", [cell for cell in wanted if cell.results <= MANY]),
        ("more", [cell for cell in wanted if cell.results > MANY]),
    ):
        if some:
            leads = sorted(map(_lead, some))
            told = f"of {len(some)}: least {leads[0]:.2f}, median {median(leads):.2f} (wanted: 3)"
            yield f"one in {FEWEST:,}, in the middle or last, {which}: walk : chosen {told}"
    if found:
        slowest = max(1 / _lead(cell) for _, cell in found)
        yield f"chosen : walk of all {len(found)}: at most {slowest:.2f} (wanted: 1.1)"
        regrets = [cell.regret for _, cell in found]
        within = sum(regret <= 1.25 for regret in regrets) / len(regrets)
        yield f"regret: within 1.25 for {within:.0%}, worst {max(regrets):.2f}"


if __name__ == "__main__":
    main()
