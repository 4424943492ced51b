"""`progress=`: the rows done and all rows, at a bounded rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.api import progress as module

ROWS = 400_000
EVENTS = pa.table(
    {"ts": range(ROWS), "type": ["A", "B"] * (ROWS // 2), "id": [n % 1000 for n in range(ROWS)]}
)
QUERY = "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] } WITHIN 10 RETURN a.id"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls without a least time between them."""
    monkeypatch.setattr(module, "INTERVAL", 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("at_once")
def test_rows_rise_to_all_rows(threads: int, tmp_path: Path) -> None:
    pa.parquet.write_table(EVENTS, tmp_path / "e.parquet")
    plan = sase.compile(QUERY, EVENTS)
    for run, events in ((sase.match, EVENTS), (sase.match, tmp_path / "e.parquet"), (None, EVENTS)):
        calls: list[tuple[int, int | None]] = []
        given: Any = {"threads": threads, "progress": lambda *call, calls=calls: calls.append(call)}
        matches = run(QUERY, events, **given) if run else plan.run(events, **given)
        assert calls == []
        expected = len(matches)
        assert expected == len(sase.match(QUERY, EVENTS))
        assert len(calls) > 1
        assert calls == sorted(calls)
        assert calls[-1] == (ROWS, ROWS)


def test_calls_are_at_least_a_tenth_of_a_second_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(module, "perf_counter", lambda: next(ticks) / 32)
    rows = list[int]()
    calls = module.ProgressCalls(lambda done, _: rows.append(done), None)
    for row in range(1, 17):
        calls(row)
    assert rows == [4, 8, 12, 16]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("at_once")
def test_an_exception_ends_the_search_and_it_can_be_repeated(threads: int) -> None:
    stops = iter([True])

    def stop(done: int, total: int | None) -> None:
        if next(stops, False):
            raise ZeroDivisionError

    matches = sase.match(QUERY, EVENTS, progress=stop, threads=threads)
    with pytest.raises(ZeroDivisionError):
        len(matches)
    assert len(matches) == len(sase.match(QUERY, EVENTS))


def test_a_script_and_a_reader_without_a_length() -> None:
    calls: list[tuple[int, int | None]] = []
    script = "CREATE STREAM s AS FROM shop EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.id;"
    events = EVENTS.slice(0, 1000)
    found = sase.match(
        f"{script} FROM s EVENT s x", streams={"shop": events}, progress=lambda *c: calls.append(c)
    )
    assert len(found) == 0
    assert calls[-1] == (1000, 1000)


def test_what_cannot_have_it() -> None:
    with pytest.raises(sase.PlanError, match="give a function of the rows done"):
        sase.match(QUERY, EVENTS, progress=7)
    with pytest.raises(sase.PlanError, match='is for output="all"'):
        sase.match(QUERY, EVENTS, output="count", progress=print)
