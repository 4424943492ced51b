"""Output `non_overlap` over the matches of all parts: a second step.

Tasks give each match its sort keys, its first and last event, and its partition.
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
from sase.engine.kernels.scan.non_overlap import select_disjoint
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.errors import DataError
from sase.planning.nodes import Transformation, exchanged, require
from sase.planning.plan import EnginePlan
from sase.spark.arrow_map import map_in_arrow
from sase.spark.partitioning import Cut
from sase.spark.result_order import HEAD, ORDER, PARTITION, SPAN, results_of
from sase.spark.result_schema import with_order
from sase.spark.task import COUNT
from sase.spark.task_limits import checked, within


def with_overlaps(plan: EnginePlan) -> EnginePlan:
    """The plan of all matches."""
    top = require(plan.operators, Transformation)
    top = replace(top, non_overlapping=None, prunes=False)
    return replace(plan, operators=exchanged(plan.operators, top))


def has_whole_partitions(cut: Cut, plan: EnginePlan) -> bool:
    """Whether all matches of a partition are found by one task, which then chooses among them."""
    if cut.slices is not None or cut.files is not None:
        return False
    keys = plan.split.keys
    return cut.parts == 1 or (bool(cut.keys) and all(test in keys for test in cut.keys))


def with_places(schema: st.StructType) -> st.StructType:
    """The columns of results, and what the second step goes by."""
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
    """Takes of each partition the first match, and then the first behind it."""

    names: tuple[str, ...]
    gives: Literal["results", "count"] = "results"
    limits: Limits = UNLIMITED

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The columns of those that are taken, or how many there are."""
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
    """Goes through the matches partition by partition, in order."""

    # The last row of all, and the last event of the match taken last.
    last: pa.RecordBatch | None = None
    end: Numbers = field(default_factory=lambda: np.zeros(2, np.int64))

    def of(self, batch: pa.RecordBatch) -> Mask:
        """Mask the matches of a batch that are taken."""
        partitions = _with_last(self.last, batch, PARTITION)
        differs = pc.not_equal(partitions.slice(1), partitions.slice(0, len(partitions) - 1))
        is_new = differs.to_numpy(zero_copy_only=False)
        self._check(batch, is_new)
        # Without one before it the first match of all begins a partition.
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
        if keep.any():  # as the first of each partition is
            self.end = spans[np.flatnonzero(keep)[-1], 2:]
        self.last = batch.slice(batch.num_rows - 1)
        return keep

    def _check(self, batch: pa.RecordBatch, is_new: Mask) -> None:
        """Refuse matches whose last events tie: of several tasks, since one refuses the events."""
        results = results_of(_with_last(self.last, batch, ORDER))
        heads, parts = results[:, :HEAD], results[:, HEAD]
        is_equal = (heads[1:] == heads[:-1]).all(axis=1) & (parts[1:] != parts[:-1])
        undecided = np.flatnonzero(is_equal & ~is_new)
        if len(undecided):
            rows = pa.Table.from_batches([batch] if self.last is None else [self.last, batch])
            raise DataError(_undecided(rows.slice(int(undecided[0]), 2)))


def _with_last(last: pa.RecordBatch | None, batch: pa.RecordBatch, name: str) -> Any:
    """A column, behind the value that the row before has in it."""
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
