"""Search in other threads, ahead of the one that consumes the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, Queue
from threading import Event, get_ident
from typing import Generic, TypeVar

from sase.engine.resources import Check
from sase.errors import SaseError

T = TypeVar("T")
ELSEWHERE = (
    "these matches are searched by threads of the process that was forked: begin to read them anew"
)


class Pool(ThreadPoolExecutor):
    """Threads for searches.

    Garbage may be collected in one of these threads, which cannot wait for itself to end.
    """

    def __init__(self, threads: int) -> None:
        self._own = own = set[int]()
        super().__init__(threads, initializer=lambda: own.add(get_ident()))

    def begin(self, search: Callable[[], T]) -> Future[T]:
        """Search in a thread, under the limits of the calling thread."""
        return self.submit(copy_context().run, search)

    def __exit__(self, *problem: object) -> None:
        self.shutdown(wait=get_ident() not in self._own, cancel_futures=True)


class StoppedError(Exception):
    """The results of a search are no longer needed."""


class PrefetchedSearch(Generic[T]):
    """A producer in a thread, and the bounded queue of its results.

    It does not hold the search: the two would hold each other, and the memory of the search would
    stay until garbage is collected.
    """

    def __init__(self, room: int) -> None:
        # None marks the end; an exception is raised again in the consumer.
        self._out: Queue[tuple[T] | BaseException | None] = Queue(room)
        self._stop = Event()
        self._process = os.getpid()

    def stopping(self, check: Check) -> Check:
        """A check that also ends the search when it is stopped, even if it finds nothing."""
        stop = self._stop

        def checked(more: int = 0) -> None:
            if stop.is_set():
                raise StoppedError
            check(more)

        return checked

    def run(self, find: Callable[[], Iterator[T]]) -> None:
        """Produce everything in this thread, until stopped."""
        try:
            for found in find():
                if self._stop.is_set():
                    return
                self._put((found,))
            self._put(None)
        except BaseException as problem:
            self._put(problem)

    def _put(self, delivery: tuple[T] | BaseException | None) -> None:
        """Enqueue as soon as there is room; `stop` makes room for one item."""
        if not self._stop.is_set():
            self._out.put(delivery)

    def found(self, meanwhile: Callable[[], bool] = lambda: False) -> Iterator[T]:
        """Consume the results; an error of the producer is raised here.

        While the queue is empty, call `meanwhile`, as long as it returns true.
        """
        while (delivery := self._next(meanwhile)) is not None:
            if isinstance(delivery, BaseException):
                raise delivery
            yield delivery[0]

    def _next(self, meanwhile: Callable[[], bool]) -> tuple[T] | BaseException | None:
        if os.getpid() != self._process:  # in a fork the locks of other threads stay held
            raise SaseError(ELSEWHERE)
        while True:
            try:
                return self._out.get_nowait()
            except Empty:
                if not meanwhile():
                    return self._out.get()

    def stop(self) -> None:
        """Stop the producer, also if it waits for room."""
        if os.getpid() != self._process:
            return
        self._stop.set()
        with suppress(Empty):
            while True:
                self._out.get_nowait()
