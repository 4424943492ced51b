"""Aggregates for tests, added to the language and to the naive matcher alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sase
from sase.binding.values import aggregates as added
from tests.naive.aggregates import DEFINED, Defined

# Those that were added once: an aggregate that is added anew is compiled anew.
_MADE: dict[str, added.UserAggregate] = {}


def define(
    name: str,
    start: Any,
    step: Callable[..., Any],
    result: Callable[..., Any] | None = None,
    *,
    kinds: tuple[str, ...],
    trend: Any = None,
) -> None:
    """Add an aggregate."""
    if name not in _MADE:
        sase.aggregate(name, start, step, result, len(kinds) - 1, kinds, trend)
        _MADE[name] = added._DEFINED[name]
    added._DEFINED[name] = _MADE[name]
    DEFINED[name] = Defined(start, step, result, kinds)


@contextmanager
def added_here() -> Iterator[None]:
    """Take away the added ones at the end: messages name all aggregates that there are."""
    known = dict(added._DEFINED)
    try:
        yield
    finally:
        added._DEFINED.clear()
        added._DEFINED.update(known)


@contextmanager
def without(name: str) -> Iterator[None]:
    """Take an aggregate away for a while, as in a process where it was not added."""
    with added_here():
        del added._DEFINED[name]
        yield


def _at_most_three(state: float, value: float) -> float:
    """Functions that raise for some values."""
    if value > 3.0:
        raise ValueError("too large")
    return state + value


def define_all() -> None:
    """Add those of the random examples: of every kind of state, and one that raises."""
    # The order of the events matters, and a missing one changes everything after it.
    define("hashed", 7, lambda s, v: (s * 31 + v) % 1009, kinds=("integer", "integer"))
    define("decay", 0.0, lambda s, v: s * 0.5 + v, kinds=("float", "float"))
    define("is_odd", False, lambda s, v: s != (v % 2 == 1), kinds=("integer", "boolean"))
    define(
        "slope", (0, 0.0, 0.0), lambda s, v: (s[0] + 1, v, s[2] + (v - s[1])),
        lambda s: s[2] / (s[0] - 1), kinds=("float", "float"),
    )  # fmt: skip
    define("checked", 0.0, _at_most_three, kinds=("float", "float"))
    define("most", 0, lambda s, v: max(s, v), kinds=("integer", "integer"), trend="rising")
    define(
        "cross", (0, 0), lambda s, v, w: (s[1] + v, s[0] - w), lambda s: s[0] * 2 + s[1],
        kinds=("integer", "integer", "integer"),
    )  # fmt: skip
