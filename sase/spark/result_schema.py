"""The DataFrame of results: its schema, and its rows on the driver.

Batches of Arrow travel as bytes in rows, in a cluster as over Connect, those of a task at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.binding.bound import BoundComponent
from sase.engine.columns.input import Inputs
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.reader import result_schema
from sase.planning.plan import EnginePlan
from sase.spark.arrow_map import map_in_arrow
from sase.spark.result_order import ORDER
from sase.spark.row_layout import from_bytes, to_bytes
from sase.spark.set_search import SetPlan, shown_schema
from sase.spark.source import FrameSource

BATCH = "batch"
_FLOATS = ("float", "double")


def spark_schema(plan: EnginePlan, source: FrameSource) -> st.StructType:
    """The columns of results: structs with the types that their attributes have in the events."""
    made = result_schema(Pipeline(plan, streaming=True), source.empty)
    by_variable = {each.variable: each for each in plan.positives}
    fields = []
    for field in made:
        kind = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        if plan.returned.columns is None and field.name in by_variable:
            kind = _bound(field.type, by_variable[field.name], source)
        fields.append(st.StructField(field.name, kind))
    return st.StructType(fields)


def _bound(shown: pa.DataType, component: BoundComponent, source: FrameSource) -> st.DataType:
    """The events of a component, or the iterations of a repeated group."""
    if component.group is None:
        return _events(shown, component.types, source)
    inside = {each.variable: each.types for each in component.group.variables}
    fields = [
        st.StructField(each.name, _events(each.type, inside[each.name], source))
        for each in shown.value_type
    ]
    return st.ArrayType(st.StructType(fields))


def _events(shown: pa.DataType, types: Collection[str] | None, source: FrameSource) -> st.DataType:
    """One event, or a list of them."""
    if pa.types.is_list(shown):
        return st.ArrayType(struct_of(shown.value_type, types, source))
    return struct_of(shown, types, source)


def struct_of(
    shown: pa.StructType, types: Collection[str] | None, source: FrameSource
) -> st.StructType:
    """A struct of attributes, with the types that they have in the DataFrames."""
    frames = [f for f in source.frames if types is None or f.type_name in (None, *types)]
    fields = []
    for field in shown:
        kinds = [frame.kind(field.name) for frame in frames if field.name in frame.fields]
        alike = len({kind.json() for kind in kinds}) == 1
        # Times in seconds as floats are shown as the microseconds that they count as.
        is_counted = pa.types.is_integer(field.type) and kinds[0].typeName() in _FLOATS
        kind = (
            kinds[0]
            if alike and not is_counted
            else from_arrow_type(field.type, prefer_timestamp_ntz=True)
        )
        fields.append(st.StructField(field.name, kind))
    return st.StructType(fields)


def with_order(schema: st.StructType) -> st.StructType:
    """The columns of results, and what they are ordered by."""
    return st.StructType([*schema.fields, st.StructField(ORDER, st.ArrayType(st.LongType()))])


def set_schema(form: SetPlan, source: FrameSource, columns: tuple[list[str], ...]) -> st.StructType:
    """The columns of the collapsed form, of events that have some columns by their DataFrame."""
    tables = tuple(
        replace(table, source=table.source.select(names))
        for table, names in zip(source.empty.tables, columns, strict=True)
    )
    shown = shown_schema(form, Inputs(tables, typed=source.is_typed))
    return st.StructType([_field(each, form, source) for each in shown])


def _field(shown: pa.Field, form: SetPlan, source: FrameSource) -> st.StructField:
    match shown.name:
        case "key":
            kind: st.DataType = struct_of(shown.type, None, source)
        case "events":
            lists = [
                st.StructField(each.name, _events(each.type, component.types, source))
                for each, component in zip(shown.type, form.plan.positives, strict=True)
            ]
            kind = st.StructType(lists)
        case _:
            kind = from_arrow_type(shown.type, prefer_timestamp_ntz=True)
    return st.StructField(shown.name, kind)


# ---------------------------------------------------------------- the rows


def in_order(found: DataFrame) -> DataFrame:
    """Results by when they were detected; which of those of the same moment is first, is open."""
    return found.orderBy("detected_at", "ts_end", "ts_start")


def schema_of(found: DataFrame) -> pa.Schema:
    """The columns as Arrow has them."""
    zone = found.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    schema: pa.Schema = to_arrow_schema(found.schema, timezone=zone)
    return schema


def batches_of(found: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows in batches, in their order."""
    schema = schema_of(found)
    for row in map_in_arrow(found, packed, f"{BATCH} binary").toLocalIterator():
        yield from from_bytes(row[0]).cast(schema).to_batches()


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as bytes, each in a row."""
    for batch in batches:
        if batch.num_rows:
            yield pa.record_batch([[to_bytes(batch)]], names=[BATCH])
