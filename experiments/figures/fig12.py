"""Figure 12 of SASE 2006: one and two equivalence tests over V1, against a relational plan."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, every, falls_faster, slope, within
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


def compared_by_matches(panel: str) -> Check:
    """That SASE is ahead of Polars where there are matches, and near where hardly any are."""

    required = f"above 1 where {FEW:.0%} of the events end a match, else {within(NEAR)}"

    def check(results: Results) -> Verdict:
        matches = dict(results.curve(OURS, "matches", panel))
        events = dict(results.curve(OURS, "events", panel))
        ratios = results.ratios(OURS, POLARS, CPU_RATE, panel)
        many = {x: ratio for x, ratio in ratios.items() if matches[x] >= FEW * events[x]}
        few = {x: ratio for x, ratio in ratios.items() if x not in many}
        if not many or not few:
            return Verdict(None, "there are not points of both kinds", required)
        told = ", ".join(
            f"{ratio:.3g} at {x}, {matches[x]:,} matches" for x, ratio in ratios.items()
        )
        is_so = min(many.values()) > 1 and all(1 / NEAR <= each <= NEAR for each in few.values())
        return Verdict(is_so, f"{panel}: {OURS} : {POLARS} = {told}", required)

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
                        "Its time grows with the number of values (by a power of V1 from 0.05 to"
                        " 0.5). It looks at one event after the other in Python, and takes at least"
                        " 5 times as long as SASE at every V1.",
                        every(
                            slope(STREAMING, 0.05, 0.5, y="cpu_s", panel=panel),
                            ahead(OURS, STREAMING, 5, y=CPU_RATE, panel=panel),
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
                        "It is where at least one event in a hundred ends a match. Where fewer do,"
                        f" the times of both are within {NEAR} of each other.",
                        compared_by_matches(panel),
                    ),
                ),
            ),
        )
    ),
)
