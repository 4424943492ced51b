"""SASE 2006, 5.3: the first equivalence test in Selection against PAIS."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check, ahead
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import listed
from experiments.figures.sequences import SOURCE, rate, stream, template

SELECTION = "in Selection"


def points(size: Size) -> Iterator[Point]:
    """By window: the sequences that are built grow with its square."""
    events = size.of(1_000_000, 200_000, 4_000)
    for window in size.of((100, 300, 1_000, 3_000, 10_000), (100, 1_000, 10_000), (100, 300)):
        query = template(3, "[attr1]", window)
        ways = {SELECTION: listed(query, "ais_windows"), "PAIS": listed(query, "pais")}
        yield Point(window, ways, stream(events), events)


def lost() -> Check:
    """That Selection cannot complete W = 10,000, or builds a hundred times as many sequences."""

    required = "stopped, or at least 100 times the sequences"

    def check(results: Results) -> Verdict:
        stopped = [
            row for row in results.rows if row["way"] == SELECTION and row["status"] != "measured"
        ]
        built = results.ratios(SELECTION, "PAIS", "sequences")
        told = ", ".join(
            f"{ratio:,.0f} times the sequences at W = {x}" for x, ratio in built.items()
        )
        told += "".join(f", {row['status']} at W = {row['x']}" for row in stopped)
        return Verdict(
            bool(stopped) or max(built.values(), default=0) >= 100, told.strip(", "), required
        )

    return check


EXPERIMENT = Experiment(
    "first_test",
    "The first equivalence test: in Selection, or pushed into the scan (PAIS)",
    f"{SOURCE}, 5.3",
    "In Selection the experiment could not be completed: there are hundreds of millions of"
    " intermediate results, so one equivalence test must be pushed.",
    points,
    (
        rate("W, events (V1 = 100)"),
        Plot("sequences", "sequences built", "W, events (V1 = 100)", log_x=True, log_y=True),
    ),
    (
        Finding("PAIS is faster everywhere", ahead("PAIS", SELECTION)),
        Finding("in Selection it is not completed, or builds 100 times as many sequences", lost()),
    ),
    ("sequences",),
)
