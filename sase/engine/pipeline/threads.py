"""Batch execution in several threads, by slices of time or by partitions of keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, EquivalenceTest, WindowKind
from sase.binding.types import Kind
from sase.binding.values.folding import INT64_MAX, INT64_MIN
from sase.engine.blocks.block import Block, EventRange
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.input import Inputs
from sase.engine.kernels.expressions.operations import NULL
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline, Slice
from sase.engine.pipeline.prefetch import Pool, PrefetchedSearch
from sase.engine.report import Report
from sase.engine.resources import Check, cores
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import SequenceConstruction, Transformation, exchanged, find, require
from sase.planning.split import Split

# ---------------------------------------------------------------- time slices

# The least number of events for a thread, or for a slice of many; and the least ratio of the events
# that a slice owns to its halo.
LEAST, ENOUGH, HALO = 1 << 20, 1 << 22, 4
# Batches of results that a slice may queue while earlier slices are consumed.
MOST_WAITING = 64


def threads_that_pay(events: int) -> int:
    """The number of threads that pay for a number of events."""
    return max(min(cores(), events // LEAST), 1)


def slices_of(events: Events, split: Split, threads: int | None) -> list[Slice]:
    """Cut events into slices of equal work; one if more do not pay, unless threads are given."""
    count = len(events)
    if split.before is None or not count or threads == 1:
        return [Slice(0, count, 0, count)]
    asked = threads or threads_that_pay(count)
    rounds = max(count // (asked * ENOUGH), 1)  # slices of each thread
    found = _cut(events, split, -(-count // (asked * rounds)))
    halos = sum(each.last - each.first for each in found) - count
    if halos * HALO <= count:
        # The first slice has no halo, so it owns more events.
        lead = halos // max(len(found) - 1, 1) if split.after is None else 0
        return _cut(events, split, -(-(count - lead) // len(found)), lead) if lead else found
    return _cut(events, split, count if threads is None else -(-count // threads))


def _cut(events: Events, split: Split, size: int, lead: int = 0) -> list[Slice]:
    """Cut slices of a size, the first with a lead, between events that are not simultaneous."""
    assert split.before is not None
    starts = events.ts[np.r_[0, np.arange(lead + size, len(events), size)]]
    cuts = np.unique(np.searchsorted(events.ts, starts, "left"))
    if split.by_detection:
        return _cut_by_detection(events, cuts.tolist(), split)
    if split.after is not None and split.after.kind is WindowKind.TIME:
        # Results that are certain only at the end are in the order of their last events.
        cuts = cuts[cuts <= np.searchsorted(events.ts, INT64_MAX - size_of(split.after), "left")]
    return [
        Slice(
            begin,
            end,
            _back(events, begin, split.before),
            end if split.after is None else _ahead(events, end, split.after),
            split.by_first,
        )
        for begin, end in pairwise([*cuts.tolist(), len(events)])
    ]


def _cut_by_detection(events: Events, cuts: list[int], split: Split) -> list[Slice]:
    """Cut slices that own the matches detected in them, with all events that these depend on."""
    assert events.until is not None
    # Unsigned numbers, in which no difference overflows.
    longest = int((events.until.view(np.uint64) - events.ts.view(np.uint64)).max())
    window = split.around(longest).before
    assert window is not None
    slices = []
    for begin, end in pairwise([*cuts, len(events)]):
        low = int(events.ts[begin]) if begin else INT64_MIN
        high = int(events.ts[end]) - 1 if end < len(events) else INT64_MAX
        slices.append(Slice(begin, end, _back(events, begin, window), end, detected=(low, high)))
    return slices


def _back(events: Events, begin: int, window: BoundWindow) -> int:
    """The first event of the halo before a slice: a match that ends in the slice can reach it."""
    if window.kind is WindowKind.EVENTS:
        return max(begin - size_of(window), 0)
    earliest = int(events.ts[begin]) - size_of(window)
    return int(np.searchsorted(events.ts, max(earliest, INT64_MIN), "left"))


def _ahead(events: Events, end: int, window: BoundWindow) -> int:
    """The end of the halo behind a slice: it can forbid a match that begins in the slice."""
    if window.kind is WindowKind.EVENTS:
        return min(end + size_of(window), len(events))
    latest = int(events.ts[end - 1]) + size_of(window)
    return int(np.searchsorted(events.ts, min(latest, INT64_MAX), "right"))


# Results of a slice with its pipeline; at the end of the slice the pipeline alone.
_Delivery: TypeAlias = tuple[Pipeline, Results | None]


def search_in_threads(
    whole: Pipeline,
    inputs: Inputs,
    events: Events,
    slices: list[Slice],
    threads: int,
    watch: Callable[[int], object],
) -> Generator[ResultBatch, None, Report]:
    """Yield the matches of all slices, in order; the calling thread is one of the `threads`.

    `whole` searches nothing itself: it has the plan and the input, and merges the reports.
    """
    plan = whole.plan
    unlimited, left = without_limit(plan)
    searched = 0
    history = whole.bind_input(inputs, events)
    yield MatchBatch(whole.shape, history)
    with _Searches(unlimited, events, slices, threads, whole.check) as searches:
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
                    # Texts have the codes of the slice's pipeline; `whole` has loaded none itself.
                    shape = replace(whole.shape, texts=pipeline.shape.texts)
                    yield MatchBatch(shape, history, (results,))
                if left == 0:
                    break
            searched = part.end
            watch(searched)
            if left == 0:
                break
    report = whole.report(is_cut=left == 0)
    return replace(report, rows=report.rows + events.rows_up_to(searched))


def without_limit(plan: EnginePlan, *, by_key: bool = False) -> tuple[EnginePlan, int | None]:
    """The plan for parts, without a count of results towards LIMIT, and the limit.

    A slice makes sequences that it does not own, or that an event outside forbids. Only a partition
    by key may still stop when it has made enough.
    """
    top = require(plan.operators, Transformation)
    construction = find(plan.operators, SequenceConstruction)
    assert top.limit is None or isinstance(top.limit, int)
    operators = exchanged(plan.operators, replace(top, limit=None))
    if construction is not None and not by_key:
        operators = exchanged(operators, replace(construction, limit=None))
    return replace(plan, operators=operators), top.limit


class _Task:
    """The search of a slice: in a thread of the pool, or step by step in the consuming thread.

    Results ahead of the consumer are queued, up to a bound.
    """

    def __init__(self, plan: EnginePlan, events: Events, part: Slice, check: Check) -> None:
        self._search = PrefetchedSearch[_Delivery](MOST_WAITING)
        check = self._search.stopping(check)
        self._pipeline = open_pipeline(plan, slice=part, check=check)
        self._events = events.between(part.first, part.last)
        self._find = partial(_deliveries, self._pipeline, self._events)
        self._future: Future[None] | None = None
        self._own: Iterator[_Delivery] | None = None
        self._waiting: deque[_Delivery] = deque()
        self._problem: Exception | None = None

    def submit(self, pool: Pool) -> None:
        """Search in a thread of the pool."""
        self._future = pool.begin(partial(self._search.run, self._find))

    def claim(self) -> bool:
        """Take the search over, unless another thread has begun it; return whether it was taken."""
        if self._own is None and (self._future is None or self._future.cancel()):
            self._own = self._find()
        return self._own is not None

    def step(self) -> bool:
        """Search on in this thread; false if the search is over or the queue is full."""
        assert self._own is not None
        if self._problem is not None or len(self._waiting) >= MOST_WAITING:
            return False
        try:
            delivery = next(self._own, None)
        except Exception as problem:  # of a later slice: raised when the slice is consumed
            self._problem = problem
            return False
        if delivery is not None:
            self._waiting.append(delivery)
        return delivery is not None

    def found(self, meanwhile: Callable[[], bool]) -> Iterator[_Delivery]:
        """Yield the results; at last the pipeline alone."""
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
        """Stop the search."""
        self._search.stop()


def _deliveries(pipeline: Pipeline, events: Events) -> Iterator[_Delivery]:
    """The results in events; at last the pipeline alone."""
    for results in pipeline.results(events):
        yield pipeline, results
    yield pipeline, None


class _Searches:
    """The searches of slices; a few of them run ahead of the consumer.

    The consuming thread searches too: if it slept, two other threads would share a core.
    """

    def __init__(
        self, plan: EnginePlan, events: Events, slices: list[Slice], threads: int, check: Check
    ) -> None:
        self._plan, self._events, self._threads, self._check = plan, events, threads, check
        self._left = deque(slices)
        self._tasks: deque[_Task] = deque()
        # The later slice that this thread searches while it waits for the first.
        self._ahead: _Task | None = None
        self._pool = Pool(threads - 1)

    def __enter__(self) -> _Searches:
        return self

    def __exit__(self, *problem: object) -> None:
        while self._tasks:  # break the circles of references
            self._tasks.popleft().stop()
        self._ahead = None
        self._pool.__exit__(*problem)

    def next(self) -> Iterator[_Delivery]:
        """Yield the results of the next slice; at last its pipeline alone."""
        own = None if self._tasks else self._left.popleft()
        while self._left and len(self._tasks) < self._threads:
            task = _Task(self._plan, self._events, self._left.popleft(), self._check)
            task.submit(self._pool)
            self._tasks.append(task)
        if own is not None:  # it begins when the other threads have work
            self._tasks.appendleft(_Task(self._plan, self._events, own, self._check))
        yield from self._tasks[0].found(self._meanwhile)
        self._tasks.popleft()

    def _meanwhile(self) -> bool:
        """Search on in a later slice that no other thread has begun; false if there is none."""
        later = list(self._tasks)[1:]
        if self._ahead not in later:
            self._ahead = next((task for task in later if task.claim()), None)
        return self._ahead is not None and self._ahead.step()


# ---------------------------------------------------------------- key partitions

# All matches that end with an event are found in one partition, so merging by the last event
# restores the order of results. Of imprecise time results are merged by the time of detection, and
# then by the last event.

# Batches of results that a partition may queue while it waits for others.
MOST_QUEUED = 16


def _codes(pipeline: Pipeline, events: Events, test: EquivalenceTest) -> Numbers:
    """The key codes of all events under a test, negative where they have none."""
    coding, places = pipeline.dictionary, np.arange(len(events))
    stretch = EventRange(events, 0, len(events), 0, 0)
    block = Block(stretch, places, places, events.ts, places, places, coding)
    return block.codes(coding.key((test,)))


def search_by_key(
    whole: Pipeline, inputs: Inputs, events: Events, threads: int, watch: Callable[[int], object]
) -> Generator[ResultBatch, None, Report]:
    """Yield the matches of all keys, in order; `whole` searches nothing itself."""
    plan = whole.plan
    unlimited, left = without_limit(plan, by_key=True)
    history = whole.bind_input(inputs, events)
    yield MatchBatch(whole.shape, history)
    # Events without a key are in no match with others: any partition will do.
    of_part = np.maximum(_codes(whole, events, plan.split.keys[0]), 0) % threads
    with _searching(unlimited, events, of_part, threads, whole.check) as parts:
        for results, last in _merged([_Stream(part, whole) for part in parts]):
            if left is not None:
                results = results.between(0, left)
                left -= len(results)
            watch(last)
            yield MatchBatch(whole.shape, history, (results,))
            if left == 0:
                break
    for part in parts:
        whole.merge(part.pipeline, part.positions)
    report = whole.report(is_cut=left == 0)
    return replace(report, rows=report.rows + events.rows_up_to(len(events)))


class _PartitionSearch:
    """The events of some keys, and their search: ahead in a pool, or else by the consumer."""

    def __init__(
        self,
        plan: EnginePlan,
        events: Events,
        positions: Numbers,
        check: Check,
        pool: Pool | None,
    ) -> None:
        search = PrefetchedSearch[Results](MOST_QUEUED)
        self.pipeline = open_pipeline(plan, check=search.stopping(check))
        self.positions = positions
        self.stop = search.stop
        find = partial(self.pipeline.results, events.at(positions))
        self.found: Callable[[], Iterator[Results]] = find if pool is None else search.found
        if pool is not None:
            pool.begin(partial(search.run, find))


@contextmanager
def _searching(
    plan: EnginePlan, events: Events, of_part: Numbers, threads: int, check: Check
) -> Iterator[list[_PartitionSearch]]:
    """Open a partition for each thread, this thread the first; stop them in the end."""
    parts: list[_PartitionSearch] = []
    with Pool(max(threads - 1, 1)) as pool:
        try:
            for number in reversed(range(threads)):
                own = np.flatnonzero(of_part == number)
                ahead = pool if number else None
                parts.insert(0, _PartitionSearch(plan, events, own, check, ahead))
            yield parts
        finally:
            for part in parts:
                part.stop()


class _Stream:
    """The results of a partition; the current batch has positions and codes of the whole input."""

    def __init__(self, part: _PartitionSearch, whole: Pipeline) -> None:
        self._part, self._whole = part, whole
        self._found = part.found()
        # The code in the whole of each text of the partition.
        self._codes: Numbers = np.empty(0, np.int64)
        self._results: Results | None = None
        self.order: NDArray[Any] = np.empty(0, np.int64)

    def advance(self) -> bool:
        """Read the next batch; false if there is none."""
        found = next(self._found, None)
        if found is None:
            return False
        self._results = self._translated(
            found.map_positions(lambda places: self._part.positions[places])
        )
        self.order = self._results.order
        return True

    def up_to(self, bound: Any) -> Results:
        """Split off the results of the current batch up to a bound."""
        assert self._results is not None
        count = int(np.searchsorted(self.order, np.array(bound, self.order.dtype), "right"))
        taken = self._results.between(0, count)
        self._results = self._results.between(count, len(self._results))
        self.order = self.order[count:]
        return taken

    def _translated(self, results: Results) -> Results:
        """Translate codes of texts to those of the whole."""
        columns = zip(self._whole.shape.columns or (), results.values, strict=True)
        values = [
            self._coded(each) if column.value.type.kind is Kind.STRING else each
            for column, each in columns
        ]
        return replace(results, values=tuple(values))

    def _coded(self, values: Numbers) -> Numbers:
        """Translate tags and bits of texts."""
        new = self._part.pipeline.shape.texts[len(self._codes) :]
        self._codes = np.append(self._codes, self._whole.dictionary.texts.codes_of(new))
        values, known = values.copy(), values[:, 0] != NULL
        values[known, 1] = self._codes[values[known, 1]]
        return values


def _merged(streams: list[_Stream]) -> Iterator[tuple[Results, int]]:
    """Merge results up to the least last one of the current batches, each with its position."""
    live = [stream for stream in streams if stream.advance()]
    while live:
        bound = min(stream.order[-1].item() for stream in live)
        taken = [stream.up_to(bound) for stream in live]
        live = [stream for stream in live if len(stream.order) or stream.advance()]
        order = np.concatenate([results.order for results in taken])
        last = bound if isinstance(bound, int) else bound[-1]
        yield Results.merged(taken, np.argsort(order, kind="stable")), last
