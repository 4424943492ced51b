"""Patterns over Spark DataFrames: the same plan and the same results as on one machine."""

# ruff: noqa: E402 - the check for PySpark runs before anything imports it.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, overload

from sase.spark.session import check_pyspark

check_pyspark()  # before anything below imports PySpark

from sase.api.progress import check_call
from sase.binding.input_options import InputKeywords, check_choice, takes_input_options
from sase.errors import PlanError
from sase.spark.explain import SparkExplanation, explain
from sase.spark.funnel import funnel
from sase.spark.progress import TaskProgress, progress
from sase.spark.reading.source import FrameSource
from sase.spark.replay import FRAMES, Replay, ReplayKeywords, check_form, replay
from sase.spark.script import ScriptResults, script
from sase.spark.streaming import Stream, stream
from sase.spark.table_function import register
from sase.spark.tasks.worker import spare_imports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Events: TypeAlias = DataFrame | Mapping[str, DataFrame]

__all__ = [
    "Replay",
    "ScriptResults",
    "SparkExplanation",
    "Stream",
    "explain",
    "funnel",
    "match",
    "pattern",
    "progress",
    "register",
    "replay",
    "script",
    "stream",
]


def __dir__() -> list[str]:
    """The public names; those of other modules are not shown."""
    return sorted(__all__)


# A worker imports this package before a task of ours, and with it everything that tasks need.
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


# The overloads differ only in the result, so the other keywords are listed once, in these forms.
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
    progress: TaskProgress | None = None,
    **options: Unpack[InputKeywords],
) -> DataFrame | int:
    """Match a query in a DataFrame of events, or in a dict of type name → DataFrame.

    `output` is the form of the results. "structs" has a struct for each event, and "flat" has a
    column for each attribute. "non_overlap" has those matches that do not overlap, as structs, or
    with `flat=True` flat. "compressed" has a row for each event at which matches end, with their
    number and their events. "count" is the exact number of matches, an int; only this form runs the
    search at once.

    The matches of streaming DataFrames are a streaming DataFrame. `lateness` is how late rows
    without a watermark may be. `buckets` is the number of parts of the keys and the state.

    `timeout` is the time limit of the search of each part, and `max_memory` limits the growth of
    its worker, both as in `sase.match`. In a stream, they apply to each push into a bucket.
    Exceeding one of them ends the job with a `TimeLimitError` or a `MemoryLimitError`.

    `progress` is for `output="count"`: it is called with the tasks that are done, and all tasks
    that have begun. For DataFrames, which are computed later, there is `sase.spark.progress`.
    """
    if progress is not None:
        check_call(progress, "tasks")
        if output != "count":
            raise PlanError(
                'progress= is of  output="count"  , which runs at once: around the action of a'
                " DataFrame say  with sase.spark.progress(spark, …):"
            )
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
    return found.count(progress=progress) if output == "count" else found.matches


class MatchKeywords(ReplayKeywords, total=False):
    """The keywords of `match`, for type checkers."""

    lateness: object
    buckets: int | None


def pattern(query: str, **options: Unpack[MatchKeywords]) -> Callable[[DataFrame], DataFrame]:
    """Return a transformation of events to matches: `df.transform(pattern("EVENT …"))`.

    The options are those of `match`, for outputs that are DataFrames.
    """
    check_choice("output", options.get("output", "structs"), FRAMES)

    def matches(df: DataFrame) -> DataFrame:
        return cast("DataFrame", match(query, df, **options))

    return matches


def _refuse(why: str, **given: object) -> None:
    """Refuse arguments that do not apply to these events."""
    named = " and ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    if named:
        raise PlanError(f"{named}: {' and '.join(given)} {why}: leave them out")
