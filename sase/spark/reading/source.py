"""The source of events on Spark: one DataFrame, or one for each type."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_type

from sase.base.paths import path_of
from sase.binding.input_options import InputOptions
from sase.binding.schema import check_order
from sase.cached_property import cached_property
from sase.engine.columns.arrow.gate import prove_distinct
from sase.engine.columns.arrow.input import Input, Inputs
from sase.engine.sources.discovered import Discovered
from sase.errors import DataError, SchemaError
from sase.spark.reading.columns import column, type_within, value_within
from sase.spark.reading.row_layout import RowLayout


@dataclass(frozen=True, eq=False)
class Frame:
    """A DataFrame of events; `type_name` is set if all of them have this type."""

    df: DataFrame
    type_name: str | None

    @cached_property
    def fields(self) -> dict[str, st.StructField]:
        """The columns by name."""
        return {field.name: field for field in self.df.schema.fields}

    def __getitem__(self, name: str) -> Column:
        path = None if name in self.fields else path_of(name)
        return column(name) if path is None else value_within(column(path.column), path)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kind(name) is not None

    def type_names(self, name: str) -> Column:
        """The type column `name` as text."""
        is_text = isinstance(self.kind(name), st.StringType)
        return self[name] if is_text else self[name].cast("string")

    def kind(self, name: str) -> st.DataType:
        """The type of a column, or of a value within one."""
        found = self._kind(name)
        assert found is not None, "the column is there"
        return found

    def _kind(self, name: str) -> st.DataType | None:
        if name in self.fields:
            return self.fields[name].dataType
        path = path_of(name)
        if path is None or path.column not in self.fields:
            return None
        return type_within(self.fields[path.column].dataType, path)


@dataclass(frozen=True, eq=False)
class FrameSource:
    """All events; `zone` is the time zone of timestamps in Arrow."""

    frames: tuple[Frame, ...]
    zone: str

    @classmethod
    def of(cls, events: object) -> FrameSource:
        """Return the source that a caller gives."""
        if isinstance(events, Mapping):
            frames = tuple(_frame(df, name) for name, df in events.items())
            if not frames:
                raise DataError("a dict of DataFrames gives each type one, and this one is empty")
        else:
            frames = (_frame(events, None),)
        zone = frames[0].df.sparkSession.conf.get("spark.sql.session.timeZone")
        return cls(frames, zone or "UTC")

    @property
    def spark(self) -> SparkSession:
        """The session of the DataFrames."""
        return self.frames[0].df.sparkSession

    @property
    def is_typed(self) -> bool:
        """Whether each type has a DataFrame."""
        return self.frames[0].type_name is not None

    @property
    def shape(self) -> RowLayout:
        """The layout of its rows."""
        return RowLayout(tuple(f.type_name or "" for f in self.frames) if self.is_typed else ())

    @property
    def is_streaming(self) -> bool:
        """Whether the events are a stream."""
        return any(frame.df.isStreaming for frame in self.frames)

    def discovered(self, names: InputOptions) -> Discovered:
        """The description of the events for the engine, from a caller's options."""
        check_order(names.seq, "")
        self._refuse_text(names.time)
        return Discovered.of(self.empty, names)

    def _refuse_text(self, time: str | tuple[str, str]) -> None:
        """Refuse times that are text, which the tasks would have to read each in the same form."""
        for name in (time,) if isinstance(time, str) else time:
            if any(isinstance(kind, st.StringType) for kind in self.kinds(name)):
                raise SchemaError(
                    f"the time column `{name}` of the DataFrame is text: make it a timestamp, as by"
                    f'  df.withColumn("{name}", to_timestamp("`{name}`", "dd.MM.yyyy HH:mm"))  , in'
                    " which to_timestamp is of pyspark.sql.functions"
                )

    @cached_property
    def empty(self) -> Inputs:
        """Tables with the same columns and no rows, as events for the engine."""
        tables = tuple(
            Input(self.arrow_schema(frame).empty_table(), frame.type_name) for frame in self.frames
        )
        return Inputs(tables, typed=self.is_typed)

    def arrow_schema(self, frame: Frame) -> pa.Schema:
        """The columns of a DataFrame in Arrow; types that Arrow lacks become opaque bytes."""
        names = [field.name for field in frame.df.schema.fields]
        prove_distinct(names)
        kinds = (self.arrow_type(field.dataType) for field in frame.fields.values())
        return pa.schema([(n, k or pa.binary()) for n, k in zip(names, kinds, strict=True)])

    def arrow_type(self, kind: st.DataType) -> pa.DataType | None:
        """A type in Arrow; None if Spark cannot convert it to Arrow."""
        try:
            return to_arrow_type(kind, timezone=self.zone)
        except PySparkTypeError:
            return None

    def check_shown(self, names: set[str] | None) -> None:
        """Refuse columns of results that Spark cannot convert to Arrow."""
        for frame in self.frames:
            for name, field in frame.fields.items():
                if (names is None or name in names) and self.arrow_type(field.dataType) is None:
                    raise SchemaError(
                        f"Spark cannot hand `{name}`, of the type {field.dataType.simpleString()},"
                        " to Arrow: drop the column, cast it, or name the columns to show in RETURN"
                    )

    def kinds(self, name: str) -> Iterator[st.DataType]:
        """The types of a column in the DataFrames that have it."""
        return (frame.kind(name) for frame in self.frames if name in frame)

    @cached_property
    def mixed(self) -> frozenset[str]:
        """The columns with types that Spark does not coerce to one type."""
        names = {name for frame in self.frames for name in frame.fields}
        return frozenset(name for name in names if len(set(map(_family, self.kinds(name)))) > 1)


def plan_text(df: DataFrame, mode: str = "simple") -> str:
    """The output of `df.explain(mode)`, a public way to plans that also works on Connect."""
    with redirect_stdout(io.StringIO()) as shown:
        df.explain(mode=mode)
    return shown.getvalue().strip()


def _family(kind: st.DataType) -> object:
    """The family of types within which Spark coerces."""
    families = (st.NumericType, (st.DateType, st.TimestampType, st.TimestampNTZType))
    return next((family for family in families if isinstance(kind, family)), kind.json())


def _frame(df: Any, type_name: str | None) -> Frame:
    if not isinstance(type_name, str | None):
        raise DataError(f"a dict of DataFrames names their types, and {type_name!r} is no name")
    # A DataFrame of Spark Connect has its own class.
    if not isinstance(df, DataFrame):
        what = "" if type_name is None else f" for `{type_name}`"
        if isinstance(df, str):
            raise DataError(
                f"sase.spark takes a DataFrame of Spark{what}, and this is text: the query comes"
                " first, and then the DataFrame, such as  spark.read.parquet(path)"
            )
        raise DataError(
            f"sase.spark takes a DataFrame of Spark{what}, and this is of type"
            f" {type(df).__name__}: for other events there is  sase.match(…)"
        )
    return Frame(df, type_name)
