"""Batch execution in several threads by key partitions, for plans without a window.

All matches that end with an event are found in one partition, so merging by the last event restores
the order of results; of imprecise time by the time of detection, and then by the last event.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.binding.types import Kind
from sase.engine.blocks.block import Block, EventRange
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.input import Inputs
from sase.engine.kernels.expressions.operations import NULL
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.prefetch import Pool, PrefetchedSearch
from sase.engine.pipeline.time_slices import without_limit
from sase.engine.report import Report
from sase.engine.resources import Check
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.planning.plan import EnginePlan

# Batches of results that a partition may queue while it waits for others.
MOST_WAITING = 16


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
    return replace(report, rows=report.rows + len(events))


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
        search = PrefetchedSearch[Results](MOST_WAITING)
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
    """Open a partition for each thread, of which this one is the first; stop them in the end."""
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
    """The results of a partition, a batch in hand, with positions and codes of the whole input."""

    def __init__(self, part: _PartitionSearch, whole: Pipeline) -> None:
        self._part, self._whole = part, whole
        self._found = part.found()
        # The code in the whole of each text of the partition.
        self._codes: Numbers = np.empty(0, np.int64)
        self._results: Results | None = None
        self.order: NDArray[Any] = np.empty(0, np.int64)

    def advance(self) -> bool:
        """Take the next batch in hand; whether there is one."""
        found = next(self._found, None)
        if found is None:
            return False
        self._results = self._translated(
            found.map_positions(lambda places: self._part.positions[places])
        )
        self.order = self._results.order
        return True

    def up_to(self, bound: Any) -> Results:
        """Split off those in hand that are not behind a bound."""
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
    """Merge results up to the least of the last ones in hand, and yield them with its position."""
    live = [stream for stream in streams if stream.advance()]
    while live:
        bound = min(stream.order[-1].item() for stream in live)
        taken = [stream.up_to(bound) for stream in live]
        live = [stream for stream in live if len(stream.order) or stream.advance()]
        order = np.concatenate([results.order for results in taken])
        last = bound if isinstance(bound, int) else bound[-1]
        yield Results.merged(taken, np.argsort(order, kind="stable")), last
