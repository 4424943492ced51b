"""`sase run --follow`: detect matches in events while they are written."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from sase.cli.event_arguments import (
    limit_options,
    on_bad_row,
    options_for,
    reading_in,
    times_in,
)
from sase.cli.messages import counted, notify, notify_late, notify_warnings
from sase.cli.output_files import abandon
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import ArgumentError
from sase.cli.results import LIMITED, Delivery, OutputFiles, json_lines, write_lines
from sase.cli.script_arguments import GivenProgram, notify_set_aside
from sase.cli.standard_input import Ending

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.api.script import ScriptMatcher
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.lone_statement import LoneStatement
    from sase.engine.sources.tail import TailReader
    from sase.errors import BindingError, Diagnostic

T = TypeVar("T")

# A signal does not wake a thread that has just begun to wait, so it wakes up after this number of
# seconds.
AWAKE = 0.5


def check_followed(path: str) -> None:
    """Refuse files that cannot be read line by line while they grow."""
    from sase.engine.sources.file_systems import is_remote
    from sase.engine.sources.formats import format_of_suffix
    from sase.engine.sources.formats.opening import COMPRESSIONS

    suffix = os.path.splitext(path)[1].lower()
    if is_remote(path):
        raise ArgumentError(
            f"--events {path} --follow: only files of this machine are followed: leave it out,"
            " or lead the lines into  sase run --follow --events -"
        )
    if os.path.isdir(path):
        raise ArgumentError(f"--events {path} --follow: this is a folder: name a file in it")
    if suffix in COMPRESSIONS:
        raise ArgumentError(
            f"--events {path} --follow: lines of a compressed file are not known as they come:"
            " leave out --follow, or decompress it into  sase run --follow --events -"
        )
    format = format_of_suffix(suffix)
    if format is not None and not format.is_text:
        raise ArgumentError(
            f"--events {path} --follow: only lines of text can be followed, such as CSV and JSON:"
            " leave out --follow"
        )


def follow(program: GivenProgram, files: OutputFiles, ending: Ending) -> int:
    """Run until the input ends; a followed file does not end."""
    hide_pandas()
    from sase.api.checks import guard_of_calls
    from sase.engine.sources.tail import TailReader

    guard = guard_of_calls(**limit_options(program.arguments))  # before any read
    readers = {
        name: TailReader(own.events, **_tail_options(own)) for name, own in program.inputs.items()
    }
    matcher = _opened(_compiled(program, readers), guard)
    files.make_folders()
    writer, bad = _MatchWriter(program), _BadRowLines(files.bad_rows)
    warn = _Warnings(program).tell
    counts, limited = dict.fromkeys(matcher.statements, 0), set[str]()
    try:
        for found in _found(matcher, readers, warn):
            with ending.whole():
                bad.write(matcher.take_quarantined())
                for name, matches in found.items():
                    writer.write(name, matches)
                    counts[name] += len(matches)
            limited.update(name for name, m in found.items() if not m.report.is_complete)
            if len(limited) == len(counts):
                notify([LIMITED])
                break
        with ending.whole():
            writer.finish()
    except BaseException:
        writer.abandon()
        raise
    finally:
        warn(matcher.reports)
        inputs = matcher.input_reports.values()
        rows, late = (sum(getattr(each, of) for each in inputs) for of in ("rows", "late"))
        delivery = Delivery(program, files, ending)
        delivery.conclude(counts, f" in {counted(rows, 'row')}", is_endless=True)
        notify_late(late)
        delivery.put_aside(bad.counts, lambda name, path: None)  # already in their files
    return 0


def _tail_options(arguments: Namespace) -> dict[str, Any]:
    """The options of following lines, as keywords of the reader."""
    judges = on_bad_row(arguments) == "quarantine"
    times = [name for name in times_in(arguments) if name is not None]
    options = {"judges": judges, "times": times, "reading": reading_in(arguments)}
    return options | {"say": lambda line: notify([line])}


class _Warnings:
    """Prints each warning of a statement once."""

    def __init__(self, program: GivenProgram) -> None:
        self._label, self._told = program.label, set[str]()

    def tell(self, reports: Mapping[str, Report]) -> None:
        """Print the new warnings of reports, each with the name of its statement."""
        labelled = {self._label(name): report.warnings for name, report in reports.items()}
        warnings = [f"{label}{each}" for label, found in labelled.items() for each in found]
        notify_warnings(each for each in warnings if each not in self._told)
        self._told.update(warnings)


# ---------------------------------------------------------------- the program


def _compiled(program: GivenProgram, readers: Mapping[str | None, TailReader]) -> CompiledScript:
    """The statements, compiled for rows with columns that may become known only later."""
    from sase.engine.sources.column_roles import moments_in
    from sase.engine.sources.discovered import Discovered
    from sase.errors import BindingError

    def compiled(
        schemas: Mapping[str | None, object], aside: Mapping[str, BindingError]
    ) -> CompiledScript:
        given = {name: Discovered.of(schema, names[name]) for name, schema in schemas.items()}
        return program.compiled(given, aside)

    inputs = program.inputs
    known_columns = {name: rows.schema for name, rows in readers.items()}
    names = {
        name: options_for(inputs[name], schema.names, moments_in(schema))
        for name, schema in known_columns.items()
    }
    # An error of a statement is reported for the columns as they are.
    try:
        known = compiled(known_columns, {})
    except BindingError as problem:
        if not program.graph.is_lone:
            raise
        (rows,) = readers.values()
        _expect(rows, problem)
        known = compiled({name: rows.schema for name in readers}, {})
    notify_set_aside(known)
    for name, rows in readers.items():
        schema = known.bound.sources[name].schema
        roles = [*schema.times, names[name].type, schema.seq_column]
        named, _ = known.columns_read(name)
        rows.judge(names[name].earliest, [each for each in roles if each is not None], named)
        notify_warnings(rows.nearly_numbers(known.compared_columns(name)))
    return compiled({name: rows.loose for name, rows in readers.items()}, known.set_aside)


def _expect(rows: TailReader, problem: BindingError) -> None:
    """Expect columns that the first lines of JSON lack, if there is no other error."""
    found = problem.diagnostics
    errors = [each for each in found if each.severity == "error"]
    if not rows.is_open or any(each.code != "unknown-attribute" for each in errors):
        raise problem
    missing = {_column_of(each): each for each in errors}
    if not missing.keys().isdisjoint(rows.schema.names):
        raise problem
    for name, each in missing.items():
        hint = f": {each.hints[0]}" if each.hints else ""
        notify([f"no line of {rows.name} has `{name}` yet, which is NULL until one has it{hint}"])
    rows.expect(missing)


def _column_of(problem: Diagnostic) -> str:
    """The column that an error about an unknown attribute names."""
    text = problem.source.text[slice(*problem.span)]
    return re.split(r"[.\[]", text)[0]


# ---------------------------------------------------------------- events as they come


def _opened(script: CompiledScript, guard: RunGuard | None) -> ScriptMatcher | LoneStatement:
    """A matcher for the events; a lone query has its own matcher."""
    if (lone := script.lone) is not None:
        from sase.engine.pipeline.matcher import Matcher
        from sase.engine.scripts.lone_statement import LoneStatement

        plan = lone.plan(lone.optimized()).engine
        return LoneStatement(Matcher(plan, guard=guard), script.graph.statements[0].name)
    from sase.api.script import ScriptMatcher

    return ScriptMatcher.opened(script, guard)


def _found(
    matcher: ScriptMatcher | LoneStatement,
    readers: Mapping[str | None, TailReader],
    warn: Callable[[Mapping[str, Report]], None],
) -> Iterator[Mapping[str, Matches]]:
    """The matches of each push, with its warnings; the matches at the end come together."""
    from sase.errors import DataError, PlanError, SchemaError

    for name, events in batches_of(readers):
        try:
            found = matcher.push(name, events)
        except DataError as problem:
            raise readers[name].fault(problem) from problem
        except (PlanError, SchemaError):
            notify(
                [
                    f"the types of columns are known from the first lines of"
                    f" {readers[name].name} only:"
                    " let them have a value in each column that the query names"
                ]
            )
            raise
        warn({statement: matches.report for statement, matches in found.items()})
        yield found
        matcher.take_late()  # their number is reported, and they would be kept for ever
    yield matcher.finish()


def batches_of(
    readers: Mapping[str | None, Iterable[T]],
) -> Iterator[tuple[str | None, T]]:
    """Pass the batches of inputs as they arrive; an input reads on after its batch is done."""
    if len(readers) == 1:
        ((name, rows),) = readers.items()
        yield from ((name, each) for each in rows)
        return
    came: SimpleQueue[tuple[str | None, T | BaseException | None]] = SimpleQueue()
    is_done = {name: Semaphore(0) for name in readers}

    def read(name: str | None, rows: Iterable[T]) -> None:
        try:
            for each in rows:
                came.put((name, each))
                is_done[name].acquire()
            came.put((name, None))
        except BaseException as problem:  # raised again in the thread that waits
            came.put((name, problem))

    for each in readers.items():
        Thread(target=read, args=each, daemon=True).start()
    left = len(readers)
    while left:
        try:
            name, given = came.get(timeout=AWAKE)
        except Empty:
            continue
        if isinstance(given, BaseException):
            raise given
        if given is None:
            left -= 1
            continue
        yield name, given
        is_done[name].release()


# ---------------------------------------------------------------- output


class _MatchWriter:
    """Writes matches at once: lines on standard output, or a file.

    With several statements, each line has the name of its statement.
    """

    def __init__(self, program: GivenProgram) -> None:
        arguments = program.arguments
        self._path, self._format = arguments.out, arguments.format or "jsonl"
        self._safe, self._label = arguments.csv_safe, program.label
        self._schema: Any = None
        self._sink: Any = None

    def write(self, name: str, matches: Matches) -> None:
        """Write matches and flush them, so that a waiting reader receives them."""
        schema, batches = matches.to_batches()
        if self._label(name):
            write_lines(name, schema, batches)
            return
        self._schema = schema
        for batch in batches:
            if self._sink is None:
                self._sink = self._opened()
            self._sink.write_batch(batch)
        if self._path is None:
            sys.stdout.flush()

    def finish(self) -> None:
        """Close the output after the last match."""
        if self._sink is None and self._schema is not None:
            self._sink = self._opened()
        if self._sink is not None:
            self._sink.close()

    def abandon(self) -> None:
        """Close the output after an error."""
        if self._sink is None:
            return
        if self._path is None:
            self._sink.close()
        else:
            abandon(self._sink)

    def _opened(self) -> Any:
        from sase.engine.results.sinks import FileSink, stream_writer

        if self._path is not None:
            return FileSink(self._path, self._schema, safe=self._safe)
        return stream_writer(self._format, sys.stdout.buffer, self._schema, safe=self._safe)


class _BadRowLines:
    """Writes bad rows of a stream at once as lines of JSON, in a file for each input."""

    def __init__(self, paths: Mapping[str | None, str]) -> None:
        self._paths, self.counts = paths, dict[str | None, int]()

    def write(self, bad: Mapping[str | None, Any]) -> None:
        """Write more bad rows of inputs; the first ones replace the file of an earlier run."""
        for name, table in bad.items():
            if table is None or not table.num_rows:
                continue
            before = self.counts.get(name, 0)
            self.counts[name] = before + table.num_rows
            if name in self._paths:
                with open(self._paths[name], "ab" if before else "wb") as file:
                    file.write(json_lines(table.schema, table.to_batches()))
