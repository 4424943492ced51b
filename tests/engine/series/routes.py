"""The ways to have the engine find the matches of a query of level 2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sase
from sase.errors import PlanError
from tests.engine.matching.ways import (
    Way,
    cut,
    given,
    in_chunks,
    keywords_of,
    pieces,
    plan_of,
    tiny,
)
from tests.engine.matching.ways import ways as all_ways
from tests.engine.series.comparing import Found, found, joined
from tests.engine.series.examples import SeriesExample, drawn, examples

# The recipes that have rules of their own for series or strategies.
OF_RUNS = (
    "nfab",
    "nfab_merged",
    "nfab_versioned",
    "backtrack",
    "backtrack_reread",
    "postponed",
    "postponed_filters",
    "collapsed",
    "ses",
    "ses_tree",
)
# Those that join what must occur, and walk through the series between.
OF_TREES = ("tree_left_deep", "tree_right_deep", "tree_bushy")
# Those that leave out events of windows without a match.
OF_WINDOWS = ("match_window_f", "match_window_fp", "match_window_fpc", "match_window_fc")
RECIPES = ("optimized", "basic", "pais", *OF_RUNS, *OF_TREES, *OF_WINDOWS)
MANNERS = ("match", "records", "table", "chunks", "threads", "push", "push", "restored")

ways = st.builds(
    Way,
    st.sampled_from(RECIPES),
    tiny,
    st.sampled_from(MANNERS),
    st.lists(pieces, min_size=1, max_size=4).map(tuple),
    st.just(2),
)
# Level 1 by the operator that evaluates runs.
as_runs = st.builds(
    lambda way, recipe: replace(way, recipe=recipe, order=(), off=None),
    all_ways,
    st.sampled_from(OF_RUNS),
)


def is_there() -> bool:
    """Whether the engine runs level 2 at all."""
    try:
        sase.match("EVENT A+ a[]", [{"ts": 1, "type": "A"}])
    except PlanError as refused:
        return not re.search("cannot run them yet", str(refused))
    return True


def case(number: int) -> tuple[SeriesExample, Way]:
    """An example, and the way that it is run."""
    example, way = drawn(number, st.tuples(examples(), ways))
    return in_order(example, way), way


def in_order(example: SeriesExample, way: Way) -> SeriesExample:
    """With its rows in the order of time, if they are to be pushed."""
    return example.sorted if _is_push(example, way) else example  # type: ignore[return-value]


def run(example: SeriesExample, way: Way) -> Found:
    """What the engine finds."""
    if _is_push(example, way):
        return joined([*_pushed(example, way)])
    is_records = way.manner == "records" and example.rows  # no rows do not say their columns
    events = example.records if is_records else example.table
    threads = way.threads if way.manner == "threads" else None
    if way.manner == "match":
        given_here = {**keywords_of(example), "output": example.output, "plan": way.recipe}
        return found(sase.match(example.query.text, events, **given_here, threads=threads))
    plan = plan_of(example, way, events)
    if way.manner == "chunks" and isinstance(events, pa.Table):
        events = in_chunks(events, way.pieces)
    return found(plan.run(events, threads=threads))


def _is_push(example: SeriesExample, way: Way) -> bool:
    """Tables of different columns are not pushed."""
    return way.manner in ("push", "restored") and isinstance(example.records, list)


def _pushed(example: SeriesExample, way: Way) -> Iterator[Found]:
    """Piece by piece; each match is told as soon as it is known."""
    plan = plan_of(example, way, example.table)
    matcher, clock = plan.open(), example.setting.clock
    times = [clock.shown(row[example.setting.time]) for row in example.rows]
    pushed, told, now = 0, 0, None
    for part, piece in cut(example.table, way.pieces):
        pushed += len(part)
        now = times[pushed - 1] if len(part) else now
        got = [found(matcher.push(given(part, piece.form)))]
        if way.manner == "restored":
            matcher = plan.restore(matcher.snapshot())
        if piece.advance:
            now = times[pushed] if pushed < len(times) else clock.after(times[-1])
            got.append(found(matcher.advance(now)))
        yield from got
        told += sum(len(each.rows) for each in got)
        _check_told(example, told, pushed, now)
    yield found(matcher.finish())


def _check_told(example: SeriesExample, told: int, pushed: int, now: Any) -> None:
    """Matches whose last event was pushed; of those that wait for an absence, if time has passed.

    Where only some matches wait, others wait for these, and how long is not said here.
    """
    query = example.query
    if query.negated_end == "some" or now is None:
        return
    there = [m for m in example.expected if max(row for s in m.events for row in s) < pushed]
    if query.negated_end and query.is_inclusive:
        there = [match for match in there if match.detected_at < now]  # type: ignore[operator]
    elif query.negated_end:
        there = [match for match in there if match.detected_at <= now]  # type: ignore[operator]
    assert told == len(there), f"{told} of {len(there)} known matches after {pushed} rows, at {now}"
