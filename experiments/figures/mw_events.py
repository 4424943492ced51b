"""Figures 8a and 8b of KDD 2012: factors by the number of events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from experiments.core.checks import CPU_RATE, Check, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.figures.match_windows import (
    BASE,
    NYSE,
    SHOWN,
    SOURCE,
    by_automaton,
    by_tree,
    factors,
    gains_more,
    nyse_stream,
    pnyse,
    tree_of_pnyse,
)

RUNS, TREE = "8a: SES", "8b: tree"
WINDOW = 20_000
# The greatest factor may be as many times the smallest one, in streams of at least as many events.
APART, LARGE, SMALLEST = 1.5, 10_000, 100
# The part of the time of a large stream that the smallest one takes, if a run has a fixed part.
FIXED = 0.25


def points(size: Size) -> Iterator[Point]:
    """Trades: ten times as many at each point, up to those of the paper."""
    counts = (SMALLEST, 1_000, LARGE, 100_000, 1_000_000)
    for events in size.of(counts, counts[1:4], counts[1:2]):
        stream = partial(nyse_stream, events)
        yield Point(events, by_automaton([pnyse(WINDOW)], NYSE), stream, events, RUNS)
        ways = by_tree([tree_of_pnyse(WINDOW)], NYSE, "ses_tree")
        yield Point(events, ways, stream, events, TREE)


def constant(panel: str) -> Check:
    """The greatest factor hardly depends on the number of events, if that is large."""
    required = f"at most {APART:g} times apart"

    def check(results: Results) -> Verdict:
        found = {x: factor for x, factor in factors(results, panel).items() if x >= LARGE}
        if len(found) < 2:
            return Verdict(None, f"{panel}: too few points", required)
        said = ", ".join(f"{factor:.3g} at {x:,}" for x, factor in found.items())
        apart = max(found.values()) / min(found.values())
        told = f"{panel}: greatest factor = {said}, {apart:.3g} times apart"
        return Verdict(apart <= APART, told, required)

    return check


def fewer_events(panel: str) -> Check:
    """The searched windows of fc have fewer events by the same factor, however many there are."""
    required = f"at most {APART:g} times apart"

    def check(results: Results) -> Verdict:
        ratios = results.ratios(BASE, NYSE[-1], "window_events", panel)
        found = {x: ratio for x, ratio in ratios.items() if x >= LARGE}
        if len(found) < 2:
            return Verdict(None, f"{panel}: too few points", required)
        said = ", ".join(f"{ratio:.3g} at {x:,}" for x, ratio in found.items())
        apart = max(found.values()) / min(found.values())
        return Verdict(apart <= APART, f"{panel}: times fewer events = {said}", required)

    return check


def fixed_part(panel: str) -> Reason:
    """Why the factor is less in short streams."""
    required = f"at least {FIXED:g}"

    def check(results: Results) -> Verdict:
        few, many = (results.at(NYSE[-1], x, "cpu_s", panel) for x in (SMALLEST, LARGE))
        if few is None or many is None:
            return Verdict(None, f"{panel}: too few points", required)
        said = f"{panel}: cpu_s of {NYSE[-1]} at {SMALLEST} : {LARGE:,} = {few / many:.3g}"
        return Verdict(few / many >= FIXED, said, required)

    return Reason(
        "a run takes some milliseconds however few events it has, which hides the factor in short"
        " streams",
        every(check, fewer_events(panel)),
    )


EXPERIMENT = Experiment(
    "mw_events",
    "Figures 8a, 8b: match windows by the number of events",
    SOURCE,
    "The factor is constant in the number of events.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "events", log_x=True, log_y=True),),
    (
        Finding(f"SES: constant from {LARGE:,} events on", constant(RUNS), (fixed_part(RUNS),)),
        Finding(f"a tree: constant from {LARGE:,} events on", constant(TREE), (fixed_part(TREE),)),
        Finding(
            f"constant from {LARGE:,} events on, counted by the events of searched windows",
            every(fewer_events(RUNS), fewer_events(TREE)),
        ),
        Finding(
            f"SES gains more than a tree from {LARGE:,} events on",
            gains_more(RUNS, TREE, when=lambda x: x >= LARGE),
        ),
    ),
    SHOWN,
)
