"""Queries that take long, or find nothing in long, and recipes that they are run by."""

from __future__ import annotations

import pyarrow as pa

SEQUENCES = (
    "ais", "ais_windows", "basic", "composite_key", "dynamic_filtering", "multi_pais", "pais",
    "negation_by_time", "negation_in_construction", "optimized", "predicates_in_construction",
    "unfused",
)  # fmt: skip
RUNS = (
    "backtrack", "backtrack_reread", "nfab", "nfab_merged", "nfab_versioned", "postponed",
    "postponed_filters",
)  # fmt: skip
# Of a thousand million ways in which events may come together none is a match.
NEVER = "EVENT SEQ(A a, B b, C c) WHERE a.v + b.v + c.v < 0 WITHIN 1000000"
NEVER_IN_SERIES = NEVER.replace("C c)", "C+ c[])").replace("c.v", "c[i].v")

RARE = "EVENT SEQ(A a, B b) WHERE [id] AND a.v = b.v WITHIN 1000"


def stream(*parts: tuple[str, int]) -> pa.Table:
    """Events of types one after the other, each counted by `v`."""
    names = [name for name, count in parts for _ in range(count)]
    values = [number for _, count in parts for number in range(count)]
    return pa.table({"ts": range(len(names)), "type": names, "v": values})
