"""How Arrow reads each format: strings as dictionaries, and nothing guessed twice."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

CSV = ("csv", "tsv")
TEXTS = (*CSV, "json")
UTF_16 = "is text in UTF-16: convert it, for example with  iconv -f UTF-16 -t UTF-8"
# What stands for a missing value in CSV, unless it is quoted.
MISSING = ["", "NULL", "null"]
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def reader(format: str, strings: Collection[str] = ()) -> Any:
    """The reader of a format, that gives some columns of strings as dictionaries."""
    from pyarrow import dataset  # which takes long, and who has tables needs none

    match format:
        case "parquet":
            options = dataset.ParquetReadOptions(dictionary_columns=set(strings))
            return dataset.ParquetFileFormat(read_options=options)
        case "csv" | "tsv":
            return dataset.CsvFileFormat(**csv_options(format, dict.fromkeys(strings, DICTIONARY)))
        case "json":
            return dataset.JsonFileFormat()
    return dataset.IpcFileFormat()


def csv_options(
    format: str, kinds: Mapping[str, pa.DataType], columns: Sequence[str] = ()
) -> dict[str, Any]:
    """How Arrow reads CSV, whichever of its functions does, with the types of some columns.

    No others are looked at than the `columns`, if there are any.
    """
    from pyarrow import csv

    return {
        "parse_options": csv.ParseOptions(
            delimiter="\t" if format == "tsv" else ",", newlines_in_values=True
        ),
        "convert_options": csv.ConvertOptions(
            column_types=kinds,
            include_columns=list(columns),
            null_values=MISSING,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def as_read(format: str, schema: pa.Schema, given: Collection[str]) -> tuple[pa.Schema, list[str]]:
    """The schema with dictionaries for strings, where the format can give them, and which.

    Columns that are `given` are not in the files.
    """
    if format not in ("parquet", "csv", "tsv"):
        return schema, []
    strings = [field.name for field in schema if is_string(field.type)]
    strings = [name for name in strings if name not in given]
    fields = [field.with_type(DICTIONARY) if field.name in strings else field for field in schema]
    return pa.schema(fields), strings


def is_string(kind: pa.DataType) -> bool:
    """Whether a column holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_utf_16(first: bytes) -> bool:
    """Whether the first bytes of a text are of UTF-16: its mark, or a 0 in every character."""
    return first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in first


def is_text(value: str) -> bool:
    """Whether what was decoded was UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def says(text: str, kind: pa.DataType) -> bool:
    """Whether a text is a value of a type, as Arrow reads it."""
    try:
        pa.scalar(text).cast(kind)
    except pa.ArrowException:
        return False
    return True
