"""Count how many keys of a DataFrame reach each of several steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from pyspark.sql import Column
from pyspark.sql import functions as sf

from sase.binding.funnel_queries import BEFORE, NEXT, FunnelQueries, Steps
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.engine.results.funnel import Funnel, Reached, unreached
from sase.spark.reading.source import FrameSource
from sase.spark.replay import replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@takes_input_options
def funnel(
    df: DataFrame | Mapping[str, DataFrame],
    steps: Steps,
    *,
    by: str | Sequence[str],
    within: object = None,
    without: str | Sequence[str] = (),
    strategies: str | Sequence[str] = NEXT,
    **options: Unpack[InputKeywords],
) -> Funnel:
    """Count how many keys of a DataFrame reach each step, as `sase.funnel` does.

    Each number of steps is a job. Some strategies need `seq`, the column that orders events of the
    same time.
    """
    asked = FunnelQueries.of(steps, by, within, without, strategies)
    if asked.definitions:
        options = {"type": None, **options, "types": dict(asked.definitions)}
    schema = FrameSource.of(df).discovered(InputOptions(**options)).schema
    asked.check(schema)
    reached = dict[str, Reached]()
    for strategy in asked.strategies:
        for count in asked.counts:
            query = asked.query(strategy, count, schema.time)
            found = replay(query, df, params=asked.parameters, **options).matches
            reached[asked.name(strategy, count)] = _reached(found, asked)
    missing = [
        name
        for name in unreached(asked, reached)
        if replay(asked.any(name), df, **options).matches.isEmpty()
    ]
    return Funnel.of(asked, reached, schema.nanoseconds, missing)


def _reached(found: DataFrame, asked: FunnelQueries) -> Reached:
    """The keys of matches, and median times of the match of each key that ends first."""
    raw = [_raw(found, name) for name in ("ts_end", "ts_start", BEFORE)]
    first = sf.min(sf.struct(*raw)).alias("first")
    end, start, before = (f"first.{name}" for name in ("ts_end", "ts_start", BEFORE))
    row = (
        found.groupBy(*asked.columns)
        .agg(first)
        .agg(
            sf.count("*"),
            sf.median(sf.expr(f"{end} - {before}")),
            sf.median(sf.expr(f"{end} - {start}")),
        )
        .first()
    )
    assert row is not None, "an aggregate without a key has one row"
    return Reached(*row)


def _raw(found: DataFrame, name: str) -> Column:
    """A time as an integer: days, or microseconds, of which Spark has all other times."""
    kind, column = found.schema[name].dataType.typeName(), sf.col(name)
    if kind == "date":
        return sf.unix_date(column).alias(name)
    if kind in ("timestamp", "timestamp_ntz"):
        return sf.unix_micros(column.cast("timestamp")).alias(name)
    return column.alias(name)
