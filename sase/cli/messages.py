"""Messages of commands in addition to results: diagnostics in colours, and a progress line."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from sase.base.texts import grouped
from sase.errors import BudgetWarning, Diagnostic, ReplayWarning, StatementWarning
from sase.printable import printable_lines, printable_message

if TYPE_CHECKING:
    from sase.spark.session import SparkSession, StageNow


# ---------------------------------------------------------------- progress

PATIENCE, INTERVAL, WIDTH = 2.0, 0.2, 24
# The number of statements that are shown, those with most matches.
MOST = 4


class Progress:
    """Counts rows and matches, and shows them in a line on a terminal until the end.

    For several statements, the line shows the matches of each by its name.
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
        """The seconds since the start."""
        return time.monotonic() - self._begin

    def found(self, matches: int) -> None:
        """Count more matches."""
        self.matches += matches

    def watch(self, rows: int, by_name: Mapping[str, int]) -> None:
        """Note the progress of a run of several statements."""
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
    """The running stages with their tasks, and the matches once they are counted."""

    def __init__(self, spark: SparkSession, total: int | None) -> None:
        super().__init__(total)
        from sase.spark.session import stages_of

        self._stages = stages_of(spark)

    def line(self) -> str:
        """A bar for the tasks of the running stages, with the counts so far."""
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


# ---------------------------------------------------------------- messages


def notify(lines: Sequence[str]) -> None:
    """Print lines to standard error, so that they are not among the results."""
    for line in lines:
        print(f"sase: {printable_message(line)}", file=sys.stderr)


def notify_warnings(found: Iterable[str]) -> None:
    """Print warnings."""
    notify([f"warning: {warning}" for warning in found])


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Print the warnings of a run as messages, without a place in code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        warnings.simplefilter("always", ReplayWarning)
        warnings.simplefilter("always", StatementWarning)
        warnings.showwarning = lambda message, *rest, **more: notify([f"warning: {message}"])
        yield


def print_text(text: str) -> None:
    """Print the text of queries; on a terminal without control characters."""
    print(printable_lines(text) if sys.stdout.isatty() else text, end="")


def counted(number: int, thing: str) -> str:
    """A number of things, such as 1 row or 1,000 matches."""
    ending = "" if number == 1 else "es" if thing.endswith("ch") else "s"
    return f"{grouped(number)} {thing}{ending}"


def notify_late(number: int) -> None:
    """Report the number of late rows, if there are some."""
    if number:
        were = "was" if number == 1 else "were"
        notify(
            [f"{counted(number, 'row')} {were} late, and in no match: allow more with --lateness"]
        )


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to this stream: NO_COLOR, then FORCE_COLOR, then the kind of stream.

    An empty variable counts as absent, according to no-color.org and force-color.org.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()


def print_diagnostics(
    diagnostics: Iterable[Diagnostic], stream: TextIO, *, end: str = "\n"
) -> None:
    """Print diagnostics in order, in colours if the stream has them."""
    colour = wants_colour(stream)
    for diagnostic in diagnostics:
        print(painted(diagnostic) if colour else diagnostic, end=end, file=stream)


RED, YELLOW, CYAN, BOLD, RESET = "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


def painted(diagnostic: Diagnostic) -> str:
    """A diagnostic with its head, its carets and its hints in colours."""
    tone = RED if diagnostic.severity == "error" else YELLOW
    head, place, line, carets, *hints = str(diagnostic).split("\n")
    label, _, message = head.partition(": ")
    gutter, bar, marks = carets.partition("|")
    return "\n".join(
        [
            f"{BOLD}{tone}{label}{RESET}{BOLD}: {message}{RESET}",
            place,
            line,
            f"{gutter}{bar}{tone}{marks}{RESET}",
            *(f"{CYAN}{hint}{RESET}" for hint in hints),
        ]
    )
