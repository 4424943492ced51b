"""The rows of an input that statements of a script need, in the order of all inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.binding.bound import EquivalenceTest
from sase.engine.scripts.plan import InputPlan, StatementPlan
from sase.spark.reading.columns import any_of
from sase.spark.reading.row_layout import SEQ, TIME, packed
from sase.spark.reading.source import Frame, FrameSource
from sase.spark.reading.source_scan import SourceScan


@dataclass(frozen=True, eq=False, kw_only=True)
class InputScan(SourceScan):
    """The rows of an input that statements need, in a struct by its number.

    The plan is that of all events; it decides which rows are bad for all statements.
    """

    number: int
    input: InputPlan
    readers: tuple[StatementPlan, ...]
    # All inputs of the union of rows.
    sources: tuple[FrameSource, ...]

    def selected(self, frame: Frame) -> list[Column]:
        """The columns to read, and the time and order of a row."""
        schema, seq = self.plan.schema, sf.lit(0)
        if schema.seq is not None:
            seq = frame[schema.seq]
        if schema.until is not None:
            seq = self.raw_time(frame, schema.until)
        return [
            sf.struct(*(frame[n].alias(n) for n in self.columns(frame))).alias(packed(self.number)),
            self.time(frame).alias(TIME),
            seq.cast("bigint").alias(SEQ),
        ]

    def columns(self, frame: Frame) -> list[str]:
        """The columns that statements read; all columns if results show all."""
        plans = [each.plan for each in self.readers]
        if any(plan.scan.columns is None for plan in plans):
            return list(frame.fields)
        plans += [] if self.input.typing is None else [self.input.typing]
        named = frozenset(self.input.schema.roles).union(*(plan.named for plan in plans))
        return [name for name in frame.fields if name in named]

    def is_needed(self, frame: Frame, tests: Sequence[EquivalenceTest]) -> Column | None:
        """Whether a row may be part of a result, or is bad for a statement."""
        found = []
        for each in self.readers:
            scan = SourceScan(self.source, each.plan)
            needed = None if len(each.sources) > 1 else scan.is_needed(frame, ())
            if needed is None:
                return None
            found.append(any_of([scan.is_bad(frame), needed]))
        return any_of(found)

    def kinds(self, name: str) -> Iterator[st.DataType]:
        """The types of a key in all inputs."""
        return (kind for each in self.sources for kind in each.kinds(name))
