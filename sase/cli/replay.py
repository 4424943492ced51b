"""`sase replay`: the matches of a query in files or tables, found by Spark."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from sase.cli.event_arguments import add_events, add_inputs, add_limits, add_on_bad_row, on_bad_row
from sase.cli.messages import counted, notify, warnings_as_messages
from sase.cli.output_files import (
    Target,
    add_csv_safe,
    check_targets,
    check_unread,
    print_rows,
    put_aside,
    targets_of,
    write_file,
)
from sase.cli.progress import SparkProgress
from sase.cli.queries import ArgumentError
from sase.cli.replay_script import replay_script
from sase.cli.run import SHOWN
from sase.cli.script_arguments import add_strict, is_script
from sase.cli.set_results import FORMS, check_form, is_flat, print_count, print_set
from sase.cli.signals import Ending
from sase.cli.spark import ADDRESS, ReplayRequest, add_spark, session
from sase.cli.standard_input import check_inputs
from sase.partial_file import PARTIAL, PartialFile

if TYPE_CHECKING:
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser, required=False)
    add_inputs(parser)
    add_strict(parser)
    add_spark(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write all matches to a file: .parquet, .csv, .jsonl or .arrow; or, if the name ends"
        " with a slash, to a folder of Parquet that tasks write themselves",
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "jsonl"),
        help=f"what goes to standard output: a table of the first {SHOWN}, or all as CSV or JSON"
        " lines (default: table)",
    )
    parser.add_argument(
        "--output",
        choices=("all", "non_overlap", *FORMS),
        default="all",
        help="all matches; those that do not overlap, which needs --seq; a summary of all as a set,"
        " which with -o is written as a row for each final event; or their number alone (default:"
        " all)",
    )
    parser.add_argument(
        "--limit", metavar="N", type=int, help="only the first matches: needs --seq"
    )
    add_limits(parser, "the search of a part")
    add_csv_safe(parser)
    add_on_bad_row(parser, quarantines=True)


def run(arguments: Namespace) -> int:
    """Replay the query."""
    with Ending() as ending:
        check_inputs(arguments)
        if is_script(arguments):
            return replay_script(arguments, ending)
        return _run(arguments, ending)


def _run(arguments: Namespace, ending: Ending) -> int:
    _check_outputs(arguments)
    bad = on_bad_row(arguments)
    given = ReplayRequest.of(
        arguments,
        limit=arguments.limit,
        on_bad_row=bad,
        output="structs" if arguments.output == "all" else arguments.output,
        flat=is_flat(arguments),
    )
    with (
        warnings_as_messages(),
        session(arguments) as spark,
        SparkProgress(spark, given.rows) as progress,
    ):
        replay = given.replay(spark)
        if arguments.output in FORMS:
            found = _deliver_form(replay, arguments, ending)
        elif arguments.out is not None and _is_folder(arguments.out):
            found = _write_folder(replay.matches, arguments.out)
        else:
            found = _deliver(replay, arguments, progress, ending)
        sys.stdout.flush()  # or the summary could overtake what it sums up
        if bad == "quarantine":
            bad_rows = replay.bad_rows
            put_aside(
                bad_rows.count(),
                arguments.quarantine,
                lambda path: _write_file(bad_rows, path, arguments, ending),
            )
        rows, seconds = given.rows, progress.seconds
    where = "" if arguments.out is None else f": {arguments.out}"
    of = "" if rows is None else f" in {rows:,} rows"
    notify([f"{counted(found, 'match')}{of}, {seconds:.2f} s on Spark{where}"])
    return 0


# ---------------------------------------------------------------- outputs


def _check_outputs(arguments: Namespace) -> None:
    """Refuse what cannot be written, before anything is read."""
    if arguments.output in FORMS:
        check_form(arguments)
    files = [target for target in targets_of(arguments) if not _is_folder(target.path)]
    check_targets(files, arguments)
    out = arguments.out
    if out is not None and _is_folder(out) and ADDRESS not in out:
        if os.path.exists(out):
            raise ArgumentError(f"{out} is there already: name another folder, or remove it")
        check_unread(Target("-o", out.rstrip("/")), arguments)


def _is_folder(path: str) -> bool:
    return path.endswith("/")


def _write_folder(found: DataFrame, folder: str) -> int:
    """Tasks write Parquet themselves: into a folder that has its name once all is there."""
    name = folder.rstrip("/")
    if ADDRESS in folder:  # where Spark has its own rule: a file _SUCCESS says that all is there
        found.write.mode("error").parquet(name)
        return _count_written(found, name)
    partial = os.path.abspath(name) + PARTIAL
    lock = PartialFile(partial, suffix=".lock")
    try:
        found.write.mode("overwrite").parquet(partial)
        count = _count_written(found, partial)
        os.replace(partial, name)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        lock.discard()
    return count


def _count_written(found: DataFrame, folder: str) -> int:
    return found.sparkSession.read.schema(found.schema).parquet(folder).count()


def _deliver_form(replay: Replay, arguments: Namespace, ending: Ending) -> int:
    """The number of matches, or a summary of all and their collapsed form; how many there are."""
    if arguments.output == "count":
        count = replay.count()
        print_count(count, arguments.format)
        return count
    out = arguments.out

    def write(found: DataFrame) -> None:
        if out is not None and _is_folder(out):
            _write_folder(found, out)
        elif out is not None:
            _write_file(found, out, arguments, ending)

    return print_set(replay, write)


def _deliver(replay: Replay, arguments: Namespace, progress: SparkProgress, ending: Ending) -> int:
    """All matches to a file or to standard output; how many there are."""
    from sase.spark.result_schema import in_order

    found = replay.matches.persist()  # what is found is counted, and then read
    progress.matches = count = found.count()
    if arguments.out is not None:
        _write_file(in_order(found), arguments.out, arguments, ending)
    elif arguments.format not in (None, "table"):
        _print_all(found, arguments)
    elif count:
        _print_table(found, count, replay.plan.schema.type)
    return count


def _write_file(rows: DataFrame, path: str, arguments: Namespace, ending: Ending) -> None:
    from sase.spark.result_schema import batches_of, schema_of

    safe = arguments.csv_safe
    write_file(schema_of(rows), batches_of(rows), path, ending, safe=safe)


def _print_all(found: DataFrame, arguments: Namespace) -> None:
    from sase.spark.result_schema import batches_of, in_order, schema_of

    batches, safe = batches_of(in_order(found)), arguments.csv_safe
    print_rows(arguments.format, schema_of(found), batches, safe=safe)


def _print_table(found: DataFrame, count: int, type_column: str | None) -> None:
    from sase.engine.results.repr import table_of
    from sase.spark.result_schema import in_order

    first = in_order(found).limit(SHOWN).toArrow()
    print("\n".join(table_of(first, type_column)))
    if count > SHOWN:
        print(f"… and {count - SHOWN:,} more: write all of them with  -o FILE")
