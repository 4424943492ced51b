"""Figure 8e of SASE+ 2008: basic and backtracking where results do not overlap."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, ahead, dearer, every, near, rates
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size
from experiments.core.ways import listed
from experiments.figures.stocks import SOURCE, query, stream

BASIC, PRINTED = "nfab", "backtrack_reread"
# A third component which most runs fail at: the modified queries p*3.
STARRED = {"more": ", Stock c", "where": " AND c.price > a[1].price AND c.price < a[a.len].price"}
QUERIES = {"p3-s2": {}, "p3-s3": {}, "p*3-s2": STARRED, "p*3-s3": STARRED}


def points(size: Size) -> Iterator[Point]:
    """p3 as it is, and with a component which a run is less likely to come to an end by."""
    window = size.of(500, 500, 100)
    for name, more in QUERIES.items():
        data, events = stream(window, size)
        text = query(name.replace("*", ""), window, **more)
        ways = {plan: listed(text, plan, output="non_overlap") for plan in (BASIC, PRINTED)}
        yield Point(name, ways, data, events)


def is_plain(x: object) -> bool:
    """The query of which a run soon comes to a match, under skip till next match."""
    return x == "p3-s3"


def is_starred(x: object) -> bool:
    """The one of which most runs do not."""
    return x == "p*3-s3"


EXPERIMENT = Experiment(
    "fig8e",
    "Figure 8e: results that do not overlap",
    f"{SOURCE}, experiment 4",
    "Where a run soon comes to a match both are alike; for p*3 under skip till next match the basic"
    " algorithm is an order of magnitude faster.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "", log_y=True, bars=True),),
    (
        Finding(
            "p3: both alike (time of the processor within 3)",
            near(BASIC, PRINTED, 3, y=CPU_RATE, when=lambda x: "*" not in x),
        ),
        Finding(
            "p3-s3, where the first match ends all runs: basic many times (here: 5) as fast",
            ahead(BASIC, PRINTED, 5, y=CPU_RATE, when=is_plain),
            (
                Reason(
                    "Runs soon end, and then none is alive: hardly an event is shown to a run, all"
                    " at once or not. Both take what it takes to look at the events.",
                    every(
                        *(
                            rates(way, 0, 0.02, of="steps", by="events", when=is_plain)
                            for way in (BASIC, PRINTED)
                        )
                    ),
                ),
            ),
        ),
        Finding(
            "p*3-s3: basic many times (here: 5) as fast",
            ahead(BASIC, PRINTED, 5, y=CPU_RATE, when=is_starred),
            (
                Reason(
                    "Most runs fail at c, so that backtracking tries many. But all runs at once are"
                    " those same runs, each shown each event: both take as many steps, and a step"
                    " of the one costs more than half of what a step of the other does.",
                    every(
                        near(PRINTED, BASIC, 1.3, y="steps", when=is_starred),
                        dearer(BASIC, PRINTED, 0.5, of="cpu_s", by="steps", when=is_starred),
                    ),
                ),
            ),
        ),
    ),
    ("held", "runs", "steps", "backtracked", "reread"),
)
