"""The DataFrame of results: its schema, and its rows on the driver.

Batches of Arrow are sent as bytes in rows, on a cluster and over Connect, one batch at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrow.input import Inputs
from sase.engine.pipeline.matcher import result_schema
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.engine_plan import EnginePlan
from sase.spark.reading.arrow_map import map_in_arrow
from sase.spark.reading.row_layout import from_bytes, to_bytes
from sase.spark.reading.source import FrameSource
from sase.spark.tasks.result_order import ORDER
from sase.spark.tasks.set_search import SetPlan, shown_schema

BATCH = "batch"
_FLOATS = ("float", "double")


def spark_schema(plan: EnginePlan, source: FrameSource) -> st.StructType:
    """The columns of results: structs with the same types of attributes as in the events."""
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
    """A struct of attributes, with their types in the DataFrames."""
    frames = [f for f in source.frames if types is None or f.type_name in (None, *types)]
    fields = []
    for field in shown:
        kinds = [frame.kind(field.name) for frame in frames if field.name in frame.fields]
        alike = len({kind.json() for kind in kinds}) == 1
        # Times in seconds as floats are shown in microseconds, the unit of the engine.
        is_counted = pa.types.is_integer(field.type) and kinds[0].typeName() in _FLOATS
        kind = (
            kinds[0]
            if alike and not is_counted
            else from_arrow_type(field.type, prefer_timestamp_ntz=True)
        )
        fields.append(st.StructField(field.name, kind))
    return st.StructType(fields)


def with_order(schema: st.StructType) -> st.StructType:
    """The columns of results with the sort key."""
    return st.StructType([*schema.fields, st.StructField(ORDER, st.ArrayType(st.LongType()))])


def set_schema(form: SetPlan, source: FrameSource, columns: tuple[list[str], ...]) -> st.StructType:
    """The columns of the collapsed form; `columns` are those of the events of each DataFrame."""
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


def in_order(results: DataFrame) -> DataFrame:
    """Results in the order of detection; the order of simultaneous results is not defined."""
    return results.orderBy("detected_at", "ts_end", "ts_start")


def schema_of(results: DataFrame) -> pa.Schema:
    """The columns with the types of Arrow."""
    zone = results.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    schema: pa.Schema = to_arrow_schema(results.schema, timezone=zone)
    return schema


def batches_of(results: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows in batches, in their order."""
    schema = schema_of(results)
    for row in map_in_arrow(results, packed, f"{BATCH} binary").toLocalIterator():
        yield from from_bytes(row[0]).cast(schema).to_batches()


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as bytes, one in each row."""
    for batch in batches:
        if batch.num_rows:
            yield pa.record_batch([[to_bytes(batch)]], names=[BATCH])
