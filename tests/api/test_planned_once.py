"""A query text is bound once for each schema, and planned once: calls are counted as it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.planning.recipes import recipe_names
from tests.planned import EVENTS, KEYED, QUERIES, ROWS, RUNS, SAMPLED, counted


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


def pushed(query: str, events: Any) -> Any:
    matcher = sase.compile(query, events).open()
    for start in range(0, ROWS, ROWS // 4):
        matcher.push(EVENTS.slice(start, ROWS // 4))
    return matcher.finish()


WAYS: dict[str, Callable[[str, Any], Any]] = {
    "match": lambda query, events: len(sase.match(query, events)),
    "threads": lambda query, events: len(sase.match(query, events, threads=2)),
    "count": lambda query, events: sase.match(query, events, output="count"),
    "compressed": lambda query, events: sase.match(query, events, output="compressed").count(),
    "compile": ran,
    "stream": pushed,
    "explain": sase.explain,
    "analyze": analyzed,
    "why": sase.why,
}


# No recipe has a part in the counting of paths.
OF_PATHS = {"compressed": (KEYED, SAMPLED)}


@pytest.mark.parametrize("way", WAYS)
def test_a_query_is_bound_and_planned_once(way: str, folder: Path) -> None:
    wrong = {}
    for query, events in product(QUERIES, (EVENTS, folder / "e.parquet", folder / "e.csv")):
        with counted() as calls:
            WAYS[way](query, events)
        found = [calls.times(query)]
        right: list[Any] = [([1], [] if query in OF_PATHS.get(way, ()) else [1])]
        if way == "match":
            found += [calls.planned.total(), calls.measured]
            right += [1, query == SAMPLED]
        if found != right:
            wrong[query, events if isinstance(events, Path) else "a table"] = found
    assert wrong == {}


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


@pytest.mark.parametrize("query", [KEYED, RUNS])
def test_each_strategy_is_bound_and_planned_once(query: str) -> None:
    with counted() as calls:
        sase.compare(query, EVENTS, outputs=("all", "non_overlap"))
    assert set(calls.bound.values()) == {1}
    assert set(calls.planned.values()) == {1}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("run", [[], pytest.param(["--run"], marks=pytest.mark.heavy)])
def test_the_plans_of_all_recipes_are_of_a_query_that_is_bound_once(
    run: list[str], query: str, folder: Path
) -> None:
    with counted() as calls:
        assert main(["plans", "-q", query, "--events", str(folder / "e.parquet"), *run]) == 0
    assert list(calls.bound.values()) == [1]
    assert calls.planned.total() == len(recipe_names())


def test_only_another_schema_has_a_query_bound_again(tmp_path: Path) -> None:
    """Lines of CSV with other types than the first ones seemed to have."""
    rows = [f"{number},{'ABC'[number % 3]},{number % 7},{number % 11}" for number in range(ROWS)]
    path = tmp_path / "e.csv"
    path.write_text("\n".join(["ts,type,id,v", *rows * 8, "96000,A,1,2.5"]), encoding="utf-8")
    with counted() as calls:
        sase.match(KEYED, path)
    assert list(calls.bound.values()) == [1, 1]
    assert len({schema for _, schema, _ in calls.bound}) == 2
    assert list(calls.planned.values()) == [1]


def test_what_other_threads_do_is_counted() -> None:
    with counted() as calls:
        thread = threading.Thread(target=sase.match, args=(KEYED, EVENTS))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(sase.match, KEYED, EVENTS).result()
    assert calls.times(KEYED) == ([2], [2])


def test_what_happens_twice_is_counted_twice() -> None:
    with counted() as calls:
        sase.match(KEYED, EVENTS)
        sase.match(KEYED, EVENTS)
    assert calls.times(KEYED) == ([2], [2])
