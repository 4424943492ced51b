"""`sase replay` of a script: what each statement finds in files or tables, found by Spark."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sase.cli.event_arguments import on_bad_row, one_query, query_options
from sase.cli.messages import counted, notify, warnings_as_messages
from sase.cli.output_files import write_file
from sase.cli.progress import SparkProgress
from sase.cli.queries import STANDARD_INPUT, ArgumentError, refuse_given
from sase.cli.script_arguments import discovered_input, named_inputs
from sase.cli.script_results import (
    SHOWN,
    bad_row_files,
    check_form_of_all,
    put_bad_rows_aside,
    statement_files,
    write_lines,
)
from sase.cli.signals import Ending
from sase.cli.spark import session

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.spark.script import ScriptResults
    from sase.spark.session import DataFrame, SparkSession


def replay_script(arguments: Namespace, ending: Ending) -> int:
    """Run all statements on Spark, and deliver what each finds."""
    _check(arguments)
    text, inputs = one_query(arguments), named_inputs(arguments)
    for each in inputs.values():
        # Workers are not where we are, so paths must not depend on that.
        each.events = os.path.abspath(each.events)
    script = _compiled(text, inputs, arguments)
    names = [each.name for each in script.graph.statements]
    paths = statement_files(names, arguments, inputs.values())
    aside = bad_row_files((), arguments, inputs)
    with (
        warnings_as_messages(),
        session(arguments) as spark,
        SparkProgress(spark, _rows(script)) as progress,
    ):
        found = _found(spark, text, script, arguments)
        counts = {name: df.count() for name, df in found.items()}
        progress.matches = total = sum(counts.values())
        _deliver(found, counts, paths, arguments, ending)
        _put_aside(found.bad_rows, aside, arguments, ending)
        found.unpersist()
        rows, seconds = _rows(script), progress.seconds
    for name, path in paths.items():
        if counts[name]:
            notify([f"{name}: {counted(counts[name], 'match')}: {path}"])
    of = "" if rows is None else f" in {rows:,} rows"
    statements = counted(len(found), "statement")
    notify([f"{counted(total, 'match')} of {statements}{of}, {seconds:.2f} s on Spark"])
    return 0


def _put_aside(
    bad_rows: Mapping[str | None, DataFrame],
    aside: Mapping[str | None, str],
    arguments: Namespace,
    ending: Ending,
) -> None:
    """Tell how many rows of each input could not be used, and write them to its file."""
    from sase.spark.result_schema import batches_of, schema_of

    sys.stdout.flush()  # or the summary could overtake what it sums up

    def write(name: str | None, path: str) -> None:
        rows = bad_rows[name]
        write_file(schema_of(rows), batches_of(rows), path, ending, safe=arguments.csv_safe)

    counts = {name: df.count() for name, df in bad_rows.items()}
    put_bad_rows_aside({name: n for name, n in counts.items() if n}, aside, write)


def _check(arguments: Namespace) -> None:
    """Refuse what is asked of a single query, or of a table."""
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
    check_form_of_all(arguments)


def _compiled(
    text: str, inputs: Mapping[str | None, Namespace], arguments: Namespace
) -> CompiledScript:
    """The script over the files: a bad one fails here, and not when Spark is up."""
    from sase.api.compiled_script import CompiledScript
    from sase.binding.script import StatementGraph

    for each in inputs.values():
        if each.events == STANDARD_INPUT:
            raise ArgumentError("--events -: only  sase run  reads events from standard input")
    given = {name: discovered_input(name, each, judges=False) for name, each in inputs.items()}
    options = query_options(arguments)
    graph = StatementGraph.of(text, given)
    script = CompiledScript(graph, given, options["params"], options["plan"])
    return script.settled(strict=arguments.strict)


def _rows(script: CompiledScript) -> int | None:
    """The number of rows, where footers say it of all inputs."""
    known = [None if each.files is None else each.files.rows() for each in script.sources.values()]
    return None if None in known else sum(each for each in known if each is not None)


def _found(
    spark: SparkSession, text: str, script: CompiledScript, arguments: Namespace
) -> ScriptResults:
    """The script over DataFrames of the files."""
    from sase.spark.files import frame_of
    from sase.spark.script import script as script_on

    frames: dict[str | None, DataFrame] = {}
    options: dict[str, Any] = {}
    for name, source in script.bound.sources.items():
        assert source.files is not None
        frames[name] = frame_of(spark, source.files, *script.columns_read(name))
        # Of files which tasks read, the columns are known here.
        own = replace(source.names, null=(), text=(), on_bad_row=on_bad_row(arguments))
        for option, value in vars(own).items():
            options.setdefault(option, {})[name] = value
    options["strict"] = arguments.strict
    return script_on(text, frames, **query_options(arguments), **options)


def _deliver(
    found: Mapping[str, DataFrame],
    counts: Mapping[str, int],
    paths: Mapping[str, str],
    arguments: Namespace,
    ending: Ending,
) -> None:
    from sase.engine.results.repr import table_of
    from sase.spark.result_schema import batches_of, in_order, schema_of

    for number, (name, df) in enumerate(found.items()):
        rows = in_order(df)
        if name in paths:
            found_in = schema_of(rows), batches_of(rows)
            write_file(*found_in, paths[name], ending, safe=arguments.csv_safe)
        elif arguments.format == "jsonl":
            write_lines(name, schema_of(rows), batches_of(rows))
        else:
            print("\n" * bool(number) + f"{name}: {counted(counts[name], 'match')}")
            if counts[name]:
                print("\n".join(table_of(rows.limit(SHOWN).toArrow(), None)))
            if counts[name] > SHOWN:
                print(f"… and {counts[name] - SHOWN:,} more: write all of them with  -o FOLDER")
