"""The naive matcher: docs/semantics.md formula by formula; the judge of every engine.

It reads only the syntax tree. A file here is for a part of that page: events, values,
expressions, conditions, pattern, windows, formula, negation, runs, union, results, imprecise time;
`scripts` puts queries one behind the other.
Its work not implement raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sase.lang import ast
from tests.naive.events import Types, read_stream
from tests.naive.formula import by_formula
from tests.naive.imprecise import imprecise_matches
from tests.naive.problem import Problem, state
from tests.naive.results import Match, first, precise, result
from tests.naive.runs import by_runs

__all__ = ["Match", "by_formula", "by_runs", "match", "problems"]


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
        return first(query, imprecise_matches(query, stated, params or {}), params or {})
    return [result(query, each) for each in precise(query, stated, params or {}, output)]


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
    """The problem for `by_formula` and `by_runs`, by branch; nothing if there is no event."""
    stream = read_stream(rows, time, type, seq, types, time_unit)
    stated = state(query, stream, params or {})
    return stated if rows else ()
