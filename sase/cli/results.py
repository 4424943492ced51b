"""Deliver what the statements of a program find, and tell what there is to say beside it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from sase.cli.messages import counted, notify, notify_late, notify_warnings
from sase.cli.output_files import (
    Target,
    check_csv_safe,
    check_local,
    check_standard_output,
    check_target,
    check_unread,
    is_same,
    print_rows,
    write_file,
)
from sase.cli.queries import ArgumentError
from sase.cli.script_arguments import GivenProgram
from sase.cli.signals import Ending

if TYPE_CHECKING:
    from sase.engine.report import Report

# Of a table so many matches.
SHOWN = 20
# The suffix of files in folders by --format, and what the input of --events is called among them.
SUFFIXES, UNNAMED = {"csv": ".csv", "jsonl": ".jsonl"}, "events"

N = TypeVar("N")


class OutputFiles(NamedTuple):
    """The files of matches by statement, and of bad rows by input or statement over several.

    Each is the file that an option names, or where there may be several in the folder it names.
    """

    matches: Mapping[str, str]
    bad_rows: Mapping[str | None, str]

    def make_folders(self) -> None:
        """Make the folders that files of several names are in."""
        for path in (*self.matches.values(), *self.bad_rows.values()):
            os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)


def output_files(
    program: GivenProgram, *, bad_suffix: str | None = None, is_written_by_tasks: bool = False
) -> OutputFiles:
    """The files that `run` and `replay` are to write, or an error if one of them cannot be.

    None is in place of what is read. Bad rows are in a format of their own if there is a suffix for
    them. A folder that tasks of Spark write is checked elsewhere.
    """
    arguments, names = program.arguments, program.names
    suffix = SUFFIXES.get(arguments.format, ".parquet")
    out, bad = Target("-o", arguments.out), Target("--quarantine", arguments.quarantine)
    matches: dict[str, str] = {}
    bad_rows: dict[str | None, str] = {}
    if arguments.out is None:
        check_standard_output()
    elif is_written_by_tasks or _is_file(program, out):
        matches = {} if is_written_by_tasks else {names[0]: out.path}
    else:
        matches = _files_in(out, "statement", dict(zip(names, names, strict=True)), suffix)
    if arguments.quarantine is not None and program.graph.is_lone and _is_file(program, bad):
        bad_rows = {None: bad.path}
        if bad_suffix is not None and not bad.path.lower().endswith(bad_suffix):
            raise ArgumentError(
                f"--quarantine {bad.path}: bad rows that are followed are lines of JSON: name a"
                f" file that ends in {bad_suffix}"
            )
    elif arguments.quarantine is not None:
        bad_rows = _files_in(bad, "input", _called(program), bad_suffix or suffix)
        if program.graph.is_lone:
            bad_rows = {None: bad_rows[program.graph.inputs[0]]}
    _check_apart(out, bad, "file" if bad_rows.keys() == {None} else "folder")
    targets = [*(out._replace(path=each) for each in matches.values())]
    targets += [bad._replace(path=each) for each in bad_rows.values()]
    check_csv_safe(targets, arguments)
    for target in targets:
        if target in (out, bad) or os.path.isdir(os.path.dirname(target.path)):
            check_target(target)
        for own in program.inputs.values():
            check_unread(target, own)
    return OutputFiles(matches, bad_rows)


def _is_file(program: GivenProgram, target: Target) -> bool:
    """Whether a target is the only file; a script of one statement has a folder without a suffix.

    It may be one of many scripts, which are run alike.
    """
    from sase.lang.parser import is_script

    is_query = not is_script(program.graph.source.text)
    return len(program.names) == 1 and (is_query or bool(os.path.splitext(target.path)[1]))


def _called(program: GivenProgram) -> dict[str, str | None]:
    """What may have bad rows, inputs and statements over others, by the name of its file."""
    inputs = program.inputs
    having = [*inputs]
    having += [
        e.name for e in program.graph.statements if e.sources[1:] or e.sources[0] not in inputs
    ]
    if None in having and UNNAMED in having:
        raise ArgumentError(
            f"--quarantine: {UNNAMED} is the file for --events: call what is named so otherwise"
        )
    return {UNNAMED if name is None else name: name for name in having}


def _files_in(folder: Target, each_has: str, named: Mapping[str, N], suffix: str) -> dict[N, str]:
    """A file for each name in a folder, which is made later."""
    option, path = folder
    check_local(folder)
    if os.path.exists(path) and not os.path.isdir(path):
        raise ArgumentError(
            f"{option} {path}: a script writes a file for each {each_has}: name a folder"
        )
    return {of: os.path.join(path, f"{quote(n, safe=' ')}{suffix}") for n, of in named.items()}


def _check_apart(out: Target, bad: Target, kind: str) -> None:
    """Refuse matches and bad rows in one place."""
    if out.path is not None and bad.path is not None and is_same(out.path, bad.path):
        raise ArgumentError(
            f"{out.option} and {bad.option} both name {bad.path}: give each a {kind} of its own"
        )


class Delivery:
    """Results of statements: a table, lines or a file for each, with its name if there are others.

    Only its name tells lines of statements apart, which have columns of their own.
    """

    def __init__(self, program: GivenProgram, files: OutputFiles, ending: Ending) -> None:
        self._program, self._files, self._ending = program, files, ending
        self._safe = program.arguments.csv_safe
        self._shown = 0

    def path(self, name: str) -> str | None:
        """The file of a statement, if there is one."""
        return self._files.matches.get(name)

    def write(
        self,
        path: str,
        schema: Any,
        batches: Iterable[Any],
        wrote: Callable[[int], object] = lambda rows: None,
    ) -> None:
        """Write matches or bad rows to a file."""
        write_file(schema, batches, path, self._ending, safe=self._safe, wrote=wrote)

    def print_rows(
        self,
        name: str,
        schema: Any,
        batches: Iterable[Any],
        wrote: Callable[[int], object] = lambda rows: None,
    ) -> None:
        """Write all matches of a statement to standard output."""
        if self._program.label(name):
            write_lines(name, schema, _told(batches, wrote))
        else:
            format = self._program.arguments.format
            print_rows(format, schema, batches, safe=self._safe, wrote=wrote)

    def print_table(self, name: str, count: int, first: Any, type_column: str | None) -> None:
        """Print the `first` ones of so many matches, a table of Arrow, for people to read."""
        label = self._program.label(name)
        if label:
            print("\n" * bool(self._shown) + f"{label}{counted(count, 'match')}")
        if count:
            from sase.engine.results.repr import table_of

            print("\n".join(table_of(first, type_column)))
        self._shown += 1
        if count > SHOWN:
            target = "FOLDER" if label else "FILE"
            print(f"… and {count - SHOWN:,} more: write all of them with  -o {target}")

    def put_aside(
        self, counts: Mapping[str | None, int], write: Callable[[str | None, str], None]
    ) -> None:
        """Report the number of bad rows by input, and `write` those of each to its file.

        Of an earlier run no file is left where this one has no bad row.
        """
        sys.stdout.flush()  # or what is told could overtake what it is about
        paths = self._files.bad_rows
        target = "FILE" if self._program.graph.is_lone else "FOLDER"
        for name in {**paths, **counts}:
            number, path = counts.get(name, 0), paths.get(name)
            of = "" if name is None else f"{name}: "
            if number:
                if path is not None:
                    write(name, path)
                remedy = path or f"--quarantine {target} writes them, with the reasons"
                notify([f"{of}{counted(number, 'row')} could not be used: {remedy}"])
            elif path is not None and os.path.exists(path):
                os.unlink(path)
                notify([f"{of}no row was bad: {path} of an earlier run is removed"])

    def tell(self, reports: Mapping[str, Report]) -> None:
        """Tell the warnings and notes of statements."""
        for name, report in reports.items():
            label = self._program.label(name)
            notify_warnings(f"{label}{warning}" for warning in report.warnings)
            notify([f"{label}{note}" for note in report.notes])
            notify_late(report.late)
            if not report.is_complete:
                notify([f"{label}{LIMITED}"])

    def conclude(
        self, counts: Mapping[str, int], of: str, aside: int = 0, *, is_endless: bool = False
    ) -> None:
        """Sum up how many matches there are `of` how much, and where they are once all is there."""
        total = counted(sum(counts.values()), "match")
        if len(self._program.names) == 1:
            out = self.path(self._program.names[0]) or self._program.arguments.out
            notify([f"{total}{of}{'' if out is None or is_endless else f': {out}'}"])
            return
        for name, count in counts.items():
            path = self.path(name)
            if count and (path is not None or is_endless):
                where = "" if path is None else f": {path}"
                notify([f"{name}: {counted(count, 'match')}{where}"])
        others = f" ({aside:,} set aside)" if aside else ""
        notify([f"{total} of {counted(len(counts), 'statement')}{others}{of}"])


LIMITED = "LIMIT was reached before the end of the events"


def _told(batches: Iterable[Any], wrote: Callable[[int], object]) -> Iterable[Any]:
    for batch in batches:
        yield batch
        wrote(batch.num_rows)


def json_lines(schema: Any, batches: Iterable[Any]) -> bytes:
    """Rows as lines of JSON."""
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
    for line in json_lines(schema, batches).splitlines(keepends=True):
        sys.stdout.buffer.write(begin + line.removeprefix(b"{").lstrip())
    sys.stdout.flush()
