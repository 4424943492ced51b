"""docs/semantics.md, Aggregates of your own: a state, a step for each event, and its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tests.naive.values import Value


class Defined(NamedTuple):
    """The aggregate of a user: the state before all events, and the kinds."""

    start: Any
    step: Callable[..., Any]
    result: Callable[[Any], Any] | None
    kinds: tuple[str, ...]


# By name, as the language has them.
DEFINED: dict[str, Defined] = {}


def of_events(defined: Defined, events: Iterable[Sequence[Value]]) -> Value:
    """The value over the attributes of events: NULL over nothing, and where a function raises."""
    *kinds, kind = defined.kinds
    counted = [values for values in events if all(each is not None for each in values)]
    if not counted:
        return None
    state = defined.start
    try:
        for values in counted:
            state = defined.step(state, *map(_of_kind, values, kinds))
        value = _of_kind(state if defined.result is None else defined.result(state), kind)
    except Exception:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _of_kind(value: Any, kind: str) -> Any:
    return {"integer": int, "float": float, "boolean": bool}[kind](value)
