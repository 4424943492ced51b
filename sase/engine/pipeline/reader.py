"""A stream of record batches in, a stream of record batches out: each is made when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from sase.engine.columns import opened
from sase.engine.columns.foreign import foreign_table, is_of_spark
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.results.arrow_columns import result_type
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.errors import DataError, PlanError


def read_through(
    pipeline: Pipeline,
    events: object,
    push: Callable[[pa.RecordBatch], Matches],
    finish: Callable[[], Matches],
) -> pa.RecordBatchReader:
    """The matches in the batches of a reader, each of which is pushed when it is asked for."""
    reader = _reader(events)
    schema = result_schema(pipeline, reader.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        while (batch := _next(reader, pipeline.reorder_buffer.arrived)) is not None:
            yield from _parts(pipeline, push(batch), schema)
        yield from _parts(pipeline, finish(), schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _reader(events: object) -> pa.RecordBatchReader:
    if isinstance(events, pa.RecordBatchReader):
        return events
    if isinstance(events, pa.Table):
        return events.to_reader()
    foreign = foreign_table(events)
    if hasattr(events, "__arrow_c_stream__") and not is_of_spark(events):
        try:
            return pa.RecordBatchReader.from_stream(events)
        except pa.ArrowException as problem:
            raise DataError(f"Arrow cannot read these events: {problem}") from problem
    what, remedy = f"of type {type(events).__name__}", "push its parts, or make a reader of them"
    if foreign is not None:
        what, remedy = foreign.what, foreign.remedy
    raise DataError(
        f"a stream of matches is made of a pyarrow RecordBatchReader, and this is {what}: {remedy}"
    )


def _next(reader: pa.RecordBatchReader, row: int) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except (OSError, pa.ArrowException) as problem:
        raise DataError(f"the events cannot be read beyond row {row}: {problem}") from problem


def _parts(pipeline: Pipeline, matches: Matches, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One batch of the matches of a push, so that none wait when the next one is read."""
    if not len(matches):
        return
    table = matches.to_arrow()
    try:
        table = table.cast(schema)
    except pa.ArrowInvalid as problem:
        raise DataError(
            f"results do not fit the types that all results of this stream have: {problem}"
        ) from problem
    parts = table.combine_chunks().to_batches()
    for number, part in enumerate(parts, 1):
        pipeline.state.is_undelivered = number < len(parts)  # beyond what Arrow holds in one
        yield part


def result_schema(pipeline: Pipeline, given: object) -> pa.Schema:
    """What the results of all pushes look like, before there are any; `given` are empty events."""
    inputs = opened(given)
    history = RowHistory((HistorySegment.of(0, inputs, pipeline.load_again(inputs)),))
    for column in pipeline.shape.columns or ():
        if result_type(column.value, None) is None:
            raise PlanError(
                f"the type of the result `{column.name}` is not known before there is one, and a"
                " stream has one for all: compile the query with the schema of the reader"
            )
    return MatchBatch(pipeline.shape, history).table().schema
