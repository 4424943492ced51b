"""`sase run`: find the matches of a program in files of events, for the terminal or files."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from sase.base.files import write_whole
from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_on_bad_row,
    add_schema,
    limit_options,
)
from sase.cli.follow import check_followed, follow
from sase.cli.messages import Progress, counted, notify, warnings_as_messages
from sase.cli.output_files import add_csv_safe, check_page, is_same
from sase.cli.queries import STANDARD_INPUT, ArgumentError, Terminated, refuse_given
from sase.cli.results import SHOWN, Delivery, OutputFiles, deliver_form, output_files
from sase.cli.script_arguments import (
    FORMS,
    GivenProgram,
    add_strict,
    check_form,
    discovered_input,
    notify_set_aside,
)
from sase.cli.standard_input import Ending, check_inputs, events_in_a_file

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.results.batch import ResultBatch
    from sase.engine.results.matches import Matches
    from sase.engine.sources.discovered import Discovered

# Forms of standard output that have an end, for the matches of one statement.
WHOLE = ("json", "arrow", "parquet")
FEW = 1_000_000  # below this number of rows, a rate says little


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser)
    add_inputs(parser)
    add_strict(parser)
    add_schema(parser, "the schema that the events have, which says the types of their columns")
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write all matches to a file: .parquet, .csv, .json, .jsonl, .arrow, .csv.gz or"
        " .jsonl.zst; those of a script to a folder, a file for each statement; - is standard"
        " output",
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "jsonl", *WHOLE),
        help=f"the form of standard output: a table of the first {SHOWN}, or all as CSV, JSON"
        " lines, JSON, a stream of Arrow, or Parquet (default: table, with --follow jsonl)",
    )
    parser.add_argument("--no-config", action="store_true", help="do not read sase.toml")
    parser.add_argument(
        "--wide", action="store_true", help="do not cut the lines of a table at the terminal's edge"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="also write a page with a picture of the first matches along time: their events, those"
        " that they skipped, absences and windows; of one query",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="--events is a file of CSV or JSON lines that grows, or - for standard input: tell"
        " matches as they are detected, until the input ends or Ctrl-C",
    )
    parser.add_argument(
        "--lateness",
        metavar="SPAN",
        help="how late rows may come, such as '5 seconds': with --follow, or in files too large to"
        " be sorted in memory",
    )
    parser.add_argument(
        "--output",
        choices=("all", "non_overlap", "compressed", "count"),
        default="all",
        help="all matches; those of each partition that do not overlap; a summary of all as a set,"
        " which with -o FILE is written as a row for each final event; or their number alone"
        " (default: all)",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="stop after N matches")
    parser.add_argument("--max-matches", metavar="N", type=int, help="fail if there are more")
    add_limits(parser, "the run, or with --follow a step of it,")
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as pay")
    add_csv_safe(parser)
    add_on_bad_row(parser, quarantines=True)


def run(arguments: Namespace) -> int:
    """Run the program over files, or over a followed stream."""
    from sase.api.checks import check_bounds, check_output

    with Ending() as ending:
        check_output(arguments.output)
        check_bounds(arguments.threads, arguments.max_matches)
        check_inputs(arguments)
        program = GivenProgram.of(arguments)
        _check(program)
        if arguments.follow:
            files = output_files(program, bad_suffix=".jsonl")
            return follow(program, files, ending)
        files = output_files(program)
        _check_page(program, files)
        with ExitStack() as stack:
            for each in program.inputs.values():
                stack.enter_context(events_in_a_file(each))
            _run(program, files, ending)
        return 0


def _check(program: GivenProgram) -> None:
    """Refuse options that do not fit the kind of program or an endless input."""
    arguments = program.arguments
    _check_stream(program)
    if not program.graph.is_lone:
        given = {
            f"--output {arguments.output}": arguments.output != "all",
            "--stats": arguments.stats is not None,
        }
        refuse_given(given, "a script")
    check_form(program)
    if not arguments.follow:
        return
    given = {
        "--format table": arguments.format == "table",
        f"--output {arguments.output}": arguments.output in FORMS,
        "--threads": arguments.threads is not None,
        "--max-matches": arguments.max_matches is not None,
        "--html": arguments.html is not None,
    }
    refuse_given(given, "--follow, which has no end")
    by_lines = {"--schema": arguments.schema is not None}
    refuse_given(by_lines, "--follow, where the first lines decide the types of columns")
    if not program.graph.is_lone:
        folder = {"-o": arguments.out is not None}
        refuse_given(folder, "--follow of a script, which writes lines of JSON")
    for each in program.inputs.values():
        check_followed(each.events)


def _check_stream(program: GivenProgram) -> None:
    """Take `-o -` for standard output, and refuse a form that it cannot have."""
    arguments = program.arguments
    if arguments.out == STANDARD_INPUT:
        if arguments.format in (None, "table"):
            raise ArgumentError("-o -: say the form, such as  --format arrow  or  --format csv")
        arguments.out = None
    if arguments.out is not None or arguments.format not in WHOLE:
        return
    refuse_given({f"--format {arguments.format}": arguments.follow}, "--follow, which has no end")
    if len(program.names) > 1:
        raise ArgumentError(
            f"--format {arguments.format}: the statements of a script have columns of their own:"
            " write a file for each with  -o FOLDER  , or give  --format jsonl"
        )
    if arguments.format != "json" and sys.stdout.isatty():
        raise ArgumentError(
            f"--format {arguments.format}: a terminal cannot show this: lead it to a program or a"
            f" file, as in  … | duckdb  or  > found.{arguments.format}"
        )


def _check_page(program: GivenProgram, files: OutputFiles) -> None:
    """Refuse a page of several statements or of no matches, and one that cannot be written."""
    arguments = program.arguments
    if arguments.html is None:
        return
    given = {"--html": True}
    if not program.graph.is_lone:
        refuse_given(given, "a script")
    if arguments.output in FORMS:
        refuse_given(given, f"--output {arguments.output}, which lists no matches")
    check_page(arguments)
    for path in (*files.matches.values(), *files.bad_rows.values()):
        if is_same(path, arguments.html):
            raise ArgumentError(
                f"--html {path}: other results are written there: name another file"
            )


def _run(program: GivenProgram, files: OutputFiles, ending: Ending) -> None:
    from sase.api.checks import bound, guard_of, limits_of
    from sase.engine.pipeline.limits import working

    guard = guard_of(limits_of(**limit_options(program.arguments)), perf_counter_ns)
    with working(guard):
        given = {name: discovered_input(name, each) for name, each in program.inputs.items()}
        for each in given.values():
            bound(each, guard)
        script = program.compiled(given)
    notify_set_aside(script)
    files.make_folders()
    rows = [each.rows for each in script.bound.sources.values()]
    total = None if None in rows else sum(filter(None, rows))
    names = [each.name for each in script.graph.statements]
    with warnings_as_messages(), Progress(total, names) as progress:
        run = _FileRun(program, Delivery(program, files, ending), progress)
        run.deliver(script, given, guard, ending)
    run.conclude(len(script.set_aside))


class _FileRun:
    """A run over complete files, with its results and reports."""

    def __init__(self, program: GivenProgram, delivery: Delivery, progress: Progress) -> None:
        self._program, self._delivery, self._progress = program, delivery, progress
        self._counts = dict[str, int]()
        self._reports = dict[str, Any]()
        self._bad = dict[str | None, Any]()
        self._bad_rows = dict[str | None, int]()

    def deliver(
        self,
        script: CompiledScript,
        given: Mapping[str | None, Discovered],
        guard: RunGuard | None,
        ending: Ending,
    ) -> None:
        """Search, and write the matches of each statement in the chosen form."""
        from sase.api.execution import run as run_query
        from sase.engine.pipeline.limits import UNLIMITED

        progress, arguments = self._progress, self._program.arguments
        if (lone := script.lone) is None:
            most = arguments.max_matches
            found = script.found(
                given, guard, most, progress.watch, self._take_bad, threads=arguments.threads
            )
            for name, matches in found.items():
                self._deliver(name, matches)
            return
        (name,) = self._program.names
        settings = {each: getattr(arguments, each) for each in ("stats", "threads", "max_matches")}
        settings["limits"] = UNLIMITED if guard is None else guard.limits
        if arguments.output in FORMS:
            self._counts[name], report = deliver_form(lone, arguments, settings, ending)
            self._reports[name] = report
        else:
            watch = partial(setattr, progress, "rows")
            matches = run_query(lone, guard=guard, watch=watch, **settings)
            if arguments.html is not None:
                write_whole(arguments.html, matches.timeline().to_html().encode())
            self._deliver(name, matches)
        self._take_bad({None: self._reports[name].quarantined})
        self._bad_rows[None] = self._reports[name].bad  # each row once

    def _take_bad(self, bad: Mapping[str | None, Any]) -> None:
        self._bad.update(bad)
        self._bad_rows.update({name: len(rows) for name, rows in bad.items() if rows})

    def _deliver(self, name: str, matches: Matches) -> None:
        """Write or print the matches of a statement; the search may still run."""
        progress, path = self._progress, self._delivery.path(name)
        before = progress.matches
        if path is not None:
            self._delivery.write(path, *matches.to_batches(), wrote=progress.found)
        else:
            try:
                if self._program.arguments.format in (None, "table"):
                    self._print_table(name, matches)
                else:
                    self._delivery.print_rows(name, *matches.to_batches(), wrote=progress.found)
            except (KeyboardInterrupt, Terminated):
                notify([f"interrupted: {counted(progress.matches, 'match')} so far"])
                raise
        self._counts[name] = progress.matches - before
        self._reports[name] = matches.report

    def _print_table(self, name: str, matches: Matches) -> None:
        first: list[ResultBatch] = []
        before, count = self._progress.matches, 0
        try:
            for count in matches.counted(SHOWN, first):
                self._progress.matches = before + count
        except (KeyboardInterrupt, Terminated):
            self._print_first(name, min(count, SHOWN), first)
            raise
        self._print_first(name, count, first)

    def _print_first(self, name: str, count: int, first: list[ResultBatch]) -> None:
        from sase.engine.report import Report
        from sase.engine.results.matches import Matches

        shown = Matches.of(first, Report()).head(SHOWN) if count else None
        table, type = (None, None) if shown is None else (shown.to_arrow(), shown.schema.type)
        self._delivery.print_table(name, count, table, type)

    def conclude(self, aside: int) -> None:
        """Print the messages of the run; without any match, name the command that explains this."""
        progress, bad = self._progress, self._bad

        def write(name: str | None, path: str) -> None:
            self._delivery.write(path, bad[name].schema, bad[name].to_batches())

        self._delivery.put_aside(self._bad_rows, write)
        self._delivery.tell(self._reports)
        is_single, limit = len(self._program.names) == 1, self._program.arguments.limit
        if is_single and limit != 0 and not any(self._counts.values()):
            notify(
                [
                    "sase why  with the same query and events names the causes that stopped the"
                    " matches"
                ]
            )
        rows, seconds = progress.rows, progress.seconds
        if self._program.graph.is_lone:
            (rows,) = (report.rows for report in self._reports.values())
        rate = f", {rows / seconds / 1e6:,.1f} million a second" if rows > FEW else ""
        if (path := self._program.arguments.html) is not None:
            notify([f"a picture of the first matches: {path}"])
        of = f" in {counted(rows, 'row')}, {seconds:.2f} s{rate}"
        self._delivery.conclude(self._counts, of, aside)
