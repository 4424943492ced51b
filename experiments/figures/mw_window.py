"""Figures 6e, 6f, 7e and 7f of KDD 2012: factors by the length of the window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from experiments.core.checks import CPU_RATE, Check, ahead, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.figures.match_windows import (
    BASE,
    NEAR,
    NYSE,
    ONCO,
    OURS,
    SHOWN,
    SOURCE,
    by_automaton,
    by_tree,
    factors,
    gains_by_more,
    gains_more,
    nyse_stream,
    onco_stream,
    pnyse,
    tree_of_pnyse,
)
from experiments.window_streams import DAY

PONCO = "SEQ(SET(C c, D d), SET(P+ p[], R+ r[]), SET(B b, H h))"
RISING = "[pid] AND p[i].v >= p[i-1].v AND r[i].v >= r[i-1].v"
# A tree joins single events.
TREE_OF_PONCO = "SEQ(SET(C c, D d), SET(B b, H h))"
RUNS_DAYS, TREE_DAYS = "6e: SES, days, onco", "7e: tree, days, onco"
RUNS_MS, TREE_MS = "6f: SES, ms, nyse", "7f: tree, ms, nyse"


def points(size: Size) -> Iterator[Point]:
    """Windows of 5 to 50 days over treatments, and of 10 to 100 milliseconds over trades."""
    events = size.of(100_000, 10_000, 500)
    stream = partial(onco_stream, events)
    for days in size.of((5, 10, 20, 30, 50), (5, 50), (5,)):
        window = f"WITHIN {days * DAY} INCLUSIVE"
        query = f"EVENT {PONCO} WHERE earliest_maximal {{ {RISING} }} {window}"
        yield Point(days, by_automaton([query], ONCO), stream, events, RUNS_DAYS)
        query = f"EVENT {TREE_OF_PONCO} WHERE [pid] {window}"
        yield Point(days, by_tree([query], ONCO, "ses_tree"), stream, events, TREE_DAYS)
    stream = partial(nyse_stream, events)
    for ms in size.of((10, 20, 40, 60, 100), (10, 100), (10,)):
        ways = by_automaton([pnyse(1_000 * ms)], NYSE)
        yield Point(ms, ways, stream, events, RUNS_MS)
        ways = by_tree([tree_of_pnyse(1_000 * ms)], NYSE, "ses_tree")
        yield Point(ms, ways, stream, events, TREE_MS)


def grows(panel: str) -> Check:
    """The greatest factor is greater in the longest window than in the shortest."""
    required = "more in the longest window"

    def check(results: Results) -> Verdict:
        found = factors(results, panel)
        if len(found) < 2:
            return Verdict(None, f"{panel}: too few points", required)
        said = ", ".join(f"{factor:.3g} at {x}" for x, factor in found.items())
        first, *_, last = found.values()
        return Verdict(last > first, f"{panel}: greatest factor = {said}", required)

    return check


EXPERIMENT = Experiment(
    "mw_window",
    "Figures 6e, 6f, 7e, 7f: match windows by their length",
    SOURCE,
    "The factor of SES grows with the window of treatments, because a longer window has events of"
    " more patients; up to 25 times, and 6 times for trades. ZStream gains 3 to 5 times.",
    points,
    (
        Plot(CPU_RATE, "events/s of the processor", "window", log_y=True),
        Plot("window_events", "events of searched windows", "window", log_y=True),
    ),
    (
        Finding("SES gains more in longer windows of treatments", grows(RUNS_DAYS)),
        Finding(
            "SES: each method gains no less than the one before it",
            every(gains_by_more(RUNS_DAYS, methods=ONCO), gains_by_more(RUNS_MS, methods=NYSE)),
        ),
        Finding(
            "a tree: the same",
            every(gains_by_more(TREE_DAYS, methods=ONCO), gains_by_more(TREE_MS, methods=NYSE)),
        ),
        Finding(
            "SES gains more than a tree",
            every(gains_more(RUNS_DAYS, TREE_DAYS), gains_more(RUNS_MS, TREE_MS)),
        ),
        Finding(
            "one pass over all events at once, without methods, is no slower than the baseline",
            every(
                *(
                    ahead(OURS, BASE, NEAR, y=CPU_RATE, panel=panel)
                    for panel in (RUNS_DAYS, TREE_DAYS, RUNS_MS, TREE_MS)
                )
            ),
        ),
    ),
    SHOWN,
)
