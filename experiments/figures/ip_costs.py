"""Figures 6b and 6c of SASE++ 2014: the shares of the time with imprecise time, over the window."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.figures.imprecise import CLOSED, SOURCE, WORLDS, longest, query, stream, ways
from experiments.figures.pp_costs import ADMISSION, CONSTRUCTION, INITIATION, MATCHING
from experiments.figures.query_order import CONFIDENCE, SASE_PLUS, SORTING, by_runs

THRESHOLDS = {"none": "", "0.999": "0.999"}
PARTS = ("BlockBuilder_s", "RunEvaluation_s", "Confidence_s", "Transformation_s")
OF_RUNS = (ADMISSION, SORTING, INITIATION, MATCHING, CONSTRUCTION, CONFIDENCE)
WINDOWS = (1_000, 3_000, 10_000, 25_000, 50_000, 75_000), (1_000, 5_000), (100,)


def points(size: Size) -> Iterator[Point]:
    """Each way and threshold in a panel of its own."""
    events = size.of(1_000_000, 100_000, 2_000)
    data = stream(size, events)
    for window in size.of(*WINDOWS):
        made = {SASE_PLUS: by_runs(window, longest(size))}
        yield Point(window, made, data, events, f"{SASE_PLUS}, none")
    for name in (WORLDS, CLOSED):
        for said, threshold in THRESHOLDS.items():
            for window in size.of(*WINDOWS):
                made = ways(query(window, threshold), (name,))
                yield Point(window, made, data, events, f"{name}, {said}")


def takes(way: str, said: str, part: str = "Confidence_s", least: float = 0.5) -> Check:
    """That a part is more than a share of the time at the longest window."""

    required = f"more than {least:.0%}"

    def check(results: Results) -> Verdict:
        panel = f"{way}, {said}"
        rows = [row for row in results.measured if row["panel"] == panel and part in row]
        if not rows:
            return Verdict(None, f"{panel} is not measured", required)
        row = max(rows, key=lambda row: row["x"])
        share = row[part] / sum(row.get(each, 0) for each in {*PARTS, *OF_RUNS})
        return Verdict(share > least, f"{panel}: {part} is {share:.0%} at W = {row['x']}", required)

    return check


# Why they are not.
CHEAP = "By the closed form they take no longer than to find the candidates."
EXPERIMENT = Experiment(
    "ip_costs",
    "Figures 6b, 6c: imprecise time, where the time goes",
    f"{SOURCE}, 6.3",
    "The computation of confidences dominates, by enumeration as by dynamic programming. (Our"
    " BlockBuilder admits and keeps events, RunEvaluation finds candidates. SASE+ is the NFAb over"
    " events in query order, and enumerates the worlds of each match.)",
    points,
    (
        Plot(PARTS[2], "s", "W", "x", log_y=True, parts=PARTS),
        Plot(SORTING, "s", "W", "x", log_y=True, parts=OF_RUNS),
    ),
    (
        Finding("SASE+: confidences are most of the time", takes(SASE_PLUS, "none")),
        Finding("enumeration: confidences are most of the time", takes(WORLDS, "none")),
        Finding(
            "closed form: confidences are most of the time",
            takes(CLOSED, "none"),
            (Reason(CHEAP, takes(CLOSED, "none", "RunEvaluation_s", 0.3)),),
        ),
        Finding(
            "closed form, threshold 0.999: confidences are most of the time",
            takes(CLOSED, "0.999"),
            (Reason(CHEAP, takes(CLOSED, "0.999", "RunEvaluation_s", 0.3)),),
        ),
    ),
    (*PARTS, *OF_RUNS[1:-1]),
)
