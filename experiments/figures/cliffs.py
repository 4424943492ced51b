"""Ours: variants of six queries, each beside its base, to find those that fall off a cliff."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import sase
from experiments.cells import D3
from experiments.core.checks import Check
from experiments.core.experiment import (
    Experiment,
    Finding,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make

BASE, VARIANT = "base", "variant"
LIMIT = 3.0
WITHIN = " WITHIN 1000"
# Each with its conditions apart, to which a variant adds.
QUERIES = {
    "sequence": ("SEQ(E1 a, E2 b, E3 c)", "[attr1]"),
    "absence": ("SEQ(E1 a, !(E2 x), E3 c)", "[attr1]"),
    "next match": ("SEQ(E1 a, E2 b, E3 c)", "skip_till_next_match { [attr1]"),
    "series": ("SEQ(E1 a, E2+ s[], E3 c)", "skip_till_next_match { [attr1]"),
    "choice": ("SEQ(E1 a, (E2 b OR E4 d), E3 c)", "[attr1]"),
    "group": ("SEQ(E1 a, (SEQ(E2 b, E4 d))+ g[], E3 c)", "skip_till_next_match { [attr1]"),
}
Change = Callable[[pa.Table], pa.Table]
MICROSECONDS = "microseconds"
CHUNK, NEAR, SEED = 1_000, 50, 20261129


def text(
    query: str, *, condition: str = "", window: str = WITHIN, clauses: str = "", last: str = "E3 c"
) -> str:
    """A query with one more condition, another window or last component, or more clauses."""
    pattern, where = QUERIES[query]
    pattern = pattern.replace("E3 c", last)
    end = " }" if "{" in where else ""
    return f"EVENT {pattern} WHERE {where}{condition and f' AND {condition}'}{end}{window}{clauses}"


def of_events(name: str, change: Callable[[pa.ChunkedArray], pa.Array]) -> Change:
    """A change of one column."""

    def changed(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, change(table[name]))

    return changed


def chunked(table: pa.Table) -> pa.Table:
    """The table in chunks of a thousand rows, each with memory of its own."""
    batches = table.combine_chunks().to_batches(max_chunksize=CHUNK)
    return pa.Table.from_batches([each.take(pa.array(range(len(each)))) for each in batches])


def nearly_sorted(table: pa.Table) -> pa.Table:
    """The table with each event at most fifty places away from its own."""
    places = np.arange(len(table))
    late = np.random.default_rng(SEED).integers(0, NEAR, len(table))
    return table.take(np.argsort(places + late, kind="stable")).combine_chunks()


def shuffled(table: pa.Table) -> pa.Table:
    """The table in no order."""
    return table.take(np.random.default_rng(SEED).permutation(len(table))).combine_chunks()


def with_nulls(column: pa.ChunkedArray) -> pa.Array:
    """The column with a tenth of its values NULL."""
    values = column.combine_chunks().to_numpy()
    mask = np.random.default_rng(SEED).integers(0, 10, len(values)) == 0
    return pa.array(values, mask=mask)


def as_texts(column: pa.ChunkedArray) -> pa.Array:
    """The column as texts."""
    return pa.array(np.char.add("user ", column.combine_chunks().to_numpy().astype("U7")))


TEXTS: dict[str, dict[str, str]] = {
    "a condition on one event": {"condition": "a.attr3 < 900"},
    "a condition between two events": {"condition": "a.attr3 <= c.attr3"},
    "a window of events": {"window": " WITHIN 1000 EVENTS"},
    "no RETURN but HAVING": {"clauses": " HAVING c.ts - a.ts >= 0"},
    "RETURN of two values": {"clauses": " RETURN a.attr3 AS one, c.attr4 - a.attr4 AS two"},
    "LIMIT": {"clauses": " LIMIT 10"},
    "an optional last component": {"last": "E3? c"},
}
CHANGES: dict[str, Change] = {
    "ties": of_events("ts", lambda ts: pa.array(ts.combine_chunks().to_numpy() // 2)),
    "NULL keys": of_events("attr1", with_nulls),
    "keys as texts": of_events("attr1", as_texts),
    "keys as a dictionary": of_events("attr1", lambda k: as_texts(k).dictionary_encode()),
    "wide keys": of_events("attr1", lambda k: pa.array(k.to_numpy() * 2_000_003 * 1_000_003)),
    "chunks of 1,000 rows": chunked,
    "nearly sorted": nearly_sorted,
    "shuffled": shuffled,
    "types as texts": of_events("type", lambda types: types.cast(pa.string())),
    MICROSECONDS: of_events("ts", lambda ts: pa.array(ts.to_numpy()).cast(pa.timestamp("us"))),
}
OUTPUTS = {"no overlap": {"output": "non_overlap"}, "count": {"output": "count"}}
ALL = "EVENT SEQ(E1 a, E2{} s[], E3 c) WHERE [attr1]{} WITHIN {}"
FEW, MANY = ALL.format("+", "", 1_000), ALL.format("+", "", 40_000)
# Variants of all matches of a series, each with a base of its own, and the options of the variant.
OF_ALL: dict[str, tuple[str, str, dict[str, str]]] = {
    "few of all matches counted": (FEW, FEW, OUTPUTS["count"]),
    "many of all matches counted": (MANY, MANY, OUTPUTS["count"]),
    "a length as a condition": (
        ALL.format("{2,}", "", 1_000), ALL.format("+", " AND s.len >= 2", 1_000), {},
    ),
}  # fmt: skip


def way(query: str, change: Change | None = None, **options: str) -> Make:
    """A query over a table, which is changed before the clock starts; a match of tables."""

    def make(table: pa.Table) -> Way:
        if change is not None:
            table = change(table)

        def run() -> int:
            found = sase.match(query, table, time="ts", type="type", threads=1, **options)
            return found if isinstance(found, int) else len(found)

        return Way(run, lambda count: Outcome(int(count)))

    return make


def points(size: Size) -> Iterator[Point]:
    """Each query with each variant, both run in turn."""
    stream = replace(D3, events=size.of(2_000_000, 200_000, 4_000))
    for query in QUERIES:
        base = way(text(query))
        variants = {name: way(text(query, **options)) for name, options in TEXTS.items()}
        for name, change in CHANGES.items():
            window = " WITHIN 1000 us" if name == MICROSECONDS else WITHIN
            variants[name] = way(text(query, window=window), change)
        variants |= {name: way(text(query), **options) for name, options in OUTPUTS.items()}
        for name, variant in variants.items():
            ways = {BASE: base, VARIANT: variant}
            yield Point(name, ways, stream.table, stream.events, query, alike=False)
    for name, (plain, changed, options) in OF_ALL.items():
        ways = {BASE: way(plain), VARIANT: way(changed, **options)}
        yield Point(name, ways, stream.table, stream.events, "series", alike=False)


Place = tuple[str, Any]


def above(results: Results) -> dict[Place, float]:
    """The variants above the limit by panel, and how many times their base each takes."""
    return {place: ratio for place, ratio in times(results, "cpu_s").items() if ratio > LIMIT}


def times(results: Results, y: str) -> dict[Place, float]:
    """How many times the figure of its base each variant has, by panel."""
    return {
        (panel, x): ratio
        for panel in results.panels()
        for x, ratio in results.ratios(VARIANT, BASE, y, panel).items()
    }


def is_within(results: Results) -> Verdict:
    """No variant takes more than the limit times the processor time of its base."""
    count, over = len(times(results, "cpu_s")), above(results)
    told = "; ".join(
        f"{panel}, {x}: {ratio:.1f}"
        for (panel, x), ratio in sorted(over.items(), key=lambda each: -each[1])
    )
    required = f"at most {LIMIT:g}"
    return Verdict(not over if count else None, told or f"all {count} are within", required)


MORE, ORDER = "more matches", "order"
# How many times their base shuffled events may take: a sort of all of them is most of it.
SORTED = 6.0


def reason_of(results: Results, place: Place, ratio: float) -> str | None:
    """Why a variant takes this many times its base, if that is known."""
    panel, x = place
    base, variant = (results.at(way, x, "matches", panel) for way in (BASE, VARIANT))
    assert base is not None and variant is not None
    if base and variant >= ratio * base:
        return MORE
    return ORDER if x == "shuffled" and variant == base and ratio <= SORTED else None


def explains(name: str) -> Check:
    """A reason explains some variants above the limit, and no such variant lacks a reason."""

    def check(results: Results) -> Verdict:
        over = above(results)
        reasons = {place: reason_of(results, place, ratio) for place, ratio in over.items()}
        matches = times(results, "matches")
        told = "; ".join(
            f"{place[0]}, {place[1]}: {matches.get(place, 1):.3g} times the matches in"
            f" {over[place]:.3g} times the time"
            for place, reason in reasons.items()
            if reason == name
        )
        required = f"each above {LIMIT:g} has as many times the matches, or only another order"
        return Verdict(bool(told) and None not in reasons.values(), told or "none", required)

    return check


EXPERIMENT = Experiment(
    "cliffs",
    "Cliffs: variants of six queries, each beside its base",
    "Ours",
    "A small change of a query or of the form of its events should cost little.",
    points,
    (Plot("cpu_s", "processor, s", "variant", bars=True),),
    (
        Finding(
            f"no variant takes more than {LIMIT:g} times its base",
            is_within,
            (
                Reason("a variant that finds more matches writes more", explains(MORE)),
                Reason(
                    "shuffled events are sorted first, which any program must do", explains(ORDER)
                ),
            ),
        ),
    ),
)
