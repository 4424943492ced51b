"""Run statements of a script over one part of their inputs, in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.engine.scripts.plan import ScriptPlan
from sase.errors import DataError
from sase.planning.replay import SlicePlan
from sase.spark.row_layout import PART, SEQ, TIME, gathered, packed, whole_moments
from sase.spark.task import owned_by

# The column that says whose result a row is.
STATEMENT = "#statement"


@dataclass(frozen=True)
class ScriptTask:
    """A search of one part for all statements of a plan: a row names its statement by number."""

    plan: ScriptPlan
    statements: tuple[str, ...]
    output: pa.Schema
    slices: SlicePlan | None = None
    slack: int = 0
    # Why the order of simultaneous events matters, if it does.
    ordering: str = ""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of all statements in the rows of a part."""
        blocks = gathered(batches)
        pipeline, part = ScriptPipeline(self.plan), None
        for rows in whole_moments(blocks, TIME, self.slack):
            part = rows.column(PART)[0].as_py() if part is None else part
            for number, each in enumerate(self.plan.inputs):
                column = rows.column(packed(number))
                if self.ordering:
                    refuse_ties(rows.filter(column.is_valid()), self.ordering)
                own = column.filter(column.is_valid()).combine_chunks()
                if len(own):
                    events = pa.Table.from_struct_array(own)
                    yield from self._shown(pipeline.push(each.name, events), part)
        if part is not None:
            yield from self._shown(pipeline.finish(), part)

    def _shown(self, found: Mapping[str, Matches], part: int) -> Iterator[pa.RecordBatch]:
        owned = None if self.slices is None else self.slices.owned(part)
        for name, matches in found.items():
            for batch in matches.parts:
                assert isinstance(batch, MatchBatch)
                own = owned_by(owned, batch)
                if len(own):
                    table = in_columns(self.output, self.statements, name, own)
                    yield from table.to_batches()


def refuse_ties(rows: pa.Table, ordering: str) -> None:
    """Refuse two events of an input that nothing orders, of rows in the order of time."""
    same = [np.diff(rows.column(name).to_numpy()) == 0 for name in (TIME, SEQ)]
    if (same[0] & same[1]).any():
        raise DataError(
            f"two events have the same time and the same number, or of imprecise time both times"
            f" the same, and {ordering}: give simultaneous events numbers that differ in the column"
            " of  seq=…"
        )


def in_columns(
    output: pa.Schema, statements: Sequence[str], name: str, found: MatchBatch
) -> pa.Table:
    """Results in the column of their statement, beside the number of that."""
    number, table = statements.index(name), found.table()
    kind = output.field(number + 1).type
    shown = table.cast(pa.schema(list(kind))).combine_chunks()
    columns = [pa.nulls(len(table), field.type) for field in output]
    columns[0] = pa.repeat(pa.scalar(number, pa.int32()), len(table))
    columns[number + 1] = shown.to_struct_array().combine_chunks()
    return pa.table(columns, schema=output)
