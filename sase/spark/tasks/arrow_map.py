"""`mapInArrow` for any names of columns; PySpark reads a name with points as a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

Batches: TypeAlias = Iterator[pa.RecordBatch]


def map_in_arrow(
    df: DataFrame, task: Callable[[Batches], Batches], schema: st.StructType | str
) -> DataFrame:
    """Apply a task to batches of the columns of a DataFrame, with any characters in their names."""
    names = df.columns
    if not any(map(_is_path, names)):
        return df.mapInArrow(task, schema)
    numbered = df.toDF(*map(str, range(len(names))))
    return numbered.mapInArrow(NamedColumns(task, tuple(names)), schema)


def _is_path(name: str) -> bool:
    """Whether PySpark reads a name as a path."""
    return not name or any(sign in name for sign in ".`*")


@dataclass(frozen=True)
class NamedColumns:
    """Runs a task on columns that arrive by number, under their names."""

    task: Callable[[Batches], Batches]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        """The results of the task."""
        yield from self.task(each.rename_columns(list(self.names)) for each in batches)
