"""A batch run in several threads: each takes slices of time, and the results stay in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from sase.binding.bound import BoundWindow, WindowKind
from sase.binding.folding import INT64_MAX, INT64_MIN
from sase.engine.events import Events
from sase.engine.events.inputs import Inputs
from sase.engine.found import Found, Part
from sase.engine.matcher import Matcher
from sase.engine.memory import cores
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.searches import Pool, Search
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


# What is found in a slice, and by which matcher; at the end that alone.
_Delivery: TypeAlias = tuple[Matcher, Results | None]


def search_in_threads(
    whole: Matcher,
    inputs: Inputs,
    events: Events,
    slices: list[Slice],
    threads: int,
    watch: Callable[[int], object],
) -> Generator[Part, None, Report]:
    """The matches of all slices, in order; no more slices are under way than threads.

    A matcher that finds nothing itself has the plan, and takes over what those of slices noted.
    """
    plan = whole._plan
    unlimited, left = without_limit(plan)
    options = replace(plan.options, block=LARGER * plan.options.block)
    searched = 0
    history = whole.take(inputs, events)
    yield Found(whole.shape, history)
    with _Searches(replace(unlimited, options=options), events, slices, threads) as searches:
        for part in slices:
            for matcher, results in searches.next():
                if results is None:
                    whole.merge(matcher)
                    continue
                if left is not None:
                    results = results.between(0, left)
                    left -= len(results)
                if len(results):
                    watch(int(results.last[-1]))
                    yield Found(matcher.shape, history, (results,))
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


class _Searches:
    """The searches of slices, of which a few run ahead of what is asked for, and wait."""

    def __init__(self, plan: EnginePlan, events: Events, slices: list[Slice], threads: int) -> None:
        self._plan, self._events, self._threads = plan, events, threads
        self._left = iter(slices)
        self._waiting: deque[Search[_Delivery]] = deque()
        self._pool = Pool(threads)

    def __enter__(self) -> _Searches:
        return self

    def __exit__(self, *problem: object) -> None:
        while self._waiting:  # which hold what holds them
            self._waiting.popleft().stop()
        self._pool.__exit__(*problem)

    def next(self) -> Iterator[_Delivery]:
        """What is found in the next slice; at last its matcher, with nothing."""
        while len(self._waiting) <= self._threads and (part := next(self._left, None)) is not None:
            # Made ready here, one after the other: threads that do it take turns, and wait.
            matcher = Matcher(self._plan, streaming=False, begin=part.first)
            events = self._events.between(part.first, part.last)
            if matcher._sweep is not None:
                matcher._sweep.prepare(events)
            search = Search(partial(self._find, matcher, events, part), MOST_WAITING)
            self._waiting.append(search)
            self._pool.submit(search.run)
        yield from self._waiting[0].found()
        self._waiting.popleft()

    def _find(self, matcher: Matcher, events: Events, part: Slice) -> Iterator[_Delivery]:
        for results in _owned(matcher.results(events), part, by_first=self._plan.split.by_first):
            yield matcher, results
        yield matcher, None


def _owned(found: Iterator[Results], part: Slice, *, by_first: bool) -> Iterator[Results]:
    """The results that a slice owns."""
    for results in found:
        owner = results.first if by_first else results.last
        if owner.min() >= part.begin and owner.max() < part.end:
            yield results
        else:
            yield results.at((owner >= part.begin) & (owner < part.end))
