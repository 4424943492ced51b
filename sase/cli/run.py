"""`sase run`: the matches of a query in files of events, on the terminal or in a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING

from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_on_bad_row,
    add_schema,
    discovered,
    limit_options,
    one_query,
    query_options,
)
from sase.cli.follow import check_followed, follow, lateness_of
from sase.cli.follow_script import follow_script
from sase.cli.messages import (
    counted,
    notify,
    notify_late,
    notify_warnings,
    warnings_as_messages,
)
from sase.cli.output_files import (
    add_csv_safe,
    check_targets,
    print_rows,
    put_aside,
    targets_of,
    write_file,
)
from sase.cli.progress import Progress
from sase.cli.queries import Terminated, refuse_given
from sase.cli.run_script import check_script_options, run_script
from sase.cli.script_arguments import add_strict, is_script
from sase.cli.set_results import FORMS, check_form, deliver_form, is_flat
from sase.cli.signals import Ending
from sase.cli.standard_input import check_inputs, events_in_a_file

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.report import Report
    from sase.engine.results.batch import ResultBatch
    from sase.engine.results.matches import Matches

SHOWN = 20
FEW = 1_000_000  # rows of which a rate says little


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
        help="write all matches to a file: .parquet, .csv, .jsonl or .arrow; those of a script to a"
        " folder, a file for each statement",
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
    parser.add_argument(
        "--output",
        choices=("all", "non_overlap", "compressed", "count"),
        default="all",
        help="all matches; those of each partition that do not overlap; a summary of all as a set,"
        " which with -o FILE is written as a row for each final event; or their number alone"
        " (default: all)",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="stop after so many matches")
    parser.add_argument("--max-matches", metavar="N", type=int, help="fail if there are more")
    add_limits(parser, "the run, or with --follow a step of it,")
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as pay")
    add_csv_safe(parser)
    add_on_bad_row(parser, quarantines=True)


def run(arguments: Namespace) -> int:
    """Run the query over files, or over events as they come."""
    from sase.api.checks import check_output

    with Ending() as ending:
        check_output(arguments.output)
        check_inputs(arguments)
        if is_script(arguments):
            return _run_script(arguments, ending)
        if arguments.output in FORMS:
            check_form(arguments)
        if arguments.follow:
            _check_follow(arguments)
        check_targets(targets_of(arguments), arguments)
        if arguments.follow:
            return follow(arguments, ending)
        with events_in_a_file(arguments):
            return _run(arguments, ending)


def _run_script(arguments: Namespace, ending: Ending) -> int:
    check_script_options(arguments)
    return (follow_script if arguments.follow else run_script)(arguments, ending)


def _check_follow(arguments: Namespace) -> None:
    """Refuse options that need an end of the input."""
    given = {
        "--format table": arguments.format == "table",
        f"--output {arguments.output}": arguments.output in FORMS,
        "--threads": arguments.threads is not None,
        "--max-matches": arguments.max_matches is not None,
        "--quarantine": arguments.quarantine is not None,
    }
    refuse_given(given, "--follow, which has no end")
    by_lines = {"--schema": arguments.schema is not None}
    refuse_given(by_lines, "--follow, where the first lines say what columns hold")
    check_followed(arguments.events)


def _run(arguments: Namespace, ending: Ending) -> int:
    from sase.api.compiled_query import compile_query
    from sase.api.limits import bound, guard_of, limits_of
    from sase.engine.pipeline.limits import working

    guard = guard_of(limits_of(**limit_options(arguments)), perf_counter_ns)
    with working(guard):
        query, source = one_query(arguments), discovered(arguments)
        bound(source, guard)
        known = compile_query(
            query,
            source,
            limit=arguments.limit,
            output=arguments.output,
            lateness=lateness_of(arguments.lateness),
            flat=is_flat(arguments),
            **query_options(arguments),
        )
    with warnings_as_messages(), Progress(known.source.rows) as progress:
        report, where = _searched(known, guard, arguments, progress, ending)
    sys.stdout.flush()  # or the summary could overtake what it sums up
    _conclude(report, where, arguments, progress, ending)
    return 0


def _searched(
    known: CompiledQuery,
    guard: RunGuard | None,
    arguments: Namespace,
    progress: Progress,
    ending: Ending,
) -> tuple[Report, str]:
    """Deliver what is found in the form that is asked for; where it is, for the summary."""
    from sase.api.execution import run as run_query
    from sase.engine.pipeline.limits import UNLIMITED

    names = ("stats", "threads", "max_matches")
    settings = {name: getattr(arguments, name) for name in names}
    settings["limits"] = UNLIMITED if guard is None else guard.limits
    if arguments.output in FORMS:
        progress.matches, report = deliver_form(known, arguments, settings, ending)
        return report, ""
    watch = partial(setattr, progress, "rows")
    matches = run_query(known, guard=guard, watch=watch, **settings)
    where = _deliver(matches, arguments, progress, ending)
    return matches.report, where


def _conclude(
    report: Report, where: str, arguments: Namespace, progress: Progress, ending: Ending
) -> None:
    """Report the run, and the tool that explains why nothing was found."""
    rows = report.quarantined

    def write(path: str) -> None:
        write_file(rows.schema, rows.to_batches(), path, ending, safe=arguments.csv_safe)

    put_aside(report.bad, arguments.quarantine, write)
    notify_warnings(report.warnings)
    notify(report.notes)
    notify_late(report.late)
    if not report.is_complete:
        notify(["LIMIT was reached before the end of the events"])
    seconds = progress.seconds
    found = counted(progress.matches, "match")
    if not progress.matches and arguments.limit != 0:
        notify(["sase why  with the same query and events says what stopped the matches"])
    rate = f", {report.rows / seconds / 1e6:,.1f} million a second" if report.rows > FEW else ""
    notify([f"{found} in {counted(report.rows, 'row')}, {seconds:.2f} s{rate}{where}"])


def _deliver(matches: Matches, arguments: Namespace, progress: Progress, ending: Ending) -> str:
    """Write what is found; where it is, for the summary."""
    if arguments.out is not None:
        safe, wrote = arguments.csv_safe, progress.found
        write_file(*matches.to_batches(), arguments.out, ending, safe=safe, wrote=wrote)
        return f": {arguments.out}"
    if arguments.format in (None, "table"):
        _print_table(matches, progress)
    else:
        _print_all(matches, arguments, progress)
    return ""


def _print_all(matches: Matches, arguments: Namespace, progress: Progress) -> None:
    format, safe = arguments.format, arguments.csv_safe
    try:
        print_rows(format, *matches.to_batches(), safe=safe, wrote=progress.found)
    except (KeyboardInterrupt, Terminated):
        _notify_interrupted(progress)
        raise


def _notify_interrupted(progress: Progress) -> None:
    notify([f"interrupted: {counted(progress.matches, 'match')} so far"])


def _print_table(matches: Matches, progress: Progress) -> None:
    first: list[ResultBatch] = []
    try:
        for count in matches.counted(SHOWN, first):
            progress.matches = count
    except (KeyboardInterrupt, Terminated):
        _print_first(first, progress.matches)
        _notify_interrupted(progress)
        raise
    _print_first(first, progress.matches)
    if progress.matches > SHOWN:
        print(f"… and {progress.matches - SHOWN:,} more: write all of them with  -o FILE")


def _print_first(first: list[ResultBatch], count: int) -> None:
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.results.repr import table_of

    if count:
        matches = Matches.of(first, Report()).head(SHOWN)
        print("\n".join(table_of(matches.to_arrow(), matches.schema.type)))
