"""Output `non_overlap` over the matches of all parts: a second step.

Tasks add to each match its sort keys, its first and last event, and its partition.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.kernels.scan.result_order import select_disjoint
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.errors import DataError
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import Transformation, exchanged, require
from sase.spark.partitioning import Cut
from sase.spark.reading.arrow_map import map_in_arrow
from sase.spark.result_schema import with_order
from sase.spark.tasks.result_order import HEAD, ORDER, PARTITION, SPAN, results_of
from sase.spark.tasks.task import COUNT
from sase.spark.tasks.task_limits import checked, within


def with_overlaps(plan: EnginePlan) -> EnginePlan:
    """The plan of all matches, with overlaps."""
    top = require(plan.operators, Transformation)
    top = replace(top, non_overlapping=None, prunes=False)
    return replace(plan, operators=exchanged(plan.operators, top))


def has_whole_partitions(cut: Cut, plan: EnginePlan) -> bool:
    """Whether one task finds all matches of a partition, so that it can choose among them."""
    if cut.slices is not None or cut.files is not None:
        return False
    keys = plan.split.keys
    return cut.parts == 1 or (bool(cut.keys) and all(test in keys for test in cut.keys))


def with_places(schema: st.StructType) -> st.StructType:
    """The columns of results, with those for the second step."""
    numbers = st.ArrayType(st.LongType())
    return with_order(schema).add(SPAN, numbers).add(PARTITION, st.StringType())


def non_overlapping(
    results: DataFrame,
    parts: int,
    schema: st.StructType,
    gives: Literal["results", "count"],
    limits: Limits = UNLIMITED,
) -> DataFrame:
    """Repartition all matches, and keep those that do not overlap, or count them by part."""
    partition, order = sf.col(f"`{PARTITION}`"), sf.col(f"`{ORDER}`")
    part = sf.pmod(sf.xxhash64(partition), sf.lit(parts)).cast("int")
    placed = results.repartitionById(parts, part).sortWithinPartitions(partition, order)
    return map_in_arrow(placed, NonOverlap(tuple(schema.names), gives, limits), schema)


@dataclass(frozen=True)
class NonOverlap:
    """Keeps the first match of each partition, then the first one after it, and so on."""

    names: tuple[str, ...]
    gives: Literal["results", "count"] = "results"
    limits: Limits = UNLIMITED

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The columns of the kept matches, or their number."""
        yield from within(self.limits, lambda guard: self._taken(checked(batches, guard)))

    def _taken(self, batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
        selection, count = _Selection(), 0
        for batch in batches:
            keep = selection.of(batch)
            taken = int(keep.sum())
            count += taken
            if taken and self.gives == "results":
                yield batch.filter(pa.array(keep)).select(self.names)
        if self.gives == "count":
            yield pa.record_batch([[f"{count:x}"]], schema=COUNT)


@dataclass
class _Selection:
    """Selects matches partition by partition, in order."""

    # The last row of all, and the last event of the match kept last.
    last: pa.RecordBatch | None = None
    end: Numbers = field(default_factory=lambda: np.zeros(2, np.int64))

    def of(self, batch: pa.RecordBatch) -> Mask:
        """Mask the matches of a batch to keep."""
        partitions = _with_last(self.last, batch, PARTITION)
        differs = pc.not_equal(partitions.slice(1), partitions.slice(0, len(partitions) - 1))
        is_new = differs.to_numpy(zero_copy_only=False)
        self._check(batch, is_new)
        # Without an earlier match, the first one begins a partition.
        continues = self.last is not None and not is_new[0]
        groups = np.cumsum(is_new[len(is_new) - batch.num_rows + 1 :], dtype=np.int64)
        groups = np.append(np.zeros(1, np.int64), groups)
        spans = batch.column(SPAN).flatten().to_numpy().reshape(batch.num_rows, -1)
        begins, ends, ended = _ranks(spans[:, :2], spans[:, 2:], self.end)
        taken = np.full(int(groups[-1]) + 1, EARLIEST, np.int64)
        if continues:
            taken[0] = ended
        keep = np.empty(batch.num_rows, np.bool_)
        select_disjoint(groups, begins, ends, taken, keep)
        if keep.any():  # the first match of each partition is kept
            self.end = spans[np.flatnonzero(keep)[-1], 2:]
        self.last = batch.slice(batch.num_rows - 1)
        return keep

    def _check(self, batch: pa.RecordBatch, is_new: Mask) -> None:
        """Refuse matches with tied last events from several tasks; one task refuses the events."""
        results = results_of(_with_last(self.last, batch, ORDER))
        heads, parts = results[:, :HEAD], results[:, HEAD]
        is_equal = (heads[1:] == heads[:-1]).all(axis=1) & (parts[1:] != parts[:-1])
        undecided = np.flatnonzero(is_equal & ~is_new)
        if len(undecided):
            rows = pa.Table.from_batches([batch] if self.last is None else [self.last, batch])
            raise DataError(_undecided(rows.slice(int(undecided[0]), 2)))


def _with_last(last: pa.RecordBatch | None, batch: pa.RecordBatch, name: str) -> Any:
    """A column, after the value of the previous row."""
    column = batch.column(name)
    return column if last is None else pa.concat_arrays([last.column(name), column])


def _ranks(begins: Numbers, ends: Numbers, end: Numbers) -> tuple[Numbers, Numbers, int]:
    """Rank events by time and `seq`."""
    every = np.concatenate([begins, ends, end[None]])
    _, ranks = np.unique(every, axis=0, return_inverse=True)
    ranks = ranks.reshape(-1).astype(np.int64)
    count = len(begins)
    return ranks[:count], ranks[count : 2 * count], int(ranks[-1])


def _undecided(rows: pa.Table) -> str:
    shown = rows.drop_columns([ORDER, SPAN, PARTITION]).to_pylist()
    return (
        "non_overlap takes the first of matches that overlap, and which of these is first is not"
        f" decided, as their last events are equal in time and `seq`: {shown[0]} and {shown[1]};"
        " give a `seq` that numbers events without repeating"
    )
