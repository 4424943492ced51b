"""SASE++ 2014 where listing explodes: W up to 100,000 on a dense stream, counted and collapsed."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check, between, every, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import compressed, counted
from experiments.figures.postponing import SOURCE, Shares, query

A_SHARE, B_SHARE, C_SHARE = 0.1, 0.3, 1e-4
LARGEST = 100_000
CLASSES = {
    "no condition on b": "c.v < {value}",
    "both": "b[i].v < {value}",
    "inconsistent": "b[i].v > b[i-1].v AND c.v < {value}",
}


def points(size: Size) -> Iterator[Point]:
    """Short windows first. A count has thousands of digits."""
    events = size.of(200_000, 10_000, 500)
    stream = Shares(A_SHARE, B_SHARE, C_SHARE * size.of(1, 10, 100)).stream(events, 20140602)
    for panel, predicate in CLASSES.items():
        for window in size.of((100, 1_000, 10_000, LARGEST), (100, 1_000), (50,)):
            text = query(predicate, 500, window)
            ways = {"count": counted(text), "compressed": compressed(text)}
            yield Point(window, ways, stream, events, panel)


def completes() -> Check:
    """That the longest window is counted for each condition."""

    def check(results: Results) -> Verdict:
        told, holds = [], []
        for panel in CLASSES:
            seconds = results.at("count", LARGEST, "wall_s", panel)
            digits = results.at("count", LARGEST, "log10_matches", panel)
            holds.append(seconds is not None)
            if seconds is not None and digits is not None:
                told.append(f"{panel}: 10^{digits:.0f} matches in {seconds:.3g} s")
        there = any(row["x"] == LARGEST for row in results.rows)
        return Verdict(all(holds) if there else None, "; ".join(told) or "not at this size")

    return check


HARD = "inconsistent"
EXPERIMENT = Experiment(
    "pp_count",
    "More matches than can be listed: counted and collapsed up to W = 100,000",
    f"{SOURCE}, 6.2",
    "Result construction may still generate an exponential number of matches, and returning them in"
    " a collapsed format is an option for further reduction of the cost.",
    points,
    (
        Plot("wall_s", "s", "W", log_x=True, log_y=True),
        Plot("log10_matches", "digits of the number of matches", "W", log_x=True, log_y=True),
    ),
    (
        Finding(
            "W = 100,000 is counted for each of these three kinds of conditions",
            completes(),
            (
                Reason(
                    "Of an inconsistent condition the set must know apart what each event was"
                    " compared with: its memory grows with W, and so does the time.",
                    every(
                        between("count", 2e8, 1e18, y="grown_bytes", panel=HARD, of=max),
                        slope("count", 1, 3, panel=HARD),
                    ),
                ),
            ),
        ),
    ),
    ("log10_matches",),
)
