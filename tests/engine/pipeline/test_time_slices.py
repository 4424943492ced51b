"""Several threads find the matches of one, in its order; and none is left behind."""

from __future__ import annotations

import gc
import itertools
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any
from weakref import ref

import pyarrow as pa
import pytest

import sase
from sase.binding.bound import WindowKind
from sase.engine.pipeline import threads as time_slices
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.prefetch import Pool, PrefetchedSearch
from sase.engine.report import Report
from sase.engine.results.batch import ResultBatch
from sase.engine.results.matches import Matches
from sase.planning.engine_plan import EnginePlan

RANDOM = random.Random(5)
EVENTS = pa.table(
    {
        "ts": [number // 3 for number in range(900)],
        "type": [RANDOM.choice("ABC") for _ in range(900)],
        "id": [RANDOM.choice([None, *range(9)]) for _ in range(900)],
        "v": [RANDOM.random() for _ in range(900)],
        "n": [2**62 if number in (300, 700) else 1 for number in range(900)],
        "s": [RANDOM.choice(["x", "y", "z"]) for _ in range(900)],
    }
)
SLICED = [
    "EVENT SEQ(A a, !(B b), C c) WHERE [id] AND a.v < c.v WITHIN 50",
    "EVENT SEQ(!(B b), A a, C c) WHERE [id] WITHIN 50",
    "EVENT SEQ(A a, C c, !(B b)) WHERE [id] WITHIN 20 RETURN a.s, c.ts AS t",
    "EVENT SEQ(A a, C c) WHERE a.n + c.n > 0 WITHIN 10 EVENTS",
    "EVENT SEQ(A a, C c) WHERE [s] WITHIN 9 INCLUSIVE LIMIT 17",
]
KEYED = [
    "EVENT SEQ(A a, C c) WHERE [id] AND a.v < c.v / 50",
    "EVENT SEQ(A a, !(B b), C c) WHERE [s, id] RETURN a.s, c.v AS v",
    "EVENT SEQ(A a, C c) WHERE [s] AND a.n * 4 > c.v LIMIT 37",
    "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 4 EVENTS PER PARTITION",
    "EVENT A a WHERE [id]",
]


def told(matches: sase.Matches) -> Any:
    report = matches.report
    return matches.rows.to_pylist(), matches.to_pylist(), report.warnings, report.is_complete


@pytest.mark.parametrize("query", [*SLICED, *KEYED])
@pytest.mark.parametrize(
    ("recipe", "enough", "waiting"),
    [("optimized", time_slices.ENOUGH, 64), ("optimized", 40, 1), ("basic", 40, 64)],
)
def test_threads_change_nothing(
    query: str, recipe: str, enough: int, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_slices, "ENOUGH", enough)
    monkeypatch.setattr(time_slices, "MOST_WAITING", waiting)
    plan = sase.compile(query, EVENTS, plan=recipe)
    alone = plan.run(EVENTS, threads=1)
    assert len(alone) > 0
    rows, table, report = alone.rows, alone.to_arrow(), alone.report
    for number in (2, 7):
        several = plan.run(EVENTS, threads=number)
        assert several.rows == rows
        assert several.to_arrow() == table
        assert several.report.warnings == report.warnings
        assert several.report.is_complete == report.is_complete
        assert several.report.notes == ()
        assert plan.run(EVENTS, threads=number).to_reader().read_all() == table


@pytest.mark.parametrize("window", ["10 EVENTS", "10 EVENTS PER PARTITION", "10"])
def test_matches_apart(window: str) -> None:
    """A part by key does not know how many events of others lie between its own."""
    query = f"EVENT SEQ(A a, C+ c[]) WHERE skip_till_next_match {{[s]}} WITHIN {window}"
    plan = sase.compile(query, EVENTS, output="non_overlap")
    alone = plan.run(EVENTS, threads=1)
    assert len(alone) > 0
    assert told(plan.run(EVENTS, threads=2)) == told(alone)


def test_how_plans_are_cut() -> None:
    """The cut is a value of the plan, and says why where there is none."""

    def split(query: str) -> Any:
        plan = sase.compile(query, EVENTS)
        return EnginePlan(plan.operators, plan.schema).split

    sliced, keyed = split(SLICED[2]), split(KEYED[1])
    assert (sliced.before, sliced.by_first, sliced.by_key) == (sliced.after, True, False)
    assert [test.attribute for test in keyed.keys] == ["s", "id"]
    assert keyed.by_key
    assert split(SLICED[3]).before.kind is WindowKind.EVENTS
    assert split(SLICED[3]).needs_positions
    assert "neither a window nor an attribute" in split("EVENT SEQ(A a, B b)").reason


def test_one_thread_where_nothing_can_be_cut() -> None:
    found = sase.match("EVENT SEQ(A a, B b) WHERE a.v > 0.99", EVENTS, threads=3)
    assert len(found) > 0
    assert "one thread searched" in found.report.notes[0]
    with pytest.raises(sase.PlanError, match="at least one thread"):
        sase.match("EVENT A a", EVENTS, threads=0)


@pytest.mark.parametrize(
    "query", ["EVENT SEQ(A a, A b, A c) WITHIN 90", "EVENT SEQ(A a, A b) WHERE [s]"]
)
def test_no_thread_is_left_when_nobody_reads_on(query: str) -> None:
    before = threading.active_count()
    reader = sase.match(query, EVENTS, threads=3).to_reader()
    assert reader.read_next_batch().num_rows > 0
    reader.close()
    del reader
    assert threading.active_count() == before


@pytest.mark.parametrize("query", [SLICED[0], KEYED[0]])
def test_an_error_in_a_thread_is_an_error(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()

    def failing(self: Pipeline, events: Any) -> Any:
        raise MemoryError("no more")
        yield

    monkeypatch.setattr(Pipeline, "results", failing)
    with pytest.raises(MemoryError, match="no more"):
        assert len(sase.match(query, EVENTS, threads=2)) >= 0
    assert threading.active_count() == before


@pytest.mark.parametrize("is_slow", [False, True])
def test_what_goes_wrong_in_a_later_slice_goes_wrong_in_its_turn(
    is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever thread has searched it, and however far ahead of others."""
    monkeypatch.setattr(time_slices, "ENOUGH", 40)
    results = Pipeline.results

    def failing(self: Pipeline, events: Any) -> Any:
        first = int(events.ts[0])
        if is_slow and threading.current_thread() is not threading.main_thread():
            time.sleep(0.02)  # the other one is ahead
        if first > 150:
            raise MemoryError("no more")
        yield from results(self, events)

    plan = sase.compile("EVENT SEQ(A a, C c) WITHIN 2", EVENTS)
    last = [row["c"] for row in plan.run(EVENTS, threads=1).rows.to_pylist()]
    monkeypatch.setattr(Pipeline, "results", failing)
    found = []
    with pytest.raises(MemoryError, match="no more"):
        for part in plan.run(EVENTS, threads=2).batches():
            found += part.rows()["c"].to_pylist()
    assert 100 < len(found) < len(last)
    assert found == last[: len(found)]
    assert found[-1] >= 450


@pytest.mark.parametrize("find", [itertools.count, lambda: iter(range(5))])
def test_a_search_that_waits_for_room_ends_when_nobody_wants_more(
    find: Callable[[], Iterator[int]],
) -> None:
    search = PrefetchedSearch[int](room=1)
    thread = threading.Thread(target=search.run, args=(find,), daemon=True)
    thread.start()
    assert list(itertools.islice(search.found(), 3)) == [0, 1, 2]
    while find is not itertools.count and not search._out.full():
        time.sleep(0.001)  # then the last but one waits for room
    search.stop()
    thread.join(10)
    assert not thread.is_alive()


def test_a_search_may_be_given_up_by_one_of_its_own_threads() -> None:
    """As where one of them collects objects that nobody holds any more."""
    with Pool(2) as pool:
        assert pool.submit(pool.__exit__, None, None, None).result(timeout=60) is None


@pytest.mark.parametrize("ask", [lambda found: found.rows, Matches.to_arrow, len])
def test_threads_of_the_user_search_side_by_side(ask: Callable[[Matches], object]) -> None:
    """Each search here continues only when both have begun."""
    both = threading.Barrier(2)
    nothing = sase.match("EVENT A a WITHIN 1 LIMIT 0", EVENTS).parts

    def search() -> Generator[ResultBatch, None, Report]:
        both.wait(timeout=30)
        yield from nothing
        return Report()

    with Pool(2) as pool:
        for done in [pool.submit(ask, Matches(search)) for _ in range(2)]:
            done.result()


def test_a_limit_does_not_count_what_only_a_slice_takes_for_a_match() -> None:
    """Events that forbid the first ones may be before all events of a slice."""
    types = list("CABCCCBCBCB")
    events = pa.table({"ts": range(len(types)), "type": types})
    query = "EVENT SEQ(!(A y), B a, C b) WITHIN 4 LIMIT {}"
    for limit in range(1, 8):
        one = sase.match(query.format(limit), events, threads=1).rows
        for number in range(2, 6):
            assert sase.match(query.format(limit), events, threads=number).rows == one


def test_what_is_known_at_the_end_of_time_only_keeps_its_order() -> None:
    """There it is no longer known in the order of first events, by which slices own matches."""
    times = [2**63 - 1 - back for back in (30, 25, 4, 3, 2, 1)]
    events = pa.table({"ts": times, "type": ["A"] * 6})
    query = "EVENT SEQ(A a, A b, !(B c)) WITHIN 10"
    plan = sase.compile(query, events).engine
    one = sase.match(query, events, threads=1).rows
    assert sase.match(query, events, threads=3).rows == one
    assert sase.match(query + " LIMIT 4", events, threads=3).rows == one.slice(0, 4)
    assert plan.split.by_first


@pytest.mark.parametrize("query", [SLICED[0], SLICED[-1], KEYED[0], KEYED[2]])
@pytest.mark.parametrize("ask", [lambda found: found.rows, lambda found: next(found.batches())])
def test_what_threads_took_is_given_back_at_once(
    monkeypatch: pytest.MonkeyPatch, query: str, ask: Callable[[Matches], object]
) -> None:
    """Not when garbage is collected: it is most of the memory of a run."""
    opened, init = list[ref[Pipeline]](), Pipeline.__init__

    def noted(self: Pipeline, *given: Any, **named: Any) -> None:
        opened.append(ref(self))
        init(self, *given, **named)

    monkeypatch.setattr(time_slices, "ENOUGH", 40)
    monkeypatch.setattr(Pipeline, "__init__", noted)
    plan = sase.compile(query, EVENTS)
    gc.disable()
    try:
        ask(plan.run(EVENTS, threads=2))
        before = sum(each() is not None for each in opened)
        ask(plan.run(EVENTS, threads=2))
        assert len(opened) >= 2
        assert sum(each() is not None for each in opened) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("threads", [2, 3])
def test_slices_have_equal_shares_of_the_work(threads: int) -> None:
    """The first one, before which nothing is looked at, owns more."""
    plan = sase.compile("EVENT SEQ(A a, C c) WHERE [id] WITHIN 12", EVENTS).engine
    _, events = Pipeline(plan).load(EVENTS)
    first, *others = time_slices.slices_of(events, plan.split, threads)
    sizes = [each.last - each.first for each in (first, *others)]
    assert max(sizes) - min(sizes) <= 6  # simultaneous events are in one
    assert all(each.begin - each.first >= 30 for each in others)
    assert first.end - first.begin > max(each.end - each.begin for each in others) + 20
