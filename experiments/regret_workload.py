"""Random queries over random streams, on which plans are chosen and compared."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sase.generate import uniform_events

EVENTS = 1_000_000
# Streams of other lengths separate the time of a run from the time of an event.
LENGTHS = (200_000, 1_000_000, 3_000_000)
DOMAINS = (5, 20, 100, 1_000, 10_000, 100_000, 1_000_000)
WINDOWS = (1_000, 10_000, 100_000)
SKEWS = (0.0, 0.0, 0.5, 1.0)
TYPES = (4, 8, 20)
# Values of the attribute that conditions are on, which is no key.
LEVELS = 1_000


@dataclass(frozen=True)
class Drawn:
    """A query and the parameters of its stream."""

    number: int
    types: int
    domains: tuple[int, ...]
    skew: float
    text: str
    length: int
    tests: int
    conditions: int
    negation: str
    window: int

    def table(self, events: int = EVENTS) -> pa.Table:
        """The stream."""
        return uniform_events(
            events=events,
            types=self.types,
            domains=(*self.domains, LEVELS, LEVELS),
            value_skew=self.skew,
            seed=self.number,
        )


def workload(count: int, seed: int) -> Iterator[Drawn]:
    """A number of queries, each with a stream of its own."""
    rng = random.Random(seed)
    for number in range(count):
        yield _drawn(number, rng)


def _drawn(number: int, rng: random.Random) -> Drawn:
    length, tests = rng.choice((2, 2, 3, 3, 4, 5)), rng.choice((1, 1, 2, 3))
    types, window = rng.choice(TYPES), rng.choice(WINDOWS)
    domains = tuple(rng.choice(DOMAINS) for _ in range(tests))
    variables = "abcde"[:length]
    parts = [f"E{1 + rng.randrange(types)} {name}" for name in variables]
    negation = rng.choice(("none", "none", "start", "middle", "end"))
    if negation != "none":
        place = {"start": 0, "middle": rng.randrange(1, length), "end": length}[negation]
        parts.insert(place, f"!(E{1 + rng.randrange(types)} n)")
    keys = ", ".join(f"attr{place + 1}" for place in range(tests))
    conditions = [_condition(rng, variables, tests, negation) for _ in range(rng.randrange(4))]
    where = " AND ".join([f"[{keys}]", *conditions])
    return Drawn(
        number,
        types,
        domains,
        rng.choice(SKEWS),
        f"EVENT SEQ({', '.join(parts)}) WHERE {where} WITHIN {window}",
        length,
        tests,
        len(conditions),
        negation,
        window,
    )


def _condition(rng: random.Random, variables: str, tests: int, negation: str) -> str:
    """On one event, on two, or on the negative one; of a selectivity between 0.01 and 0.9."""
    first, second = f"attr{tests + 1}", f"attr{tests + 2}"
    bound = int(LEVELS * rng.choice((0.01, 0.05, 0.2, 0.5, 0.9)))
    one, other = rng.sample(variables, 2) if len(variables) > 1 else (variables, variables)
    forms = [
        f"{one}.{first} < {bound}",
        f"{one}.{first} < {other}.{second}",
        f"{one}.{first} + {other}.{second} < {bound * 2}",
        f"abs({one}.{first} - {other}.{first}) < {bound}",
    ]
    if negation != "none":
        forms += [f"n.{first} < {bound}", f"n.{first} < {one}.{second}"]
    return rng.choice(forms)
