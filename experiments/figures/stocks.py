"""Shared by the figures of SASE+ 2008: stock streams, the six queries, their recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

import pyarrow as pa

from experiments.core.experiment import Point, Size
from experiments.core.ways import Make, listed
from sase.generate import stock_events

SOURCE = "SASE+, SIGMOD 2008"
TEMPLATE = """EVENT SEQ(Stock+ a[], Stock b{more})
WHERE {strategy} {{ [symbol] AND a[1].price % 500 = 0 {predicate} AND b.volume < {volume}{where} }}
WITHIN {window} EVENTS PER PARTITION"""
PREDICATES = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3": "AND a[i].price > min(a[..i-1].price)",
}
# p3 with other aggregates, of which the paper says how they compare with p2 and with min.
P3_MAX, P3_AVG = "p3 max", "p3 avg"
OTHER_P3 = {
    P3_MAX: "AND a[i].price > max(a[..i-1].price)",
    P3_AVG: "AND a[i].price > avg(a[..i-1].price)",
}
STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
# The recipe that keeps runs as nodes, also those that never fork, as merged ones are kept.
IN_NODES = "nfab in nodes"
QUERIES = tuple(f"{p}-{s}" for p in PREDICATES for s in STRATEGIES)
WITH_OTHER_P3 = (*QUERIES, *(f"{p}-{s}" for p in OTHER_P3 for s in STRATEGIES))
# Those of Figures 8b to 8d: p1-s2 is the same as p1-s3, the paper says.
FIVE = tuple(query for query in QUERIES if query != "p1-s2")
# The number of events of a partition, in windows.
LENGTH = 200
P = 0.70


def query(name: str, window: int, *, more: str = "", where: str = "", volume: int = 150) -> str:
    """One of the six queries, as `p2-s3`; with the volume 0 no event ends a match."""
    predicate, strategy = name.split("-")
    return TEMPLATE.format(
        strategy=STRATEGIES[strategy],
        predicate=(PREDICATES | OTHER_P3)[predicate],
        window=window,
        more=more,
        where=where,
        volume=volume,
    )


def stream(window: int, size: Size, p: float = P) -> tuple[Callable[[], pa.Table], int]:
    """Two symbols, with 200 times as many events of each as the window has; and how many."""
    events = 2 * window * size.of(LENGTH, LENGTH // 5, 4)
    rest = (1 - p) / 2
    moves = (p, rest, 1 - p - rest)

    return partial(_made, events, moves), events


@lru_cache(maxsize=1)
def _made(events: int, moves: tuple[float, float, float]) -> pa.Table:
    """Events, made once for the points one after the other that read them."""
    return stock_events(events=events, moves=moves, seed=20080600).drop_columns("type")


def over_queries(
    size: Size,
    window: int,
    ways: Mapping[str, str],
    queries: tuple[str, ...] = QUERIES,
    **rest: object,
) -> Iterator[Point]:
    """The six queries, or others, by several recipes."""
    for name in queries:
        data, events = stream(window, size)
        text = query(name, window)
        made = {way: figured(text, plan, way, **rest) for way, plan in ways.items()}
        yield Point(name, made, data, events)


def over_windows(
    size: Size, queries: tuple[str, ...], ways: Mapping[str, str], **rest: object
) -> Iterator[Point]:
    """Several queries by several recipes, over windows; a panel for each recipe or one for all."""
    for window in size.of((500, 1_000, 1_500, 2_000), (500, 2_000), (100, 200)):
        data, events = stream(window, size)
        for name in queries:
            made = {
                f"{name} {way}".strip(): figured(query(name, window), plan, way, **rest)
                for way, plan in ways.items()
            }
            yield Point(window, made, data, events)


def figured(text: str, plan: str, named: str, **rest: object) -> Make:
    """A way with figures of the paper: the mean length of matches, runs alive at an event.

    Of runs the share that was merged into others and that might have taken more events; nodes and
    edges that were written to the buffer, where that has some.
    """

    def make(table: pa.Table) -> object:
        way = listed(text, plan, lines=named != IN_NODES, **rest)(table)  # type: ignore[arg-type]

        def told(found: object) -> object:
            outcome = way.told(found)
            figures = dict(outcome.figures)
            figures["match_length"] = figures["held"] / max(outcome.matches, 1)
            figures["steps_per_event"] = figures.get("steps", 0) / table.num_rows
            figures["reread_per_event"] = figures.get("reread", 0) / table.num_rows
            if named == IN_NODES or "merged" in figures:
                # A merged run is a node at first, and then an edge.
                merged = figures.get("merged", 0)
                figures["buffer_updates"] = figures["runs"] + 2 * merged
            if "merged" in figures:
                figures["merged_share"] = figures["merged_alive"] / max(figures["initiated"], 1)
            return outcome._replace(figures=figures)

        return way._replace(told=told)  # type: ignore[arg-type]

    return make  # type: ignore[return-value]
