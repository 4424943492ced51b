"""`sase check`: report all errors of queries, as text for people or as JSON for programs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from sase.cli.event_arguments import (
    add_inputs,
    add_reading,
    add_schema,
    add_text,
    reading_in,
    schema_in,
    times_in,
)
from sase.cli.messages import counted, print_diagnostics
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import ArgumentError, Text, add_queries, read_queries
from sase.errors import DataError, Diagnostic, QueryError

if TYPE_CHECKING:
    from sase.binding import Schema

JSON_VERSION = 1


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_queries(parser)
    add_schema(parser, "the schema")
    parser.add_argument(
        "--events",
        metavar="PATH",
        help="take the schema from files of events: Parquet, CSV, JSON lines or Arrow",
    )
    add_inputs(parser)
    parser.add_argument(
        "--time",
        metavar="COLUMN[,COLUMN]",
        help="with files: the time column, or those of the earliest and the latest time",
    )
    parser.add_argument("--type", metavar="COLUMN", help="with files: the type column")
    add_text(parser)
    add_reading(parser)
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of integer time, such as ms")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: Namespace) -> int:
    """Check every query; return 2 if one of them is wrong."""
    try:
        schema, texts = _schemas(arguments), read_queries(arguments)
    except DataError as problem:
        raise ArgumentError(str(problem)) from problem
    found = [(text, _diagnostics(text, schema)) for text in texts]
    if arguments.format == "json":
        _print_json(found)
    else:
        all_found = (diagnostic for _, diagnostics in found for diagnostic in diagnostics)
        print_diagnostics(all_found, sys.stdout, end="\n\n")
        _summarise(found)
    return 2 if any(d.severity == "error" for _, diagnostics in found for d in diagnostics) else 0


def _schemas(arguments: Namespace) -> Schema | dict[str | None, Schema]:
    """The schema of every input; for inputs with names, all of their schemas."""
    if not arguments.input:
        return _schema(arguments)
    found: dict[str | None, Schema] = {}
    if arguments.schema or arguments.events:
        found[None] = _schema(arguments)
    from sase.cli.script_arguments import named_inputs

    for name, each in named_inputs(arguments).items():
        if getattr(each, "types", None) is not None:
            raise ArgumentError(f"--input {name}: types=… are no part of a check: leave them out")
        if name is not None:
            found[name] = _schema_of_files(each)
    return found


def _schema(arguments: Namespace) -> Schema:
    if arguments.schema and arguments.events:
        raise ArgumentError("--schema and --events both give a schema: leave one of them out")
    given = {"--time": arguments.time, "--type": arguments.type, "--text": arguments.text}
    without_effect = [
        option
        for option, value in given.items()
        if value and not (arguments.events or arguments.input)
    ]
    if without_effect:
        raise ArgumentError(
            f"{without_effect[0]} needs --events or --input: a schema names its own columns"
        )
    schema = schema_in(arguments)
    if schema is not None:
        return schema
    if arguments.events:
        return _schema_of_files(arguments)
    from sase.binding import Schema

    return Schema(time_unit=arguments.time_unit)


def _schema_of_files(arguments: Namespace) -> Schema:
    """The wide schema of files, from a footer or the first block; no event is read."""
    hide_pandas()
    from sase.binding import Schema
    from sase.engine.columns.arrow.data_types import data_type
    from sase.engine.sources import names_found, open_files
    from sase.engine.sources.discovered import check_text_columns

    earliest, until = times_in(arguments)
    files = open_files(arguments.events, earliest, reading=reading_in(arguments))
    check_text_columns(files, arguments.text)
    columns = files.schema
    time, type, _ = names_found(columns.names, earliest, arguments.type, until=until)
    return Schema(
        columns=tuple((field.name, data_type(field.type)) for field in columns),
        time=time,
        until=until,
        type=type,
        seq=getattr(arguments, "seq", None),
        time_unit=arguments.time_unit,
    )


def _diagnostics(text: Text, schema: Schema | dict[str | None, Schema]) -> list[Diagnostic]:
    """The errors and warnings of every statement, in the order of the text."""
    from sase.binding.script.script import check_script

    try:
        return check_script(text.content, schema, name=text.name)
    except QueryError as problem:
        return list(problem.diagnostics)


def _print_json(found: list[tuple[Text, list[Diagnostic]]]) -> None:
    import json

    files = [
        {"name": text.name, "diagnostics": [diagnostic.to_dict() for diagnostic in diagnostics]}
        for text, diagnostics in found
    ]
    print(json.dumps({"version": JSON_VERSION, "files": files}, indent=2))


def _summarise(found: list[tuple[Text, list[Diagnostic]]]) -> None:
    severities = [d.severity for _, diagnostics in found for d in diagnostics]
    counts = [
        counted(severities.count(severity), severity)
        for severity in ("error", "warning")
        if severity in severities
    ]
    sys.stdout.flush()  # or the summary could be printed before the lines
    checked = counted(len(found), "text")
    print(f"{checked} checked: {' and '.join(counts) or 'no problems'}", file=sys.stderr)
