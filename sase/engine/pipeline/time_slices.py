"""A batch run in several threads: each takes slices of time, and the results stay in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from sase.binding.bound import BoundWindow, WindowKind
from sase.binding.folding import INT64_MAX, INT64_MIN
from sase.engine.columns import Events
from sase.engine.columns.input import Inputs
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.choose import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.prefetch import Pool, Search
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.resources import cores
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.planning.nodes import SequenceConstruction, Transformation, exchanged, find, the
from sase.planning.split import Split

# Fewer events than these are not worth a thread, nor these a slice of their own where there are
# more, nor are those that are few beside what the slice must look at around them.
LEAST, ENOUGH, HALO = 1 << 20, 1 << 22, 4
# Threads take so many times larger blocks: they wait for each other between the steps of one.
LARGER = 4
# The results of a slice that may wait for those of the slices before it to be taken.
MOST_WAITING = 64


@dataclass(frozen=True, slots=True)
class Slice:
    """The positions that a slice owns, and those that it looks at."""

    begin: int
    end: int
    first: int
    last: int


def threads_that_pay(events: int) -> int:
    """As many as there are cores, if there is enough to do for them."""
    return max(min(cores(), events // LEAST), 1)


def slices_of(events: Events, split: Split, threads: int | None) -> list[Slice]:
    """Slices of about equal size; one if more do not pay, unless threads were asked for."""
    count = len(events)
    if split.before is None or not count or threads == 1:
        return [Slice(0, count, 0, count)]
    asked = threads or threads_that_pay(count)
    rounds = max(count // (asked * ENOUGH), 1)  # each thread has as many slices
    found = _cut(events, split, -(-count // (asked * rounds)))
    if (sum(each.last - each.first for each in found) - count) * HALO <= count:
        return found
    return _cut(events, split, count if threads is None else -(-count // threads))


def _cut(events: Events, split: Split, size: int) -> list[Slice]:
    """Slices of about a size, cut between events that are not simultaneous."""
    assert split.before is not None
    starts = events.ts[np.arange(0, len(events), size)]
    cuts = np.unique(np.searchsorted(events.ts, starts, "left"))
    if split.after is not None and split.after.kind is WindowKind.TIME:
        # What is known at the end of time only is in the order of its last events.
        cuts = cuts[cuts <= np.searchsorted(events.ts, INT64_MAX - size_of(split.after), "left")]
    return [
        Slice(
            begin,
            end,
            _back(events, begin, split.before),
            end if split.after is None else _ahead(events, end, split.after),
        )
        for begin, end in pairwise([*cuts.tolist(), len(events)])
    ]


def _back(events: Events, begin: int, window: BoundWindow) -> int:
    """The first event that a match can reach whose last one is at a position or behind it."""
    if window.kind is WindowKind.EVENTS:
        return max(begin - size_of(window), 0)
    earliest = int(events.ts[begin]) - size_of(window)
    return int(np.searchsorted(events.ts, max(earliest, INT64_MIN), "left"))


def _ahead(events: Events, end: int, window: BoundWindow) -> int:
    """The position behind the last event that can forbid a match that begins before one."""
    if window.kind is WindowKind.EVENTS:
        return min(end + size_of(window), len(events))
    latest = int(events.ts[end - 1]) + size_of(window)
    return int(np.searchsorted(events.ts, min(latest, INT64_MAX), "right"))


# What is found in a slice, and by which pipeline; at the end that alone.
_Delivery: TypeAlias = tuple[Pipeline, Results | None]


def search_in_threads(
    whole: Pipeline,
    inputs: Inputs,
    events: Events,
    slices: list[Slice],
    threads: int,
    watch: Callable[[int], object],
) -> Generator[ResultBatch, None, Report]:
    """The matches of all slices, in order; this thread is one of so many.

    A pipeline that finds nothing itself has the plan, and takes over what those of slices noted.
    """
    plan = whole.plan
    unlimited, left = without_limit(plan)
    options = replace(plan.options, block=LARGER * plan.options.block)
    searched = 0
    history = whole.bind_input(inputs, events)
    yield MatchBatch(whole.shape, history)
    with _Searches(replace(unlimited, options=options), events, slices, threads) as searches:
        for part in slices:
            for pipeline, results in searches.next():
                if results is None:
                    whole.merge(pipeline)
                    continue
                if left is not None:
                    results = results.between(0, left)
                    left -= len(results)
                if len(results):
                    watch(int(results.last[-1]))
                    # Whose texts have codes of their own; it has loaded nothing itself.
                    shape = replace(whole.shape, texts=pipeline.shape.texts)
                    yield MatchBatch(shape, history, (results,))
                if left == 0:
                    break
            searched = part.end
            watch(searched)
            if left == 0:
                break
    report = whole.report(is_cut=left == 0)
    return replace(report, rows=report.rows + searched)


def without_limit(plan: EnginePlan, *, by_key: bool = False) -> tuple[EnginePlan, int | None]:
    """The plan for parts, which count no results towards LIMIT, and what that is.

    A slice builds sequences that are none, where it does not see what forbids them, and others that
    it does not own. Only what is cut by key may still stop when it has built enough.
    """
    top = the(plan.operators, Transformation)
    construction = find(plan.operators, SequenceConstruction)
    assert top.limit is None or isinstance(top.limit, int)
    operators = exchanged(plan.operators, replace(top, limit=None))
    if construction is not None and not by_key:
        operators = exchanged(operators, replace(construction, limit=None))
    return replace(plan, operators=operators), top.limit


class _Task:
    """The search of a slice: in a thread of the pool, or step by step in the one that asks for it.

    What is found before it is asked for waits, so much of it at most.
    """

    def __init__(self, plan: EnginePlan, events: Events, part: Slice) -> None:
        self._by_first = plan.split.by_first
        self._part, self._pipeline = part, open_pipeline(plan, begin=part.first)
        self._events = events.between(part.first, part.last)
        # Made ready here, one after the other: threads that do it take turns, and wait.
        if self._pipeline.loaded_path is not None:
            self._pipeline.loaded_path.prepare(self._events)
        self._search = Search(self._find, MOST_WAITING)
        self._future: Future[None] | None = None
        self._own: Iterator[_Delivery] | None = None
        self._waiting: deque[_Delivery] = deque()
        self._problem: Exception | None = None

    def submit(self, pool: Pool) -> None:
        """Have a thread search."""
        self._future = pool.submit(self._search.run)

    def claim(self) -> bool:
        """Whether it is for this thread to search, since no other one has begun."""
        if self._own is None and (self._future is None or self._future.cancel()):
            self._own = self._find()
        return self._own is not None

    def step(self) -> bool:
        """Search on in this thread; false if there is no more to find, or enough waits."""
        assert self._own is not None
        if self._problem is not None or len(self._waiting) >= MOST_WAITING:
            return False
        try:
            delivery = next(self._own, None)
        except Exception as problem:  # which is that of a later slice, and goes wrong there
            self._problem = problem
            return False
        if delivery is not None:
            self._waiting.append(delivery)
        return delivery is not None

    def found(self, meanwhile: Callable[[], bool]) -> Iterator[_Delivery]:
        """What is found; at last its pipeline, with nothing."""
        if not self.claim():
            yield from self._search.found(meanwhile)
            return
        assert self._own is not None
        while self._waiting:
            yield self._waiting.popleft()
        if self._problem is not None:
            raise self._problem
        yield from self._own

    def stop(self) -> None:
        """Nobody wants more."""
        self._search.stop()

    def _find(self) -> Iterator[_Delivery]:
        pipeline, part = self._pipeline, self._part
        for results in _owned(pipeline.results(self._events), part, by_first=self._by_first):
            yield pipeline, results
        yield pipeline, None


class _Searches:
    """The searches of slices, of which a few run ahead of what is asked for.

    The thread that asks is one of those that search: where it slept, two others would share a core.
    """

    def __init__(self, plan: EnginePlan, events: Events, slices: list[Slice], threads: int) -> None:
        self._plan, self._events, self._threads = plan, events, threads
        self._left = deque(slices)
        self._tasks: deque[_Task] = deque()
        # The one that this thread searches while it waits for the first.
        self._ahead: _Task | None = None
        self._pool = Pool(threads - 1)

    def __enter__(self) -> _Searches:
        return self

    def __exit__(self, *problem: object) -> None:
        while self._tasks:  # which hold what holds them
            self._tasks.popleft().stop()
        self._ahead = None
        self._pool.__exit__(*problem)

    def next(self) -> Iterator[_Delivery]:
        """What is found in the next slice; at last its pipeline, with nothing."""
        own = None if self._tasks else self._left.popleft()
        while self._left and len(self._tasks) < self._threads:
            task = self._opened(self._left.popleft())
            task.submit(self._pool)
            self._tasks.append(task)
        if own is not None:  # which is begun when the others have something to do
            self._tasks.appendleft(self._opened(own))
        yield from self._tasks[0].found(self._meanwhile)
        self._tasks.popleft()

    def _opened(self, part: Slice) -> _Task:
        return _Task(self._plan, self._events, part)

    def _meanwhile(self) -> bool:
        """Search on in a later slice that no other thread has begun, if there is one."""
        later = list(self._tasks)[1:]
        if self._ahead not in later:
            self._ahead = next((task for task in later if task.claim()), None)
        return self._ahead is not None and self._ahead.step()


def _owned(found: Iterator[Results], part: Slice, *, by_first: bool) -> Iterator[Results]:
    """The results that a slice owns."""
    for results in found:
        owner = results.first if by_first else results.last
        if owner.min() >= part.begin and owner.max() < part.end:
            yield results
        else:
            yield results.at((owner >= part.begin) & (owner < part.end))
