"""A query text is bound once for each schema, and planned once: calls are counted as it runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.binding import binder
from sase.binding.input_options import InputOptions
from sase.cli.main import main
from sase.engine.sources.discovered import Discovered
from sase.planning import optimizer
from sase.planning.basic import basic_plan
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
# Of so many events without a key statistics are measured.
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

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is BINDER:
            given = frame.f_locals
            self.bound[given["query"], given["schema"], given["flat"]] += 1
        elif event == "call" and frame.f_code is OPTIMIZER:
            self.planned[frame.f_locals["basic"]] += 1
            self.measured += frame.f_locals["statistics"] is not None

    def times(self, query: str) -> tuple[list[int], list[int]]:
        """How often a query was bound to each schema, and how often it was planned."""
        tree = binder.parse_query(query)
        bound = [count for (each, *_), count in self.bound.items() if each == tree]
        basic = basic_plan(binder.bind(tree, SCHEMA, source=Source(query), parameters={}))
        shown = replace(basic, columns=None, type_name=None)  # as `why` plans it
        return bound, [n for each, n in self.planned.items() if each in (basic, shown)]


@contextmanager
def counted() -> Iterator[Calls]:
    """What this thread calls meanwhile, wherever it calls it from."""
    calls, before = Calls(), sys.getprofile()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("events")
    pyarrow.parquet.write_table(EVENTS, made / "e.parquet")
    pyarrow.csv.write_csv(EVENTS, made / "e.csv")
    return made


def analyzed(query: str, events: Any) -> Any:
    return sase.explain(query, events, analyze=True)


def ran(query: str, events: Any) -> Any:
    return len(sase.compile(query, events).run(events))


WAYS: dict[str, Callable[[str, Any], Any]] = {
    "match": lambda query, events: len(sase.match(query, events)),
    "threads": lambda query, events: len(sase.match(query, events, threads=2)),
    "count": lambda query, events: sase.match(query, events, output="count"),
    "compile": ran,
    "explain": sase.explain,
    "analyze": analyzed,
    "why": sase.why,
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", ["table", "e.parquet", "e.csv"])
@pytest.mark.parametrize("way", WAYS)
def test_a_query_is_bound_and_planned_once(way: str, kind: str, query: str, folder: Path) -> None:
    events = EVENTS if kind == "table" else folder / kind
    with counted() as calls:
        WAYS[way](query, events)
    bound, planned = calls.times(query)
    assert bound == [1]
    assert planned == ([] if way == "count" and query == SAMPLED else [1])
    if way == "match":
        assert calls.planned.total() == 1
        assert calls.measured == (query == SAMPLED)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", ["e.parquet", "e.csv"])
def test_files_too_large_to_be_held(
    query: str, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sase.engine.pipeline.batch.MOST_HELD", -1)
    for way in ("match", "compile", "explain"):
        with counted() as calls:
            WAYS[way](query, folder / kind)
        assert calls.times(query) == ([1], [1])


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", ["e.parquet", "e.csv"])
@pytest.mark.parametrize("command", ["run", "why", "explain"])
def test_commands(command: str, kind: str, query: str, folder: Path, tmp_path: Path) -> None:
    out = ["-o", str(tmp_path / "out.jsonl")] if command == "run" else []
    with counted() as calls:
        assert main([command, "-q", query, "--events", str(folder / kind), *out]) == 0
    assert calls.times(query) == ([1], [1])


def test_each_strategy_is_bound_and_planned_once() -> None:
    with counted() as calls:
        sase.compare(KEYED, EVENTS, outputs=("all", "non_overlap"))
    assert set(calls.bound.values()) == {1}
    assert set(calls.planned.values()) == {1}


def test_only_another_schema_has_a_query_bound_again(tmp_path: Path) -> None:
    """Lines of CSV whose types turn out to be others than the first ones seemed."""
    rows = [f"{number},{'ABC'[number % 3]},{number % 7},{number % 11}" for number in range(ROWS)]
    path = tmp_path / "e.csv"
    path.write_text("\n".join(["ts,type,id,v", *rows * 8, "96000,A,1,2.5"]), encoding="utf-8")
    with counted() as calls:
        sase.match(KEYED, path)
    assert list(calls.bound.values()) == [1, 1]
    assert len({schema for _, schema, _ in calls.bound}) == 2
    assert list(calls.planned.values()) == [1]


def test_what_happens_twice_is_counted_twice() -> None:
    with counted() as calls:
        sase.match(KEYED, EVENTS)
        sase.match(KEYED, EVENTS)
    assert calls.times(KEYED) == ([2], [2])
