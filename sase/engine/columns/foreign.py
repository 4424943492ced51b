"""Recognise tables of other libraries by the names of their classes, without importing them."""

from __future__ import annotations

from typing import NamedTuple


class ForeignTable(NamedTuple):
    """Classes of a package, what they are, and what to do with an object of theirs.

    No names mean any class.
    """

    package: str
    names: tuple[str, ...]
    what: str
    remedy: str


ON_SPARK = "its matches are  sase.spark.match(query, df)  , and its plan  sase.spark.explain(…)"
HELD = "; or give what  df.toArrow()  gives, if that is to be held in memory"
# The first match counts.
FOREIGN = (
    ForeignTable(
        "pyspark.pandas", (), "pandas on Spark",
        f"of what its  .to_spark()  gives, matches are  sase.spark.match(query, df){HELD}",
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
    ForeignTable("duckdb", ("DuckDBPyRelation",), "a relation of DuckDB", "give  events.arrow()"),
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
