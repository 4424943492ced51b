"""Threads may share a plan at once, and a matcher one after another."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

import sase
from sase.base.limits import heed, heeding
from sase.engine.pipeline.prefetch import Pool
from sase.errors import SaseError, TimeLimitError
from tests.engine.operators.plans import BY_RECIPE, plan_of, stream, told

EVENTS = stream()
PAIRS = [each.values for each in BY_RECIPE if not each.marks][::7]
CALLS = {
    "push": lambda matcher: matcher.push(EVENTS),
    "advance": lambda matcher: matcher.advance(10**6),
    "finish": lambda matcher: matcher.finish(),
    "snapshot": lambda matcher: matcher.snapshot(),
    "take_late": lambda matcher: matcher.take_late(),
}


class Paused:
    """Events with a batch that comes only on a signal, so that a push of them is in the midst."""

    def __init__(self) -> None:
        self.is_asked, self.may_go = Event(), Event()

    def batches(self) -> Iterator[Any]:
        self.is_asked.set()
        assert self.may_go.wait(60)
        yield from EVENTS.to_batches()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(EVENTS.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("name", CALLS)
def test_a_matcher_is_used_by_one_call_at_a_time(name: str) -> None:
    """A push in the meantime is refused; the working push and later ones are undisturbed."""
    plan, paused = plan_of("a middle", "optimized"), Paused()
    matcher = plan.open()
    with ThreadPoolExecutor(1) as other:
        working = other.submit(matcher.push, paused)
        assert paused.is_asked.wait(60)
        try:
            with pytest.raises(SaseError, match=rf"^{name}\(\) while another call"):
                CALLS[name](matcher)
        finally:
            paused.may_go.set()
        found = told(working.result())
    assert [*found, *told(matcher.finish())] == told(plan.run(EVENTS)) != []


def test_a_call_that_fails_leaves_the_matcher_free() -> None:
    matcher = plan_of("a window", "optimized").open()
    for _ in range(2):
        with pytest.raises(SaseError, match="there is no time column"):
            matcher.push([{"no": "event"}])
    assert told(matcher.push(EVENTS))


def test_a_plan_is_used_by_eight_threads_at_once() -> None:
    """As they all run it, and open it for streams of their own."""
    plans = [plan_of(query, recipe) for query, recipe in PAIRS]
    expected = [told(plan.run(EVENTS)) for plan in plans]

    def run(number: int) -> list[Any]:
        plan = plans[number % len(plans)]
        if number % 2:
            return told(plan.run(EVENTS))
        matcher = plan.open()
        pushed = [
            row for at in range(0, 50, 10) for row in told(matcher.push(EVENTS.slice(at, 10)))
        ]
        return [*pushed, *told(matcher.finish())]

    numbers = range(6 * len(plans))
    with ThreadPoolExecutor(8) as threads:
        for number, found in zip(numbers, threads.map(run, numbers), strict=True):
            assert sorted(found, key=repr) == sorted(expected[number % len(plans)], key=repr)


def test_a_query_is_compiled_by_eight_threads_at_once() -> None:
    texts = [f"EVENT SEQ(A a, B b, C c) WHERE [id] AND a.v < {n} WITHIN 9" for n in range(4)] * 4
    expected = {text: told(sase.match(text, EVENTS)) for text in texts}
    with ThreadPoolExecutor(8) as threads:
        for text, found in zip(
            texts, threads.map(lambda text: sase.match(text, EVENTS), texts), strict=True
        ):
            assert told(found) == expected[text]


def test_results_outlive_the_events_and_may_be_read_while_more_is_pushed() -> None:
    plan = plan_of("a window", "optimized")
    expected = told(plan.run(EVENTS))
    events = stream()
    matches = plan.run(events)
    del events
    assert told(matches) == expected
    matcher, found = plan.open(), list[Any]()
    rows = iter(matcher.push(EVENTS.slice(0, 30)))
    found.append(next(rows))
    later = matcher.push(EVENTS.slice(30))
    found += rows
    assert len(found) + len(later) + len(matcher.finish()) == len(expected)


def test_a_thread_that_searches_heeds_the_limits_of_the_run() -> None:
    """Also one that the limits are not handed to; a thread of others heeds none of them."""

    def ends(stands: str) -> None:
        raise TimeLimitError(stands)

    with Pool(1) as pool, ThreadPoolExecutor(1) as others:
        with heeding(ends):
            inside, outside = pool.begin(heed), others.submit(heed)
        after = pool.begin(heed)
        assert isinstance(inside.exception(), TimeLimitError)
        assert outside.exception() is after.exception() is None
