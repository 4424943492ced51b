"""The naive matcher: docs/semantics.md formula by formula; the judge of every engine.

It reads only the syntax tree. A file here stands for a part of that page: events, values,
expressions, conditions, pattern, windows, formula, negation, runs, union, results, imprecise time.
What it does not implement raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from sase.lang import ast
from tests.naive.events import Types, read_stream
from tests.naive.formula import by_formula
from tests.naive.imprecise import imprecise_matches
from tests.naive.problem import Problem, state
from tests.naive.results import Match, non_overlapping, order, passes_having, result
from tests.naive.runs import by_runs
from tests.naive.union import union
from tests.naive.values import literal

__all__ = ["Match", "by_formula", "by_runs", "match", "problems"]


T = TypeVar("T")


def match(
    query: ast.Query,
    rows: Sequence[Mapping[str, object]],
    *,
    time: str | tuple[str, str] = "ts",
    type: str | None = "type",
    seq: str | None = None,
    types: Types = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
    output: Literal["all", "non_overlap", "compressed"] = "all",
) -> list[Match]:
    """The matches of a query in a table of events, in the docs/semantics.md, Order of results."""
    if output not in ("all", "non_overlap", "compressed"):
        raise NotImplementedError(f"the output format {output!r}")
    stated = problems(
        query,
        rows,
        time=time,
        type=type,
        seq=seq,
        types=types,
        time_unit=time_unit,
        params=params,
    )
    if isinstance(time, tuple):
        if output != "all":
            raise ValueError(f"imprecise time and the output format {output!r}")
        return _first(query, imprecise_matches(query, stated, params or {}), params)
    if query.confidence is not None:
        raise ValueError("WITH CONFIDENCE and precise time")
    ordered = order([each for each in union(stated) if passes_having(query, each)])
    if output == "non_overlap":
        ordered = non_overlapping(ordered)
    return [result(query, each) for each in _first(query, ordered, params)]


def problems(
    query: ast.Query,
    rows: Sequence[Mapping[str, object]],
    *,
    time: str | tuple[str, str] = "ts",
    type: str | None = "type",
    seq: str | None = None,
    types: Types = None,
    time_unit: str | None = None,
    params: Mapping[str, object] | None = None,
) -> tuple[Problem, ...]:
    """What `by_formula` and `by_runs` work on, by branch; nothing where there is no event."""
    stream = read_stream(rows, time, type, seq, types, time_unit)
    stated = state(query, stream, params or {})
    return stated if rows else ()


def _first(query: ast.Query, ordered: list[T], params: Mapping[str, object] | None) -> list[T]:
    """docs/semantics.md, Clauses in order: LIMIT n keeps the first n results."""
    if query.limit is None:
        return ordered
    count = literal(query.limit, params or {})
    if not isinstance(count, int):
        raise NotImplementedError(f"LIMIT {count!r}")
    return ordered[:count]
