"""All matches of a replay as a set: which plan says what is asked of it, and what comes out."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type

from sase.api.compiled_query import CompiledQuery
from sase.engine.columns.input import Inputs
from sase.engine.plan import EnginePlan
from sase.errors import PlanError
from sase.planning.collapse import collapsible
from sase.planning.nodes import Transformation, exchanged, require
from sase.planning.optimizer import Optimized
from sase.planning.replay import set_declined
from sase.spark.result_schema import struct_of
from sase.spark.set_search import SetPlan, shown_schema
from sase.spark.source import FrameSource


def form_of(known: CompiledQuery, plan: EnginePlan) -> SetPlan:
    """Plan the set of all matches: by a graph of events, or else by the plan itself."""
    basic = exchanged(known.basic, replace(require(known.basic, Transformation), limit=None))
    made = collapsible(basic)
    keys = tuple(dict.fromkeys(test.attribute for test in known.bound.equivalences))
    if made.reasons:
        return SetPlan(plan, keys, made.reasons)
    engine = known.plan(Optimized.of(made.plan)).engine
    return SetPlan(replace(engine, on_bad_row=plan.on_bad_row), keys)


def check_set(known: CompiledQuery) -> None:
    """Refuse the collapsed form where tasks cannot give their share of it."""
    why = set_declined(known.basic)
    if why:
        raise PlanError(f'output="compressed" cannot be taken on Spark: {why}')


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
            components = zip(shown.type, form.plan.positives, strict=True)
            lists = (
                st.StructField(
                    each.name,
                    st.ArrayType(struct_of(each.type.value_type, component.types, source)),
                )
                for each, component in components
            )
            kind = st.StructType(list(lists))
        case _:
            kind = from_arrow_type(shown.type, prefer_timestamp_ntz=True)
    return st.StructField(shown.name, kind)
