"""Files of events as DataFrames, with the same columns and values as in `sase run`.

Spark reads Parquet. Tasks read the other files with the reader of `sase run`, one file in a task.
These are other formats, and Parquet with nanoseconds or unsigned numbers of 64 bits, which Spark
reads differently from Arrow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.engine.sources import Files
from sase.errors import DataError, SchemaError
from sase.spark.reading.arrow_map import map_in_arrow

_UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def frame_of(
    spark: SparkSession, files: Files, named: frozenset[str], shows_all: bool
) -> DataFrame:
    """The rows of files, for a query that names some columns and may show all."""
    schema = _spark_schema(files, named, shows_all)
    if files.format.name == "parquet" and not any(map(_is_foreign, files.schema.types)):
        reader = spark.read.schema(schema)
        if files.base is not None:  # folders below it, such as `day=1/`, are columns
            reader = reader.option("basePath", files.base)
        return reader.parquet(*files.paths)
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    shown = to_arrow_schema(schema, timezone=zone)
    numbers = spark.range(0, len(files.paths), 1, len(files.paths))
    return map_in_arrow(numbers, FileTask(replace(files, kept=None), named, shown), schema)


def parquet_of(spark: SparkSession, address: str) -> DataFrame:
    """The rows of Parquet at an address; a table is refused, because rows of it may be deleted."""
    for name, log in (("delta", "_delta_log/*.json"), ("iceberg", "metadata/*.metadata.json")):
        try:
            spark.read.text(f"{address.rstrip('/')}/{log}")
        except AnalysisException:  # there is no such file
            continue
        raise DataError(
            f"{address} is a table of {name}, and its Parquet files may have deleted rows: give "
            f" sase.spark.match(…)  spark.read.format('{name}').load('{address}'), or name the"
            " table of a catalog with --table"
        )
    return spark.read.parquet(address)


def _is_foreign(kind: pa.DataType) -> bool:
    """Whether Spark cannot read a type of Parquet, or reads it as another type."""
    return bool((pa.types.is_timestamp(kind) and kind.unit == "ns") or kind == pa.uint64())


def _spark_schema(files: Files, named: frozenset[str], shows_all: bool) -> st.StructType:
    """The columns with the types of Spark, without unused columns that Spark cannot represent."""
    fields = []
    for field in files.empty(files.schema.names, named).schema:
        kind = _spark_type(field.type)
        if kind is not None:
            fields.append(st.StructField(field.name, kind))
        elif shows_all or field.name in named:
            raise SchemaError(
                f"Spark has no type for `{field.name}`, which is {field.type}: leave it out of"
                f" the files, or name the columns to show in RETURN"
            )
    return st.StructType(fields)


def _spark_type(kind: pa.DataType) -> st.DataType | None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind == pa.uint64():
        return st.LongType()
    try:
        return from_arrow_type(_UNSIGNED.get(kind, kind), prefer_timestamp_ntz=True)
    except PySparkTypeError:
        return None


@dataclass(frozen=True)
class FileTask:
    """Reads the files with the numbers in its input."""

    files: Files
    named: Collection[str]
    shown: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the files."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._rows(number)

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        path, files = self.files.paths[number], one_of(self.files, number)
        for part, table in files.batches(self.shown.names, self.named):
            try:
                yield from table.cast(self.shown).to_batches()
            except pa.ArrowInvalid as problem:
                raise DataError(
                    f"{path}: rows {part.first:,} to {part.first + part.rows - 1:,} have values"
                    f" that Spark has not: {problem}"
                ) from None


def one_of(files: Files, number: int) -> Files:
    """One of several files, with the columns of all."""
    alone = files.format.only(files.dataset, number)
    return replace(
        files, paths=(files.paths[number],), stamps=(files.stamps[number],), dataset=alone
    )
