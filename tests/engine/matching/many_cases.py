"""Run fresh random cases of the engine against the naive matcher, in all processors at once.

    python -m tests.engine.matching.many_cases [--cases 20000] [--seed SEED]

Half of the queries are of level 1, half of level 2. Recipes take turns, each with fused paths and
without. What fails is printed, of level 2 as small as it still does.
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

from hypothesis import strategies as st

from sase.errors import QueryError
from sase.planning.recipes import recipe_names
from tests.engine.matching.examples import examples
from tests.engine.matching.ways import Way, check, push, run, ways
from tests.engine.series import hunt
from tests.engine.series.examples import drawn
from tests.engine.series.routes import case, in_order
from tests.seeds import NUMBERS, SEEDS

# So many are handed to a process at a time.
PIECE = 100
# A line each so many cases says how far it is.
TOLD = 1000
LEVELS = ("level 1", "level 2")
Tally = Counter[tuple[str, str, bool]]


class Outcome(NamedTuple):
    """How a case was run, what came out, and what is wrong with it."""

    way: Way
    kind: str
    wrong: str | None = None


def turned(way: Way, turn: int) -> Way:
    """A way whose recipe has its turn, with fused paths or without."""
    names = recipe_names()
    options = replace(way.options, fused=turn % 2 == 0)
    # What is matched in one step has the usual options.
    manner = "table" if way.manner == "match" and not options.fused else way.manner
    recipe = names[turn // 2 % len(names)]
    return replace(way, recipe=recipe, options=options, manner=manner)


def level_1(number: int, turn: int) -> Outcome:
    """Run a case of level 1."""
    example, way = drawn(number, st.tuples(examples(), ways))
    way = turned(replace(way, order=(), off=None), turn)
    is_push = way.is_push(example)
    example = example.sorted if is_push else example
    expected = example.expected
    kind = "with matches" if expected else "without"
    try:
        check(example, expected, push(example, way, expected) if is_push else run(example, way))
    except QueryError:
        return Outcome(way, "refused")
    except Exception as error:
        said = f"{number}: {example}\n  {way}\n  {type(error).__name__}: {error}\n"
        return Outcome(way, kind, said)
    return Outcome(way, kind)


def level_2(number: int, turn: int) -> Outcome:
    """Run a case of level 2."""
    example, way = case(number)
    way = turned(way, turn)
    if not way.options.fused:
        example = in_order(replace(example, output="all"), way)
    if example.is_refused:
        return Outcome(way, "refused")
    kind = "with matches" if example.expected else "without"
    wrong = hunt.fault(example, way)
    return Outcome(way, kind, None if wrong is None else hunt.told(number, example, way))


def piece(numbers: range) -> tuple[Tally, Counter[str], list[str]]:
    """Run some cases; return how often each way was run, what came out, and what is wrong."""
    ran, kinds, faults = Tally(), Counter[str](), list[str]()
    for number in numbers:
        level, run_case = ((LEVELS[0], level_1), (LEVELS[1], level_2))[number % 2]
        found = run_case(number, number // 2)
        ran[level, found.way.recipe, found.way.options.fused] += 1
        kinds[found.kind] += 1
        faults += [found.wrong] if found.wrong is not None else []
    return ran, kinds, faults


def pieces(first: int, count: int) -> Iterator[range]:
    """The numbers of all cases, in pieces."""
    for start in range(first, first + count, PIECE):
        yield range(start, min(start + PIECE, first + count))


def shown(ran: Tally) -> Iterator[str]:
    """How often each recipe was run, level by level, with fused paths and without."""
    for name in recipe_names():
        counts = (f"{ran[level, name, fused]:6}" for level in LEVELS for fused in (True, False))
        yield f"{name:28}{''.join(counts)}"


def main() -> int:
    """Run the cases that are asked for; return 1 if one of them fails."""
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
    print(f"{'cases run':28}{'level 1':>12}{'level 2':>12}\n{'':28}" + " fused other" * 2)
    print(*shown(ran), sep="\n")
    print(f"{ran.total()} cases, {len(faults)} faults; {dict(kinds)}")
    print(f"again:  {again}" if faults else "the engine found what the naive matcher finds")
    assert ran.total() == given.cases
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
