"""Polars: lazy frames, by its engine in memory or by the one that streams."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import polars as pl

from experiments.rivals import columns
from experiments.rivals.protocol import Task, Way, serve


def prepare(task: Task) -> Way:
    """A frame with the columns; the number of its threads comes from the surroundings."""
    if pl.thread_pool_size() != task.threads:
        raise RuntimeError(f"{pl.thread_pool_size()} threads where {task.threads} are asked for")
    frame = pl.from_arrow(columns.table(task))
    assert isinstance(frame, pl.DataFrame)
    form, _, manner = task.form.partition(", ")
    engine: Literal["in-memory", "streaming"] = "streaming" if manner else "in-memory"
    lazy = FORMS[form](task, frame.rechunk().lazy())
    return Way(
        lambda: lazy.collect(engine=engine), lambda rows: columns.answer(task, rows.to_arrow())
    )


def step(task: Task, frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """The events of a step, their time under its name."""
    number = task.variables.index(name) + 1
    return frame.filter(pl.col("code") == number).select(pl.col("ts").alias(name), *task.keys)


def plain(task: Task, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Joins on the keys as one would write them, each filtered at once; an anti join for `!`."""
    first, keys = task.bound[0], list(task.keys)
    found = step(task, frame, first)
    for before, name in pairwise(task.bound):
        later = found.join(step(task, frame, name), on=keys)
        found = later.filter(ordered(before, name, first, task))
    if task.negated is not None:
        absent = found.join(step(task, frame, task.variables[task.negated]), on=keys)
        between = absent.filter(pl.col("b").is_between("a", "c", "none"))
        found = found.join(between, on=list(task.bound), how="anti")
    return found.select(list(task.bound))


def ordered(before: str, name: str, first: str, task: Task) -> pl.Expr:
    """Later than the step before, and in the window of the first."""
    return (pl.col(name) > pl.col(before)) & (pl.col(name) < pl.col(first) + task.window)


def bucketed(task: Task, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Joins on pieces of time and keys."""
    first = task.bound[0]
    on = ["bucket", *task.keys]
    found = step(task, frame, first).with_columns(bucket=pl.col(first) // task.window)
    for before, name in pairwise(task.bound):
        own = pl.col(name) // task.window
        later = step(task, frame, name)
        both = pl.concat([later.with_columns(bucket=own), later.with_columns(bucket=own - 1)])
        found = found.join(both, on=on).filter(ordered(before, name, first, task))
    return found.select(list(task.bound))


def as_of(task: Task, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Q3: the last E2 before each E3 by an as-of join bounds its E1s, which are in buckets."""
    last = step(task, frame, "c").join_asof(
        step(task, frame, "b"),
        left_on="c",
        right_on="b",
        by=list(task.keys),
        check_sortedness=False,
    )
    ends = last.with_columns(pl.col("b").fill_null(-1), bucket=pl.col("c") // task.window)
    first, own = step(task, frame, "a"), pl.col("a") // task.window
    both = pl.concat([first.with_columns(bucket=own), first.with_columns(bucket=own + 1)])
    found = ends.join(both, on=["bucket", *task.keys])
    return found.filter(ordered("a", "c", "a", task), pl.col("a") > pl.col("b")).select("a", "c")


def two_as_of(task: Task, frame: pl.LazyFrame) -> pl.LazyFrame:
    """The next cart of each view and the next purchase of that, by as-of joins."""
    found = step(task, frame, "a")
    for before, name in pairwise(task.bound):
        found = found.join_asof(
            step(task, frame, name),
            left_on=before,
            right_on=name,
            by=list(task.keys),
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        ).filter(pl.col(name).is_not_null())
        # It needs rising times on its left side.
        found = found.sort(name) if name != task.bound[-1] else found
    return found.filter(pl.col("c") < pl.col("a") + task.window).select(list(task.bound))


def join_and_lists(task: Task, frame: pl.LazyFrame) -> pl.LazyFrame:
    """The views before each purchase by a join, and the end of their list from each of them on."""
    later = step(task, frame, "c").rename({"c": "b"})
    found = step(task, frame, "a").join(later, on=list(task.keys))
    found = found.filter(ordered("a", "b", "a", task)).select("a", "b")
    every = found.group_by("b").agg(every=pl.col("a").sort())
    places = found.with_columns(place=pl.col("a").rank("ordinal").over("b") - 1)
    return places.join(every, on="b").select(
        a=pl.col("every").list.slice(pl.col("place").cast(pl.Int64)), b=pl.col("b")
    )


FORMS: dict[str, Any] = {"plain": plain, "bucketed": bucketed, "as-of": as_of}
FORMS |= {"two as-of": two_as_of, "join and lists": join_and_lists}


if __name__ == "__main__":
    serve(pl.__version__, prepare)
