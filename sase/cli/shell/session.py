"""A session of the shell: its events, its settings, and the queries that it runs."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from sase.base.interface import Interface, written_for
from sase.cli.event_arguments import PARAMETER, limit_options, parameter
from sase.cli.messages import Progress, counted, notify, print_diagnostics, warnings_as_messages
from sase.cli.output_files import print_rows
from sase.cli.queries import ArgumentError, read_text
from sase.cli.results import SHOWN, notify_report, table_width
from sase.cli.script_arguments import events_of_script
from sase.errors import Diagnostic, QueryError, SaseError
from sase.printable import printable_message
from sase.source import Source, Span

if TYPE_CHECKING:
    from sase.api.completion import KnownNames
    from sase.engine.results.batch import ResultBatch
    from sase.engine.results.matches import Matches
    from sase.engine.sources.discovered import Discovered

MODES = ("table", "csv", "json", "jsonl")
# Words that begin no query, and mean the command of this name.
BARE = ("help", "quit", "exit")
FAILED = 1


class PlacedStatement(NamedTuple):
    """A statement `at` the end of a script, behind the statements of the streams that it reads."""

    script: str
    at: int


class Session:
    """Runs queries and commands, and reports their errors.

    `run_command` runs the command in a line.
    """

    def __init__(self, arguments: Namespace, run_command: Callable[[Session, str], None]) -> None:
        self._run_command = run_command
        self.mode, self.rows, self.has_timer, self.is_over = "table", SHOWN, False, False
        self.parameters: dict[str, object] = dict(map(parameter, arguments.param))
        self.streams: dict[str, str] = {}
        self.last: str | None = None
        self._arguments, self._names = arguments, cast("KnownNames | None", None)
        self._output: TextIO | None = None
        self._standard_output = sys.stdout
        self._reading: list[Path] = []
        self.inputs: dict[str | None, Discovered] = {}
        if arguments.paths:
            refused = arguments.events is not None or arguments.input
            if refused:
                raise ArgumentError("give paths alone, or by  --events  and  --input")
            self.open(arguments.paths)
        elif arguments.events is not None or arguments.input:
            self._discover(arguments)

    # ---------------------------------------------------------------- events

    def open(self, paths: Iterable[str]) -> None:
        """Replace the events: a path, and inputs with names as NAME=PATH."""
        named = [each for each in paths if "=" in each and not Path(each).exists()]
        unnamed = [each for each in paths if each not in named]
        if len(unnamed) > 1:
            raise ArgumentError(
                f"{unnamed[1]}: only one path can be without a name: give a pattern such as"
                f" 'logs/*.csv', or name the second input:  name={unnamed[1]}"
            )
        self._discover(
            Namespace(
                **{**vars(self._arguments), "events": next(iter(unnamed), None), "input": named}
            )
        )

    def _discover(self, arguments: Namespace) -> None:
        unnamed, named = events_of_script(arguments)
        self.inputs = {} if unnamed is None else {None: unnamed}
        self.inputs.update(named or {})
        self._arguments, self._names = arguments, None
        if self.streams:
            notify([f"the kept streams are forgotten: {', '.join(self.streams)}"])
            self.streams.clear()

    @property
    def names(self) -> KnownNames:
        """The names of types and attributes, looked up when they are first needed."""
        from sase.api.completion import KnownNames

        if self._names is None:
            self._names = KnownNames.of(*self.inputs.values())
        return self._names

    # ---------------------------------------------------------------- reading

    def read(self, lines: Iterable[str]) -> int:
        """Run all that a text has, up to the first error; return the status."""
        left = ""
        for line in lines:
            left += line
            # A statement can only end in a line with a semicolon, and a command is one line.
            if ";" in line or left == line:
                items, left = items_in(left)
                for item in items:
                    if not self.run(item):
                        return FAILED
                    if self.is_over:
                        return 0
        return 0 if not left.strip() or self.run(left) else FAILED

    def read_file(self, path: str) -> None:
        """Run the queries and commands of a file."""
        own = Path(path).resolve()
        if own in self._reading:
            raise ArgumentError(f".read {path}: this file is being read")
        text = read_text(path).content
        self._reading.append(own)
        try:
            if self.read(f"{text}\n".splitlines(keepends=True)):
                raise ArgumentError(f".read {path} has stopped at this error")
        finally:
            self._reading.pop()

    def run(self, item: str) -> bool:
        """Run a statement or a command; report an error, and return whether there was none."""
        try:
            with written_for(Interface.SHELL), self._results():
                if is_command(item):
                    self._run_command(self, item)
                elif self.has_statement(item):
                    self.run_statement(item.strip())
            return True
        except QueryError as problem:
            print_diagnostics(problem.diagnostics, sys.stderr)
        except (SaseError, ArgumentError) as problem:
            print(f"error: {printable_message(str(problem))}", file=sys.stderr)
        return False

    def has_statement(self, item: str) -> bool:
        """Whether a text has more than blanks and comments."""
        from sase.lang.outline import without_blanks

        return without_blanks(f"{item}\n") != ""

    # ---------------------------------------------------------------- queries

    def run_statement(self, text: str) -> None:
        """Print the matches of a query; keep the statement of a stream for queries that read it."""
        from sase.lang.parser import parse_script

        self.last = text
        (first, *_) = parse_script(text).statements
        if first.stream is not None:
            self._keep_stream(first.stream.text, text)
            return
        began = perf_counter()
        with warnings_as_messages():
            self._print(text)
        if self.has_timer:
            notify([f"{perf_counter() - began:.3f} s"])

    def _keep_stream(self, name: str, text: str) -> None:
        from sase.binding.script.script import check_script

        kept = {other: each for other, each in self.streams.items() if other != name}
        statement = self._behind(text, kept)
        schemas = {each: source.schema for each, source in self.inputs.items()}
        found = _moved(check_script(statement.script, schemas), statement, text)
        if errors := [each for each in found if each.severity == "error"]:
            raise QueryError(errors)
        print_diagnostics(found, sys.stderr)
        self.streams[name] = text
        print(f"stream {name}")

    def matches(self, text: str, progress: Progress | None = None) -> Matches:
        """The matches of a query over the events; their search moves a line of progress."""
        from sase.api.matching import match

        options = self.limits | {
            each: getattr(self._arguments, each) for each in ("stats", "threads")
        }
        if progress is not None:
            options["progress"] = lambda rows, _: setattr(progress, "rows", rows)
        found: Matches = self.call(match, text, **options)
        return found

    def call(self, function: Any, text: str, **options: Any) -> Any:
        """Call a public function with a query, the events and the options of this session."""
        if not self.inputs:
            raise ArgumentError("there are no events:  .open PATH  opens files of events")
        statement = self._behind(text, self.streams)
        used = set(PARAMETER.findall(statement.script))
        params = {name: value for name, value in self.parameters.items() if name in used}
        streams = {name: each for name, each in self.inputs.items() if name is not None}
        try:
            return function(
                statement.script,
                self.inputs.get(None),
                params=params,
                plan=self._arguments.plan,
                **({"streams": streams} if streams else {}),
                **options,
            )
        except QueryError as problem:
            raise type(problem)(_moved(problem.diagnostics, statement, text)) from None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of time and memory, as keywords."""
        return limit_options(self._arguments)

    def _behind(self, text: str, streams: dict[str, str]) -> PlacedStatement:
        """A statement behind those of the streams that it reads, by way of others, too."""
        from sase.lang.outline import outline

        needed = dict[str, str]()
        left = [text]
        while left:
            read = (each.name for one in outline(left.pop()) for each in one.sources)
            for name in read:
                if name in streams and name not in needed:
                    needed[name] = streams[name]
                    left.append(streams[name])
        # A statement may end in a comment, which the end of its line ends.
        before = "".join(f"{each}\n;\n" for each in needed.values())
        return PlacedStatement(before + text, len(before))

    # ---------------------------------------------------------------- results

    def _print(self, text: str) -> None:
        if self.mode == "table":
            found = self._print_table(text)
        else:
            found = self.matches(text)
            print_rows(self.mode, *found.to_batches())
        notify_report(found.report)
        if found.report.bad:
            notify([f"{counted(found.report.bad, 'row')} could not be used"])

    def _print_table(self, text: str) -> Matches:
        """Print the first matches as a table, and the number of all."""
        from sase.api.progress import total_of

        first: list[ResultBatch] = []
        count = 0
        try:
            with Progress(total_of(each.rows for each in self.inputs.values())) as progress:
                found = self.matches(text, progress)
                for count in found.counted(self.rows, first):
                    progress.matches = count
        except KeyboardInterrupt:
            _print_first(first, count)
            print(f"{counted(count, 'match')} so far")
            raise
        _print_first(first, count)
        more = f", {self.rows:,} shown" if count > self.rows else ""
        print(f"{counted(count, 'match')} in {counted(found.report.rows, 'row')}{more}")
        if not count:
            notify([".why names the causes that stopped the matches"])
        return found

    # ---------------------------------------------------------------- output

    @contextmanager
    def _results(self) -> Iterator[None]:
        """Send printed text to the file of results, if there is one; a failed one is closed."""
        try:
            # Within `.read`, `sys.stdout` may be a file that a later command has closed.
            with redirect_stdout(self._output or self._standard_output):
                yield
            (self._output or self._standard_output).flush()
        except OSError as problem:
            if self._output is None or problem.filename is not None:
                raise
            path = self._output.name
            with suppress(OSError):
                self.close()
            raise ArgumentError(
                f".output {path}: {problem.strerror}; later results are printed"
            ) from problem

    def write_to(self, path: str) -> None:
        """Write results to a file from now on; without a path to standard output."""
        self.close()
        if path:
            try:
                self._output = open(path, "w", encoding="utf-8")  # noqa: SIM115 - closed by `close`
            except OSError as problem:
                raise ArgumentError(f".output {path}: {problem.strerror}") from problem

    def close(self) -> None:
        """Close the file of results, if there is one."""
        output, self._output = self._output, None
        if output is not None:
            output.close()


def _print_first(first: list[ResultBatch], count: int) -> None:
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.results.repr import table_of

    if count and any(map(len, first)):
        shown = Matches.of(first, Report())
        print("\n".join(table_of(shown.to_arrow(), shown.schema.type, table_width())))


def _moved(
    found: Iterable[Diagnostic], statement: PlacedStatement, text: str
) -> Iterable[Diagnostic]:
    """Diagnostics of a script as those of its last statement."""
    source = Source(text)
    return [
        each
        if each.span.start < statement.at
        else replace(each, source=source, span=Span(*(end - statement.at for end in each.span)))
        for each in found
    ]


# ---------------------------------------------------------------- items


def is_command(item: str) -> bool:
    """Whether a text is a command: it begins with a dot, or is one of three words."""
    word = item.strip().rstrip(";").strip().lower()
    return word[:1] in (".", "\\") or word in BARE


def items_in(text: str) -> tuple[list[str], str]:
    """The complete statements and commands of a text, and the unfinished rest."""
    from sase.lang.outline import first_statement, without_blanks

    items = list[str]()
    while (text := without_blanks(text)) and text.strip():
        line, end, rest = text.partition("\n")
        if is_command(line):
            if not end:
                break
            items.append(line)
            text = rest
        elif (cut := first_statement(text)) is not None:
            items.append(cut[0])
            text = cut[1]
        else:
            break
    return items, text
