"""`sase replay`: the matches of a program in files or tables, found by Spark."""

from __future__ import annotations

import os
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_on_bad_row,
    on_bad_row,
    query_options,
)
from sase.cli.messages import warnings_as_messages
from sase.cli.output_files import Target, add_csv_safe, check_unread
from sase.cli.progress import SparkProgress
from sase.cli.queries import STANDARD_INPUT, ArgumentError, refuse_given
from sase.cli.results import SHOWN, Delivery, output_files
from sase.cli.script_arguments import (
    FORMS,
    GivenProgram,
    add_strict,
    check_form,
    discovered_input,
    is_flat,
)
from sase.cli.set_results import print_count, print_set
from sase.cli.signals import Ending
from sase.cli.spark import ADDRESS, ReplayRequest, add_spark, session
from sase.cli.standard_input import check_inputs
from sase.partial_file import PARTIAL, PartialFile

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame, SparkSession


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
    """Replay the program."""
    with Ending() as ending:
        check_inputs(arguments)
        program = GivenProgram.of(arguments)
        check_form(program)
        folder = _folder_of(program)
        files = output_files(program, is_written_by_tasks=folder is not None)
        request = (_QueryRequest if program.graph.is_lone else _ScriptRequest)(program)
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


# ---------------------------------------------------------------- what is replayed


class _Replayed(NamedTuple):
    """DataFrames of matches by statement, and of bad rows by input; of a lone query its replay."""

    matches: Mapping[str, DataFrame]
    bad_rows: Mapping[str | None, DataFrame]
    replay: Replay | None = None


class _QueryRequest:
    """A lone query, which is checked as far as that can be without Spark."""

    def __init__(self, program: GivenProgram) -> None:
        from sase.errors import QueryError

        arguments, graph = program.arguments, program.graph
        (statement,) = graph.statements
        self._name, self._on_bad_row = statement.name, on_bad_row(arguments)
        try:
            self._request = ReplayRequest.of(
                program.inputs[statement.sources[0]],
                statement.text,
                limit=arguments.limit,
                on_bad_row=self._on_bad_row,
                output="structs" if arguments.output == "all" else arguments.output,
                flat=is_flat(arguments),
            )
        except QueryError as problem:
            raise graph.in_script(problem) from None

    @property
    def rows(self) -> int | None:
        """The number of rows, where footers say it."""
        return self._request.rows

    def replayed(self, spark: SparkSession) -> _Replayed:
        """The query over the events."""
        replay = self._request.replay(spark)
        bad = dict[str | None, Any]()
        if self._on_bad_row == "quarantine":
            bad[None] = replay.bad_rows
        return _Replayed({self._name: replay.matches}, bad, replay)


class _ScriptRequest:
    """Several statements, or one over several inputs, of which Spark takes fewer options."""

    def __init__(self, program: GivenProgram) -> None:
        arguments = self._arguments = program.arguments
        given = {
            f"--output {arguments.output}": arguments.output != "all",
            "--limit": arguments.limit is not None,
            "--strategy": arguments.strategy is not None,
            "--slices": arguments.slices is not None,
            "--stats": arguments.stats is not None,
            "--table": arguments.table is not None,
            "--timeout": arguments.timeout is not None,
            "--max-memory": arguments.max_memory is not None,
        }
        refuse_given(given, "a script on Spark")
        for each in program.inputs.values():
            if each.events is None:
                raise ArgumentError("there are no events: name their files with  --events PATH")
            if each.events == STANDARD_INPUT:
                raise ArgumentError("--events -: only  sase run  reads events from standard input")
            # Workers are not where we are, so paths must not depend on that.
            each.events = os.path.abspath(each.events)
        inputs = program.inputs.items()
        # A bad statement fails here, and not when Spark is up.
        self._script: CompiledScript = program.compiled(
            {name: discovered_input(name, each, judges=False) for name, each in inputs}
        )

    @property
    def rows(self) -> int | None:
        """The number of rows, where footers say it of all inputs."""
        known = [each.rows for each in self._script.sources.values()]
        return None if None in known else sum(filter(None, known))

    def replayed(self, spark: SparkSession) -> _Replayed:
        """The statements over DataFrames of the files."""
        from sase.spark.files import frame_of
        from sase.spark.script import script

        frames: dict[str | None, DataFrame] = {}
        options: dict[str, Any] = {"strict": self._arguments.strict}
        for name, source in self._script.bound.sources.items():
            assert source.files is not None
            frames[name] = frame_of(spark, source.files, *self._script.columns_read(name))
            # Of files which tasks read, the columns are known here.
            bad = on_bad_row(self._arguments)
            own = replace(source.names, null=(), text=(), on_bad_row=bad)
            for option, value in vars(own).items():
                options.setdefault(option, {})[name] = value
        text = self._script.graph.source.text
        found = script(text, frames, **query_options(self._arguments), **options)
        return _Replayed(found, found.bad_rows)


# ---------------------------------------------------------------- outputs


def _folder_of(program: GivenProgram) -> str | None:
    """The new folder that tasks write Parquet to, if the name of a file ends with a slash."""
    out: str | None = program.arguments.out
    if out is None or not out.endswith("/") or len(program.names) > 1:
        return None
    if ADDRESS not in out:
        if os.path.exists(out):
            raise ArgumentError(f"{out} is there already: name another folder, or remove it")
        for each in program.inputs.values():
            check_unread(Target("-o", out.rstrip("/")), each)
    return out


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


def _deliver_form(
    replay: Replay, folder: str | None, delivery: Delivery, program: GivenProgram
) -> int:
    """The number of matches, or a summary of all and their collapsed form; how many there are."""
    if program.arguments.output == "count":
        count = replay.count()
        print_count(count, program.arguments.format)
        return count
    path = delivery.path(program.names[0])

    def write(found: DataFrame) -> None:
        if folder is not None:
            _write_folder(found, folder)
        elif path is not None:
            _write(found, path, delivery)

    return print_set(replay, write)


def _deliver(
    replayed: _Replayed, delivery: Delivery, program: GivenProgram, progress: SparkProgress
) -> dict[str, int]:
    """All matches to files or to standard output; how many each statement has."""
    from sase.spark.result_schema import batches_of, in_order, schema_of

    matches, counts = dict(replayed.matches), dict[str, int]()
    if len(matches) == 1:  # else jobs of several statements keep what they find
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
