"""LIMIT over the results of all parts: a second step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.errors import DataError
from sase.spark.failing import told_alone
from sase.spark.task import ORDER


def limited(results: DataFrame, count: int, schema: st.StructType) -> DataFrame:
    """The first results, in the order of LANGUAGE.md section 6, of those that parts found first."""
    order = sf.col(f"`{ORDER}`")
    first = results.orderBy(order).limit(count + 1)
    alone = first.repartitionById(1, sf.lit(0)).sortWithinPartitions(order)
    return alone.mapInArrow(First(count), schema)


@dataclass(frozen=True)
class First:
    """Takes the first rows; of two that are equal in the order it cannot be said which is first."""

    count: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows without their order."""
        with told_alone():
            yield from self._first(batches)

    def _first(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        left, last = self.count, None
        for batch in batches:
            for order in batch.column(ORDER).to_pylist():
                if order == last:
                    raise DataError(_undecided(batch, order))
                last = order
            taken = batch.slice(0, left).drop_columns([ORDER])
            left -= taken.num_rows
            if taken.num_rows:
                yield taken


def _undecided(batch: pa.RecordBatch, order: list[int]) -> str:
    equal = [row for row in batch.to_pylist() if row.pop(ORDER) == order]
    return (
        "LIMIT takes the first results, and which of these is first is not decided, as events in"
        f" them are equal in time and `seq`: {' and '.join(map(str, equal))}; give a `seq` that"
        " numbers events without repeating"
    )
