"""The scan of DataFrames for tasks: filters, projection, and the part of each row.

Filters are pushed down here, because Spark's optimizer cannot look into `mapInArrow`. A bad row
always passes, so that the engine reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.binding.bound import BoundComponent, EquivalenceTest
from sase.binding.values.folding import INT64_MAX
from sase.cached_property import cached_property
from sase.engine.columns.decode.numbers import TOO_LONG
from sase.engine.columns.decode.time_column import (
    LONGEST,
    NO_TIME,
    before_earliest,
    beyond_latest,
    beyond_longest,
)
from sase.engine.columns.decode.type_codes import NO_TYPE
from sase.engine.columns.loader import NO_SEQ
from sase.errors import PlanError
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import Operator
from sase.planning.plan.traversal import conditions_on
from sase.spark.reading.columns import (
    FLOATS,
    all_of,
    any_of,
    has_key,
    is_bad_time,
    is_bad_value,
    key_hash,
    raw_time,
    slack_of,
)
from sase.spark.reading.predicates import as_column
from sase.spark.reading.row_layout import PART, SEQ, TIME, packed
from sase.spark.reading.source import Frame, FrameSource


class BadValue(NamedTuple):
    """A reason why a value of a column is bad, and the predicate for it."""

    column: str
    reason: str
    is_so: Column


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """All rows; columns that a DataFrame lacks are NULL."""
    return reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)


@dataclass(frozen=True, eq=False)
class SourceScan:
    """The rows of a source that a plan needs."""

    source: FrameSource
    plan: EnginePlan
    # Whether bad rows are dropped here, so that the engine does not report them.
    skips_bad: bool = False
    # Whether tasks return results; false if they only count.
    shows: bool = True
    # Columns that another plan of the query reads.
    also: frozenset[str] = frozenset()

    # ------------------------------------------------------------ columns of a row

    def time(self, frame: Frame) -> Column:
        """The raw time; for imprecise time, the earliest."""
        return self.raw_time(frame, self.plan.schema.time)

    def interval(self, frame: Frame) -> Column:
        """The length of the interval of an event of imprecise time."""
        assert self.plan.schema.until is not None
        until = self.raw_time(frame, self.plan.schema.until)
        # The difference of two numbers of 64 bits may need more bits.
        return until.cast("decimal(20,0)") - self.time(frame).cast("decimal(20,0)")

    def raw_time(self, frame: Frame, name: str) -> Column:
        """A column of time in raw units."""
        return raw_time(frame[name], frame.kind(name), self.plan.schema.time_type.resolution)

    @cached_property
    def slack(self) -> int:
        """The most by which raw times can be off."""
        names = self.plan.schema.times
        return max(slack_of(kind) for name in names for kind in self.source.kinds(name))

    def kinds(self, name: str) -> Iterator[st.DataType]:
        """The types of a key."""
        return self.source.kinds(name)

    def key(self, frame: Frame, tests: Sequence[EquivalenceTest]) -> Column:
        """A number that is equal for events that agree on the tests."""
        return key_hash([self._key(frame, test) for test in tests])

    def _key(self, frame: Frame, test: EquivalenceTest) -> tuple[Column, st.DataType, bool]:
        names = self.attributes_of(test)
        kinds = {kind.simpleString() for name in names.values() for kind in self.kinds(name)}
        return *self._value(frame, names), len(kinds) > 1

    def _value(self, frame: Frame, names: dict[str | None, str]) -> tuple[Column, st.DataType]:
        """The attribute of a test, which may depend on the type of the row."""
        if frame.type_name is not None:
            name = names.get(frame.type_name, names.get(None, ""))
            if name in frame:
                return frame[name], frame.kind(name)
            # No event of this type is in a match.
            kind = next(kind for other in names.values() for kind in self.source.kinds(other))
            return sf.lit(None).cast(kind), kind
        distinct = list(dict.fromkeys(names.values()))
        if len(distinct) == 1:
            return frame[distinct[0]], frame.kind(distinct[0])
        # With several names the types are equal, or the test cannot place rows.
        of_type = frame.type_names(self.plan.schema.type or "")
        value = reduce(
            lambda rest, item: sf.when(of_type == sf.lit(item[0]), frame[item[1]]).otherwise(rest),
            names.items(),
            sf.lit(None),
        )
        return value, frame.kind(distinct[0])

    def attributes_of(self, test: EquivalenceTest) -> dict[str | None, str]:
        """The attribute of a test by type; the key is None if all types have the same."""
        return dict(test.by_type) if test.by_type else {None: test.attribute}

    @cached_property
    def keys(self) -> tuple[EquivalenceTest, ...]:
        """The tests of the split that can place rows."""
        return tuple(filter(self._can_place, self.plan.split.keys))

    def _can_place(self, test: EquivalenceTest) -> bool:
        """Whether Spark can compute the key of a row before the engine reads it."""
        if test.attributes and not test.by_type:
            return False
        names = self.attributes_of(test)
        if len(set(names.values())) > 1 and not self.source.is_typed:
            (frame,) = self.source.frames
            alike = {frame.kind(name).simpleString() for name in names.values()}
            return self.plan.schema.type is not None and len(alike) == 1
        return all(
            names.get(frame.type_name, names.get(None)) in frame
            for frame in self.source.frames
            if self.may_match(frame)
        )

    def may_match(self, frame: Frame) -> bool:
        """Whether events of a DataFrame of one type may be in a match."""
        admitted = self.plan.types_wanted
        return frame.type_name is None or admitted is None or frame.type_name in admitted

    # ------------------------------------------------------------ bad rows

    def faults(self, frame: Frame) -> list[BadValue]:
        """All possible faults of a row (docs/semantics.md, Bad rows), with the engine's reasons."""
        schema = self.plan.schema
        found = [
            BadValue(name, NO_TIME, is_bad_time(frame[name], frame.kind(name)))
            for name in schema.times
        ]
        if schema.until is not None:
            is_before = self.raw_time(frame, schema.until) < self.time(frame)
            why = before_earliest(schema)
            found.append(BadValue(schema.until, why, sf.coalesce(is_before, sf.lit(False))))
            is_far = self.raw_time(frame, schema.until) == INT64_MAX
            is_far |= self.interval(frame) > LONGEST
            why = beyond_latest(schema)
            found.append(BadValue(schema.until, why, sf.coalesce(is_far, sf.lit(False))))
            if schema.longest is not None:
                is_long = sf.coalesce(self.interval(frame) > schema.longest, sf.lit(False))
                found.append(BadValue(schema.until, beyond_longest(schema), is_long))
        if schema.type is not None and not self.source.is_typed:
            found.append(BadValue(schema.type, NO_TYPE, frame[schema.type].isNull()))
        if schema.seq is not None:
            found.append(BadValue(schema.seq, NO_SEQ, frame[schema.seq].isNull()))
        for name in self.plan.attributes:
            if name in frame:
                bad = is_bad_value(frame[name], frame.kind(name))
                if bad is not None:
                    found.append(BadValue(name, TOO_LONG, bad))
        return found

    def is_bad(self, frame: Frame) -> Column:
        """Whether a row is bad."""
        return any_of(fault.is_so for fault in self.faults(frame))

    def bad_rows(self) -> DataFrame:
        """The bad rows without changes, each with its type, the column and the reason."""
        if not self.skips_bad:
            raise PlanError(
                'bad rows are an error here: say  on_bad_row="quarantine"  to have them'
            )
        frames, mixed = [], self.source.mixed
        for frame in self.source.frames:
            faults = self.faults(frame)
            of_type = [sf.lit(frame.type_name).alias("sase_type")] if self.source.is_typed else []
            column = sf.coalesce(*(sf.when(each.is_so, sf.lit(each.column)) for each in faults))
            reason = sf.coalesce(*(sf.when(each.is_so, sf.lit(each.reason)) for each in faults))
            frames.append(
                frame.df.filter(self.is_bad(frame)).select(
                    *of_type,
                    column.alias("sase_column"),
                    reason.alias("sase_reason"),
                    *(  # columns of different types become strings
                        (frame[name].cast("string") if name in mixed else frame[name]).alias(name)
                        for name in frame.fields
                    ),
                )
            )
        return united(frames)

    # ------------------------------------------------------------ rows and columns

    def is_needed(self, frame: Frame, tests: Sequence[EquivalenceTest]) -> Column | None:
        """Whether a row may be part of a match; None if every row may."""
        conditions = []
        if self.plan.types_wanted is not None:
            admitted = [
                self._is_admitted(frame, each, plan.operators)
                for plan in self.plan.branches or (self.plan,)
                for each in (*plan.positives, *plan.negatives)
            ]
            known = [each for each in admitted if each is not None]
            if len(known) == len(admitted):
                conditions.append(any_of(known))
        if len(self.plan.positives) + len(self.plan.negatives) > 1 and self.may_match(frame):
            # In a pattern of one event, its key is not compared, and may be NULL.
            named = (self.attributes_of(test) for test in tests)
            conditions += [has_key(*self._value(frame, names)) for names in named]
        return all_of(conditions) if conditions else None

    def _is_admitted(
        self, frame: Frame, component: BoundComponent, plan: Operator
    ) -> Column | None:
        """Whether a row may be an event of a component of a plan; None if every row may."""
        of_type, types = self.plan.schema.type, component.types or ()
        found = []
        if frame.type_name is not None:
            if frame.type_name not in types:
                return sf.lit(False)
        elif of_type is not None and not self.plan.definitions:
            found.append(frame.type_names(of_type).isin(sorted(types)))
        for condition in conditions_on(plan, component.index):
            known = as_column(condition, frame)
            found += [] if known is None else [known]
        return all_of(found) if found else None

    def columns(self, frame: Frame) -> list[str]:
        """The columns that tasks need: those that the plan reads; all if results show all."""
        if self.plan.scan.columns is None and self.shows:
            return list(frame.fields)
        return [name for name in frame.fields if name in self.plan.named | self.also]

    def placed(
        self, tests: Sequence[EquivalenceTest], part: Callable[[Frame], Column]
    ) -> DataFrame:
        """The needed rows, with the part of each; a row with several parts is repeated."""
        frames = []
        for frame in self.source.frames:
            if not self.may_match(frame) and self.skips_bad:
                continue
            bad, needed = self.is_bad(frame), self.is_needed(frame, tests)
            rows = frame.df
            if needed is not None:
                rows = rows.filter(~bad & needed if self.skips_bad else bad | needed)
            elif self.skips_bad:
                rows = rows.filter(~bad)
            frames.append(rows.select(*self.selected(frame), part(frame).alias(PART)))
        if not frames:
            # No event can be in a match.
            frame = self.source.frames[0]
            frames = [
                frame.df.limit(0).select(*self.selected(frame), sf.lit(0).cast("int").alias(PART))
            ]
        return united(frames)

    def selected(self, frame: Frame) -> list[Column]:
        """The columns sent to tasks; if they are in structs, with the sort columns."""
        names = self.columns(frame)
        if not self.source.is_typed:
            return [frame[name].alias(name) for name in names]
        schema = self.plan.schema
        kind, time = frame.kind(schema.time), frame[schema.time]
        number = self.source.frames.index(frame)
        is_float = isinstance(kind, FLOATS)
        found = [
            sf.struct(*(frame[name].alias(name) for name in names)).alias(packed(number)),
            (time.cast("double") if is_float else self.time(frame)).alias(TIME),
        ]
        if schema.until is not None:
            until = frame[schema.until]
            is_float = isinstance(frame.kind(schema.until), FLOATS)
            second = until.cast("double") if is_float else self.raw_time(frame, schema.until)
            found.append(second.alias(SEQ))
        if schema.seq is not None:
            found.append(frame[schema.seq].cast("bigint").alias(SEQ))
        return found
