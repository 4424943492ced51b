"""Tables of other libraries are known by their class, with a remedy."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

import sase
from sase.engine.columns import describe
from sase.engine.sources import open_tables
from sase.errors import DataError

TABLE = pa.table({"ts": [1], "type": ["A"]})
QUERY = "EVENT A a"
# Ways in which a caller gives events.
FACES: dict[str, Callable[[Any], object]] = {
    "match": lambda events: sase.match(QUERY, events),
    "compile": lambda events: sase.compile(QUERY, events),
    "explain": lambda events: sase.explain(QUERY, events),
    "why": lambda events: sase.why(QUERY, events),
    "compare": lambda events: sase.compare(QUERY, events),
    "run": lambda events: sase.compile(QUERY, TABLE).run(events),
    "push": lambda events: sase.compile(QUERY, TABLE).open().push(events),
    "stream": lambda events: sase.compile(QUERY, TABLE).open().stream(events),
}


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (pl.LazyFrame({"ts": [1]}), "these events are a lazy frame of polars: give  events.coll"),
        (pl.Series([1]), "a column of polars: give the frame"),
        (pd.Series([1]), "a column of pandas: give the frame"),
        (np.zeros(3), "an array of numpy: name the columns with  pyarrow.table"),
        (dataset.dataset(TABLE), "a dataset of Arrow: give  events.to_table()"),
        (dataset.dataset(TABLE).scanner(), "a scanner of Arrow: give  events.to_reader()"),
        (duckdb.connect(), "a connection of DuckDB: give a relation"),
        (io.StringIO("ts,type"), "an open file: give its path"),
        ({"A": pl.LazyFrame({"ts": [1]})}, "the events of `A` are a lazy frame of polars: give"),
    ],
)
def test_what_is_no_table(events: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        describe(open_tables(events))
    assert message in str(caught.value)


@pytest.mark.parametrize("package", ["dask", "modin", "ray", "ibis", "deltalake", "pyiceberg"])
def test_what_is_not_installed_is_known_by_its_name(package: str) -> None:
    """Also objects derived from it."""
    kind = type("Table", (), {"__module__": f"{package}.frame"})
    with pytest.raises(DataError, match=r"these events are .* of .*: give  events\."):
        describe(open_tables(type("Mine", (kind,), {})()))


def test_a_relation_of_duckdb_is_a_table() -> None:
    found = describe(open_tables(duckdb.sql("SELECT 1 AS ts, 'A' AS type")))
    assert [name for name, _ in found.columns or ()] == ["ts", "type"]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "module",
    ["pyspark.sql.classic.dataframe", "pyspark.sql.connect.dataframe", "pyspark.pandas.frame"],
)
def test_frames_of_spark_go_to_spark(face: str, module: str) -> None:
    """Though Arrow could read them to the last row; PySpark is not imported for that."""

    def read(self: object, schema: object = None) -> object:
        raise AssertionError("Spark would run a job here")

    kind = type("DataFrame", (), {"__module__": module, "__arrow_c_stream__": read})
    with pytest.raises(DataError, match=r"sase\.spark\.match\(query, df\)"):
        FACES[face](kind())


@pytest.mark.parametrize(
    "file", ["sql/classic/dataframe.py", "sql/connect/dataframe.py", "pandas/frame.py"]
)
def test_these_are_the_modules_of_pyspark(file: str) -> None:
    """Its frames are known by names that they have."""
    pyspark = pytest.importorskip("pyspark")
    text = (Path(pyspark.__file__).parent / file).read_text(encoding="utf-8")
    assert "class DataFrame(" in text
