"""Figures 8f and 8g and Table 3 of SASE+ 2008: merging equivalent runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, dearer, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import by_histories, one_by_one
from experiments.figures.stocks import IN_NODES, SOURCE, figured, over_queries, query, stream

# In lines, which share nothing; in nodes, as merged runs are.
BASIC, MERGED = "nfab", "nfab_merged"
WAYS = {BASIC: BASIC, IN_NODES: BASIC, MERGED: MERGED}
GAINING = ("p1-s3", "p2-s3", "p3-s3")
COUNTED = "counted"
COLUMNS = (
    "initiated", "split", "runs", "merged", "merged_alive", "merged_share", "buffer_updates",
    "steps", "most_alive",
)  # fmt: skip


def points(size: Size) -> Iterator[Point]:
    """All six queries, with their results."""
    yield from over_queries(size, size.of(500, 500, 100), WAYS)


def without_construction(size: Size) -> Iterator[Point]:
    """Three queries over W, of which runs do all but end: no event is the last one of a match."""
    for window in size.of((500, 1_000, 1_500, 2_000), (500, 2_000), (100, 200)):
        data, events = stream(window, size)
        for name in GAINING:
            text = query(name, window, volume=0)
            ways = {way: figured(text, plan, way) for way, plan in WAYS.items()}
            yield Point(window, ways, data, events, name)
            text = query(name, window)
            ways = {BASIC: one_by_one(text, BASIC), COUNTED: by_histories(text)}
            yield Point(window, ways, data, events, of_count(name))


def of_count(name: str) -> str:
    """The panel of a query with counted matches."""
    return f"{name}, counted"


def gaining(x: object) -> bool:
    """The queries for which the paper has gains."""
    return x in GAINING


def is_large(x: float) -> bool:
    """The wide windows."""
    return x >= 1_500


def is_small(x: float) -> bool:
    """The narrow ones."""
    return not is_large(x)


def widens(one: str, other: str, panel: str) -> Check:
    """That the lead of a way is greater at the widest window than at the narrowest."""

    required = "more at the widest window"

    def check(results: Results) -> Verdict:
        ratios = results.ratios(one, other, CPU_RATE, panel)
        if len(ratios) < 2:
            return Verdict(None, f"{panel}: too few points", required)
        first, *_, last = ratios.values()
        told = f"{panel}: {one} : {other} = {first:.3g}, then {last:.3g}"
        return Verdict(last > first, told, required)

    return check


def dearer_where_slower(panel: str) -> Check:
    """That a step of counting costs more than one of lines at each window at which these lead."""

    def check(results: Results) -> Verdict:
        ratios = results.ratios(COUNTED, BASIC, CPU_RATE, panel)
        slower = {x for x, ratio in ratios.items() if ratio < 1}
        each = dearer(
            COUNTED, BASIC, 1.1, of="cpu_s", by="steps", panel=panel, when=slower.__contains__
        )
        return each(results)

    return check


def most_for_p1(results: Results) -> Verdict:
    """That merging gains most where all runs that overlap are merged."""
    gains = {name: results.ratios(MERGED, IN_NODES, CPU_RATE, name).get(2_000) for name in GAINING}
    known = {name: gain for name, gain in gains.items() if gain is not None}
    told = ", ".join(f"{gain:.3g} for {name}" for name, gain in known.items())
    required = "the greatest for p1-s3"
    if len(known) < len(GAINING):
        return Verdict(None, "not all queries are measured", required)
    is_most = max(known, key=lambda name: known[name]) == "p1-s3"
    return Verdict(is_most, f"{MERGED} : {IN_NODES} = {told}", required)


def first_by(y: str, order: Callable[..., str], name: str) -> Check:
    """That of the three queries one is the least or the greatest where the window is widest."""

    required = f"{order.__name__} for {name}"

    def check(results: Results) -> Verdict:
        found = {name: results.at(MERGED, 2_000, y, name) for name in GAINING}
        known = {name: cost for name, cost in found.items() if cost is not None}
        told = ", ".join(f"{cost:.4g} for {name}" for name, cost in known.items())
        if len(known) < len(GAINING):
            return Verdict(None, "not all queries are measured", required)
        return Verdict(order(known, key=known.__getitem__) == name, f"{y}: {told}", required)

    return check


EXPERIMENT = Experiment(
    "fig8f",
    "Figure 8f: merging equivalent runs",
    f"{SOURCE}, experiment 5",
    "Merging gains for all queries: 1.5 times for p1-s3, 1.4 for p2-s3, 1.5 for p3-s3.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "", log_y=True, bars=True),),
    (
        Finding(
            "merging takes less time of the processor than runs in lines, under skip till next"
            " match",
            ahead(MERGED, BASIC, y=CPU_RATE, when=gaining),
            (
                Reason(
                    "Lines, which share nothing, are shown as many events or more. But time goes by"
                    " the events in matches, and a merged run is walked back for each of them,"
                    " where a line is a list that is copied.",
                    every(
                        ahead(BASIC, MERGED, y="steps", when=gaining),
                        dearer(MERGED, BASIC, 1.5, of="cpu_s", by="held", when=gaining),
                    ),
                ),
            ),
        ),
        Finding(
            "and than runs in nodes",
            ahead(MERGED, IN_NODES, y=CPU_RATE, when=gaining),
            (
                Reason(
                    "Fewer events are shown to runs, and the buffer is updated less often. But time"
                    " goes by the events in matches: a node that was not merged has one way back,"
                    " and what it shares with the match before is copied from that.",
                    every(
                        ahead(IN_NODES, MERGED, y="steps", when=gaining),
                        ahead(IN_NODES, MERGED, y="buffer_updates", when=gaining),
                        dearer(MERGED, IN_NODES, 1.05, of="cpu_s", by="held", when=gaining),
                    ),
                ),
            ),
        ),
        Finding("it makes fewer runs", ahead(IN_NODES, MERGED, y="runs", when=gaining)),
    ),
    ("held", *COLUMNS),
)
OVER_WINDOWS = Experiment(
    "fig8g",
    "Figure 8g and Table 3: merging over the window, matching alone",
    f"{SOURCE}, experiment 6",
    "Without construction merging gains 1.4 to 2.1 times: most for p2 where W is large, less for"
    " p3, of whose runs fewer can be merged.",
    without_construction,
    (
        Plot(
            CPU_RATE,
            "events/s of the processor, no match is built",
            "W, events of a partition",
            log_y=True,
        ),
    ),
    (
        *(
            Finding(
                f"{name}: merging gains time of the processor at every W over runs in nodes",
                ahead(MERGED, IN_NODES, y=CPU_RATE, panel=name),
                (
                    Reason(
                        "It does from W = 1,500 on. A step of a merged run costs at least 1.3 times"
                        " as much, and up to W = 1,000 at least half of the steps are left.",
                        every(
                            ahead(MERGED, IN_NODES, y=CPU_RATE, panel=name, when=is_large),
                            dearer(MERGED, IN_NODES, 1.3, of="cpu_s", by="steps", panel=name),
                            ahead(MERGED, IN_NODES, 0.5, y="steps", panel=name, when=is_small),
                        ),
                    ),
                ),
            )
            for name in GAINING
        ),
        *(
            Finding(
                f"{name}: and over runs in lines",
                ahead(MERGED, BASIC, y=CPU_RATE, panel=name),
                (
                    Reason(
                        "Merging saves steps. But an event that a line takes is a number more in"
                        " its list, and most events that it does not take are passed over for all"
                        " lines at once: a step of a merged run, which makes nodes, costs several"
                        " times as much.",
                        every(
                            ahead(BASIC, MERGED, y="steps", panel=name),
                            dearer(MERGED, BASIC, 1.3, of="cpu_s", by="steps", panel=name),
                        ),
                    ),
                ),
            )
            for name in GAINING
        ),
        *(
            Finding(
                f"{name}: merging updates the buffer less often at every W",
                ahead(IN_NODES, MERGED, y="buffer_updates", panel=name),
            )
            for name in GAINING
        ),
        Finding(
            "at W = 2,000 it gains more for p1-s3, of which all runs that overlap are merged, than"
            " for p2-s3 and p3-s3",
            most_for_p1,
        ),
        Finding(
            "Table 3: the buffer is updated least often for p2-s3, which takes few events",
            first_by("buffer_updates", min, "p2-s3"),
        ),
        *(
            Finding(
                f"{name}: to count what merged runs stand for takes less time of the processor than"
                " to find each match, at every W",
                ahead(COUNTED, BASIC, y=CPU_RATE, panel=of_count(name)),
                (
                    Reason(
                        "Counting saves steps, and what it saves of the listing grows with W. But"
                        " what finds each match has lines, of which a step costs less wherever they"
                        " are faster.",
                        every(
                            ahead(BASIC, COUNTED, y="steps", panel=of_count(name)),
                            dearer_where_slower(of_count(name)),
                            widens(COUNTED, BASIC, of_count(name)),
                        ),
                    ),
                ),
            )
            for name in GAINING
        ),
    ),
    COLUMNS,
)
