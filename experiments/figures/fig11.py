"""Figure 11 of SASE 2006: the length of the sequence, against a relational plan."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, at_least, every, falls_faster, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import MEASURED, TOO_SLOW, Results
from experiments.core.ways import listed
from experiments.figures.relational import duckdb_join, polars_join, streaming_join
from experiments.figures.sequences import SOURCE, rate, stream, template

WINDOW, KEYS = 10_000, ("attr1",)
LEFT_TO_JOINS = 0.01
OURS, JOINS = "SASE (dynamic_filtering)", ("DuckDB join", "Polars join")
STREAMING = "streaming join"


def points(size: Size) -> Iterator[Point]:
    """Short sequences first."""
    events = size.of(200_000, 50_000, 4_000)
    for length in size.of((2, 3, 4, 5, 6), (2, 3, 4, 5, 6), (2, 3)):
        query = template(length, "[attr1]", WINDOW)
        yield Point(
            length,
            {
                OURS: listed(query, "dynamic_filtering"),
                "SASE (optimized)": listed(query),
                JOINS[0]: duckdb_join(length, KEYS, WINDOW, size.most_seconds),
                JOINS[1]: polars_join(length, KEYS, WINDOW),
                STREAMING: streaming_join(length, KEYS, WINDOW),
            },
            stream(events),
            events,
        )


def keeps_half() -> Check:
    """That half of the throughput is left with six events."""

    required = at_least(0.5)

    def check(results: Results) -> Verdict:
        two, six = (results.at(OURS, length, CPU_RATE) for length in (2, 6))
        if two is None or six is None:
            return Verdict(None, "L = 2 or L = 6 is not measured", required)
        return Verdict(
            six >= 0.5 * two, f"{six / two:.2f} of the throughput is left at L = 6", required
        )

    return check


def joins_drop() -> Check:
    """That a join has less than a hundredth left at L ≥ 5, or does not come to its end."""

    required = f"less than {LEFT_TO_JOINS:g}, or too slow"

    def check(results: Results) -> Verdict:
        told, holds = [], []
        for way in JOINS:
            rates = dict(results.curve(way, CPU_RATE))
            long = [row for row in results.rows if row["way"] == way and row["x"] >= 5]
            if 2 not in rates or not long:
                continue
            left = {row["x"]: rates.get(row["x"], 0.0) / rates[2] for row in long}
            holds.append(all(share < LEFT_TO_JOINS for share in left.values()))
            shares = ", ".join(
                f"{share:.4f} at {x}" if share else f"too slow at {x}" for x, share in left.items()
            )
            told.append(f"{way}: {shares}")
        return Verdict(
            all(holds) if holds else None, "; ".join(told) or "no join was measured", required
        )

    return check


def comes_to(status: str, way: str) -> Check:
    """That a way has a status, such as too slow, from five events on."""
    required = f"{status} at each L above 4"

    def check(results: Results) -> Verdict:
        long = {
            row["x"]: row["status"] for row in results.rows if row["way"] == way and row["x"] > 4
        }
        told = ", ".join(f"{each} at {x}" for x, each in long.items())
        is_so = set(long.values()) == {status} if long else None
        return Verdict(is_so, f"{way}: {told}", required)

    return check


EXPERIMENT = Experiment(
    "fig11",
    "Figure 11: the length of the sequence, against an n-way join",
    f"{SOURCE}, experiment 5; a streaming join, DuckDB and Polars in place of TelegraphCQ",
    "As L grows from 2 to 6 the join falls below a hundredth of its throughput, while SASE keeps"
    " half.",
    points,
    (
        Plot(CPU_RATE, "normalized throughput", "L", log_y=True, relative=True),
        rate("L", log_x=False),
    ),
    (
        Finding(
            "a join keeps less than 0.01 of its throughput at L ≥ 5, or does not come to its end",
            joins_drop(),
            (
                Reason(
                    "The DuckDB join, which tests order and window behind all equalities, does not"
                    " come to its end. Only the Polars join, which filters after each join, does.",
                    every(comes_to(TOO_SLOW, JOINS[0]), comes_to(MEASURED, JOINS[1])),
                ),
            ),
        ),
        Finding(
            "SASE keeps half of its throughput at L = 6",
            keeps_half(),
            (
                Reason(
                    "The matches hold many times as many events with L, and time grows far more"
                    " slowly than that.",
                    slope(OURS, 0, 0.6, x="held", y="cpu_s"),
                ),
            ),
        ),
        Finding(
            "the streaming join loses a greater share of its throughput than SASE",
            falls_faster(STREAMING, OURS, y=CPU_RATE),
        ),
        Finding(
            "SASE is faster than the DuckDB join at every L at which that comes to its end",
            ahead(OURS, JOINS[0], y=CPU_RATE),
        ),
        Finding(
            "SASE is faster than the Polars join at every L", ahead(OURS, JOINS[1], y=CPU_RATE)
        ),
    ),
)
