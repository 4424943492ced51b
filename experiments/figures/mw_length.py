"""Figures 6a to 6d and 7a to 7d of KDD 2012: factors by the length of random patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import NamedTuple

from experiments.core.checks import CPU_RATE, Check, ahead, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.figures.match_windows import (
    BASE,
    NEAR,
    NYSE,
    ONCO,
    OURS,
    PRUNED,
    SHOWN,
    SOURCE,
    by_automaton,
    by_tree,
    gains_by_more,
    gains_more,
    nyse_stream,
    onco_stream,
)
from experiments.window_streams import DAY, ONCO_TYPES

TRADED = tuple(f"S{number}" for number in range(1, 51))
LONGEST = 10


class Panel(NamedTuple):
    """The figure of SES and that of a tree; the form of the patterns; which stream."""

    runs: str
    tree: str
    form: str
    has_keys: bool


PANELS = (
    Panel("6a: SES, sequences, onco", "7a: tree, sequences, onco", "SEQ", True),
    Panel("6b: SES, sets, onco", "7b: tree, sets, onco", "SET", True),
    Panel("6c: SES, sequences, nyse", "7c: tree, sequences, nyse", "SEQ", False),
    Panel("6d: SES, sets, nyse", "7d: tree, sets, nyse", "SET", False),
)
WITH_KEYS, WITHOUT = PANELS[:2], PANELS[2:]


def points(size: Size) -> Iterator[Point]:
    """Patterns of 2 to 10 variables: one variable is a single event, and has no window."""
    lengths = size.of((2, 4, 6, 8, LONGEST), (2, 6, LONGEST), (2, 3))
    count = size.of(3, 2, 1)
    for panel in PANELS:
        if panel.has_keys:
            events, made = size.of(100_000, 10_000, 500), onco_stream
        else:
            events, made = size.of(1_000_000, 20_000, 500), nyse_stream
        stream = partial(made, events)
        methods = ONCO if panel.has_keys else NYSE
        for length in lengths:
            queries = patterns(panel, length, count, earliest=True)
            yield Point(length, by_automaton(queries, methods), stream, events, panel.runs)
        plan = "tree_bushy" if panel.form == "SEQ" else "ses_tree"
        for length in lengths:
            queries = patterns(panel, length, count, earliest=False)
            yield Point(length, by_tree(queries, methods, plan), stream, events, panel.tree)


def patterns(panel: Panel, length: int, count: int, *, earliest: bool) -> Sequence[str]:
    """Random patterns of distinct types, within ten days or twenty milliseconds.

    A tree finds all matches, and SES the earliest and maximal ones.
    """
    random = Random(length)
    types = ONCO_TYPES if panel.has_keys else TRADED
    where = "[pid]" if panel.has_keys else "true"
    where = f"earliest_maximal {{ {where} }}" if earliest else where
    window = 10 * DAY if panel.has_keys else 20_000
    found = []
    for _ in range(count):
        chosen = enumerate(random.sample(types, length))
        parts = ", ".join(f"{name} v{place}" for place, name in chosen)
        found.append(f"EVENT {panel.form}({parts}) WHERE {where} WITHIN {window} INCLUSIVE")
    return found


def is_longest(x: float) -> bool:
    """The longest patterns."""
    return x == LONGEST


def is_long(x: float) -> bool:
    """Six variables and more."""
    return x >= 6


def slower_for_pairs(panel: str, methods: Sequence[str]) -> Check:
    """Only with two variables a method is slower than the one before it, of no more events."""
    required = "slower with 2 variables alone, of at most 1 times the events"

    def check(results: Results) -> Verdict:
        slower, events = set[float](), list[float]()
        for less, more in pairwise(methods):
            rates = results.ratios(more, less, CPU_RATE, panel)
            slower |= {x for x, ratio in rates.items() if ratio < NEAR}
            events += results.ratios(more, less, "window_events", panel).values()
        if not events:
            return Verdict(None, f"{panel}: too few points", required)
        where = f"slower with {sorted(slower)} variables" if slower else "nowhere slower"
        said = f"{panel}: {where}, {max(events):.3g} times the events at most"
        return Verdict(slower <= {2} and max(events) <= 1, said, required)

    return check


def costs_alike(one: str, other: str) -> Check:
    """The baseline of one panel takes at most twice the time of another one's, of ten variables."""
    required = "at most 2"

    def check(results: Results) -> Verdict:
        times = [results.at(BASE, LONGEST, "cpu_s", panel) for panel in (one, other)]
        if None in times:
            return Verdict(None, f"{LONGEST} variables are not measured", required)
        ratio = times[0] / times[1]  # type: ignore[operator]
        said = f"cpu_s of {BASE} in {one} : {other} = {ratio:.3g} at {LONGEST}"
        return Verdict(ratio <= 2, said, required)

    return check


EXPERIMENT = Experiment(
    "mw_length",
    "Figures 6a, 6b, 6c, 6d, 7a, 7b, 7c, 7d: match windows by the number of variables",
    SOURCE,
    "Over a search of every window by itself each of the methods gains: SES up to 12 times for"
    " sequences and 700 times for sets of treatments, 3 and 60 times for those of trades; ZStream 3"
    " to 12 times.",
    points,
    (Plot(CPU_RATE, "mean events/s of the processor", "variables", log_y=True),),
    (
        Finding(
            "SES: f gains, fp no less than f, fpc no less than fp (sequences and sets of"
            " treatments); fc no less than f (of trades)",
            every(
                gains_by_more(*(each.runs for each in WITH_KEYS), methods=ONCO),
                gains_by_more(*(each.runs for each in WITHOUT), methods=NYSE),
            ),
        ),
        Finding(
            "a tree: the same",
            every(
                gains_by_more(*(each.tree for each in WITH_KEYS), methods=ONCO),
                gains_by_more(*(each.tree for each in WITHOUT), methods=NYSE),
            ),
            (
                Reason(
                    "a join of two single events takes no longer than to count whether a window has"
                    " both; the searched windows have fewer events",
                    every(
                        *(slower_for_pairs(each.tree, ONCO) for each in WITH_KEYS),
                        *(slower_for_pairs(each.tree, NYSE) for each in WITHOUT),
                    ),
                ),
            ),
        ),
        Finding(
            "SES gains more than a tree, by sequences and by sets of both streams",
            every(*(gains_more(each.runs, each.tree) for each in PANELS)),
        ),
        Finding(
            "fpc gains more than two orders of magnitude for sets of treatments of six variables"
            " and more",
            ahead("fpc", BASE, 100, y=CPU_RATE, panel=PANELS[1].runs, when=is_long),
        ),
        Finding(
            "of ten variables SES gains for sets at least 10 times of its gain for sequences"
            " (treatments)",
            gains_more(PANELS[1].runs, PANELS[0].runs, 10, when=is_longest),
            (
                Reason(
                    "the baseline reads all events of each window in both cases, which takes most"
                    " of its time",
                    costs_alike(PANELS[1].runs, PANELS[0].runs),
                ),
            ),
        ),
        Finding(
            "one pass over all events at once, without methods, is no slower than the baseline",
            every(
                *(
                    ahead(OURS, BASE, NEAR, y=CPU_RATE, panel=panel)
                    for each in PANELS
                    for panel in (each.runs, each.tree)
                )
            ),
        ),
        Finding(
            "one pass over the windows that fpc leaves is no slower than the search of each by"
            " itself",
            every(*(ahead(PRUNED, "fpc", NEAR, y=CPU_RATE, panel=e.runs) for e in WITH_KEYS)),
        ),
    ),
    SHOWN,
)
