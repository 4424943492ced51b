"""Figure 12 of SASE 2006: one and two equivalence tests over V1, against a relational plan."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, every, falls_faster
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import listed
from experiments.figures.relational import duckdb_join, polars_join, streaming_join
from experiments.figures.sequences import SOURCE, stream, template

WINDOW = 10_000
# The share of events that end a match for which a join has work to do, and those near it.
FEW, NEAR = 0.01, 1.5
TESTS = {"1 equiv": ("attr1",), "2 equivs": ("attr1", "attr2")}
OURS, DUCKDB, POLARS, STREAMING = "SASE", "DuckDB join", "Polars join", "streaming join"


def points(size: Size) -> Iterator[Point]:
    """V1 = 10,000 first, which has the fewest matches."""
    events = size.of(200_000, 40_000, 10_000)
    for panel, keys in TESTS.items():
        for domain in size.of(
            (10_000, 3_000, 1_000, 300, 100, 30, 10), (10_000, 100, 10), (1_000, 50)
        ):
            query = template(3, f"[{', '.join(keys)}]", WINDOW)
            ways = {
                OURS: listed(query, "dynamic_filtering"),
                DUCKDB: duckdb_join(3, keys, WINDOW, size.most_seconds),
                POLARS: polars_join(3, keys, WINDOW),
                STREAMING: streaming_join(3, keys, WINDOW),
            }
            yield Point(domain, ways, stream(events, domain), events, panel)


def is_level(way: str, factor: float, panel: str) -> Check:
    """That the time of a way is within a factor at all points."""

    def check(results: Results) -> Verdict:
        times = [seconds for _, seconds in results.curve(way, "cpu_s", panel)]
        if len(times) < 2:
            return Verdict(None, f"too few points of {way}")
        spread = max(times) / min(times)
        return Verdict(spread <= factor, f"{panel}: {way}: greatest to least time {spread:.2f}")

    return check


def compared_by_matches(panel: str) -> Check:
    """That SASE is ahead of Polars where there are matches, and near where hardly any are."""

    def check(results: Results) -> Verdict:
        matches = dict(results.curve(OURS, "matches", panel))
        events = dict(results.curve(OURS, "events", panel))
        ratios = results.ratios(OURS, POLARS, CPU_RATE, panel)
        many = {x: ratio for x, ratio in ratios.items() if matches[x] >= FEW * events[x]}
        few = {x: ratio for x, ratio in ratios.items() if x not in many}
        if not many or not few:
            return Verdict(None, "there are not points of both kinds")
        told = ", ".join(
            f"{ratio:.3g} at {x}, {matches[x]:,} matches" for x, ratio in ratios.items()
        )
        is_so = min(many.values()) > 1 and all(1 / NEAR <= each <= NEAR for each in few.values())
        return Verdict(is_so, f"{panel}: {OURS} : {POLARS} = {told}")

    return check


EXPERIMENT = Experiment(
    "fig12",
    "Figure 12: one and two equivalence tests over V1, against a 3-way join",
    f"{SOURCE}, experiment 6; a streaming join, DuckDB and Polars in place of TelegraphCQ",
    "From V1 = 10,000 down to 10 the join falls much faster than SASE; the second test gains SASE a"
    " lot where V1 is small, and the join little.",
    points,
    (
        Plot(CPU_RATE, "normalized throughput", "V1", log_x=True, log_y=True, relative=True),
        Plot(CPU_RATE, "events/s of the processor", "V1", log_x=True, log_y=True),
    ),
    tuple(
        finding
        for panel in TESTS
        for finding in (
            Finding(
                f"{panel}: the DuckDB join loses a greater share of its throughput than SASE",
                falls_faster(DUCKDB, OURS, y=CPU_RATE, panel=panel, down=True),
            ),
            Finding(
                f"{panel}: so does the streaming join",
                falls_faster(STREAMING, OURS, y=CPU_RATE, panel=panel, down=True),
                (
                    Reason(
                        "It looks at one event after the other in Python: at every V1 it takes 5"
                        " times as long as SASE or more, and what it joins changes its time by a"
                        " factor of 4 at most.",
                        every(
                            ahead(OURS, STREAMING, 5, y=CPU_RATE, panel=panel),
                            is_level(STREAMING, 4, panel),
                        ),
                    ),
                ),
            ),
            Finding(
                f"{panel}: SASE is faster than the DuckDB join everywhere",
                ahead(OURS, DUCKDB, y=CPU_RATE, panel=panel),
            ),
            Finding(
                f"{panel}: and than the Polars join",
                ahead(OURS, POLARS, y=CPU_RATE, panel=panel),
                (
                    Reason(
                        "It is where one event in a hundred is the last of a match, or more. Where"
                        " hardly any is, both take what it takes to look at the events.",
                        compared_by_matches(panel),
                    ),
                ),
            ),
        )
    ),
)
