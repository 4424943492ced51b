"""`sase run`: the matches of a query in files of events, on the terminal or in a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from sase.cli.follow import follow, lateness_of
from sase.cli.given import add_events, keywords, one_query, say
from sase.cli.progress import Progress
from sase.cli.queries import ArgumentError
from sase.cli.signals import TERMINATED, Ending, Terminated
from sase.cli.terminal import painted, wants_colour
from sase.errors import PlanError, QueryError, SaseError, SchemaError

if TYPE_CHECKING:
    from sase.engine.matches import Matches
    from sase.engine.report import Report

SHOWN = 20
FEW = 1_000_000  # rows of which a rate says little


def configure(parser: ArgumentParser) -> None:
    """What the command takes."""
    add_events(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write all matches to a file: .parquet, .csv, .jsonl or .arrow",
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "jsonl"),
        help=f"what goes to standard output: a table of the first {SHOWN}, or all as CSV or JSON"
        " lines (default: table, with --follow jsonl)",
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
    parser.add_argument("--limit", metavar="N", type=int, help="stop after so many matches")
    parser.add_argument("--max-matches", metavar="N", type=int, help="fail if there are more")
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as pay")
    parser.add_argument(
        "--on-bad-row",
        choices=("error", "quarantine"),
        default="error",
        help="stop at a row that cannot be used, or put it aside and go on (default: error)",
    )
    parser.add_argument(
        "--quarantine", metavar="FILE", help="write the rows put aside to a file, with the reasons"
    )


def run(arguments: Namespace) -> int:
    """Run the query; 1 if that fails, 2 if the query or the arguments are wrong."""
    try:
        with Ending() as ending:
            if arguments.follow:
                _check_follow(arguments)
                return follow(arguments, ending)
            return _run(arguments, ending)
    except QueryError as problem:
        colour = wants_colour(sys.stderr)
        for diagnostic in problem.diagnostics:
            print(painted(diagnostic) if colour else diagnostic, file=sys.stderr)
        return 2
    except (SchemaError, PlanError, ArgumentError) as problem:
        return _failed(problem, 2)
    except SaseError as problem:
        return _failed(problem, 1)
    except Terminated:
        return TERMINATED


def _check_follow(arguments: Namespace) -> None:
    """Some options need an end of the input."""
    given = {
        "--format table": arguments.format == "table",
        "--threads": arguments.threads is not None,
        "--max-matches": arguments.max_matches is not None,
        "--quarantine": arguments.quarantine is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise ArgumentError(
                f"{option} does not go with --follow, which has no end: leave it out"
            )


def _failed(problem: Exception, status: int) -> int:
    print(f"sase run: error: {problem}", file=sys.stderr)
    return status


def _run(arguments: Namespace, ending: Ending) -> int:
    from sase.api import TIME, compile, readable
    from sase.engine.files import Files
    from sase.engine.sinks import writer_for

    text = one_query(arguments)
    if arguments.out is not None:
        writer_for(arguments.out)  # before anything is read
    if arguments.quarantine is not None:
        writer_for(arguments.quarantine)
    on_bad_row = "quarantine" if arguments.quarantine is not None else arguments.on_bad_row
    events = readable(
        arguments.events, arguments.time or TIME, keeps_rows=on_bad_row == "quarantine"
    )
    columns = events.schema.names if isinstance(events, Files) else events.tables[0].names
    plan = compile(
        text.content,
        events,
        limit=arguments.limit,
        on_bad_row=on_bad_row,
        lateness=lateness_of(arguments.lateness),
        **keywords(arguments, columns),
    )
    with Progress(events.rows() if isinstance(events, Files) else None) as progress:
        matches = plan.run(
            events,
            threads=arguments.threads,
            max_matches=arguments.max_matches,
            watch=lambda rows: setattr(progress, "rows", rows),
        )
        where = _deliver(matches, arguments, progress, ending)
    sys.stdout.flush()  # or the summary could overtake what it sums up
    report = matches.report
    if report.bad:
        _put_aside(report, arguments.quarantine)
    say([f"warning: {warning}" for warning in report.warnings])
    say(report.notes)
    if report.late:
        rows = "1 row was" if report.late == 1 else f"{report.late:,} rows were"
        say([f"{rows} late, and in no match: allow more with --lateness"])
    if not report.is_complete:
        say(["LIMIT was reached before the end of the events"])
    seconds = progress.seconds
    if not progress.matches and arguments.limit != 0:
        say(["sase why  with the same query and events says what stopped the matches"])
    found = "1 match" if progress.matches == 1 else f"{progress.matches:,} matches"
    rate = f", {report.rows / seconds / 1e6:,.1f} million a second" if report.rows > FEW else ""
    say([f"{found} in {report.rows:,} rows, {seconds:.2f} s{rate}{where}"])
    return 0


def _put_aside(report: Report, path: str | None) -> None:
    """Say how many rows could not be used, and write them where the user wants them."""
    from sase.engine.sinks import write_table

    rows = "1 row" if report.bad == 1 else f"{report.bad:,} rows"
    if path is None:
        say([f"{rows} could not be used: --quarantine FILE writes them, with the reasons"])
        return
    write_table(report.quarantined, path)
    say([f"{rows} could not be used: {path}"])


def _deliver(matches: Matches, arguments: Namespace, progress: Progress, ending: Ending) -> str:
    """Write what is found; where it is, for the summary."""
    if arguments.out is not None:
        _write_file(matches, arguments.out, progress, ending)
        return f": {arguments.out}"
    if arguments.format in (None, "table"):
        _print_table(matches, progress)
    else:
        _print_all(matches, arguments.format, progress)
    return ""


def _write_file(matches: Matches, path: str, progress: Progress, ending: Ending) -> None:
    from sase.engine.sinks import FileSink

    schema, batches = matches.to_batches()
    sink = FileSink(path, schema)
    try:
        for batch in batches:
            with ending.whole():
                sink.write_batch(batch)
            progress.matches += batch.num_rows
        with ending.whole():
            sink.close()
    except BaseException:
        is_valid = sink.abandon()
        kept = "what was written so far is in" if is_valid else "what was written is not whole:"
        say([f"{kept} {sink.partial}"])
        raise


def _print_all(matches: Matches, format: str, progress: Progress) -> None:
    from sase.engine.sinks import CsvWriter, JsonWriter

    schema, batches = matches.to_batches()
    writer: Any = CsvWriter if format == "csv" else JsonWriter
    out = writer(sys.stdout.buffer, schema)
    for batch in batches:
        out.write_batch(batch)
        progress.matches += batch.num_rows
    out.close()


def _print_table(matches: Matches, progress: Progress) -> None:
    from sase.engine.showing import table_of

    def count(number: int) -> None:
        progress.matches = number

    first = matches.first(SHOWN, count)
    if progress.matches:
        print("\n".join(table_of(first, SHOWN)))
    if progress.matches > SHOWN:
        print(f"… and {progress.matches - SHOWN:,} more: write all of them with  -o FILE")
