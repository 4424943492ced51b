"""Run fresh random cases of the engine against the naive matcher, in all processors at once.

    python -m tests.drawing.many_cases [--cases 20000] [--seed SEED]

Half of the queries are sequences, half are series. Recipes take turns, each with fused paths and
without. A failing case is printed as small as it still fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from random import SystemRandom
from typing import NamedTuple

from sase.planning.recipes import recipe_names
from tests.drawing import hunt
from tests.drawing.ways import Way, case, in_order
from tests.seeds import NUMBERS, SEEDS

# The number of cases for a process at a time.
PIECE = 100
# The number of cases after which a line shows the progress.
TOLD = 1000
LEVELS = ("sequences", "series")
Tally = Counter[tuple[str, str, bool]]


class Outcome(NamedTuple):
    """How a case was run, its result, and its mistakes."""

    way: Way
    kind: str
    wrong: str | None = None


def turned(way: Way, turn: int) -> Way:
    """The way of the recipe in its turn, with fused paths or without."""
    names = recipe_names()
    options = replace(way.options, fused=turn % 2 == 0)
    # A match in one step has the usual options.
    manner = "table" if way.manner == "match" and not options.fused else way.manner
    recipe = names[turn // 2 % len(names)]
    return replace(way, recipe=recipe, options=options, manner=manner)


def tried(number: int, turn: int, form: str) -> Outcome:
    """Run a case of a form."""
    example, way = case(number, form)
    way = turned(replace(way, order=(), off=None), turn)
    example = in_order(replace(example, output="all") if not way.options.fused else example, way)
    if example.is_refused:
        return Outcome(way, "refused")
    kind = "with matches" if example.expected else "without"
    wrong = hunt.fault(example, way)
    return Outcome(way, kind, None if wrong is None else hunt.told(number, example, way))


def piece(numbers: range) -> tuple[Tally, Counter[str], list[str]]:
    """Run some cases; return how often each way was run, the results, and the mistakes."""
    ran, kinds, faults = Tally(), Counter[str](), list[str]()
    for number in numbers:
        form = LEVELS[number % 2]
        found = tried(number, number // 2, form)
        ran[form, found.way.recipe, found.way.options.fused] += 1
        kinds[found.kind] += 1
        faults += [found.wrong] if found.wrong is not None else []
    return ran, kinds, faults


def pieces(first: int, count: int) -> Iterator[range]:
    """The numbers of all cases, in pieces."""
    for start in range(first, first + count, PIECE):
        yield range(start, min(start + PIECE, first + count))


def shown(ran: Tally) -> Iterator[str]:
    """How often each recipe was run, form by form, with fused paths and without."""
    for name in recipe_names():
        counts = (f"{ran[form, name, fused]:6}" for form in LEVELS for fused in (True, False))
        yield f"{name:28}{''.join(counts)}"


def main() -> int:
    """Run the requested cases; return 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = SystemRandom().randrange(SEEDS) if given.seed is None else given.seed
    again = f"make test-naive SEED={seed} EXAMPLES={given.cases}"
    print(f"{given.cases} cases, seed {seed}; again:  {again}", flush=True)
    ran, kinds, faults = Tally(), Counter[str](), list[str]()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        for some, more, wrong in processes.map(piece, pieces(seed * NUMBERS, given.cases)):
            ran, kinds, faults = ran + some, kinds + more, faults + wrong
            print(*wrong, sep="\n", end="", flush=True)
            if ran.total() % TOLD == 0:
                print(f"{ran.total()} cases, {len(faults)} faults", flush=True)
    print(f"{'cases run':28}{'sequences':>12}{'series':>12}\n{'':28}" + " fused other" * 2)
    print(*shown(ran), sep="\n")
    print(f"{ran.total()} cases, {len(faults)} faults; {dict(kinds)}")
    print(f"again:  {again}" if faults else "the engine found what the naive matcher finds")
    assert ran.total() == given.cases
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
