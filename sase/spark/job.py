"""A Spark job: the rows of inputs, their parts, and the search of each part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.spark.parquet import FilesTask
from sase.spark.partitioning import Cut
from sase.spark.reading.arrow_map import map_in_arrow
from sase.spark.reading.columns import column
from sase.spark.reading.row_layout import PART
from sase.spark.reading.slice_bounds import slice_parts
from sase.spark.reading.source import Frame
from sase.spark.reading.source_scan import SourceScan, united
from sase.spark.tasks.search import QuerySearch, ScriptSearch
from sase.spark.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Job:
    """A query, or statements of a script, over the rows of scans, and the cut of these rows.

    The results have the columns of `schema`. The limits apply to each task.
    """

    search: QuerySearch | ScriptSearch
    schema: st.StructType
    scans: tuple[SourceScan, ...]
    cut: Cut
    limits: Limits = UNLIMITED

    def found(self) -> DataFrame:
        """The results of a task for each part; nothing runs before an action."""
        cut, slack = self.cut, max(scan.slack for scan in self.scans)
        task = Task(self.search, cut.whole, cut.slices, slack, self.limits)
        if cut.files is not None:
            (scan,) = self.scans
            (frame,) = scan.source.frames
            columns = map(scan.source.arrow_schema(frame).field, scan.columns(frame))
            reads = FilesTask(task, cut.files, pa.schema(list(columns)))
            numbers = scan.source.spark.range(0, cut.parts, 1, cut.parts)
            return map_in_arrow(numbers, reads, self.schema)
        rows = united(scan.placed(cut.keys, partial(self.part, scan)) for scan in self.scans)
        placed = rows.repartitionById(cut.parts, column(PART))
        ordered = placed.sortWithinPartitions(*map(column, self.search.order))
        return map_in_arrow(ordered, task, self.schema)

    def rows_with_parts(self) -> DataFrame:
        """The rows for tasks, each once, with the list of its parts; the cut has slices."""
        return united(scan.placed(self.cut.keys, partial(self._parts, scan)) for scan in self.scans)

    def part(self, scan: SourceScan, frame: Frame) -> Column:
        """The part of a row; a row with several parts is repeated, once for each."""
        cut = self.cut
        if cut.slices is not None:
            return sf.explode(self._parts(scan, frame))
        if cut.keys:
            number = scan.key(frame, cut.keys)
        elif cut.whole > 1:  # for single events, any part will do
            number = sf.coalesce(scan.time(frame), sf.lit(0))
        else:
            return sf.lit(0)
        return sf.pmod(number, sf.lit(cut.whole)).cast("int")

    def _parts(self, scan: SourceScan, frame: Frame) -> Column:
        """All parts of a row, for a cut with slices; mostly one."""
        cut = self.cut
        assert cut.slices is not None
        first, last = slice_parts(scan.time(frame), cut.slices, cut.whole)
        one, has_several = first, first < last
        if cut.keys:
            key = scan.key(frame, cut.keys)
            is_hot = key.isin(*cut.hot)
            one = sf.when(is_hot, first).otherwise(sf.pmod(key, sf.lit(cut.whole)).cast("int"))
            has_several = is_hot & has_several
        return sf.when(has_several, sf.sequence(first, last)).otherwise(sf.array(one))
