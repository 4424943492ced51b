"""SIGINT and SIGTERM: at once, or when a section that must stay whole is done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from sase.cli.queries import Terminated


class Ending:
    """Takes SIGINT and SIGTERM: they raise an exception, which waits for what is done `whole`.

    In another thread than the main one no signal arrives, and none is taken.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._is_held = False

    def __enter__(self) -> Ending:
        is_main = current_thread() is main_thread()
        numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
        self._before = {number: signal.signal(number, self._take) for number in numbers}
        return self

    def __exit__(self, *problem: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Hold signals back until the end of this section."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._asked is not None:
            self._end(self._asked)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        if not self._is_held:
            self._end(number)

    def _end(self, number: int) -> None:
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated
