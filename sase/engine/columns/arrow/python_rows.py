"""Convert lists of dicts and frames of other libraries to Arrow tables."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrow.gate import DEEPEST, is_too_deep, prove_distinct
from sase.errors import DataError, SchemaError

# ---------------------------------------------------------------- foreign


class ForeignTable(NamedTuple):
    """Classes of a package, their description, and advice for an object of them.

    No names mean any class.
    """

    package: str
    names: tuple[str, ...]
    what: str
    remedy: str


ON_SPARK = "its matches are  sase.spark.match(query, df)  , and its plan  sase.spark.explain(…)"
HELD = "; or give the table  df.toArrow()  , if memory can hold it"
# The first match counts.
FOREIGN = (
    ForeignTable(
        "pyspark.pandas", (), "pandas on Spark",
        "make a DataFrame of it with  .to_spark()  ; matches are"
        f"  sase.spark.match(query, df){HELD}",
    ),
    ForeignTable("pyspark", ("DataFrame",), "a DataFrame of Spark", ON_SPARK + HELD),
    ForeignTable(
        "pyspark", (), "an object of Spark",
        "make a DataFrame of it, of which matches are  sase.spark.match(query, df)",
    ),
    ForeignTable("polars", ("LazyFrame",), "a lazy frame of polars", "give  events.collect()"),
    ForeignTable(
        "polars", ("Series",), "a column of polars", "give the frame that has the other columns"
    ),
    ForeignTable(
        "pandas", ("Series",), "a column of pandas", "give the frame that has the other columns"
    ),
    ForeignTable(
        "pyarrow", ("Dataset", "FileSystemDataset", "InMemoryDataset", "UnionDataset"),
        "a dataset of Arrow",
        "give  events.to_table()  , or batch by batch  events.scanner().to_reader()",
    ),
    ForeignTable("pyarrow", ("Scanner",), "a scanner of Arrow", "give  events.to_reader()"),
    ForeignTable(
        "pyarrow", ("ParquetFile", "ORCFile"), "an open file", "give  events.read()  , or its path"
    ),
    ForeignTable(
        "duckdb", ("DuckDBPyRelation",), "a relation of DuckDB", "give  events.to_arrow_table()"
    ),
    ForeignTable(
        "duckdb", (), "a connection of DuckDB", "give a relation, such as  db.sql('FROM events')"
    ),
    ForeignTable("dask", (), "a collection of dask", "give  events.compute()"),
    ForeignTable("modin", (), "a frame of modin", "give  events.modin.to_pandas()"),
    ForeignTable("ray", (), "a dataset of Ray", "give  events.to_pandas()"),
    ForeignTable("ibis", (), "a table of Ibis", "give  events.to_pyarrow()"),
    ForeignTable("deltalake", (), "a table of Delta", "give  events.to_pyarrow_table()"),
    ForeignTable("pyiceberg", (), "a table of Iceberg", "give  events.scan().to_arrow()"),
    ForeignTable(
        "numpy", (), "an array of numpy",
        "name the columns with  pyarrow.table({'ts': …, 'type': …})",
    ),
    ForeignTable("io", (), "an open file", "give its path, or a table that is read from it"),
)  # fmt: skip


def foreign_table(events: object) -> ForeignTable | None:
    """Return the entry for an object's class or one of its bases, or None."""
    for kind in type(events).__mro__:
        for each in FOREIGN:
            # Compiled modules have a name like `_duckdb`.
            module = f"{kind.__module__.removeprefix('_')}."
            if module.startswith(f"{each.package}.") and kind.__name__ in (
                each.names or (kind.__name__,)
            ):
                return each
    return None


def is_of_spark(events: object) -> bool:
    """Whether an object is of Spark. Arrow must not read its frames: it would collect every row."""
    return any(kind.__module__.partition(".")[0] == "pyspark" for kind in type(events).__mro__)


def package_of(value: object) -> str:
    """The package of an object's class; compiled modules have a name like `_duckdb`."""
    return type(value).__module__.removeprefix("_").partition(".")[0]


def is_relation(events: object) -> bool:
    """Whether an object is a relation of DuckDB; does not import DuckDB."""
    return type(events).__name__ == "DuckDBPyRelation" and package_of(events) == "duckdb"


def table_of_relation(relation: Any) -> pa.Table:
    """Compute a relation; an error of its SQL is an error of the events."""
    from duckdb import Error

    try:
        return pa.table(relation)
    except Error as problem:
        raise DataError(f"DuckDB cannot compute these events: {problem}") from problem


# ---------------------------------------------------------------- python rows

Row = Mapping[str, Any]
# The remedy for a number beyond int64.
INSTEAD_OF_GREAT = (
    "leave the row out, or give a time in a coarser unit, an identifier as text, another number as"
    " a float"
)
BEYOND = f"it is beyond the integers of 64 bits: {INSTEAD_OF_GREAT}"
NO_FLOAT = "no float has this value; give the column as floats"
ZONES = "a time zone is given of some of the moments, and not of others: give it of all, or of none"
# Errors for values that Arrow cannot make an array of; too little memory is none of them.
UNREADABLE = (
    *(each for each in pa.ArrowException.__subclasses__() if not issubclass(each, MemoryError)),
    OverflowError, ValueError, TypeError,
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Unreadable:
    """Text in place of an unreadable value or row, and the reason; it fits no column."""

    text: str
    why: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def table_of_rows(
    rows: Sequence[Row], type_name: str | None
) -> tuple[pa.RecordBatch, dict[str, DataError]]:
    """Return the columns that occur in any row, and errors for those without a common type."""
    columns: dict[str, pa.Array] = {}
    problems: dict[str, DataError] = {}
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        if not isinstance(name, str):
            raise _no_name(name, rows, type_name)
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = array_of(values)
        except UNREADABLE as problem:
            problems[name] = unreadable(name, values, type_name, problem)
    if not columns and rows:
        # A batch needs a column to have rows.
        columns[""] = pa.nulls(len(rows))
    return pa.RecordBatch.from_pydict(columns), problems


# Python types of values that may share a column. Arrow would convert others: numbers beside moments
# to moments, True to 1.0, text to bytes.
_FAMILIES: tuple[tuple[type, ...], ...] = (
    (bool, np.bool_),
    (timedelta, np.timedelta64),
    (int, float, Decimal, np.number),
    (str,),
    (bytes,),
    (date, np.datetime64),
)


def family(kind: type) -> int | None:
    """Return the family of a type; None leaves it to Arrow."""
    return next((n for n, members in enumerate(_FAMILIES) if issubclass(kind, members)), None)


class MixedZonesError(pa.ArrowTypeError):  # type: ignore[misc, unused-ignore]
    """Moments with and without a time zone cannot be ordered."""


def is_zoned(value: object) -> bool | None:
    """Whether a moment has a time zone; None for anything else, such as NaT."""
    if not isinstance(value, datetime) or value != value:  # NaT
        return None
    return value.tzinfo is not None


def array_of(values: list[Any]) -> pa.Array:
    """Make an array of values; dates among moments become midnights."""
    types = set(map(type, values)) - {type(None)}
    if len({family(each) for each in types} - {None}) > 1:
        raise pa.ArrowTypeError("there are values of several kinds")
    if any(issubclass(each, _NESTED) for each in types) and any(
        is_too_deep(each, _parts) for each in values
    ):
        raise pa.ArrowInvalid(f"a value is nested more than {DEEPEST} levels deep")
    has_moments = any(issubclass(each, datetime) for each in types)
    if has_moments and len({is_zoned(each) for each in values} - {None}) > 1:
        raise MixedZonesError(ZONES)
    # Arrow would truncate the moments to dates, or refuse the dates, depending on the order.
    if date in types and has_moments:
        midnight = datetime.min.time()
        return pa.array(
            [datetime.combine(v, midnight) if type(v) is date else v for v in values],
            pa.timestamp("us"),
        )
    return pa.array(values)


_NESTED = (dict, list, tuple)


def _parts(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _no_name(key: object, rows: Sequence[Row], type_name: str | None) -> DataError:
    """Return the error for the first row with a key that is not text."""
    row = next(number for number, each in enumerate(rows) if key in each)
    of = "" if type_name is None else f" of `{type_name}`"
    return DataError(
        f"row {row} (from 0){of}: the key {key!r} is of type {type(key).__name__}: the keys of an"
        " event are the names of its attributes, as text",
        row,
    )


def unreadable(
    name: str, values: list[Any], type_name: str | None, problem: Exception
) -> DataError:
    """Return the error for the first row with a value that does not fit those before."""
    row = first_misfit(values)
    of = "" if type_name is None else f" of `{type_name}`"
    if isinstance(problem, OverflowError):
        why = BEYOND.removeprefix("it ")
    elif isinstance(problem, MixedZonesError):
        why = f"does not go with the values before it: {ZONES}"
    elif isinstance(problem, UnicodeEncodeError):
        why = "is no text in Unicode: replace the surrogates in it"
    else:
        why = "does not go with the values before it: give a column values of one type"
    message = f"row {row} (from 0){of}: `{name}` is {values[row]!r}, which {why}"
    return DataError(message, row, name, values[row])


def first_misfit(values: list[Any]) -> int:
    """Return the first row with a value that does not fit those before."""
    return bisect_left(range(len(values)), True, key=lambda last: not fits(values[: last + 1]))


def fits(values: list[Any]) -> bool:
    """Whether Arrow can make an array of the values."""
    try:
        array_of(values)
    except UNREADABLE:
        return False
    return True


# ---------------------------------------------------------------- frames of pandas


def is_of_pandas(value: object) -> bool:
    """Whether an object is a frame of pandas; does not import pandas."""
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "columns")


def table_of_frame(
    frame: Any, where: str, type_name: str | None
) -> tuple[pa.RecordBatch, dict[str, DataError], list[Row]]:
    """Return the readable columns, errors for the others, and the rows of these.

    Object columns are read as values of dicts; pandas' missing values become NULL.
    """
    _check_names(frame, where)
    columns: dict[str, pa.Array] = {}
    problems: dict[str, DataError] = {}
    values: dict[str, list[Any]] = {}
    for name in map(str, frame.columns):
        try:
            read = pa.table(frame[[name]])
            columns[name] = pa.concat_arrays(read.column(0).chunks)
        except UNREADABLE as problem:
            found = _values(frame[name])
            try:
                columns[name] = array_of(found)
            except UNREADABLE:
                problems[name] = unreadable(name, found, type_name, problem)
                values[name] = found
    rows = [dict(zip(values, each, strict=True)) for each in zip(*values.values(), strict=True)]
    return pa.RecordBatch.from_pydict(columns), problems, list[Row](rows)


def _check_names(frame: Any, where: str) -> None:
    names = list(frame.columns)
    prove_distinct(names, where)
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise SchemaError(f"{where}the column {odd!r} has no name as text: rename it")


def _values(column: Any) -> list[Any]:
    missing = column.isna().tolist()
    return [
        None if is_missing else value
        for value, is_missing in zip(column.tolist(), missing, strict=True)
    ]
