"""`sase replay`: find the matches of a program in files or tables with Spark."""

from __future__ import annotations

import os
import shutil
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from sase.base.files import PARTIAL, PartialFile
from sase.cli.event_arguments import add_events, add_inputs, add_limits, add_on_bad_row
from sase.cli.messages import SparkProgress, warnings_as_messages
from sase.cli.output_files import Target, add_csv_safe, check_unread
from sase.cli.queries import ArgumentError
from sase.cli.results import SHOWN, Delivery, output_files, print_count, print_set
from sase.cli.script_arguments import FORMS, GivenProgram, add_strict, check_form
from sase.cli.spark import ADDRESS, Replayed, SparkRequest, add_spark, session
from sase.cli.standard_input import Ending, check_inputs

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
        help=f"the form of standard output: a table of the first {SHOWN}, or all as CSV or JSON"
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
    """Replay the program."""
    with Ending() as ending:
        check_inputs(arguments)
        program = GivenProgram.of(arguments)
        check_form(program)
        folder = _folder_of(program)
        files = output_files(program, is_written_by_tasks=folder is not None)
        request = SparkRequest(program)
        delivery = Delivery(program, files, ending)
        with (
            warnings_as_messages(),
            session(arguments) as spark,
            SparkProgress(spark, request.rows) as progress,
        ):
            files.make_folders()
            replayed = request.replayed(spark)
            if arguments.output in FORMS and replayed.replay is not None:
                counts = {
                    program.names[0]: _deliver_form(replayed.replay, folder, delivery, program)
                }
            elif folder is not None:
                counts = {name: _write_folder(df, folder) for name, df in replayed.matches.items()}
            else:
                counts = _deliver(replayed, delivery, program, progress)
            bad = {name: df.count() for name, df in replayed.bad_rows.items()}
            delivery.put_aside(
                {name: count for name, count in bad.items() if count},
                lambda name, path: _write(replayed.bad_rows[name], path, delivery),
            )
            rows, seconds = request.rows, progress.seconds
        of = "" if rows is None else f" in {rows:,} rows"
        delivery.conclude(counts, f"{of}, {seconds:.2f} s on Spark")
        return 0


# ---------------------------------------------------------------- outputs


def _folder_of(program: GivenProgram) -> str | None:
    """The new folder for Parquet files of tasks, if the output ends with a slash."""
    out: str | None = program.arguments.out
    if out is None or not out.endswith("/") or len(program.names) > 1:
        return None
    if ADDRESS not in out:
        if os.path.exists(out):
            raise ArgumentError(f"{out} is there already: name another folder, or remove it")
        for each in program.inputs.values():
            check_unread(Target("-o", out.rstrip("/")), each)
    return out


def _write_folder(results: DataFrame, folder: str) -> int:
    """Let tasks write Parquet into a folder; it gets its name once all files are complete."""
    name = folder.rstrip("/")
    if ADDRESS in folder:  # Spark's own rule holds: a file _SUCCESS marks the end
        results.write.mode("error").parquet(name)
        return _count_written(results, name)
    partial = os.path.abspath(name) + PARTIAL
    lock = PartialFile(partial, suffix=".lock")
    try:
        results.write.mode("overwrite").parquet(partial)
        count = _count_written(results, partial)
        os.replace(partial, name)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        lock.discard()
    return count


def _count_written(results: DataFrame, folder: str) -> int:
    return results.sparkSession.read.schema(results.schema).parquet(folder).count()


def _deliver_form(
    replay: Replay, folder: str | None, delivery: Delivery, program: GivenProgram
) -> int:
    """Print the number of matches or a summary, write a collapsed form, and return the number."""
    if program.arguments.output == "count":
        count = replay.count()
        print_count(count, program.arguments.format)
        return count
    path = delivery.path(program.names[0])

    def write(results: DataFrame) -> None:
        if folder is not None:
            _write_folder(results, folder)
        elif path is not None:
            _write(results, path, delivery)

    return print_set(replay, write)


def _deliver(
    replayed: Replayed, delivery: Delivery, program: GivenProgram, progress: SparkProgress
) -> dict[str, int]:
    """Write all matches to files or to standard output; return their numbers by statement."""
    from sase.spark.result_schema import batches_of, in_order, schema_of

    matches, counts = dict(replayed.matches), dict[str, int]()
    if len(matches) == 1:  # otherwise, jobs of several statements keep their results
        matches = {name: df.persist() for name, df in matches.items()}
    for name, df in matches.items():
        counts[name] = df.count()
        progress.matches += counts[name]
    type_column = None if replayed.replay is None else replayed.replay.plan.schema.type
    for name, df in matches.items():
        rows, path = in_order(df), delivery.path(name)
        if path is not None:
            _write(rows, path, delivery)
        elif program.arguments.format not in (None, "table"):
            delivery.print_rows(name, schema_of(rows), batches_of(rows))
        else:
            first = rows.limit(SHOWN).toArrow() if counts[name] else None
            delivery.print_table(name, counts[name], first, type_column)
    return counts


def _write(rows: DataFrame, path: str, delivery: Delivery) -> None:
    from sase.spark.result_schema import batches_of, schema_of

    delivery.write(path, schema_of(rows), batches_of(rows))
