"""Limits of a run in time and memory; work that may take long is checked by them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

from sase.base.interface import spelled
from sase.base.limits import heeding
from sase.engine.resources import Check, no_check, resident_memory
from sase.errors import MemoryLimitError, TimeLimitError

SECOND = 10**9
# Steps within this time after a check, in nanoseconds, are not checked again.
CLOSE = SECOND // 50
_Part = TypeVar("_Part")
_End = TypeVar("_End")


@dataclass(frozen=True, slots=True)
class Limits:
    """The nanoseconds that a run may work, and the bytes by which the process may grow."""

    time: int | None = None
    memory: int | None = None

    @property
    def are_none(self) -> bool:
        """Whether nothing is limited."""
        return self.time is None and self.memory is None


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class LimitedWork:
    """Names limited work in messages, and advises how to make it faster or smaller.

    `in_python` is further advice on making it smaller, which the command line does not have.
    """

    name: str
    quicker: str
    smaller: str
    in_python: str = ""


RUN = LimitedWork(
    "the run",
    "narrow its conditions, give it a smaller WITHIN or a LIMIT, or more time",
    "narrow its conditions, give it a smaller WITHIN",
    ", read the matches with to_reader(), which holds none",
)
CALL = LimitedWork(
    "the call to this matcher",
    "push fewer rows at once, narrow the conditions of the query, give it a smaller WITHIN, or more"
    " time",
    "narrow the conditions of its query, give it a smaller WITHIN",
)
TASK = LimitedWork(
    "the task",
    "narrow the conditions of the query, give it a smaller WITHIN, cut the events into more parts,"
    " or give it more time",
    "narrow the conditions of the query, give it a smaller WITHIN, cut the events into more parts",
)
EXPLANATION = LimitedWork(
    "the explanation",
    "give it fewer events, or more time",
    "give it fewer events",
)


class RunGuard:
    """Ends work that exceeds its limits.

    Time counts while the run works, but not while its caller works on the results.
    """

    def __init__(self, limits: Limits, clock: Callable[[], int], work: LimitedWork = RUN) -> None:
        self.limits, self._clock, self._work = limits, clock, work
        self._before = 0 if limits.memory is None else resident_memory()
        self._since: int | None = None
        self._next = 0
        self.spent = 0
        # The number of searched rows, for the message.
        self.rows = 0
        # The reason why memory may be unbounded, for the message.
        self.unbounded: str | None = None

    def note_rows(self, rows: int) -> None:
        """Note the number of searched rows."""
        self.rows = rows

    def begin(self) -> None:
        """Restart the time; memory that is held already may exceed the limit."""
        self.spent = 0
        self.check()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time of this block once; the steps of its work are checked."""
        if self._since is not None:
            yield
            return
        self._since = self._next = self._clock()
        try:
            with heeding(self._check_step):
                yield
        finally:
            self.spent += self._clock() - self._since
            self._since = None

    def pulled(self, parts: Generator[_Part, None, _End]) -> Generator[_Part, None, _End]:
        """Count the time of making parts, not the time of their consumer."""
        with closing(parts):
            while True:
                with self.working():
                    try:
                        part = next(parts)
                    except StopIteration as end:
                        value: _End = end.value
                        return value
                yield part

    def check(self, more: int = 0) -> None:
        """End the work if it took too long, or would hold too much with `more` bytes."""
        self._check(more)

    def check_memory(self, more: int = 0) -> None:
        """End the work if it would hold too much with `more` bytes."""
        memory = self.limits.memory
        if memory is None:
            return
        taken = resident_memory() - self._before + more
        if taken > memory:
            raise MemoryLimitError(
                f"{self._work.name} needs more than its max_memory of {memory:,} bytes,"
                f" {self._place()}, where it takes {taken:,}: {self._work.smaller}"
                f"{spelled(self._work.in_python, '')}, or allow it more"
                f"{f' ({self.unbounded})' if self.unbounded else ''}"
            )

    def _check(self, more: int = 0, stands: str = "") -> None:
        time, since = self.limits.time, self._since
        if time is not None:
            working = 0 if since is None else self._clock() - since
            if self.spent + working > time:
                raise TimeLimitError(
                    f"{self._work.name} takes longer than its timeout of {time / SECOND:g} s,"
                    f" {stands or f'{self._place()}: {self._work.quicker}'}"
                )
        self.check_memory(more)

    def _check_step(self, stands: str) -> None:
        """Check unless it was done a moment ago: steps may be short."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + CLOSE
        self._check(stands=stands)

    def _place(self) -> str:
        return f"with {self.rows:,} rows searched" if self.rows else "within the first rows"


def no_watch(rows: int) -> None:
    """Ignore the number of searched rows."""


def watch_of(guard: RunGuard | None) -> Callable[[int], object]:
    """The callback for the number of searched rows, which the message of a guard shows."""
    return no_watch if guard is None else guard.note_rows


NOT_COUNTED: AbstractContextManager[None] = nullcontext()


def working(guard: RunGuard | None) -> AbstractContextManager[None]:
    """Count the time of this block, if there is a guard."""
    return NOT_COUNTED if guard is None else guard.working()


def check_of(guard: RunGuard | None) -> Check:
    """The check to call between the pieces of work that a guard may end."""
    return no_check if guard is None else guard.check


def memory_check_of(guard: RunGuard | None) -> Check | None:
    """The check to call while results are made, if a guard limits the memory."""
    return None if guard is None or guard.limits.memory is None else guard.check_memory
