"""Results of a DataFrame on the driver, batch by batch: in a file, as text, or the first of them.

Batches of Arrow travel as bytes in rows, which works in a cluster and over Connect alike, and never
holds more than the results of one task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from sase.spark.result_schema import arrow_schema

BATCH = "batch"


def in_order(found: DataFrame) -> DataFrame:
    """Results by when they were detected; which of those of the same moment is first, is open."""
    return found.orderBy("detected_at", "ts_end", "ts_start")


def schema_of(found: DataFrame) -> pa.Schema:
    """The columns as Arrow has them."""
    zone = found.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    return arrow_schema(found.schema, zone)


def batches_of(found: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows in batches, in their order."""
    schema = schema_of(found)
    for row in found.mapInArrow(packed, f"{BATCH} binary").toLocalIterator():
        with pa.ipc.open_stream(pa.py_buffer(row[0])) as reader:
            yield from reader.read_all().cast(schema).to_batches()


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as bytes, each in a row."""
    for batch in batches:
        if batch.num_rows:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch([[sink.getvalue().to_pybytes()]], names=[BATCH])
