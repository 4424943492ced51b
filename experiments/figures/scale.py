"""Ours: how time grows with events, keys, the window, the pattern, types, and threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from experiments.core.checks import Check, at_least, slope, works_more
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import Make, listed
from experiments.figures.sequences import rate, stream, template

OURS = "optimized"
SOURCE = "Ours"
WINDOW = 10_000
Q1, Q3 = template(3, "[attr1]"), "EVENT SEQ(E1 a, !(E2 b), E3 c) WHERE [attr1] WITHIN 10000"
QUERIES = {"Q1": Q1, "Q3": Q3}


def _each(queries: dict[str, str]) -> dict[str, Make]:
    return {name: listed(query) for name, query in queries.items()}


def over_events(size: Size) -> Iterator[Point]:
    """Streams of growing length."""
    counts = size.of(
        (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000), (20_000, 200_000), (2_000, 4_000)
    )
    for events in counts:
        yield Point(events, _each(QUERIES), stream(events, 1_000), events, alike=False)


def over_keys(size: Size) -> Iterator[Point]:
    """More and more values of the key."""
    events = size.of(2_000_000, 200_000, 10_000)
    keys = size.of((1_000_000, 100_000, 10_000, 1_000, 100), (100_000, 1_000, 100), (1_000, 100))
    for count in keys:
        yield Point(count, _each(QUERIES), stream(events, count), events, alike=False)


def over_windows(size: Size) -> Iterator[Point]:
    """Longer windows."""
    events = size.of(1_000_000, 100_000, 4_000)
    for window in size.of((100, 1_000, 10_000, 100_000), (100, 10_000), (100, 1_000)):
        queries = {n: q.replace(f"WITHIN {WINDOW}", f"WITHIN {window}") for n, q in QUERIES.items()}
        yield Point(window, _each(queries), stream(events, 1_000), events, alike=False)


def over_lengths(size: Size) -> Iterator[Point]:
    """Longer sequences with few matches."""
    events = size.of(1_000_000, 100_000, 4_000)
    for length in size.of((2, 3, 4, 5, 6, 7, 8), (2, 4, 8), (2, 4)):
        ways = {OURS: listed(template(length, "[attr1]"))}
        yield Point(length, ways, stream(events, 1_000), events)


def over_types(size: Size) -> Iterator[Point]:
    """More types in the stream, of which the query names three."""
    events = size.of(2_000_000, 200_000, 4_000)
    for types in size.of((3, 10, 30, 100, 1_000, 10_000), (10, 100, 1_000), (10, 200)):
        ways = {OURS: listed(template(3, "[attr1]"))}
        yield Point(types, ways, stream(events, 10_000, types=types), events)


def over_threads(size: Size) -> Iterator[Point]:
    """The same by one thread and more."""
    events = size.of(10_000_000, 500_000, 20_000)
    data = cache(stream(events, 1_000))
    for threads in size.of((1, 2), (1, 2), (2,)):
        ways = {name: listed(query, threads=threads) for name, query in QUERIES.items()}
        yield Point(threads, ways, data, events, alike=False)


# How much faster two threads should be; where they are not, how much more they work, and by how
# many cores at most.
GAIN, MORE, BUSY = 1.5, 1.05, 1.7


def gains(least: float) -> Check:
    """Two threads are at least `least` times as fast as one."""

    required = at_least(least)

    def check(results: Results) -> Verdict:
        ratios = {}
        for way in results.ways():
            known = dict(results.curve(way))
            if {1, 2} <= set(known):
                ratios[way] = known[2] / known[1]
        told = ", ".join(f"{way} {ratio:.2f} times" for way, ratio in ratios.items())
        return Verdict(
            min(ratios.values()) >= least if ratios else None, f"two threads: {told}", required
        )

    return check


def work_more(results: Results) -> Verdict:
    """That two threads work longer together, and not all the time, where they gain too little."""
    found = dict[str, tuple[float, float]]()
    for way in results.ways():
        work, seconds = (dict(results.curve(way, y)) for y in ("cpu_s", "wall_s"))
        if {1, 2} <= set(seconds) and seconds[1] < GAIN * seconds[2]:
            found[way] = work[2] / work[1], work[2] / seconds[2]
    return works_more(found, MORE, BUSY)


def faster_with(many: int, few: int) -> Check:
    """That with many types a stream is gone through faster than with few."""

    required = at_least(1)

    def check(results: Results) -> Verdict:
        rates = [results.at(OURS, types) for types in (many, few)]
        if None in rates:
            return Verdict(None, "not at this size", required)
        ratio = rates[0] / rates[1]  # type: ignore[operator]
        return Verdict(
            ratio >= 1, f"{ratio:.2f} times as fast with {many:,} types as with {few}", required
        )

    return check


def _experiment(
    name: str, what: str, said: str, points: object, *plots: Plot, **rest: object
) -> Experiment:
    return Experiment(f"scale_{name}", f"Scaling: {what}", SOURCE, said, points, plots, **rest)  # type: ignore[arg-type]


EXPERIMENTS = (
    _experiment(
        "events",
        "events",
        "time should grow linearly with the stream.",
        over_events,
        Plot("wall_s", "s", "events", log_x=True, log_y=True),
        rate("events", log_y=False),
        findings=tuple(
            Finding(
                f"{name}: time is at most linear in the events (power ≤ 1.1)", slope(name, 0.0, 1.1)
            )
            for name in QUERIES
        ),
    ),
    _experiment(
        "keys",
        "keys",
        "with more keys there are fewer matches, and in the end stacks that do not fit the cache.",
        over_keys,
        rate("values of the key"),
    ),
    _experiment(
        "window",
        "the window",
        "time should follow the number of matches, not the window.",
        over_windows,
        rate("W"),
        findings=(
            Finding("Q1: less than the square root of W (power ≤ 0.5)", slope("Q1", -0.5, 0.5)),
        ),
    ),
    _experiment(
        "length",
        "the length of the pattern",
        "each component adds the events of one type more.",
        over_lengths,
        rate("components", log_x=False, log_y=False),
    ),
    _experiment(
        "types",
        "types in the stream",
        "events of types that the query does not name should cost next to nothing.",
        over_types,
        rate("types in the stream"),
        findings=(Finding("faster with 1,000 types than with 10", faster_with(1_000, 10)),),
    ),
    _experiment(
        "threads",
        "threads",
        "two cores should be nearly twice as fast as one.",
        over_threads,
        rate("threads", log_x=False, log_y=False),
        findings=(
            Finding(
                f"two threads are at least {GAIN} times as fast",
                gains(GAIN),
                (
                    Reason(
                        f"Where they gain less, both together take at least {MORE} times the"
                        f" processor time of one, and keep at most {BUSY} of two cores busy.",
                        work_more,
                    ),
                ),
            ),
        ),
    ),
)
