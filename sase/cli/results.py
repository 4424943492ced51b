"""Deliver the results of a program's statements: matches, counts, and compressed sets."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from sase.base.texts import digits, grouped, number_of
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
from sase.cli.standard_input import Ending
from sase.printable import printable

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.engine.report import Report
    from sase.engine.set_results import CompressedMatches
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame


# ---------------------------------------------------------------- set results

SAMPLES = 3


def deliver_form(
    compiled: CompiledQuery, arguments: Namespace, settings: dict[str, Any], ending: Ending
) -> tuple[int, Report]:
    """Print the number of matches or a summary of the set; return the number and the report.

    The collapsed form of the set is written to a file.
    """
    from sase.api import set_results

    if arguments.output == "count":
        total = set_results.counted(compiled, **settings)
        print_count(total, arguments.format)
        return int(total), total.report

    found = set_results.compressed(compiled, **settings)
    count = found.count()
    table = found.to_arrow()
    print("\n".join(_summary(found, count, table)))
    if arguments.out is not None:
        safe = arguments.csv_safe
        write_file(table.schema, table.to_batches(), arguments.out, ending, safe=safe)
        notify([f"the collapsed form: {counted(table.num_rows, 'row')} in {arguments.out}"])
    return count, found.report


def print_count(count: int, format: str | None) -> None:
    """Print a number of any size; as JSON if the format is `jsonl` or `json`."""
    print(digits(count) if format in (None, "table") else f'{{"count": {digits(count)}}}')


def _summary(found: CompressedMatches, count: int, table: Any) -> list[str]:
    lines = [f"{counted(count, 'match')}, {counted(table.num_rows, 'final event')}"]
    if not count:
        return lines
    counts = [number_of(str(each)) for each in table["count"].to_pylist()]
    largest = max(range(len(counts)), key=counts.__getitem__)
    last = table.slice(largest, 1).to_pylist()[0]
    lines.append(
        f"{most_end(last, counts[largest])}, of "
        + " and ".join(f"{len(rows):,} {printable(name)}" for name, rows in last["rows"].items())
    )
    lines.append(f"{SAMPLES} of them by chance, as input rows:")
    matches = found.sample(SAMPLES).rows.to_pylist()
    return lines + [
        "  " + "  ".join(f"{printable(name)} {_rows(rows)}" for name, rows in match.items())
        for match in matches
    ]


def most_end(last: dict[str, Any], count: int) -> str:
    """The final event of most matches, from a row of the collapsed form, and their number."""
    of = ", ".join(f"{name} {value}" for name, value in last.get("key", {}).items())
    return printable(f"most end at {last['ts_end']}{f' of {of}' if of else ''}: {grouped(count)}")


def _rows(rows: int | list[int] | None) -> str:
    """Rows of the input, shortened if there are more than eight."""
    if not isinstance(rows, list):
        return "–" if rows is None else f"{rows}"
    shown = [str(row) for row in rows]
    if len(shown) > 8:
        shown = [*shown[:4], "…", *shown[-3:]]
    return f"[{' '.join(shown)}]"


# ---------------------------------------------------------------- on Spark


def print_set(replay: Replay, write: Callable[[DataFrame], object]) -> int:
    """Print a summary of all matches as a set, write the collapsed form, return the number."""
    from sase.spark.result_schema import batches_of

    found = replay.compressed.persist()  # it is used twice, for the summary and the file
    rows, total, most = 0, 0, None
    for batch in batches_of(found.drop("events")):
        for end in batch.to_pylist():
            end["count"] = number_of(end["count"])
            rows, total = rows + 1, total + end["count"]
            if most is None or end["count"] > most["count"]:
                most = end
    print(f"{counted(total, 'match')}, {counted(rows, 'final event')}")
    if most is not None:
        print(most_end(most, most["count"]))
    write(found.orderBy("ts_end"))
    return total


# ---------------------------------------------------------------- results

# The number of matches in a table, and the characters of a line that no terminal shows.
SHOWN, PRINTED = 20, 100
# The suffix of files in folders by --format, and the file name for the input of --events.
SUFFIXES, UNNAMED = {"csv": ".csv", "jsonl": ".jsonl"}, "events"

N = TypeVar("N")


class OutputFiles(NamedTuple):
    """The files of matches by statement, and of bad rows by input or joining statement.

    An option names the file, or the folder of the files if there may be several.
    """

    matches: Mapping[str, str]
    bad_rows: Mapping[str | None, str]

    def make_folders(self) -> None:
        """Make the folders of all files."""
        for path in (*self.matches.values(), *self.bad_rows.values()):
            os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)


def output_files(
    program: GivenProgram, *, bad_suffix: str | None = None, is_written_by_tasks: bool = False
) -> OutputFiles:
    """The files that `run` and `replay` write; an error if one of them cannot be written.

    A file that the command reads is refused. Bad rows have their own format if `bad_suffix` is
    given. A folder that tasks of Spark write is checked elsewhere.
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
    """Whether a target is a single file; a script of one statement may write to a folder, too.

    A name without a suffix is such a folder. It lets many scripts be run in the same way.
    """
    from sase.lang.parser import is_script

    is_query = not is_script(program.graph.source.text)
    return len(program.names) == 1 and (is_query or bool(os.path.splitext(target.path)[1]))


def _called(program: GivenProgram) -> dict[str, str | None]:
    """The inputs, and the statements on other streams, that may have bad rows, by file name."""
    inputs = program.inputs
    having = [*inputs]
    having += [
        e.name for e in program.graph.statements if e.sources[1:] or e.sources[0] not in inputs
    ]
    if None in having and UNNAMED in having:
        raise ArgumentError(
            f"--quarantine: {UNNAMED} is the file for --events: choose another name"
        )
    return {UNNAMED if name is None else name: name for name in having}


def _files_in(folder: Target, each_has: str, named: Mapping[str, N], suffix: str) -> dict[N, str]:
    """A file for each name, in a folder that is made later."""
    option, path = folder
    check_local(folder)
    if os.path.exists(path) and not os.path.isdir(path):
        raise ArgumentError(
            f"{option} {path}: a script writes a file for each {each_has}: name a folder"
        )
    return {of: os.path.join(path, f"{quote(n, safe=' ')}{suffix}") for n, of in named.items()}


def _check_apart(out: Target, bad: Target, kind: str) -> None:
    """Refuse the same place for matches and bad rows."""
    if out.path is not None and bad.path is not None and is_same(out.path, bad.path):
        raise ArgumentError(
            f"{out.option} and {bad.option} both name {bad.path}: give each a {kind} of its own"
        )


class Delivery:
    """Writes results of statements: a table, lines or a file for each, named if there are several.

    Lines of several statements have different columns, so each line has the name of its statement.
    """

    def __init__(self, program: GivenProgram, files: OutputFiles, ending: Ending) -> None:
        self._program, self._files, self._ending = program, files, ending
        self._safe = program.arguments.csv_safe
        self._shown = 0

    def path(self, name: str) -> str | None:
        """The file of a statement, or None."""
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
        """Print the `first` of `count` matches, from an Arrow table, for people."""
        label = self._program.label(name)
        if label:
            print("\n" * bool(self._shown) + f"{label}{counted(count, 'match')}")
        if count:
            from sase.engine.results.repr import table_of

            width = None if getattr(self._program.arguments, "wide", False) else table_width()
            print("\n".join(table_of(first, type_column, width)))
        self._shown += 1
        if count > SHOWN:
            target = "FOLDER" if label else "FILE"
            print(f"… and {count - SHOWN:,} more: write all of them with  -o {target}")

    def put_aside(
        self, counts: Mapping[str | None, int], write: Callable[[str | None, str], None]
    ) -> None:
        """Report the number of bad rows by input; `write` writes those of each to its file.

        The file of an earlier run is removed if this run has no bad row.
        """
        sys.stdout.flush()  # or the messages could be printed before the results
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
        """Print the warnings and notes of statements."""
        for name, report in reports.items():
            notify_report(report, self._program.label(name))

    def conclude(
        self, counts: Mapping[str, int], of: str, aside: int = 0, *, is_endless: bool = False
    ) -> None:
        """Print the numbers of matches, `of` the input, and their files if these are complete."""
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


def notify_report(report: Report, label: str = "") -> None:
    """Print the warnings and notes of a report, behind the name of its statement."""
    notify_warnings(f"{label}{warning}" for warning in report.warnings)
    notify([f"{label}{note}" for note in report.notes])
    notify_late(report.late)
    if not report.is_complete:
        notify([f"{label}{LIMITED}"])


def table_width() -> int:
    """The characters of a line of a table: those of a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PRINTED


def _told(batches: Iterable[Any], wrote: Callable[[int], object]) -> Iterable[Any]:
    for batch in batches:
        yield batch
        wrote(batch.num_rows)


def json_lines(schema: Any, batches: Iterable[Any]) -> bytes:
    """Rows as lines of JSON."""
    from sase.engine.results.sinks import stream_writer

    lines = io.BytesIO()
    writer = stream_writer("jsonl", lines, schema)
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
