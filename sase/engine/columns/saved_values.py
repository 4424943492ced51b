"""Save Python values within a state, such as those of waiting dicts, column by column.

Arrow writes the values, each type in a table of its own. A nested value, or one that Arrow cannot
store, is saved as text, and restored as a value that fits no column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sase.engine.columns.python_rows import UNREADABLE, Unreadable
from sase.engine.columns.saved_tables import from_bytes, to_bytes
from sase.engine.snapshots.saved_state import Saved

# Groups of rows: without a value, and with a value that Arrow cannot store.
NULL, ODD = -1, 0
_TEXT, _WHY = "text", "why"


class OddValue:
    """A restored value that no condition can read, with its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def saved_values(values: Sequence[Any]) -> dict[str, Any]:
    """Return values as plain values and arrays: the group of each, and the groups."""
    of_row = np.full(len(values), NULL)
    odd, groups = list[Any](), dict[pa.DataType, list[Any]]()
    for row, value in enumerate(values):
        if value is None:
            continue
        kind = _type_of(value)
        if kind is None:
            odd.append(value)
            of_row[row] = ODD
        else:
            groups.setdefault(kind, []).append(value)
            of_row[row] = 1 + list(groups).index(kind)
    tables = [pa.table({_TEXT: pa.array(some, kind)}) for kind, some in groups.items()]
    texts = [str(each).encode("utf-8", "backslashreplace").decode() for each in odd]
    reasons = [each.why if isinstance(each, Unreadable) else None for each in odd]
    columns = [pa.array(each, pa.string()) for each in (texts, reasons)]
    return {
        "groups": of_row,
        "odd": to_bytes(pa.table(columns, [_TEXT, _WHY])),
        "tables": [to_bytes(each) for each in tables],
    }


def restored_values(saved: Saved, count: int) -> list[Any]:
    """Return `count` saved values."""
    tables = [from_bytes(part) for part in saved.part("tables").parts()]
    odd = from_bytes(saved.part("odd"))
    saved.check(odd.schema.names == [_TEXT, _WHY], "texts have no reasons")
    saved.check(all(kind == pa.string() for kind in odd.schema.types), "reasons are no texts")
    saved.check(all(each.num_columns == 1 for each in tables), "values are in several columns")
    saved.check(not odd.column(0).null_count, "a value has no text")
    groups = [[_odd(*each) for each in zip(*_listed(odd, saved), strict=True)]]
    groups += [_listed(each, saved)[0] for each in tables]
    of_row = saved.part("groups").array(count, low=NULL, high=len(tables))
    sizes = np.bincount(of_row + 1, minlength=len(groups) + 1)[1:]
    saved.check(sizes.tolist() == [*map(len, groups)], "there is not a value for each row")
    left = [iter(group) for group in groups]
    return [None if group == NULL else next(left[group]) for group in of_row.tolist()]


def _type_of(value: Any) -> pa.DataType | None:
    if isinstance(value, Unreadable):
        return None
    try:
        kind = pa.array([value]).type
    except UNREADABLE:
        return None
    return None if pa.types.is_nested(kind) else kind


def _odd(text: str, why: str | None) -> Unreadable | OddValue:
    return OddValue(text) if why is None else Unreadable(text, why)


def _listed(table: pa.Table, saved: Saved) -> list[list[Any]]:
    try:
        return [column.to_pylist() for column in table.columns]
    except UNREADABLE as problem:
        raise saved.refuse(f"these are no values: {problem}") from problem
