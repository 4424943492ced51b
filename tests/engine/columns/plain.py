"""Events as plain Python values, and the expected ones, by a sort of plain Python rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sase.binding.types import Kind
from sase.engine.columns import EventColumn, Events

Row = Mapping[str, Any]


def plain(events: Events) -> dict[str, Any]:
    """All that events say, however it is coded."""
    size = len(events)
    order = range(size) if events.order is None else events.order.tolist()
    tie = range(size) if events.tie is None else events.tie.tolist()
    names = (*events.type_names, None)
    return {
        "ts": events.ts.tolist(),
        "order": list(order),
        "tie": list(tie),
        "types": [names[code] for code in events.types],
        "columns": {name: decoded(column) for name, column in events.columns.items()},
    }


def decoded(column: EventColumn) -> list[Any]:
    """The values of a column."""
    values = column.values.tolist()
    valid = [True] * len(values) if column.valid is None else column.valid.tolist()
    assert len(valid) == len(values)
    return [_value(column, value) if ok else None for value, ok in zip(values, valid, strict=True)]


def _value(column: EventColumn, value: Any) -> Any:
    match column.type.kind:
        case Kind.STRING:
            return column.dictionary[value].as_py()
        case Kind.BOOLEAN:
            return bool(value)
        case Kind.DECIMAL:
            return Decimal(value).scaleb(-(column.type.scale or 0))
    return value


def model(rows: Sequence[Row], columns: Sequence[str], *, seq: str | None = None) -> dict[str, Any]:
    """The expected values of `plain` for rows of `ts` and `type`."""
    keys = [(row["ts"], row[seq] if seq else 0) for row in rows]
    order = sorted(range(len(rows)), key=keys.__getitem__)
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return {
        "ts": [rows[i]["ts"] for i in order],
        "order": order,
        "tie": [ranks[keys[i]] for i in order],
        "types": [rows[i]["type"] for i in order],
        "columns": {name: [_known(rows[i].get(name)) for i in order] for name in columns},
    }


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
