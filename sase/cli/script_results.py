"""Results of the statements of a script: a file for each in a folder, or lines with its name."""

from __future__ import annotations

import io
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from sase.cli.output_files import Target, check_target, check_unread, put_aside
from sase.cli.queries import ArgumentError

# Of a table so many matches; and what the input of --events is called among files.
SHOWN, UNNAMED = 20, "events"
SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl"}


def check_form_of_all(arguments: Namespace) -> None:
    """Refuse a form that statements with columns of their own cannot share."""
    if arguments.format == "csv" and arguments.out is None:
        raise ArgumentError(
            "--format csv: the statements of a script have columns of their own: write a file for"
            " each with  -o FOLDER  , or give  --format jsonl"
        )


def statement_files(
    names: Iterable[str], arguments: Namespace, inputs: Collection[Namespace]
) -> dict[str, str]:
    """The file of each statement in the folder that is to be written, which is made."""
    if arguments.out is None:
        return {}
    suffix = SUFFIXES.get(arguments.format, ".parquet")
    return _files_in(Target("-o", arguments.out), "statement", names, suffix, inputs)


def bad_row_files(
    statements: Iterable[str],
    arguments: Namespace,
    inputs: Mapping[str | None, Namespace],
    suffix: str | None = None,
) -> dict[str | None, str]:
    """The file for bad rows of each input, and of statements over several, in a folder.

    The input without a name is called as its option is.
    """
    if arguments.quarantine is None:
        return {}
    folder = Target("--quarantine", arguments.quarantine)
    if arguments.out is not None and os.path.realpath(arguments.out) == os.path.realpath(folder[1]):
        raise ArgumentError(
            f"-o and --quarantine both name {arguments.out}: give each a folder of its own"
        )
    named = {UNNAMED if name is None else name: name for name in (*statements, *inputs)}
    if None in inputs and UNNAMED in {*statements, *inputs}:
        raise ArgumentError(
            f"--quarantine: {UNNAMED} is the file for --events: call what is named so otherwise"
        )
    suffix = suffix or SUFFIXES.get(arguments.format, ".parquet")
    files = _files_in(folder, "input", named, suffix, inputs.values())
    return {named[called]: path for called, path in files.items()}


def _files_in(
    folder: Target,
    each_has: str,
    names: Iterable[str],
    suffix: str,
    inputs: Collection[Namespace],
) -> dict[str, str]:
    """A file for each name in a folder, which is made."""
    option, path = folder
    if os.path.exists(path) and not os.path.isdir(path):
        raise ArgumentError(
            f"{option} {path}: a script writes a file for each {each_has}: name a folder"
        )
    os.makedirs(path, exist_ok=True)
    paths = {name: os.path.join(path, f"{quote(name, safe=' ')}{suffix}") for name in names}
    for each in paths.values():
        check_target(Target(option, each))
        for own in inputs:
            check_unread(Target(option, each), own)
    return paths


def put_bad_rows_aside(
    bad: Mapping[str | None, int],
    paths: Mapping[str | None, str],
    write: Callable[[str | None, str], None],
) -> None:
    """Report the number of bad rows by input, and `write` those of each to its file."""
    for name in {**paths, **bad}:
        of = "" if name is None else f"{name}: "
        put_aside(bad.get(name, 0), paths.get(name), partial(write, name), of, "FOLDER")


class BadRowLines:
    """Bad rows of a stream as lines of JSON, in a file for each input as they come."""

    def __init__(self, paths: Mapping[str | None, str]) -> None:
        self._paths, self.counts = paths, dict[str | None, int]()

    def write(self, bad: Mapping[str | None, Any]) -> None:
        """Write some more rows of some inputs; those of an earlier run are gone then."""
        for name, table in bad.items():
            if table is None or not table.num_rows:
                continue
            before = self.counts.get(name, 0)
            self.counts[name] = before + table.num_rows
            if name in self._paths:
                with open(self._paths[name], "ab" if before else "wb") as file:
                    file.write(_json_lines(table.schema, table.to_batches()))

    def conclude(self) -> None:
        """Report how many rows of each input were bad, and where they are."""
        put_bad_rows_aside(self.counts, self._paths, lambda name, path: None)


def _json_lines(schema: Any, batches: Iterable[Any]) -> bytes:
    from sase.engine.results.sinks import text_writer

    lines = io.BytesIO()
    writer = text_writer("jsonl", lines, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    return lines.getvalue()


def write_lines(name: str, schema: Any, batches: Iterable[Any]) -> None:
    """Write matches as lines of JSON on standard output, each with the name of its statement."""
    begin = f'{{"query": {json.dumps(name, ensure_ascii=False)}, '.encode()
    for line in _json_lines(schema, batches).splitlines(keepends=True):
        sys.stdout.buffer.write(begin + line.removeprefix(b"{").lstrip())
    sys.stdout.flush()
