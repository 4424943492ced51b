"""The search of the rows of parts and buckets: a query, or the statements of a script.

Both open a pipeline that accepts rows and returns matches by statement, and convert these to
tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sase.base.interface import option
from sase.binding import Schema
from sase.binding.bound import EquivalenceTest
from sase.cached_property import cached_property
from sase.engine.pipeline.checkpoint import restored
from sase.engine.pipeline.limits import RunGuard, check_of, watch_of
from sase.engine.pipeline.matcher import Matcher
from sase.engine.results.arrow_columns import structs
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.scripts.checkpoint import script_checkpoint, script_restored
from sase.engine.scripts.lone_statement import LoneStatement
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.engine.scripts.plan import ScriptPlan
from sase.errors import DataError
from sase.planning.engine_plan import EnginePlan
from sase.spark.reading.row_layout import SEQ, TIME, RowLayout, packed
from sase.spark.reading.ties import Ties, agreed_by_results
from sase.spark.tasks.set_search import SetPlan

Gives: TypeAlias = Literal["results", "count", "compressed", "metrics"]
Found: TypeAlias = tuple[str | None, Mapping[str, Matches]]
# The column with the number of the statement of a result.
STATEMENT = "#statement"
# The lateness of a plan in which only the watermark advances time.
UNBOUNDED = 2**63 - 1


@dataclass(frozen=True)
class QuerySearch:
    """A lone query over rows of a layout, and the form of its results."""

    plan: EnginePlan
    shape: RowLayout
    output: pa.Schema
    limit: int | None = None
    gives: Gives = "results"
    # The plan of the set of all matches, if these are not enumerated.
    form: SetPlan | None = None
    # The tests of the partitions in which results must not overlap, or None.
    non_overlapping: tuple[EquivalenceTest, ...] | None = None

    @property
    def inputs(self) -> dict[str | None, Schema]:
        """The schema of the only input, which has no name."""
        return {None: self.plan.schema}

    def unbounded(self) -> QuerySearch:
        """The same search in which only the watermark advances time."""
        return replace(self, plan=replace(self.plan, lateness=UNBOUNDED))

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which rows are sorted, the time first."""
        return self.shape.order(self.plan.schema)

    @property
    def by_first(self) -> bool:
        """Whether the slice of the first event owns a match."""
        return self.plan.split.by_first

    @cached_property
    def _ties(self) -> Ties | None:
        """The check for tied events, if their order matters."""
        within = self.non_overlapping
        if within is None and self.limit is not None and self.gives == "results":
            within = agreed_by_results(self.plan)
        is_ordered = self.plan.counts_events or within is not None
        return Ties(self.plan, self.shape, within) if is_ordered else None

    def opened(self, guard: RunGuard | None = None, snapshot: bytes | None = None) -> LoneStatement:
        """Open the query, new or from a snapshot; the guard applies to each call."""
        if snapshot is None:
            return LoneStatement(Matcher(self.plan, guard=guard))
        return LoneStatement(Matcher.of(restored(self.plan, snapshot, guard=guard), guard))

    def snapshot(self, query: LoneStatement) -> bytes:
        """The state from which the query continues."""
        return query.snapshot()

    def of_part(self, guard: RunGuard | None) -> LoneStatement:
        """Open the query anew; the guard applies to all calls together."""
        return LoneStatement(Matcher(self.plan, watch=watch_of(guard), check=check_of(guard)))

    def pushed(
        self, query: LoneStatement, rows: pa.Table, *, is_sorted: bool = False
    ) -> Iterator[Found]:
        """Push rows; those of a part are sorted, and not before those of an earlier push."""
        with self.shape.showing(rows):
            found = query.push(None, self.shape.events(rows), is_ordered=is_sorted)
        if self._ties is not None:
            self._ties.check(rows, query.take_quarantined()[None], is_sorted=is_sorted)
        yield None, found

    def table(self, name: str, matches: MatchBatch) -> pa.Table:
        """Results as columns of the output."""
        return matches.table().cast(self.output)


@dataclass(frozen=True)
class ScriptSearch:
    """Statements over rows with a struct for each input; results have the number of a statement."""

    order: ClassVar[tuple[str, ...]] = (TIME, SEQ)
    limit: ClassVar[int | None] = None
    gives: ClassVar[Gives] = "results"
    by_first: ClassVar[bool] = False

    plan: ScriptPlan
    statements: tuple[str, ...]
    output: pa.Schema
    # Why the order of simultaneous events matters; empty if it does not.
    ordering: str = ""

    @property
    def inputs(self) -> dict[str | None, Schema]:
        """The schemas of inputs by name."""
        return {each.name: each.schema for each in self.plan.inputs}

    def unbounded(self) -> ScriptSearch:
        """The same search in which only the watermark advances time."""
        inputs = tuple(replace(each, lateness=UNBOUNDED) for each in self.plan.inputs)
        return replace(self, plan=ScriptPlan(inputs, self.plan.statements))

    def opened(
        self, guard: RunGuard | None = None, snapshot: bytes | None = None
    ) -> ScriptPipeline:
        """Open the statements, new or from a snapshot."""
        if snapshot is None:
            return self.of_part(guard)
        return script_restored(self.plan, snapshot, guard=guard)

    def snapshot(self, pipeline: ScriptPipeline) -> bytes:
        """The state from which the statements continue."""
        return script_checkpoint(pipeline)

    def of_part(self, guard: RunGuard | None) -> ScriptPipeline:
        """Open the statements anew."""
        return ScriptPipeline(self.plan, check=check_of(guard))

    def pushed(
        self, pipeline: ScriptPipeline, rows: pa.Table, *, is_sorted: bool = False
    ) -> Iterator[Found]:
        """Push the rows of each input that has rows."""
        for number, each in enumerate(self.plan.inputs):
            at = rows.schema.get_field_index(packed(number))
            own = rows.slice(0, 0) if at < 0 else rows.filter(rows.column(at).is_valid())
            if not len(own):
                continue
            if self.ordering:
                by = [(name, "ascending") for name in self.order]
                self._refuse_ties(own if is_sorted else own.sort_by(by))
            events = pa.Table.from_struct_array(own.column(at).combine_chunks())
            yield each.name, pipeline.push(each.name, events)

    def _refuse_ties(self, rows: pa.Table) -> None:
        """Refuse two events of an input with the same time and number; the rows are sorted."""
        same = [np.diff(rows.column(name).to_numpy()) == 0 for name in self.order]
        if (same[0] & same[1]).any():
            raise DataError(
                f"two events have the same time and the same number, or of imprecise time both"
                f" times the same, and {self.ordering}: give simultaneous events numbers that"
                f" differ in the column of  {option('seq')}"
            )

    def table(self, name: str, matches: MatchBatch) -> pa.Table:
        """Results in the column of their statement, with its number."""
        number, table = self.statements.index(name), matches.table()
        kind = self.output.field(number + 1).type
        shown = table.cast(pa.schema(list(kind))).combine_chunks()
        columns = [pa.nulls(len(table), field.type) for field in self.output]
        columns[0] = pa.repeat(pa.scalar(number, pa.int32()), len(table))
        columns[number + 1] = structs(shown).combine_chunks()
        return pa.table(columns, schema=self.output)


def pieces(found: Mapping[str, Matches]) -> Iterator[tuple[str, MatchBatch]]:
    """Matches by statement; those of a part come in pieces."""
    for name, matches in found.items():
        for part in matches.parts:
            assert isinstance(part, MatchBatch)
            yield from ((name, piece) for piece in part.pieces() if len(piece))
