"""The schema of the DataFrame of results."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.reader import result_schema
from sase.engine.plan import EnginePlan
from sase.spark.result_order import ORDER
from sase.spark.source import FrameSource


def spark_schema(plan: EnginePlan, source: FrameSource) -> st.StructType:
    """The columns of results: structs with the types that their attributes have in the events."""
    made = result_schema(Pipeline(plan, streaming=True), source.empty)
    by_variable = {each.variable: each.types for each in plan.positives}
    fields = []
    for field in made:
        kind = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        if plan.returned.columns is None and field.name in by_variable:
            kind = _events(field.type, by_variable[field.name], source)
        fields.append(st.StructField(field.name, kind))
    return st.StructType(fields)


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
        kind = kinds[0] if alike else from_arrow_type(field.type, prefer_timestamp_ntz=True)
        fields.append(st.StructField(field.name, kind))
    return st.StructType(fields)


def with_order(schema: st.StructType) -> st.StructType:
    """The columns of results, and what they are ordered by."""
    return st.StructType([*schema.fields, st.StructField(ORDER, st.ArrayType(st.LongType()))])


def arrow_schema(schema: st.StructType, zone: str) -> pa.Schema:
    """The Arrow schema of a Spark schema."""
    return to_arrow_schema(schema, timezone=zone)
