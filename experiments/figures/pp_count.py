"""SASE++ 2014 where listing explodes: W up to 100,000 on a dense stream, counted and collapsed."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check, every, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.measuring import NOT_TRIED
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
# Its counts keep apart the events with which each event was compared.
HARD = "inconsistent"


def points(size: Size) -> Iterator[Point]:
    """Short windows first. A count has thousands of digits."""
    events = size.of(200_000, 10_000, 500)
    stream = Shares(A_SHARE, B_SHARE, C_SHARE * size.of(1, 10, 100)).stream(events, 20140602)
    for panel, predicate in CLASSES.items():
        for window in size.of((100, 1_000, 10_000, LARGEST), (100, 1_000), (50,)):
            text = query(predicate, 500, window)
            ways = {"count": counted(text), "compressed": compressed(text)}
            yield Point(window, ways, stream, events, panel)


def completes(panel: str) -> Check:
    """That the longest window is counted; None if it was not tried."""
    required = f"measured at W = {LARGEST:,}"

    def check(results: Results) -> Verdict:
        seconds = dict(results.curve("count", "wall_s", panel))
        digits = results.at("count", LARGEST, "log10_matches", panel)
        if digits is not None:
            told = f"{panel}: 10^{digits:.0f} matches in {seconds[LARGEST]:.3g} s"
            return Verdict(True, told, required)
        rows = [row for row in results.rows if (row["panel"], row["way"]) == (panel, "count")]
        asked = next((row for row in rows if row["x"] == LARGEST), None)
        if asked is None:
            return Verdict(None, f"{panel}: not at this size", required)
        last = "".join(f", {seconds[x]:.3g} s at W = {x:,}" for x in seconds if x == max(seconds))
        told = f"{panel}: {asked['note']}{last}"
        return Verdict(None if asked["note"].startswith(NOT_TRIED) else False, told, required)

    return check


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
        *(Finding(f"{panel}: W = {LARGEST:,} is counted", completes(panel)) for panel in CLASSES),
        Finding(
            f"{HARD}: memory grows by a power of W up to 1.1, and time by one up to 1.5",
            every(
                slope("count", 0, 1.1, y="grown_bytes", panel=HARD),
                slope("count", 0, 1.5, panel=HARD),
            ),
        ),
    ),
    ("log10_matches",),
)
