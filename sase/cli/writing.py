"""What commands write: files, whole under their names or not there, and standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sase.cli.signals import Ending
from sase.cli.told import say

if TYPE_CHECKING:
    from sase.engine.results.sinks import FileSink


def abandon(sink: FileSink) -> None:
    """Close a file that is not finished, and say where it is."""
    is_valid = sink.abandon()
    kept = "what was written so far is in" if is_valid else "what was written is not whole:"
    say([f"{kept} {sink.partial}"])


def discard(sink: FileSink) -> None:
    """Leave nothing of a file that is not finished."""
    sink.discard()


def remove_old(path: str) -> None:
    """Leave no file of an earlier run where this one has nothing to write, and say so."""
    if os.path.exists(path):
        os.unlink(path)
        say([f"no row was bad: {path} of an earlier run is removed"])


def ignored(rows: int) -> None:
    """Nobody counts what is written."""


def print_rows(
    format: str, schema: Any, batches: Iterable[Any], *, wrote: Callable[[int], None] = ignored
) -> None:
    """Write to standard output, and say of each batch how many rows it had."""
    from sase.engine.results.sinks import text_writer

    out = text_writer(format, sys.stdout.buffer, schema)
    for batch in batches:
        out.write_batch(batch)
        wrote(batch.num_rows)
    out.close()


def write_file(
    schema: Any,
    batches: Iterable[Any],
    path: str,
    ending: Ending,
    *,
    give_up: Callable[[FileSink], None] = abandon,
    wrote: Callable[[int], None] = ignored,
) -> None:
    """Write a file, and say of each batch how many rows it had; what ends it comes in between."""
    from sase.engine.results.sinks import FileSink

    sink = None
    try:
        with ending.whole():
            sink = FileSink(path, schema)
        for batch in batches:
            with ending.whole():
                sink.write_batch(batch)
            wrote(batch.num_rows)
        with ending.whole():
            sink.close()
            sink = None
    except BaseException:
        if sink is not None:
            with ending.whole():
                give_up(sink)
        raise
