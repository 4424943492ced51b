"""Figure 8d of SASE+ 2008: all runs at once against backtracking, all results."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, ahead, between, every, near
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size
from experiments.figures.stocks import IN_NODES, SOURCE, over_queries

# As printed in the paper, and in the other form of this package, which does not read an event again
# at which a run was put off.
BASIC, PRINTED, OURS = "nfab", "backtrack_reread", "backtrack"
HARD = ("p1-s2", "p1-s3", "p2-s3", "p3-s2", "p3-s3")
REREAD = "reread_per_event"


def points(size: Size) -> Iterator[Point]:
    """All six queries by each: all runs at once in lines, and in nodes as backtracking has them."""
    window = size.of(500, 500, 100)
    ways = {BASIC: BASIC, IN_NODES: BASIC, PRINTED: PRINTED, OURS: OURS}
    yield from over_queries(size, window, ways)


EXPERIMENT = Experiment(
    "fig8d",
    "Figure 8d: all runs at once, or one after the other with backtracking",
    f"{SOURCE}, experiment 3",
    "The basic algorithm is 200 to 300 times as fast as backtracking, except for p2 under partition"
    " contiguity, where it is 1.3 times as fast. Backtracking reads each event again 0.6 times on"
    " average under skip till next match, and hardly any for p2 under partition contiguity.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "", log_y=True, bars=True),),
    (
        Finding("the basic algorithm is faster for every query", ahead(BASIC, PRINTED, y=CPU_RATE)),
        Finding("and in nodes, as backtracking has its runs", ahead(IN_NODES, PRINTED, y=CPU_RATE)),
        Finding(
            "many times (here: at least 10), except for p2-s2",
            ahead(BASIC, PRINTED, 10, y=CPU_RATE, when=lambda x: x in HARD),
            (
                Reason(
                    "To read an event again is one step more of a run, and all runs at once take"
                    " nearly as many: each of those that are alive is shown each event.",
                    near(PRINTED, BASIC, 1.3, y="steps", when=lambda x: x in HARD),
                ),
            ),
        ),
        Finding(
            "it reads an event again 0.6 times (0.5 to 0.7) under skip till next match",
            every(
                *(
                    between(PRINTED, 0.5, 0.7, y=REREAD, when=lambda x, query=query: x == query)
                    for query in ("p1-s3", "p2-s3", "p3-s3")
                )
            ),
        ),
        Finding(
            "and hardly any (at most 0.01 times) for p2-s2",
            between(PRINTED, 0, 0.01, y=REREAD, when=lambda x: x == "p2-s2"),
        ),
    ),
    ("held", "runs", "steps", "backtracked", REREAD, "steps_per_event"),
)
