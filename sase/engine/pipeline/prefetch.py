"""A search in a thread of its own, which runs ahead of whoever takes what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, get_ident
from typing import Generic, TypeVar

T = TypeVar("T")


class Pool(ThreadPoolExecutor):
    """Threads for searches.

    What nobody holds any more is given up in whichever thread collects it, also in one of these,
    which cannot wait for itself to end.
    """

    def __init__(self, threads: int) -> None:
        self._own = own = set[int]()
        super().__init__(threads, initializer=lambda: own.add(get_ident()))

    def __exit__(self, *problem: object) -> None:
        self.shutdown(wait=get_ident() not in self._own, cancel_futures=True)


class Search(Generic[T]):
    """What a thread finds, of which so much may wait to be taken."""

    def __init__(self, find: Callable[[], Iterator[T]], room: int) -> None:
        self._find = find
        # At the end there is None, or what went wrong.
        self._out: Queue[tuple[T] | BaseException | None] = Queue(room)
        self._stop = Event()

    def run(self) -> None:
        """Find everything, in this thread, unless nobody wants more."""
        try:
            for found in self._find():
                if self._stop.is_set():
                    return
                self._put((found,))
            self._put(None)
        except BaseException as problem:
            self._put(problem)

    def _put(self, delivery: tuple[T] | BaseException | None) -> None:
        """Hand over, once there is room; whoever stops this makes some, for one."""
        if not self._stop.is_set():
            self._out.put(delivery)

    def found(self, meanwhile: Callable[[], bool] = lambda: False) -> Iterator[T]:
        """What is found, waiting for it; what went wrong goes wrong here.

        As long as there is nothing, something is done `meanwhile`, unless there is no more to do.
        """
        while (delivery := self._next(meanwhile)) is not None:
            if isinstance(delivery, BaseException):
                raise delivery
            yield delivery[0]

    def _next(self, meanwhile: Callable[[], bool]) -> tuple[T] | BaseException | None:
        while True:
            try:
                return self._out.get_nowait()
            except Empty:
                if not meanwhile():
                    return self._out.get()

    def stop(self) -> None:
        """Nobody wants more: a thread that waits for room has it now."""
        self._stop.set()
        with suppress(Empty):
            while True:
                self._out.get_nowait()
