"""Times that tables in memory hold as texts, parsed as those of files are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding import Schema
from sase.binding.types import Kind
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.gather import decoded, unrolled
from sase.engine.columns.arrow.input import Input, Inputs
from sase.engine.columns.decode.time_forms import (
    TimeForm,
    in_iso,
    moments_and_forms,
    refuse_unused,
)
from sase.engine.columns.decode.timestamps import (
    judged_moments,
    kind_of_texts,
    moments_among,
    with_moments,
)

# The types of the columns of times, and the forms of the texts that are not ISO 8601.
Kinds: TypeAlias = Callable[[pa.Table], tuple[Mapping[str, pa.DataType], Mapping[str, TimeForm]]]


def with_text_times(
    inputs: Inputs, times: Sequence[str], given: str | None = None, *, judges: bool
) -> Inputs:
    """Parse the columns of times that are texts, of a `given` form or of one that most fit.

    A text that is no time is an error, or if it `judges` a bad row. If hardly any is a time, the
    texts stay.
    """

    def kinds_in(own: pa.Table) -> tuple[Mapping[str, pa.DataType], Mapping[str, TimeForm]]:
        kinds, forms = moments_and_forms(own, given, own.column_names)
        refuse_unused(given, forms, own.column_names)
        return kinds, forms

    return Inputs(
        tuple(_parsed(each, times, kinds_in, judges=judges) for each in inputs.tables),
        inputs.typed,
    )


def with_times_of(inputs: Inputs, schema: Schema, *, judges: bool) -> Inputs:
    """Parse the texts of a piece of events in the columns that a schema knows to be times.

    The texts of a piece cannot show their form, so it is ISO 8601.
    """
    if schema.time_type.kind is not Kind.TIMESTAMP:
        return inputs
    known = kind_of_texts(schema.time_type)

    def kinds_in(own: pa.Table) -> tuple[Mapping[str, pa.DataType], Mapping[str, TimeForm]]:
        # A piece may have bad rows alone.
        names = own.column_names
        return dict.fromkeys(names, known) if judges else moments_among(own, names), {}

    tables = (_parsed(each, schema.times, kinds_in, judges=judges) for each in inputs.tables)
    return Inputs(tuple(tables), inputs.typed)


def _parsed(table: Input, times: Sequence[str], kinds_in: Kinds, *, judges: bool) -> Input:
    if table.is_lazy or table.files or (table.rows is not None and not judges):
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
    kinds, forms = kinds_in(own)
    iso, source = in_iso(own, forms), table.source
    if not judges:
        iso = with_moments(iso, kinds, "the events")
    misfits, shown = {**table.misfits}, {**table.texts}
    for name, kind in kinds.items():
        column = iso.column(name)
        if judges:
            column, reasons = judged_moments(column, kind)
            if reasons:
                odd = {why: pa.array(found, pa.string()) for why, found in reasons.items()}
                misfits[name] = tuple(
                    (why, np.flatnonzero(pc.is_in(iso.column(name), value_set=values).to_numpy()))
                    for why, values in odd.items()
                )
                shown[name] = own.column(name).to_pylist()
        source = source.set_column(texts[name], pa.field(name, kind), _like(source, column))
    return replace(table, source=source, misfits=misfits, texts=shown)


def _like(source: Any, column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column for a table or a batch."""
    return column if isinstance(source, pa.Table) else column.combine_chunks()


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of any layout as plain ones."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([_decoded(chunk).cast(pa.string()) for chunk in chunks], pa.string())


def _decoded(chunk: pa.Array) -> pa.Array:
    return decoded(chunk) if pa.types.is_dictionary(chunk.type) else unrolled(chunk)
