"""Limits of a run in time and memory, by which whatever may take long is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from sase.engine.resources import resident_memory
from sase.errors import BudgetError, TimeLimitError

SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nanoseconds a run may work, and by how many bytes the process may grow."""

    time: int | None = None
    memory: int | None = None

    @property
    def are_none(self) -> bool:
        """Whether nothing is limited."""
        return self.time is None and self.memory is None


UNLIMITED = Limits()


class RunGuard:
    """Ends a run that exceeds its limits.

    Time counts while the run works, and not while its caller does something with what was found.
    """

    def __init__(self, limits: Limits, clock: Callable[[], int]) -> None:
        self._limits, self._clock = limits, clock
        self._before = 0 if limits.memory is None else resident_memory()
        self._since: int | None = None
        self.spent = 0
        # How many rows have been searched, for the message.
        self.rows = 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time that is spent here."""
        self._since = self._clock()
        try:
            yield
        finally:
            self.spent += self._clock() - self._since
            self._since = None

    def check(self, more: int = 0) -> None:
        """End the run if it took too long, or holds too much with some more bytes."""
        time, memory, since = self._limits.time, self._limits.memory, self._since
        if time is not None:
            working = 0 if since is None else self._clock() - since
            if self.spent + working > time:
                raise TimeLimitError(
                    f"the run takes longer than its timeout of {time / SECOND:g} s,"
                    f" {self._place()}: narrow its conditions, give it a smaller WITHIN or a LIMIT,"
                    " or more time"
                )
        if memory is not None and resident_memory() - self._before + more > memory:
            raise BudgetError(
                f"the run needs more than its max_memory of {memory:,} bytes, {self._place()}:"
                " narrow its conditions, give it a smaller WITHIN, read the matches with"
                " to_reader(), which holds none, or allow it more"
            )

    def _place(self) -> str:
        return f"with {self.rows:,} rows searched" if self.rows else "before rows were searched"


def working(guard: RunGuard | None) -> AbstractContextManager[None]:
    """Count the time that is spent here, if some guard does."""
    return nullcontext() if guard is None else guard.working()
