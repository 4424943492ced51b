"""`mapInArrow` for columns of any names: PySpark takes them for paths, by the points in them."""

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
    """What a task makes of batches of these columns, whatever characters are in their names."""
    names = df.columns
    if not any(map(_is_path, names)):
        return df.mapInArrow(task, schema)
    numbered = df.toDF(*map(str, range(len(names))))
    return numbered.mapInArrow(NamedColumns(task, tuple(names)), schema)


def _is_path(name: str) -> bool:
    """Whether PySpark reads a name as something else."""
    return not name or any(sign in name for sign in ".`*")


@dataclass(frozen=True)
class NamedColumns:
    """Has a task get the columns, which come by number, with their names."""

    task: Callable[[Batches], Batches]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        """What the task gives."""
        yield from self.task(each.rename_columns(list(self.names)) for each in batches)
