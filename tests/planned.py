"""Count how often a query is bound and planned while something runs, in whichever thread."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FrameType
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
BINDER, OPTIMIZER = binder.bind.__code__, optimizer.optimized.__code__


class Calls:
    """The calls of the binder, by query and schema, and of the optimizer, by basic plan."""

    def __init__(self) -> None:
        self.bound = Counter[tuple[Hashable, ...]]()
        self.planned = Counter[Hashable]()
        self.measured = 0
        self._lock = threading.Lock()

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in (BINDER, OPTIMIZER):
            with self._lock:
                self._note(frame.f_code, frame.f_locals)

    def _note(self, code: CodeType, given: dict[str, Any]) -> None:
        if code is BINDER:
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


@contextmanager
def counted() -> Iterator[Calls]:
    """The calls in the meantime: by this thread, and by all that begin."""
    calls, before, of_new = Calls(), sys.getprofile(), threading.getprofile()
    sys.setprofile(calls.note)
    threading.setprofile(calls.note)
    try:
        yield calls
    finally:
        threading.setprofile(of_new)
        sys.setprofile(before)
