"""Patterns over DataFrames of Spark: the same plan and the same answer as on one machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from sase.spark.replay import Replay, replay

__all__ = ["Replay", "match", "replay"]


def match(
    query: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    time: str = "ts",
    type: str | None = "type",
    seq: str | None = None,
    types: Any = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = "optimized",
    slices: Any = None,
    strategy: str | None = None,
    on_bad_row: str = "error",
    output: str = "structs",
    limit: int | None = None,
    stats: object = None,
) -> DataFrame:
    """The matches of a query in a DataFrame of events, or in a dict of type name → DataFrame."""
    return replay(
        query, df, time=time, type=type, seq=seq, types=types, time_unit=time_unit, params=params,
        plan=plan, slices=slices, strategy=strategy, on_bad_row=on_bad_row, output=output,
        limit=limit, stats=stats,
    ).matches  # fmt: skip
