"""Select rows of inputs, concatenate inputs, and save them, unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrays import Numbers, by_part
from sase.engine.columns.arrow.data_types import is_of_extensions
from sase.engine.columns.arrow.gather import decoded, indexed, runs
from sase.engine.columns.arrow.input import Input, Inputs, Misfits
from sase.engine.columns.arrow.saved import from_bytes, restored_values, saved_values, to_bytes
from sase.engine.snapshots.layout import Size, Sizes, StateField, kind
from sase.engine.snapshots.saved_state import Saved
from sase.errors import DataError


def taken(inputs: Inputs, rows: Numbers) -> Inputs:
    """Select rows, numbered through all tables, in their order."""
    tables = tuple(
        Input(
            _rows(_table(table), local),
            table.type_name,
            table.unreadable,
            is_sparse=table.is_sparse,
            rows=None if table.rows is None else [table.rows[row] for row in local],
            misfits=(misfits := _misfits_at(table, local)),
            texts={name: [table.texts[name][row] for row in local] for name in misfits},
        )
        for table, local in by_table(inputs, rows)
    )
    return replace(inputs, tables=tables)


def _misfits_at(table: Input, rows: Numbers) -> dict[str, Misfits]:
    """Return the misfits among some ascending rows, by their index there."""
    found = dict[str, Misfits]()
    for name, misfits in table.misfits.items():
        kept = [(why, np.flatnonzero(np.isin(rows, bad))) for why, bad in misfits]
        if some := tuple((why, places) for why, places in kept if len(places)):
            found[name] = some
    return found


def by_table(inputs: Inputs, rows: Numbers) -> Iterator[tuple[Input, Numbers]]:
    """Split ascending rows by table; yield each table with the rows numbered within it."""
    sizes = [table.source.num_rows for table in inputs.tables]
    return zip(inputs.tables, by_part(rows, sizes), strict=True)


def joined(parts: Sequence[Inputs], *, tidy: bool = False) -> Inputs:
    """Concatenate inputs of one table each with equal columns; `tidy` drops unused memory."""
    if len(parts) == 1 and not tidy:
        return parts[0]
    whole = pa.concat_tables([_table(part.tables[0]) for part in parts])
    source = tidied(whole) if tidy else whole
    table = replace(parts[0].tables[0], source=source, unproved=frozenset())
    return replace(parts[0], tables=(_with_values(table, [part.tables[0] for part in parts]),))


def _with_values(whole: Input, tables: Sequence[Input]) -> Input:
    """Return the whole table with the rows, misfits and texts of its parts."""
    rows, misfits, texts = None, dict[str, Misfits](), dict[str, list[Any]]()
    if any(table.rows is not None for table in tables):
        given = (t.source.to_pylist() if t.rows is None else t.rows for t in tables)
        rows = [row for some in given for row in some]
    starts = [0, *accumulate(table.source.num_rows for table in tables)]
    for start, table in zip(starts, tables, strict=False):
        for name, found in table.misfits.items():
            moved = tuple((why, places + start) for why, places in found)
            misfits[name] = (*misfits.get(name, ()), *moved)
    for name in misfits:
        every = (t.texts.get(name) or t.source[name].to_pylist() for t in tables)
        texts[name] = [value for some in every for value in some]
    return replace(whole, rows=rows, misfits=misfits, texts=texts)


def united(parts: Sequence[Inputs]) -> Inputs | None:
    """Concatenate inputs of one table each, or return None if their columns conflict.

    A column may be missing or without values in some. Unsound memory gives None as well; the error
    is raised where the data is shown.
    """
    tables = [part.tables[0] for part in parts if len(part.tables) == 1 and not part.typed]
    if len(tables) < len(parts):
        return None
    try:
        whole = pa.concat_tables(map(_table, tables), promote_options="default").combine_chunks()
    except (pa.ArrowException, DataError):
        return None
    return replace(parts[0], tables=(replace(tables[0], source=whole, unproved=frozenset()),))


def tidied(table: pa.Table) -> pa.Table:
    """Copy rows, and drop unused values from dictionaries."""
    columns = [_own(column) for column in table.columns]
    if not columns:
        return table
    both = zip(table.schema, columns, strict=True)
    fields = [field.with_type(column.type) for field, column in both]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


@kind
def SavedTable(rows: Size = None) -> StateField:
    """A table with this number of rows."""

    def read(saved: Saved, _: object, sizes: Sizes) -> pa.Table:
        table = from_bytes(saved)
        sizes.bind([rows], [table.num_rows])
        return table

    return StateField(read, lambda table: to_bytes(tidied(table)))


def saved(inputs: Inputs) -> dict[str, Any]:
    """Return an input as plain values."""
    return {"typed": inputs.typed, "tables": [_saved_table(each) for each in inputs.tables]}


def _saved_table(table: Input) -> dict[str, Any]:
    rows = None
    if table.rows is not None:
        names = dict.fromkeys(name for row in table.rows for name in row)
        rows = {name: saved_values([row.get(name) for row in table.rows]) for name in names}
    misfits = {name: [[*each] for each in found] for name, found in table.misfits.items()}
    return {
        "type": table.type_name,
        "is_sparse": table.is_sparse,
        "columns": to_bytes(tidied(_table(table))),
        "unreadable": {name: str(why) for name, why in table.unreadable.items()},
        "rows": rows,
        "misfits": misfits,
        "texts": {name: saved_values(values) for name, values in table.texts.items()},
    }


def restored(saved: Saved) -> Inputs:
    """Restore an input that was saved."""
    tables = tuple(map(_restored_table, saved.part("tables").parts()))
    typed = saved.part("typed").flag()
    saved.check(typed or len(tables) == 1, "there is not one table")
    saved.check(all((each.type_name is not None) == typed for each in tables), "types are missing")
    return Inputs(tables, typed)


def _restored_table(saved: Saved) -> Input:
    type_name, source = saved.part("type"), from_bytes(saved.part("columns"))
    count, rows = source.num_rows, None
    if not saved.part("rows").is_none:
        names, columns = [], []
        for name, part in saved.part("rows").members():
            names.append(name)
            columns.append(restored_values(part, count))
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        saved.check(len(rows) == count, "there is not a row for each")
    misfits = {
        name: tuple(_restored_misfits(part, count) for part in found.parts())
        for name, found in saved.part("misfits").members()
    }
    texts = {name: restored_values(p, count) for name, p in saved.part("texts").members()}
    saved.check(misfits.keys() <= texts.keys(), "a misfit has no text")
    return Input(
        source,
        None if type_name.is_none else type_name.text(),
        {name: DataError(part.text()) for name, part in saved.part("unreadable").members()},
        is_sparse=saved.part("is_sparse").flag(),
        rows=rows,
        misfits=misfits,
        texts=texts,
    )


def _restored_misfits(saved: Saved, count: int) -> tuple[str, Numbers]:
    why, rows = saved.parts(2)
    return why.text(), rows.array(None, low=0, high=count - 1)


def _table(table: Input) -> pa.Table:
    """Return all columns of a table, proved since they will be copied."""
    source = table.proved().source
    return source if isinstance(source, pa.Table) else pa.Table.from_batches([source])


def _rows(table: pa.Table, rows: Numbers) -> pa.Table:
    """Select rows of a table chunk by chunk, each with its dictionary."""
    if not len(rows):
        return table.slice(0, 0)
    if rows[-1] - rows[0] == len(rows) - 1:
        return table.slice(int(rows[0]), len(rows))
    batches = table.to_batches()
    shared = zip(batches, by_part(rows, [batch.num_rows for batch in batches]), strict=True)
    return pa.concat_tables([_rows_of_batch(batch, own) for batch, own in shared if len(own)])


def _rows_of_batch(batch: pa.RecordBatch, rows: Numbers) -> pa.Table:
    places = pa.array(rows)
    try:
        return pa.Table.from_batches([batch.take(places)])
    except pa.ArrowNotImplementedError:  # Arrow cannot select single rows of views and runs
        slices = [batch.slice(int(run[0]), len(run)) for run in runs(rows)]
        return pa.Table.from_batches(slices)


def _own(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Copy a column into one chunk, with a dictionary of only the values that occur."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return _one(column)
    if pa.types.is_dictionary(kind.value_type) or is_of_extensions(kind):
        # Arrow writes these, but cannot read them.
        plain = list(map(decoded, column.chunks))
        return _own(pa.chunked_array(plain, kind.value_type))
    try:
        coded = column.cast(kind.value_type).dictionary_encode()
        chunks = [indexed(chunk, kind) for chunk in coded.chunks]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return column  # Arrow cannot encode the values, or the indexes are too narrow
    return _one(pa.chunked_array(chunks, kind))


def _one(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not column.num_chunks:
        return column  # Arrow may fail to make an empty chunk
    try:
        whole = column.combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # such as runs of extensions
        return column
    return whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])
