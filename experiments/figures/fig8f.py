"""Figures 8f and 8g and Table 3 of SASE+ 2008: merging equivalent runs."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead, every, rates, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size
from experiments.core.ways import counted
from experiments.figures.stocks import SOURCE, over_queries, query, stream

BASIC, MERGED = "nfab", "nfab_merged"
GAINING = ("p1-s3", "p2-s3", "p3-s3")


def points(size: Size) -> Iterator[Point]:
    """All six queries, with their results."""
    yield from over_queries(size, size.of(500, 500, 100), {BASIC: BASIC, MERGED: MERGED})


def without_construction(size: Size) -> Iterator[Point]:
    """Three queries over W, whose matches are only counted."""
    for window in size.of((500, 1_000, 1_500, 2_000), (500, 2_000), (100, 200)):
        data, events = stream(window, size)
        for name in GAINING:
            text = query(name, window)
            ways = {plan: counted(text, plan) for plan in (BASIC, MERGED)}
            yield Point(window, ways, data, events, name)


EXPERIMENT = Experiment(
    "fig8f",
    "Figure 8f: merging equivalent runs",
    f"{SOURCE}, experiment 5",
    "Merging gains for all queries: 1.5 times for p1-s3, 1.4 for p2-s3, 1.5 for p3-s3.",
    points,
    (Plot("events_per_s", "events/s", "", log_y=True, bars=True),),
    (
        Finding(
            "merging gains for the three queries under skip till next match",
            ahead(MERGED, BASIC, when=lambda x: x in GAINING),
            (
                Reason(
                    "Runs in lines, which share nothing, meet as many events or more; but of"
                    " merged runs each match is walked back, at some nanoseconds for an event that"
                    " it holds.",
                    every(
                        ahead(BASIC, MERGED, y="steps", when=lambda x: x in GAINING),
                        rates(
                            MERGED,
                            2e-9,
                            1.2e-8,
                            of="wall_s",
                            by="held",
                            when=lambda x: x in GAINING,
                        ),
                    ),
                ),
            ),
        ),
    ),
    ("held", "runs", "merged", "merged_share", "steps", "most_alive"),
)
OVER_WINDOWS = Experiment(
    "fig8g",
    "Figure 8g and Table 3: merging over the window, matches counted",
    f"{SOURCE}, experiment 6",
    "Without construction merging gains 1.4 to 2.1 times: most for p2 where W is large, less for"
    " p3, of whose runs fewer can be merged.",
    without_construction,
    (Plot("events_per_s", "events/s, matches counted", "W, events of a partition", log_y=True),),
    tuple(
        Finding(
            f"{name}: merging gains at every W",
            ahead(MERGED, BASIC, panel=name),
            (
                Reason(
                    "Counting the matches of merged runs walks back over each of them, so that it"
                    " is construction after all: time grows faster than the number of matches, as"
                    " they get longer with W, although fewer events are shown to runs.",
                    every(
                        ahead(BASIC, MERGED, y="steps", panel=name),
                        slope(MERGED, 1.05, 2.5, x="matches", panel=name),
                    ),
                ),
            ),
        )
        for name in GAINING
    ),
    ("runs", "merged", "steps"),
)
