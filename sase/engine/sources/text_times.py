"""Times that tables in memory hold as texts, parsed as those of files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from sase.binding import Schema
from sase.binding.types import Kind
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.gather import decoded, unrolled
from sase.engine.columns.arrow.input import Input, Inputs
from sase.engine.columns.decode.time_forms import in_iso, moments_and_forms, refuse_unused
from sase.engine.columns.decode.timestamps import moments_among, with_moments


def with_text_times(
    inputs: Inputs, times: Sequence[str], given: str | None = None, *, is_whole: bool = True
) -> Inputs:
    """Parse the columns of times that are texts; texts that are no times stay.

    They have a `given` form, or one that all fit. The texts of a piece of a stream cannot show
    which one, so there it is ISO 8601.
    """
    tables = tuple(_parsed(table, times, given, is_whole=is_whole) for table in inputs.tables)
    return Inputs(tables, inputs.typed)


def with_times_of(inputs: Inputs, schema: Schema) -> Inputs:
    """Parse the texts of a piece of events in the columns that a schema knows to be times."""
    if schema.time_type.kind is not Kind.TIMESTAMP:
        return inputs
    times = [schema.time] if schema.until is None else [schema.time, schema.until]
    return with_text_times(inputs, times, is_whole=False)


def _parsed(table: Input, times: Sequence[str], given: str | None, *, is_whole: bool) -> Input:
    if table.is_lazy or table.rows is not None or table.files:
        return table
    schema = table.source.schema
    places = {name: schema.get_field_index(name) for name in times}
    texts = {
        name: place
        for name, place in places.items()
        if place >= 0 and data_type(schema.field(place).type).kind is Kind.STRING
    }
    if not texts:
        return table
    table = table.proved([*texts])
    own = pa.table({name: _plain(table.source.column(place)) for name, place in texts.items()})
    if is_whole:
        kinds, forms = moments_and_forms(own, given, texts)
        refuse_unused(given, forms, [*texts])
    else:
        kinds, forms = moments_among(own, texts), {}
    parsed = with_moments(in_iso(own, forms), kinds, "the events")
    source = table.source
    for name in kinds:
        source = source.set_column(texts[name], parsed.schema.field(name), parsed.column(name))
    return replace(table, source=source)


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of any layout as plain ones."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([_decoded(chunk).cast(pa.string()) for chunk in chunks], pa.string())


def _decoded(chunk: pa.Array) -> pa.Array:
    return decoded(chunk) if pa.types.is_dictionary(chunk.type) else unrolled(chunk)
