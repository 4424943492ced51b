"""The events of each key by themselves, for systems that look at one key at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from experiments.rivals.protocol import Answer, Task

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """All events by key and time: rows (which are their times), types, where keys begin."""

    rows: Rows
    codes: list[int]
    starts: Rows
    key: npt.NDArray[np.int64]


def by_key(task: Task, table: pa.Table) -> Events:
    """Sorted by the keys of the query, which become one number."""
    key = np.zeros(len(table), dtype=np.int64)
    for name in task.keys:
        values = table[name].to_numpy().astype(np.int64)
        key = key * (int(values.max(initial=0)) + 1) + values
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    codes = table["code"].to_numpy()[order].tolist()
    return Events(table["ts"].to_numpy()[order], codes, np.append(starts, len(order)), key[order])


def answer(found: list[Rows]) -> Answer:
    """Of arrays with a row for each match."""
    first = [each[:, 0] for each in found if len(each)]
    return Answer(
        sum(map(len, found)),
        int(sum(each.sum() for each in found)),
        len(np.unique(np.concatenate(first))) if first else 0,
    )
