"""A batch run in several threads: each takes slices of time, and the results stay in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from sase.binding.bound import BoundWindow, WindowKind
from sase.engine.events import Events
from sase.engine.events.inputs import Inputs
from sase.engine.found import Found, Part
from sase.engine.matcher import Matcher
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.planning.nodes import Transformation, exchanged, find
from sase.planning.split import Split

# Fewer events than these are not worth a slice of their own, nor are those that are few beside
# what the slice must look at around them.
LEAST, HALO = 1 << 20, 4


@dataclass(frozen=True, slots=True)
class Slice:
    """The positions that a slice owns, and those that it looks at."""

    begin: int
    end: int
    first: int
    last: int


def threads_that_pay(events: int) -> int:
    """As many as there are cores, if there is enough to do for them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(min(cores or 1, events // LEAST), 1)


def slices_of(events: Events, split: Split, threads: int | None) -> list[Slice]:
    """Slices of about equal size; one if more do not pay, unless threads were asked for."""
    count = len(events)
    if split.before is None or not count or threads == 1:
        return [Slice(0, count, 0, count)]
    asked = threads or threads_that_pay(count)
    found = _cut(events, split, min(LEAST, -(-count // asked)))
    if (sum(each.last - each.first for each in found) - count) * HALO <= count:
        return found
    return _cut(events, split, count if threads is None else -(-count // threads))


def _cut(events: Events, split: Split, size: int) -> list[Slice]:
    """Slices of about a size, cut between events that are not simultaneous."""
    assert split.before is not None
    starts = events.ts[np.arange(0, len(events), size)]
    cuts = np.unique(np.searchsorted(events.ts, starts, "left")).tolist()
    return [
        Slice(
            begin,
            end,
            _back(events, begin, split.before),
            end if split.after is None else _ahead(events, end, split.after),
        )
        for begin, end in zip(cuts, [*cuts[1:], len(events)], strict=True)
    ]


def _back(events: Events, begin: int, window: BoundWindow) -> int:
    """The first event that a match can reach whose last one is at a position or behind it."""
    if window.kind is WindowKind.EVENTS:
        return max(begin - size_of(window), 0)
    earliest = int(events.ts[begin]) - size_of(window)
    return int(np.searchsorted(events.ts, max(earliest, -(2**63)), "left"))


def _ahead(events: Events, end: int, window: BoundWindow) -> int:
    """The position behind the last event that can forbid a match that begins before one."""
    if window.kind is WindowKind.EVENTS:
        return min(end + size_of(window), len(events))
    latest = int(events.ts[end - 1]) + size_of(window)
    return int(np.searchsorted(events.ts, min(latest, 2**63 - 1), "right"))


def search_in_threads(
    plan: EnginePlan,
    inputs: Inputs,
    events: Events,
    slices: list[Slice],
    threads: int,
    watch: Callable[[int], object],
) -> Generator[Part, None, Report]:
    """The matches of all slices, in order; no more slices are under way than threads."""
    top = find(plan.operators, Transformation)
    assert top is not None
    left = top.limit
    assert left is None or isinstance(left, int)
    unlimited = replace(plan, operators=exchanged(plan.operators, replace(top, limit=None)))
    by_first, searched_rows = plan.split.by_first, 0
    whole = Matcher(plan, streaming=False)
    history = whole.take(inputs, events)
    yield Found(whole.shape, history)

    def searched(part: Slice) -> tuple[Matcher, list[Results]]:
        matcher = Matcher(unlimited, streaming=False, begin=part.first)
        found = matcher.results(events.between(part.first, part.last))
        return matcher, list(_owned(found, part, by_first=by_first))

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[tuple[Matcher, list[Results]]]] = deque()
        ahead = iter(slices)
        try:
            for part in slices:
                while len(waiting) <= threads and (coming := next(ahead, None)) is not None:
                    waiting.append(pool.submit(searched, coming))
                matcher, found = waiting.popleft().result()
                for results in found:
                    if left is not None:
                        results = results.between(0, left)
                        left -= len(results)
                    if len(results):
                        yield Found(matcher.shape, history, (results,))
                watch(part.end)
                whole.merge(matcher)
                searched_rows = part.end
                if left == 0:
                    break
        finally:
            pool.shutdown(cancel_futures=True)
    report = whole.report()
    return replace(report, rows=report.rows + searched_rows, is_complete=left != 0)


def _owned(found: Iterator[Results], part: Slice, *, by_first: bool) -> Iterator[Results]:
    """The results that a slice owns."""
    for results in found:
        owner = results.positions[0 if by_first else -1]
        yield results.at((owner >= part.begin) & (owner < part.end))
