"""A progress line on standard error, for runs of more than two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from sase.spark.session import SparkSession, StageNow

PATIENCE, INTERVAL, WIDTH = 2.0, 0.2, 24
# Of many statements those are shown that found most.
MOST = 4


class Progress:
    """Counts rows and matches; a line shows them on a terminal, and is gone when all is done.

    Of several statements it shows the matches of each, by its name.
    """

    def __init__(self, total: int | None, names: Iterable[str] = ()) -> None:
        self.rows = self.matches = 0
        self._total = total
        self._by_name: Mapping[str, int] = dict.fromkeys(names, 0)
        self._begin = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._shown = False

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._begin

    def found(self, matches: int) -> None:
        """Count some more matches."""
        self.matches += matches

    def watch(self, rows: int, by_name: Mapping[str, int]) -> None:
        """Note how far a run of several statements is."""
        self.rows, self._by_name = rows, by_name

    def line(self) -> str:
        """Rows, rate and matches."""
        rate = self.rows / max(self.seconds, 1e-9)
        text = f"{self.rows:,} rows, {rate:,.0f} a second{self._matches()}"
        if not self._total:
            return text
        done = min(self.rows / self._total, 1.0)
        bar = "█" * round(done * WIDTH)
        return f"{bar:░<{WIDTH}} {done:4.0%}  {text}"

    def _matches(self) -> str:
        if len(self._by_name) < 2:
            return f", {self.matches:,} matches"
        first = sorted(self._by_name.items(), key=lambda each: -each[1])[:MOST]
        parts = [f"{name} {count:,}" for name, count in first]
        if len(self._by_name) > MOST:
            parts.append(f"all {len(self._by_name)} {sum(self._by_name.values()):,}")
        return f"; matches: {', '.join(parts)}"

    def _show(self) -> None:
        self._stop.wait(PATIENCE)
        while not self._stop.is_set():
            print(f"\r\x1b[K{self.line()}", end="", file=sys.stderr, flush=True)
            self._shown = True
            self._stop.wait(INTERVAL)


class SparkProgress(Progress):
    """The stages that run now, with their tasks, and the matches once they are counted."""

    def __init__(self, spark: SparkSession, total: int | None) -> None:
        super().__init__(total)
        from sase.spark.session import stages_of

        self._stages = stages_of(spark)

    def line(self) -> str:
        """A bar for the tasks of the stages that run, and what is known."""
        stages = self._stages()
        done, total = sum(each.done for each in stages), sum(each.tasks for each in stages)
        bar = "█" * round(done / max(total, 1) * WIDTH)
        known = [_text(done, total, stages)] if stages else ["no stage runs"]
        if self._total:
            known.append(f"{self._total:,} rows")
        if self.matches:
            known.append(f"{self.matches:,} matches")
        return f"{bar:░<{WIDTH}} {', '.join(known)}, {self.seconds:.0f} s"


def _text(done: int, total: int, stages: list[StageNow]) -> str:
    numbers = ", ".join(str(each.number) for each in stages)
    return f"{done} of {total} tasks of stage{'s' * (len(stages) > 1)} {numbers}"
