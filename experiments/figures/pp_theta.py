"""Figures 5a, 5b, 5e of SASE++ 2014: throughput and runs over θ for each class of predicates."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from experiments.core.checks import CPU_RATE, Check, ahead, every, falls_faster, near, rates, slope
from experiments.core.experiment import (
    Experiment,
    Finding,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
)
from experiments.core.results import Results
from experiments.figures.postponing import (
    AVERAGE,
    BUFFERED,
    CLASSES,
    FALSE_WITH_C,
    FILTERED,
    PAIRS,
    SOURCE,
    STAYING,
    TRUE_WITH_C,
    Shares,
    query,
    ways,
)

WINDOW = 25
STREAM = Shares(0.1, 0.304, 0.01)
# By class the values that make θ about 0.005 (false-value: 0.01), 0.05, 0.2, 0.5, 1 and 1.6. A C is
# 0.01 of all, and has (1 + r)^d − 1 matches with an A at the distance d, where r is the share of Bs
# that may be taken. Increasing series are fewer, so that the class inconsistent ends at about 0.2.
# The conditions that stay in their class begin and end where they can.
VALUES = {
    "true-value consistent": (60, 300, 560, 740, 885, 993),
    "false-value consistent": (998, 994, 978, 933, 823, 360),
    "both": (60, 300, 560, 740, 885, 993),
    "inconsistent": (20, 100, 300, 500, 800, 1_000),
    TRUE_WITH_C: (280, 600, 800, 930, 980, 1_000),
    PAIRS: (100_000, 250, 100, 50, 20, 2),
    FALSE_WITH_C: (930, 800, 700, 500, 250, 0),
    AVERAGE: (70, 190, 320, 420, 540, 780),
}


def points(size: Size) -> Iterator[Point]:
    """Few matches first; all six at the full size, else the first and the last."""
    events = size.of(100_000, 20_000, 1_000)
    for panel, predicate in (CLASSES | STAYING).items():
        for value in size.of(VALUES[panel], VALUES[panel][1::4], VALUES[panel][3:4]):
            made = ways(query(predicate, value, WINDOW), events)
            yield Point(value, made, STREAM.stream(events, 20140600), events, panel)


def fewer(column: str, panel: str) -> Check:
    """That a figure of `postponed_filters` is below that of `postponed` at each θ."""

    required = "fewer at each point"

    def check(results: Results) -> Verdict:
        one, other = (
            dict(results.curve(way, column, panel)) for way in ("postponed_filters", "postponed")
        )
        pairs = {x: (one[x], other[x]) for x in one if x in other}
        told = ", ".join(f"{few:,} for {many:,} at {x}" for x, (few, many) in pairs.items())
        is_so = all(few < many for few, many in pairs.values()) if pairs else None
        return Verdict(is_so, f"{panel}: {column} {told}", required)

    return check


def filtered(panel: str, check: Check) -> Check:
    """A check of true-value filters: None if no walk at any point had one (`safe`)."""

    def checked(results: Results) -> Verdict:
        verdict = check(results)
        counts = results.curve("postponed_filters", "safe", panel)
        if verdict.holds is None or any(count for _, count in counts):
            return verdict
        told = f"{panel}: walks with such a filter: 0 at each of {len(counts)} points"
        return Verdict(None, told, verdict.required)

    return checked


def by_theta(panel: str, way: str = "nfab") -> Check:
    """That NFAb, or ZStream, loses more from the least θ to the greatest than the filters do."""
    # Of these conditions θ falls as the value grows.
    down = panel in (F, FALSE_WITH_C, PAIRS)
    return falls_faster(way, FILTERED[panel], y=CPU_RATE, panel=panel, down=down)


LEAST = VALUES["both"][0]


def is_high(x: float) -> bool:
    """The θ at which early filters dismiss most walks."""
    return x > 900


def is_low(x: float) -> bool:
    """Any other θ."""
    return not is_high(x)


def is_least(x: float) -> bool:
    """Whether it is the least θ of the class both."""
    return x == LEAST


T, F = "true-value consistent", "false-value consistent"
THETA = "θ, matches for an event"
EXPERIMENT = Experiment(
    "pp_theta",
    "Figures 5a, 5b, 5e: throughput and runs over θ",
    f"{SOURCE}, 6.2 (W = {WINDOW}, up to θ = 1.6)",
    "The throughput of SASE+ drops fast as θ grows and its runs grow exponentially, and so does"
    " ZStream's; that of postponing goes down only slightly. Early filters gain for false-value"
    " consistent predicates and change little for true-value consistent ones.",
    points,
    (
        Plot(CPU_RATE, "events/s of the processor", THETA, "theta", log_x=True, log_y=True),
        Plot(
            "runs_or_visits", "runs, or instances visited", THETA, "theta", log_x=True, log_y=True
        ),
    ),
    (
        Finding(
            "NFAb loses a greater share of its throughput than postponing with filters",
            every(*(by_theta(panel) for panel in CLASSES)),
            (
                Reason(
                    "It does of the classes that the runs decide event by event. Of the others"
                    " NFAb makes as many runs at the least θ as at the greatest: it asks them at"
                    " the end.",
                    every(
                        *(by_theta(panel) for panel in (T, "both")),
                        *(
                            slope("nfab", -0.05, 0.05, x="theta", y="runs", panel=panel)
                            for panel in (F, "inconsistent")
                        ),
                    ),
                ),
            ),
        ),
        Finding(
            "with filters it is faster than NFAb for every class and θ",
            every(*(ahead(FILTERED[panel], "nfab", y=CPU_RATE, panel=panel) for panel in CLASSES)),
            (
                Reason(
                    "It is but for the least θ of the class both, where hardly a run is made and"
                    " both take what it takes to look at the events.",
                    every(
                        near(
                            FILTERED["both"], "nfab", 1.5, y=CPU_RATE, panel="both", when=is_least
                        ),
                        rates("nfab", 0, 0.2, of="runs", by="events", panel="both", when=is_least),
                        ahead(
                            FILTERED["both"],
                            "nfab",
                            y=CPU_RATE,
                            panel="both",
                            when=lambda x: x > LEAST,
                        ),
                        *(
                            ahead(FILTERED[panel], "nfab", y=CPU_RATE, panel=panel)
                            for panel in CLASSES
                            if panel != "both"
                        ),
                    ),
                ),
            ),
        ),
        Finding(
            "early filters gain for false-value consistent predicates, up to θ = 0.2 twice or more",
            ahead(
                "postponed_filters", "postponed", 2, y=CPU_RATE, panel=F, when=lambda x: x >= 978
            ),
        ),
        Finding(
            "(ours) the recipe with filters never takes more than a twentieth more time, for true-"
            " and false-value consistent ones",
            every(
                *(
                    ahead("postponed_filters", "postponed", 1 / 1.05, y=CPU_RATE, panel=p)
                    for p in (T, F)
                )
            ),
        ),
        Finding(
            "(ours) for both classes walks visit fewer events at each θ",
            every(fewer("visited", T), fewer("visited", F)),
        ),
        Finding(
            "early filters change little (within 1.5) for true-value consistent predicates",
            filtered(T, near("postponed", "postponed_filters", 1.5, y=CPU_RATE, panel=T)),
        ),
        Finding(
            "(ours) in place of a filter a true-value consistent condition becomes tests of single"
            " events, which is faster at each θ",
            every(
                fewer("visited", T),
                ahead("postponed_filters", "postponed", y=CPU_RATE, panel=T),
            ),
        ),
        Finding(
            "ZStream's buffers: the throughput falls more than that of postponing with filters, and"
            " runs grow with θ (true-value consistent)",
            every(by_theta(T, BUFFERED), slope(BUFFERED, 0.5, inf, x="theta", y="runs", panel=T)),
        ),
        Finding(
            "postponing with filters is at least as fast as ZStream's buffers (within 1.1) at each"
            " θ, for true- and false-value consistent ones",
            every(
                *(
                    ahead(FILTERED[panel], BUFFERED, 1 / 1.1, y=CPU_RATE, panel=panel)
                    for panel in (T, F)
                )
            ),
            (
                Reason(
                    "It is where the filters dismiss more walks than they leave. Where they leave"
                    " at least twice as many as they dismiss (false-value consistent, low θ), there"
                    " is little to skip, and both take as long (within 1.35).",
                    every(
                        ahead(FILTERED[T], BUFFERED, y=CPU_RATE, panel=T),
                        ahead(FILTERED[F], BUFFERED, y=CPU_RATE, panel=F, when=is_high),
                        near(FILTERED[F], BUFFERED, 1.35, y=CPU_RATE, panel=F, when=is_low),
                        *(
                            rates(
                                FILTERED[F], low, high, of="dismissed", by="walks", panel=F, when=at
                            )
                            for low, high, at in ((1, inf, is_high), (0, 0.5, is_low))
                        ),
                    ),
                ),
            ),
        ),
        Finding(
            "conditions that stay in their class: NFAb loses a greater share of its throughput than"
            " postponing with filters",
            every(*(by_theta(panel) for panel in STAYING)),
            (
                Reason(
                    "It does where runs decide event by event (pairs). The others NFAb checks at"
                    " the end, and makes as many runs at the least θ as at the greatest.",
                    every(
                        by_theta(PAIRS),
                        *(
                            slope("nfab", -0.05, 0.05, x="theta", y="runs", panel=panel)
                            for panel in (TRUE_WITH_C, FALSE_WITH_C, AVERAGE)
                        ),
                    ),
                ),
            ),
        ),
        Finding(
            "with filters it is faster than NFAb for each of them and each θ",
            every(*(ahead(FILTERED[panel], "nfab", y=CPU_RATE, panel=panel) for panel in STAYING)),
        ),
        Finding(
            "early filters change little (within 1.5) for true-value conditions that stay",
            every(
                *(
                    near("postponed", "postponed_filters", 1.5, y=CPU_RATE, panel=panel)
                    for panel in (TRUE_WITH_C, PAIRS)
                )
            ),
            (
                Reason(
                    "The paper marks events as SAFE. Here the walk chooses no event for which the"
                    " condition is false, and visits fewer at each θ.",
                    every(fewer("visited", TRUE_WITH_C), fewer("visited", PAIRS)),
                ),
            ),
        ),
        Finding(
            "early filters gain for the false-value condition that stays, up to θ = 0.1 twice or"
            " more, and visit fewer events at each θ",
            every(
                ahead(
                    "postponed_filters",
                    "postponed",
                    2,
                    y=CPU_RATE,
                    panel=FALSE_WITH_C,
                    when=lambda x: x >= 800,
                ),
                fewer("visited", FALSE_WITH_C),
            ),
        ),
    ),
    ("theta", "runs", "most_alive", "instances", "walks", "visited", "dismissed", "safe"),
)
