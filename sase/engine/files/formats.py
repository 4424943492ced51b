"""How Arrow reads each format: strings as dictionaries, and nothing guessed twice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset

# What stands for a missing value in CSV, unless it is quoted.
MISSING = ["", "NULL", "null"]
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def reader(format: str, strings: Collection[str] = ()) -> Any:
    """The reader of a format, that gives some columns of strings as dictionaries."""
    match format:
        case "parquet":
            options = pa.dataset.ParquetReadOptions(dictionary_columns=set(strings))
            return pa.dataset.ParquetFileFormat(read_options=options)
        case "csv" | "tsv":
            return pa.dataset.CsvFileFormat(
                parse_options=pa.csv.ParseOptions(
                    delimiter="\t" if format == "tsv" else ",", newlines_in_values=True
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(strings, DICTIONARY),
                    null_values=MISSING,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        case "json":
            return pa.dataset.JsonFileFormat()
    return pa.dataset.IpcFileFormat()


def as_read(format: str, schema: pa.Schema, given: Collection[str]) -> tuple[pa.Schema, list[str]]:
    """The schema with dictionaries for strings, where the format can give them, and which.

    Columns that are `given` are not in the files.
    """
    if format not in ("parquet", "csv", "tsv"):
        return schema, []
    strings = [field.name for field in schema if _is_string(field.type)]
    strings = [name for name in strings if name not in given]
    fields = [field.with_type(DICTIONARY) if field.name in strings else field for field in schema]
    return pa.schema(fields), strings


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
