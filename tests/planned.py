"""Count how often a query is bound and planned while something runs, in whichever thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from types import CodeType, FunctionType
from typing import Any

import pyarrow as pa

from sase.binding import binder
from sase.binding.input_options import InputOptions
from sase.engine.sources.discovered import Discovered
from sase.planning import optimizer
from sase.planning.plan.basic import basic_plan
from sase.source import Source

ROWS = 12_000
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": ["A", "B", "C"] * (ROWS // 3),
        "id": [number % 7 for number in range(ROWS)],
        "v": [number % 11 for number in range(ROWS)],
    }
)
KEYED = "EVENT SEQ(A a, B b) WHERE [id] AND a.v > 8 AND b.v < 2 WITHIN 5"
# The number of events without a key from which on statistics are measured.
SAMPLED = "EVENT SEQ(A a, B b) WHERE a.v > 8 AND b.v < 2 WITHIN 5 RETURN a.v AS v"
RUNS = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v > 8 } WITHIN 5"
QUERIES = [KEYED, SAMPLED, RUNS]
SCHEMA = Discovered.of(EVENTS, InputOptions()).schema
COUNTED: tuple[FunctionType, ...] = binder.bind, optimizer.optimized  # type: ignore[assignment]
# The name in the module of a function that is called in its place while calls are counted.
NOTED = "_noted_{}"


class Calls:
    """The calls of the binder, by query and schema, and of the optimizer, by basic plan."""

    def __init__(self) -> None:
        self.bound = Counter[tuple[Hashable, ...]]()
        self.planned = Counter[Hashable]()
        self.measured = 0
        self._lock = threading.Lock()
        self._signatures = {function: signature(function) for function in COUNTED}

    def note(self, function: FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Count a call."""
        called = self._signatures[function].bind(*args, **named)
        called.apply_defaults()
        given = called.arguments
        with self._lock:
            if function is binder.bind:
                self.bound[given["query"], given["schema"], given["flat"]] += 1
            else:
                self.planned[given["basic"]] += 1
                self.measured += given["statistics"] is not None

    def times(self, query: str) -> tuple[list[int], list[int]]:
        """How often a query was bound to each schema, and how often it was planned."""
        tree = binder.parse_query(query)
        bound = [count for (each, *_), count in self.bound.items() if each == tree]
        basic = basic_plan(binder.bind(tree, SCHEMA, source=Source(query), parameters={}))
        shown = replace(basic, columns=None, type_name=None)  # as `why` plans it
        return bound, [n for each, n in self.planned.items() if each in (basic, shown)]


def noting(function: FunctionType, calls: Calls) -> FunctionType:
    """The function as it was, of which calls were noted."""
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    original.__kwdefaults__ = function.__kwdefaults__

    def noted(*args: Any, **named: Any) -> Any:
        calls.note(function, args, named)
        return original(*args, **named)

    return noted  # type: ignore[return-value]


@contextmanager
def counted() -> Iterator[Calls]:
    """The calls in the meantime, by any thread and of whatever module has the function.

    The function itself gets other code: a profile of every call in Python takes much longer.
    """
    calls, codes = Calls(), [function.__code__ for function in COUNTED]
    for function in COUNTED:
        function.__globals__[NOTED.format(function.__name__)] = noting(function, calls)
        function.__code__ = code_that_calls(NOTED.format(function.__name__))
    try:
        yield calls
    finally:
        for function, code in zip(COUNTED, codes, strict=True):
            function.__code__ = code
            del function.__globals__[NOTED.format(function.__name__)]


def code_that_calls(name: str) -> CodeType:
    """The code of a function that calls another one of its module."""
    code: CodeType = eval(f"lambda *args, **named: {name}(*args, **named)").__code__
    return code
