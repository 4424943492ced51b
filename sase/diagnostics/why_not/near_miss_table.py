"""Near misses as a table: what stopped each, by how much, and its events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding import BoundQuery, Schema
from sase.diagnostics.why_not.near_misses import Misses, ranked
from sase.diagnostics.why_not.relaxation import as_positive, bare
from sase.diagnostics.why_not.search import planned
from sase.diagnostics.why_not.series_misses import shown_as
from sase.engine.expressions import Interner
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.transformation import Results
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.row_history import RowHistory
from sase.planning.recipes import Recipe

Numbers = NDArray[np.int64]
# What the events of a match look like does not depend on how it is found.
UNCHANGED = Recipe("", "", ())


def table_of(
    query: BoundQuery, misses: Sequence[Misses], history: RowHistory, schema: Schema, near: int
) -> pa.Table:
    """The nearest misses: `stopped_by`, `by`, `distance`, the `rows` and the events themselves.

    A negative component has an event where that is what stopped the match, and else NULL.
    """
    names = [component.variable for component in query.components]
    every, nothing = _nothing(query)
    tables = [_events(every, nothing, history, schema)]
    tables += [_events(each.query, each.positions, history, schema) for each in misses]
    together = _united(tables)
    starts = np.cumsum([0, *(each.positions.shape[1] for each in misses)])
    chosen = ranked(misses, near)
    events = together.take(pa.array([starts[n] + place for n, place in chosen], pa.int64()))
    shares = [float(misses[n].shares[place]) for n, place in chosen]
    return pa.table(
        {
            "stopped_by": pa.array([misses[n].part.text for n, _ in chosen], pa.string()),
            "by": pa.array([misses[n].by[place] or None for n, place in chosen], pa.string()),
            "distance": pa.array([None if s != s else s for s in shares], pa.float64()),
            "rows": events.column("rows"),
            **{_free(name): events.column(name) for name in names},
        }
    )


def _nothing(query: BoundQuery) -> tuple[BoundQuery, Numbers | Bindings]:
    """The query with an event of every component, and none of its matches."""
    if query.level > 1:
        return shown_as(query), Bindings.none(len(query.components))
    every = query
    for component in query.negatives:
        every = as_positive(every, component.index)
    return every, np.empty((len(query.components), 0), np.int64)


def _events(
    query: BoundQuery, positions: Numbers | Bindings, history: RowHistory, schema: Schema
) -> pa.Table:
    """The events of matches under their variables, and in `rows` the numbers of their rows."""
    shape = ResultSchema.of(planned(bare(query), schema, UNCHANGED), Interner())
    found = MatchBatch(shape, history, (Results(positions),))
    rows = found.rows().to_struct_array().combine_chunks()
    return found.table().select(found.names).append_column("rows", rows)


def _united(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables as one; an integer that no float is becomes the nearest where others have floats."""
    schema = pa.unify_schemas([each.schema for each in tables], promote_options="permissive")
    cast = [
        pa.table(
            {
                field.name: each.column(field.name).cast(field.type, safe=False)
                if field.name in each.column_names
                else pa.nulls(len(each), field.type)
                for field in schema
            }
        )
        for each in tables
    ]
    return pa.concat_tables(cast)


def _free(name: str) -> str:
    """The name of a variable, which must not be that of another column."""
    return f"{name}_" if name in ("stopped_by", "by", "distance", "rows") else name
