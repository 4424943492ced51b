"""The files that a command writes: checked before any read, then written whole or not at all."""

from __future__ import annotations

import glob
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sase.base.files import PARTIAL
from sase.cli.messages import notify
from sase.cli.queries import STANDARD_INPUT, ArgumentError
from sase.cli.standard_input import Ending

if TYPE_CHECKING:
    from sase.engine.results.sinks import FileSink

# The prefixes of names that are ignored in folders.
HIDDEN = (".", "_")
# Options with a file that a command reads, other than the events and the queries.
READ = ("types", "stats", "schema")


class Target(NamedTuple):
    """A file to write, and the option that names it."""

    option: str
    path: str


def check_standard_output() -> None:
    """Refuse a closed standard output before a search begins."""
    if not sys.stdout.writable():
        raise ArgumentError("there is no standard output: name a file with  -o FILE")


def add_csv_safe(parser: ArgumentParser) -> None:
    """Add the option to write CSV texts that are safe to open in a spreadsheet."""
    parser.add_argument(
        "--csv-safe",
        action="store_true",
        help="in CSV, an apostrophe before texts that a spreadsheet would take for formulas",
    )


def check_csv_safe(targets: Sequence[Target], arguments: Namespace) -> None:
    """Refuse the option if no CSV is written."""
    is_csv = arguments.out is None and arguments.format == "csv"
    is_csv |= any(
        target.path.lower().endswith((".csv", ".csv.gz", ".csv.zst")) for target in targets
    )
    if arguments.csv_safe and not is_csv:
        raise ArgumentError("--csv-safe is for CSV: write some by --format csv or -o FILE.csv")


def check_target(target: Target) -> None:
    """Refuse a file of unknown format, or in a folder that does not exist."""
    from sase.engine.results.sinks import writer_for
    from sase.errors import DataError

    check_local(target)
    try:
        writer_for(target.path)
    except DataError as problem:
        raise ArgumentError(f"{target.option} {problem}") from problem
    check_place(target)


def check_place(target: Target) -> None:
    """Refuse a file that cannot be there: in no folder, or in place of a folder or a device."""
    option, path = target
    check_local(target)
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise ArgumentError(
            f"{option} {path}: there is no folder {folder}: make it, or name another one"
        )
    if os.path.isdir(path):
        raise ArgumentError(f"{option} {path}: this is a folder: name a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ArgumentError(
            f"{option} {path}: this is a pipe or a device, which no file replaces: lead standard"
            " output to it"
        )


def add_page(parser: ArgumentParser, of: str) -> None:
    """Add `--html`, of a report with a picture."""
    parser.add_argument(
        "--html", metavar="FILE", help=f"also write a page with the report and {of}"
    )


def check_page(arguments: Namespace) -> None:
    """Refuse a page (`--html`) that cannot be written, or over a file that is read."""
    if arguments.html is not None:
        target = Target("--html", arguments.html)
        check_place(target)
        check_unread(target, arguments)


def check_local(target: Target) -> None:
    """Refuse a file of another machine."""
    if "://" in target.path:
        raise ArgumentError(
            f"{target.option} {target.path}: only files of this machine are written: name one, and"
            " copy it"
        )


def check_unread(target: Target, arguments: Namespace) -> None:
    """Refuse a file that the command reads now, or that it would read the next time."""
    option, path = target
    for role, read in _read(arguments):
        # During writing, the file has another name, and a file of that name may exist, too.
        if any(is_same(name, read) for name in (path, path + PARTIAL)):
            raise ArgumentError(
                f"{option} {path} would be written over {role} {read}: name another file"
            )
    if arguments.events is not None and _is_among(path, arguments.events):
        raise ArgumentError(
            f"{option} {path} would be one of the files of events of {arguments.events} the next"
            " time: name a file elsewhere"
        )


def _read(arguments: Namespace) -> Iterator[tuple[str, str]]:
    """The existing files that a command reads, each with its role."""
    if arguments.events is not None and arguments.events != STANDARD_INPUT:
        for path in _files(arguments.events):
            yield "the events in", path
    for path in arguments.files:
        yield "the query in", path
    for name in READ:
        if (given := getattr(arguments, name, None)) is not None:
            yield f"the file of --{name},", os.fspath(given)


def _files(events: str) -> Iterator[str]:
    """The files that a path of events may name, and the folder that it may be."""
    if os.path.exists(events):
        yield events
    else:
        yield from glob.iglob(events, recursive=True)
    for place, folders, names in os.walk(events):
        folders[:] = [each for each in folders if not each.startswith(HIDDEN)]
        yield from (os.path.join(place, name) for name in names if not name.startswith(HIDDEN))


def is_same(path: str, other: str) -> bool:
    """Whether two names mean one file, with any spelling or links; it need not exist."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _is_among(path: str, events: str) -> bool:
    """Whether a new file would be among those that a folder or a pattern of events names."""
    parts = Path(os.path.realpath(path)).parts
    if os.path.isdir(events):
        folder = Path(os.path.realpath(events)).parts
        below = parts[len(folder) :]
        is_below = parts[: len(folder)] == folder
        return is_below and not any(part.startswith(HIDDEN) for part in below)
    if os.path.exists(events) or not glob.has_magic(events):
        return False
    fixed = Path(os.path.abspath(events)).parts
    return _fits(parts, fixed) or _fits(Path(os.path.abspath(path)).parts, fixed)


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match a pattern; `**` matches any number of parts."""
    if not pattern:
        return not parts
    first, *rest = pattern
    if first == "**":
        return any(_fits(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _fits(parts[1:], rest)


# ---------------------------------------------------------------- writing


def abandon(sink: FileSink) -> None:
    """Close an unfinished file, and print its path."""
    is_valid = sink.abandon()
    kept = "the rows written so far are in" if is_valid else "the written file is not whole:"
    notify([f"{kept} {sink.partial}"])


def discard(sink: FileSink) -> None:
    """Remove an unfinished file."""
    sink.discard()


def print_rows(
    format: str,
    schema: Any,
    batches: Iterable[Any],
    *,
    safe: bool = False,
    wrote: Callable[[int], object] = lambda rows: None,
) -> None:
    """Write to standard output; `wrote` receives the number of rows of each batch."""
    from sase.engine.results.sinks import stream_writer

    out = stream_writer(format, sys.stdout.buffer, schema, safe=safe)
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
    safe: bool = False,
    give_up: Callable[[FileSink], None] = abandon,
    wrote: Callable[[int], object] = lambda rows: None,
) -> None:
    """Write a file; signals wait until a batch is written.

    `wrote` receives the number of rows of each batch. If the file is not finished, `give_up`
    receives it.
    """
    from sase.engine.results.sinks import FileSink

    sink = None
    try:
        with ending.whole():
            sink = FileSink(path, schema, safe=safe)
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
