"""Patterns over DataFrames of Spark: the same plan and the same answer as on one machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sase.spark.requirements import check_pyspark

check_pyspark()  # before anything below imports what may not be there

from sase.errors import PlanError  # noqa: E402
from sase.spark.explaining import explain  # noqa: E402
from sase.spark.explanation import SparkExplanation  # noqa: E402
from sase.spark.replay import Replay, replay  # noqa: E402
from sase.spark.source import Source  # noqa: E402
from sase.spark.streaming import Stream, stream  # noqa: E402
from sase.spark.table_function import register  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "Replay",
    "SparkExplanation",
    "Stream",
    "explain",
    "match",
    "pattern",
    "register",
    "replay",
    "stream",
]


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
    lateness: object = None,
    buckets: int | None = None,
) -> DataFrame:
    """The matches of a query in a DataFrame of events, or in a dict of type name → DataFrame.

    Streaming DataFrames give a streaming one. `lateness` is how late their rows may be where they
    have no watermark, `buckets` the number of parts that the keys and the state are in.
    """
    if Source.of(df).is_streaming:
        _refuse("cut tables, and a stream is parted by key alone", slices=slices, strategy=strategy)
        return stream(
            query, df, time=time, type=type, seq=seq, types=types, time_unit=time_unit,
            params=params, plan=plan, lateness=lateness, buckets=buckets, on_bad_row=on_bad_row,
            output=output, limit=limit, stats=stats,
        ).matches  # fmt: skip
    _refuse("are of streams, and these events are all there", lateness=lateness, buckets=buckets)
    return replay(
        query, df, time=time, type=type, seq=seq, types=types, time_unit=time_unit, params=params,
        plan=plan, slices=slices, strategy=strategy, on_bad_row=on_bad_row, output=output,
        limit=limit, stats=stats,
    ).matches  # fmt: skip


def pattern(query: str, **options: Any) -> Callable[[DataFrame], DataFrame]:
    """What finds the matches of a query in a DataFrame: `df.transform(pattern("EVENT …"))`.

    The options are those of `match`.
    """
    return lambda df: match(query, df, **options)


def _refuse(why: str, **given: object) -> None:
    """Refuse arguments that are not for these events."""
    named = " and ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    if named:
        raise PlanError(f"{named}: {' and '.join(given)} {why}: leave them out")
