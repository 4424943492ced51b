"""Near misses as a table: what stopped each, by how much, and its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sase.binding import BoundQuery, Schema
from sase.diagnostics.why_not.match_search import Match
from sase.diagnostics.why_not.near_misses import NearMiss, NearMisses
from sase.diagnostics.why_not.query_parts import PartKind
from sase.diagnostics.why_not.relaxation import bare
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Interner
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.transformation import Results
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.row_history import RowHistory
from sase.planning.basic import basic_plan
from sase.planning.plan import EnginePlan

# The rank of disagreement: further than any other miss without a measure.
APART = 2.0


def table_of(
    query: BoundQuery, found: Sequence[NearMisses], history: RowHistory, schema: Schema, near: int
) -> pa.Table:
    """Make a table of the nearest misses; a negative component has the forbidding event."""
    chosen = _ranked(found, near)
    # The form of a match does not depend on how it was found.
    plan = EnginePlan(basic_plan(_with_negatives(query)), schema, query.definitions)
    shape = ResultSchema.of(plan, Interner())
    matches = [miss.match for _, miss in chosen]
    positions = _positions(query, matches, as_matrix=not plan.has_series)
    events = MatchBatch(shape, history, (Results(positions),))
    table, shares = events.table(), [miss.failure.share for _, miss in chosen]
    return pa.table(
        {
            "stopped_by": pa.array([text for text, _ in chosen], pa.string()),
            "by": pa.array([miss.failure.text or None for _, miss in chosen], pa.string()),
            "distance": pa.array([None if s != s else s for s in shares], pa.float64()),
            "rows": events.rows().to_struct_array(),
            **{_free(each.variable): table.column(each.variable) for each in query.components},
        }
    )


def _ranked(found: Sequence[NearMisses], near: int) -> list[tuple[str, NearMiss]]:
    """The nearest misses of all parts, each with the part's text."""
    ranks = sorted(
        (APART if each.part.kind is PartKind.TEST else miss.rank, place, number)
        for number, each in enumerate(found)
        for place, miss in enumerate(each.misses)
    )
    return [(found[n].part.text, found[n].misses[place]) for _, place, n in ranks[:near]]


def _with_negatives(query: BoundQuery) -> BoundQuery:
    """A query whose matches may have an event of each negative component."""
    components = tuple(
        replace(each, negated=False, minimum=0) if each.negated else each
        for each in query.components
    )
    return replace(bare(query), components=components, conjuncts=(), having=None)


def _positions(
    query: BoundQuery, matches: Sequence[Match], *, as_matrix: bool
) -> Numbers | Bindings:
    """The positions that every component binds in matches."""
    bound = [[match.get(each.index, ()) for each in query.components] for match in matches]
    events = np.array([e for match in bound for series in match for e in series], np.int64)
    shape = len(matches), len(query.components)
    if as_matrix:
        return np.ascontiguousarray(events.reshape(shape).T)
    lengths = np.array([[*map(len, match)] for match in bound], np.int64).reshape(shape)
    ends = np.cumsum(lengths.sum(axis=1), dtype=np.int64)
    return Bindings(events, ends, np.ascontiguousarray(lengths.T))


def _free(name: str) -> str:
    """The name of a variable, changed if it collides with another column."""
    return f"{name}_" if name in ("stopped_by", "by", "distance", "rows") else name
