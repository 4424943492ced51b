"""Patterns over DataFrames of Spark: the same plan and the same answer as on one machine."""

# ruff: noqa: E402 - PySpark is looked for before anything imports it.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, overload

from sase.spark.session import check_pyspark

check_pyspark()  # before anything below imports what may not be there

from sase.binding.input_options import InputKeywords, check_choice, takes_input_options
from sase.errors import PlanError
from sase.spark.explain import SparkExplanation, explain
from sase.spark.replay import FRAMES, Replay, ReplayKeywords, check_form, replay
from sase.spark.script import ScriptResults, script
from sase.spark.source import FrameSource
from sase.spark.streaming import Stream, stream
from sase.spark.table_function import register
from sase.spark.worker import spare_imports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Events: TypeAlias = DataFrame | Mapping[str, DataFrame]

__all__ = [
    "Replay",
    "ScriptResults",
    "SparkExplanation",
    "Stream",
    "explain",
    "match",
    "pattern",
    "register",
    "replay",
    "script",
    "stream",
]

# A worker that has a task of ours imports this package first, and by it all that tasks need.
spare_imports()


@overload
def match(
    query: str,
    df: Events,
    *,
    output: Literal["structs", "flat", "non_overlap", "compressed"] = "structs",
    **rest: Any,
) -> DataFrame: ...


@overload
def match(query: str, df: Events, *, output: Literal["count"], **rest: Any) -> int: ...


@overload
def match(query: str, df: Events, *, output: str, **rest: Any) -> DataFrame | int: ...


# The forms only tell apart what is returned: what else may be given stands here, once.
@takes_input_options  # type: ignore[misc]
def match(
    query: str,
    df: Events,
    *,
    params: Mapping[str, object] | None = None,
    plan: str = "optimized",
    slices: Any = None,
    strategy: str | None = None,
    output: str = "structs",
    flat: bool = False,
    limit: int | None = None,
    stats: object = None,
    lateness: object = None,
    buckets: int | None = None,
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> DataFrame | int:
    """The matches of a query in a DataFrame of events, or in a dict of type name → DataFrame.

    `output` is "structs", "flat" for a column for each attribute, "non_overlap" for those matches
    that do not overlap (as structs, or with `flat=True` flat), "compressed" for a row for each
    event that matches end at, with their number and who takes part, or "count" for the exact
    number of all, an int: that alone runs the search.

    Streaming DataFrames give a streaming one. `lateness` is how late their rows may be where they
    have no watermark, `buckets` the number of parts that the keys and the state are in.

    `timeout` is how long the search of each part may take, `max_memory` by how much its worker may
    grow meanwhile, both as in `sase.match`; in a stream they are of each push into a bucket. What
    exceeds them ends the job with a `TimeLimitError` or a `MemoryLimitError`.
    """
    if FrameSource.of(df).is_streaming:
        _refuse("cut tables, and a stream is parted by key alone", slices=slices, strategy=strategy)
        check_form(output, flat=flat)
        return stream(
            query, df, params=params, plan=plan, lateness=lateness, buckets=buckets,
            output="flat" if flat and output == "structs" else output, limit=limit, stats=stats,
            timeout=timeout, max_memory=max_memory, **options,
        ).matches  # fmt: skip
    _refuse("are of streams, and these events are all there", lateness=lateness, buckets=buckets)
    found = replay(
        query, df, params=params, plan=plan, slices=slices, strategy=strategy, output=output,
        flat=flat, limit=limit, stats=stats, timeout=timeout, max_memory=max_memory, **options,
    )  # fmt: skip
    return found.count() if output == "count" else found.matches


class MatchKeywords(ReplayKeywords, total=False):
    """The keywords of `match`, for type checkers."""

    lateness: object
    buckets: int | None


def pattern(query: str, **options: Unpack[MatchKeywords]) -> Callable[[DataFrame], DataFrame]:
    """A transformation of a DataFrame to the matches in it: `df.transform(pattern("EVENT …"))`.

    The options are those of `match`, for forms that are DataFrames.
    """
    check_choice("output", options.get("output", "structs"), FRAMES)

    def matches(df: DataFrame) -> DataFrame:
        return cast("DataFrame", match(query, df, **options))

    return matches


def _refuse(why: str, **given: object) -> None:
    """Refuse arguments that are not for these events."""
    named = " and ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    if named:
        raise PlanError(f"{named}: {' and '.join(given)} {why}: leave them out")
