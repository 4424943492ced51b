"""The statements of a script in several threads: each searches some of them over all events.

    thread 1   query 1, query 4 which reads query 1    ─┐
    thread 2   query 2, query 3, which share a matching ┴→  the matches of all, piece by piece

Statements that read each other or share a matching stay together. The events are read and dealt out
once for all: while the statements search a part of them, a thread that is free deals out the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain, islice
from operator import itemgetter
from threading import Event
from typing import TypeVar

from sase.engine.pipeline.prefetch import Pool, StoppedError
from sase.engine.resources import Check
from sase.engine.scripts.plan import ScriptPlan, StatementPlan

T = TypeVar("T")


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


def dealt_to(plan: ScriptPlan, threads: int) -> list[list[str]]:
    """The names of the statements for each of some threads, of about equal cost.

    There are no more parts than pay. The names of a part are in the order of the script.
    """
    order = {each.name: number for number, each in enumerate(plan.statements)}
    joined = {name for names in plan.joint for name in names.names[1:]}
    groups = [(_cost(group, joined), group) for group in together(plan)]
    parts: list[list[str]] = [[] for _ in range(min(threads, len(groups)))]
    costs = [0] * len(parts)
    for cost, group in sorted(groups, key=itemgetter(0), reverse=True):
        least = costs.index(min(costs))
        parts[least] += [each.name for each in group]
        costs[least] += cost
    return [sorted(part, key=order.__getitem__) for part in parts]


class Workers:
    """Runs tasks side by side in some threads, of which the calling one is the first."""

    def __init__(self, threads: int, check: Check) -> None:
        self._pool = Pool(threads - 1) if threads > 1 else None
        self._stop, self._check = Event(), check

    def __enter__(self) -> None:
        """Tasks run until the end of the context."""

    def __exit__(self, *problem: object) -> None:
        if self._pool is not None:
            self._stop.set()
            self._pool.__exit__(*problem)

    def check(self, more: int = 0) -> None:
        """Check the limits, and end a task that nobody needs any more."""
        if self._stop.is_set():
            raise StoppedError
        self._check(more)

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """The results of tasks; the calling thread runs those that no other has begun."""
        if self._pool is None:
            return [task() for task in tasks]
        first, *others = tasks
        begun = [self._pool.begin(task) for task in others]
        done: list[T | Future[T]] = [first()]
        for task, future in zip(others, begun, strict=True):
            done.append(task() if future.cancel() else future)
        return [each.result() if isinstance(each, Future) else each for each in done]

    def ahead(self, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
        """The results of tasks, one by one; the next task runs while a result is used."""
        if self._pool is None:
            yield from (task() for task in tasks)
            return
        coming = iter(tasks)
        done = [task() for task in islice(coming, 1)]
        for task in coming:
            future = self._pool.begin(task)
            yield done.pop()
            done.append(task() if future.cancel() else future.result())
        yield from done
