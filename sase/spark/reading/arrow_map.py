"""`mapInArrow` for any names of columns, with messages spelled for the reader of the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from sase.base.interface import Interface, interface, written_for

Batches: TypeAlias = Iterator[pa.RecordBatch]


def map_in_arrow(
    df: DataFrame, task: Callable[[Batches], Batches], schema: st.StructType | str
) -> DataFrame:
    """Apply a task to batches of the columns of a DataFrame, with any characters in their names."""
    names = df.columns
    if any(map(_is_path, names)):
        df = df.toDF(*map(str, range(len(names))))
    return df.mapInArrow(WorkerTask(task, tuple(names), interface()), schema)


def _is_path(name: str) -> bool:
    """Whether PySpark reads a name as a path."""
    return not name or any(sign in name for sign in ".`*")


@dataclass(frozen=True)
class WorkerTask:
    """Runs a task in a worker, on columns under their names; they may arrive by number.

    Messages spell options for the interface of the driver.
    """

    task: Callable[[Batches], Batches]
    names: Sequence[str]
    interface: Interface

    def __call__(self, batches: Batches) -> Batches:
        """The results of the task."""
        with written_for(self.interface):
            yield from self.task(each.rename_columns(list(self.names)) for each in batches)
