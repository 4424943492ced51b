"""The statements of a script in several threads: each searches some of them over all events.

    thread 1   query 1, query 4 which reads query 1    ─┐
    thread 2   query 2, query 3, which share a matching ┴→  the matches of all, piece by piece

Statements that read each other or share a matching stay together. The threads share the events, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from threading import Event
from typing import Any

import pyarrow as pa

from sase.engine.pipeline.prefetch import Pool, StoppedError
from sase.engine.report import Report
from sase.engine.resources import Check, no_check
from sase.engine.scripts.pipeline import Found, ScriptPipeline, read_in_turn, rows_once
from sase.engine.scripts.plan import ScriptPlan, StatementPlan
from sase.engine.scripts.rows import InputRows


def together(plan: ScriptPlan) -> list[list[StatementPlan]]:
    """The statements in groups that no thread can search apart, in the order of the script."""
    group_of = {each.name: [each.name] for each in plan.statements}
    read = [[each.name, *(n for n in each.sources if n in group_of)] for each in plan.statements]
    for names in chain(read, (each.names for each in plan.joint)):
        whole = list(dict.fromkeys(name for each in names for name in group_of[each]))
        group_of |= dict.fromkeys(whole, whole)
    groups = {id(group): list[StatementPlan]() for group in group_of.values()}
    for each in plan.statements:
        groups[id(group_of[each.name])].append(each)
    return [*groups.values()]


def _cost(group: Collection[StatementPlan], joined: Collection[str]) -> int:
    """The work of a group beside others: the types of events that each of its matchings reads."""
    own = [each.plan for each in group if each.name not in joined]
    return sum(1 + sum(len(c.types or ()) for c in (*p.positives, *p.negatives)) for p in own)


def dealt_to(plan: ScriptPlan, threads: int) -> list[ScriptPlan]:
    """The parts of a script for a number of threads, of about equal cost; no more than pay."""
    if threads == 1:
        return [plan]
    joined = {name for names in plan.joint for name in names.names[1:]}
    groups = [(_cost(group, joined), group) for group in together(plan)]
    parts: list[list[StatementPlan]] = [[] for _ in range(min(threads, len(groups)))]
    costs = [0] * len(parts)
    for cost, group in sorted(groups, key=itemgetter(0), reverse=True):
        least = costs.index(min(costs))
        parts[least] += group
        costs[least] += cost
    return [_part(plan, {each.name for each in part}) for part in parts]


def _part(plan: ScriptPlan, names: Collection[str]) -> ScriptPlan:
    statements = tuple(each for each in plan.statements if each.name in names)
    read = {name for each in statements for name in each.sources}
    return ScriptPlan(tuple(each for each in plan.inputs if each.name in read), statements)


class ScriptThreads:
    """Searches complete inputs by a pipeline for each part of a script, each in its own thread.

    One part is searched in the calling thread.
    """

    def __init__(
        self, parts: Collection[ScriptPlan], *, check: Check = no_check, **settings: Any
    ) -> None:
        self._stop = Event()

        def checked(more: int = 0) -> None:
            if self._stop.is_set():
                raise StoppedError
            check(more)

        self.pipelines = [ScriptPipeline(part, check=checked, **settings) for part in parts]
        self._of = {name: each for each in self.pipelines for name in each.statements}

    def search(self, inputs: Mapping[str | None, InputRows]) -> Iterator[Found]:
        """The matches by statement, a part of the rows at a time, and those known at the end."""
        if len(self.pipelines) == 1:
            (only,) = self.pipelines
            yield from only.search(inputs)
            yield only.finish()
            return
        with Pool(len(self.pipelines)) as pool:
            try:
                for name, piece in read_in_turn(inputs, self._floor):
                    reading = [each for each in self.pipelines if name in each.inputs]
                    yield from _side_by_side(pool, [each.searched(name, piece) for each in reading])
                yield from _side_by_side(pool, [_end(each) for each in self.pipelines])
            finally:
                self._stop.set()

    def _floor(self, name: str | None) -> int:
        """The time up to which an input is read; all pipelines have read the same rows of it."""
        return next(each.floors[name] for each in self.pipelines if name in each.inputs)

    @property
    def arrived(self) -> int:
        """The number of rows of all inputs so far."""
        buffers = {name: i.reorder_buffer for p in self.pipelines for name, i in p.inputs.items()}
        return sum(each.arrived for each in buffers.values())

    def whole_report(self, name: str, aside: Collection[pa.Table]) -> Report:
        """The report of a statement, with the bad rows that were put aside."""
        return self._of[name].whole_report(name, [*aside])

    def take_bad(self) -> dict[str | None, pa.Table | None]:
        """The bad rows of each input, as `ScriptPipeline.take_bad` returns them."""
        found = dict[str | None, list[pa.Table]]()
        for pipeline in self.pipelines:
            for name, table in pipeline.take_bad().items():
                found.setdefault(name, []).extend([] if table is None else [table])
        return {name: rows_once(some) if some else None for name, some in found.items()}


def _end(pipeline: ScriptPipeline) -> Iterator[Found]:
    yield pipeline.finish()


def _side_by_side(pool: Pool, searches: list[Iterator[Found]]) -> Iterator[Found]:
    """Take the next part of each search in a thread of its own, until all have ended."""
    while searches:
        taken = [pool.begin(partial(_next, search)) for search in searches]
        found = [each.result() for each in taken]
        searches = [search for search, part in zip(searches, found, strict=True) if part]
        yield {name: each for part in found for some in part for name, each in some.items()}


def _next(search: Iterator[Found]) -> list[Found]:
    """The next part of a search; none at its end."""
    return [*islice(search, 1)]
