"""Arguments of commands that read events: the query, the events, the roles of columns."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sase.base.files import write_whole
from sase.base.texts import did_you_mean, to_decimal
from sase.cli.messages import notify
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import (
    STANDARD_INPUT,
    ArgumentError,
    add_queries,
    named_value,
    read_queries,
    refuse_given,
)
from sase.printable import printable_json

if TYPE_CHECKING:
    from sase.binding import Schema
    from sase.binding.input_options import InputOptions, Reading
    from sase.engine.sources.discovered import Discovered

# The form of a parameter in a text. It also matches in strings and comments, which does no harm.
PARAMETER = re.compile(r":([A-Za-z_]\w*)")


def add_events(parser: ArgumentParser, *, required: bool = True) -> None:
    """Add the arguments that give the query and the events."""
    add_queries(parser)
    add_event_files(parser, required=required)
    add_query_options(parser)


def add_query_options(parser: ArgumentParser) -> None:
    """Add the parameters of queries, the recipe of plans, and the statistics."""
    parser.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of :NAME in the query, or a list such as [1,2]; may be given several times",
    )
    parser.add_argument("--plan", metavar="RECIPE", default="optimized", help="default: optimized")
    parser.add_argument(
        "--stats", metavar="FILE", help="statistics by which the plan is chosen (default: measured)"
    )


def add_event_files(parser: ArgumentParser, *, required: bool = True) -> None:
    """Add the arguments that give the events, and the roles of their columns."""
    parser.set_defaults(needs_events=required)
    parser.add_argument(
        "--events",
        metavar="PATH",
        help="files of events: Parquet, CSV, JSON lines or Arrow; a file, a folder or a pattern;"
        " in `sase run` also - for standard input",
    )
    parser.add_argument(
        "--time",
        metavar="COLUMN[,COLUMN]",
        help="the time column (default: found by name); of imprecise time those of the earliest and"
        " the latest, as in  lo,hi",
    )
    parser.add_argument(
        "--longest",
        metavar="TIME",
        help="of imprecise time how long an interval may be, such as '15 seconds', or units of the"
        " columns: a row with a longer one is bad",
    )
    parser.add_argument("--type", metavar="COLUMN", help="the type column (default: found by name)")
    parser.add_argument(
        "--seq",
        metavar="COLUMN",
        help="the order of events of the same time: a column, or '#row' for the row in the input",
    )
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of integer time, such as ms")
    parser.add_argument(
        "--types",
        metavar="FILE",
        help="types, as TOML or JSON: each with the list of its attributes, or with the condition"
        " that defines it; or the name of the one type that all events have",
    )
    parser.add_argument(
        "--null",
        metavar="TEXT",
        action="append",
        default=[],
        help="a text of CSV that means a missing value, such as N/A; may be given often",
    )
    add_text(parser)
    add_reading(parser)


def add_schema(parser: ArgumentParser, what: str) -> None:
    """Add the file that describes the columns."""
    parser.add_argument("--schema", metavar="FILE", type=Path, help=f"{what}, as TOML or JSON")


def schema_in(arguments: Namespace) -> Schema | None:
    """The schema from its file; None without the option."""
    if getattr(arguments, "schema", None) is None:
        return None
    from sase.binding.schema_file import read_schema

    return read_schema(arguments.schema, time_unit=arguments.time_unit)


def add_inputs(parser: ArgumentParser) -> None:
    """Add the inputs of a script that have names."""
    parser.add_argument(
        "--input",
        metavar="NAME=PATH",
        action="append",
        default=[],
        help="an input of a script, which its statements name after FROM; may be given often;"
        " NAME=PATH,time=COLUMN,time_unit=ms sets options of this input alone",
    )


def add_text(parser: ArgumentParser) -> None:
    """Add the columns to read as text."""
    parser.add_argument(
        "--text",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column of CSV that is text whatever its values are, such as an identifier of"
        " digits; may be given often",
    )


def add_reading(parser: ArgumentParser) -> None:
    """Add the options of reading files of text, which are found without them."""
    for option, shown, says in (
        ("delimiter", "CHARACTER", "the character between two columns of CSV"),
        ("quote", "CHARACTER", "the character around a value of CSV"),
        ("decimal", "CHARACTER", "the decimal sign in numbers of CSV: a point or a comma"),
        ("encoding", "NAME", "the encoding of text, such as cp1252 (default: UTF-8)"),
        ("time-format", "FORM", "the form of times in text, such as '%%d/%%m/%%Y %%H:%%M'"),
        ("input-format", "NAME", "the format of the files, if their names do not say it"),
    ):
        parser.add_argument(f"--{option}", metavar=shown, help=says)
    parser.add_argument(
        "--table-version",
        metavar="NUMBER",
        type=int,
        help="the version of a table of Delta Lake, or the snapshot of one of Iceberg (default: the"
        " last)",
    )


def add_on_bad_row(parser: ArgumentParser, *, quarantines: bool = False) -> None:
    """Add the policy for bad rows: leave them out, or if it `quarantines` write them to a file."""
    parser.add_argument(
        "--on-bad-row",
        choices=("error", "quarantine"),
        default=None if quarantines else "error",
        help="stop at a row that cannot be used, or "
        + ("put it aside and go on" if quarantines else "leave it out")
        + " (default: error)",
    )
    if quarantines:
        parser.add_argument(
            "--quarantine",
            metavar="FILE",
            help="write the rows put aside to a file, with the reasons; those of a script to a"
            " folder, a file for each input",
        )


def add_limits(parser: ArgumentParser, of: str) -> None:
    """Add the limits of time and memory."""
    parser.add_argument(
        "--timeout", metavar="TIME", help=f"end {of} after such a time: 30 (seconds), 5min"
    )
    parser.add_argument(
        "--max-memory", metavar="SIZE", help=f"end {of} if it takes more memory: 500MB, 2GB"
    )


def limit_options(arguments: Namespace) -> dict[str, Any]:
    """The limits as keywords of public functions."""
    return {"timeout": arguments.timeout, "max_memory": arguments.max_memory}


def refuse_limits_unless(runs: bool, option: str, arguments: Namespace) -> None:
    """Refuse limits of a run if only an option starts one and it is missing."""
    if not runs:
        limits = limit_options(arguments)
        given = {f"--{name.replace('_', '-')}": limits[name] is not None for name in limits}
        refuse_given(given, f"a command that runs nothing without {option}")


def add_report(parser: ArgumentParser) -> None:
    """Add the policy for bad rows, and the form of a report that is printed as a whole."""
    add_on_bad_row(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="the form of the report (default: text)",
    )


def print_report(arguments: Namespace, function: Callable[..., Any], **options: Any) -> int:
    """Print the report of a public function on a query and events; leave out options of None."""
    given = {name: value for name, value in options.items() if value is not None}
    query, events = one_query(arguments), discovered(arguments)
    show_report(arguments, function(query, events, **given, **query_options(arguments)))
    return 0


def show_report(arguments: Namespace, report: Any) -> None:
    """Print a report, as text or as JSON; write its page, if `--html` names one."""
    if getattr(arguments, "html", None) is not None:
        write_whole(arguments.html, report.to_html().encode())
        notify([f"the report with a picture: {arguments.html}"])
    if arguments.format == "json":
        print(printable_json(report.to_dict(), default=str, indent=2))
    else:
        print(report)


def one_query(arguments: Namespace) -> str:
    """The query; an error if there are several."""
    texts = read_queries(arguments)
    if len(texts) > 1:
        raise ArgumentError(f"one query is run at a time, and there are {len(texts)} files")
    _check_parameters(texts[0].content, arguments)
    return texts[0].content


def _check_parameters(query: str, arguments: Namespace) -> None:
    """Refuse parameters with two values, and parameters that no text uses."""
    given = [parameter(text)[0] for text in arguments.param]
    if not given:
        return
    conditions = (_types(arguments.types) if arguments.types is not None else None) or {}
    texts = [query, getattr(arguments, "where", None) or ""]
    if isinstance(conditions, dict):
        texts += [text for text in conditions.values() if isinstance(text, str)]
    used = list(dict.fromkeys(name for text in texts for name in PARAMETER.findall(text)))
    for number, name in enumerate(given):
        if name in given[:number]:
            raise ArgumentError(f"--param {name} is given twice: which value is meant?")
        if name not in used:
            names = ", ".join(f":{each}" for each in used)
            known = f"there are {names}" if used else "there is none"
            hint = (did_you_mean(name, used) or (known,))[0]
            raise ArgumentError(f"--param {name}: the query has no parameter :{name}; {hint}")


def lateness_of(text: str | None) -> int | str | None:
    """Read a lateness: a number of units of the time column, or a text such as 5 seconds."""
    return int(text) if text is not None and text.isdigit() else text


def on_bad_row(arguments: Namespace) -> str:
    """The policy for bad rows; a file for them means a quarantine."""
    given: str | None = getattr(arguments, "on_bad_row", None)
    if getattr(arguments, "quarantine", None) is None:
        return given or "error"
    if given == "error":
        raise ArgumentError(
            "--on-bad-row error stops at a bad row, and --quarantine puts it aside: leave one out"
        )
    return "quarantine"


def discovered(arguments: Namespace, *, judges: bool | None = None) -> Discovered:
    """Open and describe the events; by default, a quarantine also `judges` lines."""
    if arguments.events == STANDARD_INPUT:
        raise ArgumentError("--events -: only  sase run  reads events from standard input")
    hide_pandas()
    from sase.engine.sources import open_files
    from sase.engine.sources.column_roles import moments_in
    from sase.engine.sources.discovered import Discovered

    if judges is None:
        judges = on_bad_row(arguments) == "quarantine"
    schema = schema_in(arguments)
    if schema is not None:
        return Discovered.of(arguments.events, _options_beside(schema, arguments), schema)
    time = times_in(arguments)[0] or "ts"
    files = open_files(arguments.events, time, judges=judges, reading=reading_in(arguments))
    notify(files.format.notes)
    return Discovered.of(
        files, options_for(arguments, files.schema.names, moments_in(files.schema))
    )


def reading_options(arguments: Namespace) -> dict[str, Any]:
    """The options of reading files of text, as keywords of `InputOptions`."""
    from sase.binding.input_options import READING_OPTIONS

    return {name: getattr(arguments, name) for name in READING_OPTIONS if hasattr(arguments, name)}


def reading_in(arguments: Namespace) -> Reading:
    """The options of reading files of text, as one value."""
    from sase.binding.input_options import InputOptions

    return InputOptions(**reading_options(arguments)).reading


def options_for(
    arguments: Namespace, columns: Sequence[str], moments: Sequence[str] = ()
) -> InputOptions:
    """The options of an input with these columns; report the roles that were found by name.

    `moments` are the columns that hold times.
    """
    from sase.binding.input_options import InputOptions
    from sase.engine.sources import names_found

    types = _types(arguments.types)
    is_typed = isinstance(types, list) or any(isinstance(t, str) for t in (types or {}).values())
    earliest, until = times_in(arguments)
    names = names_found(
        columns, earliest, arguments.type, typed=is_typed, until=until, moments=moments
    )
    if names.type is None and types is None:
        raise ArgumentError(
            f"no column has a usual name for the type of events: say which of {', '.join(columns)}"
            " it is with --type, or give all events one type with --types NAME, or define types by"
            " conditions with --types FILE"
        )
    notify(names.notes)
    return InputOptions(
        names.time if until is None else (names.time, until),
        names.type,
        arguments.seq,
        types,
        arguments.time_unit,
        on_bad_row(arguments),
        **reading_options(arguments),
        longest=longest_in(arguments),
    )


def _options_beside(schema: Schema, arguments: Namespace) -> InputOptions:
    """The options of an input with a schema, which already describes the columns."""
    from sase.binding.input_options import InputOptions

    earliest, until = times_in(arguments)
    said = schema.time if schema.until is None else (schema.time, schema.until)
    return InputOptions(
        said if earliest is None else earliest if until is None else (earliest, until),
        arguments.type or schema.type,
        arguments.seq or schema.seq,
        _types(arguments.types),
        schema.time_unit,
        on_bad_row(arguments),
        **reading_options(arguments),
        longest=longest_in(arguments),
    )


def options_without_events(arguments: Namespace) -> InputOptions:
    """The options of an input without events."""
    from sase.binding.input_options import InputOptions

    earliest, until = times_in(arguments)
    return InputOptions(
        (earliest or "ts", until) if until is not None else earliest or InputOptions.time,
        arguments.type or InputOptions.type,
        arguments.seq,
        _types(arguments.types),
        arguments.time_unit,
        longest=longest_in(arguments),
    )


def times_in(arguments: Namespace) -> tuple[str | None, str | None]:
    """The columns of the earliest and the latest time; None for each that is not given."""
    if arguments.time is None or "," not in arguments.time:
        return arguments.time, None
    earliest, _, until = arguments.time.partition(",")
    if not (earliest and until) or "," in until:
        raise ArgumentError(
            f"--time {arguments.time}: give one column, or the two of the earliest and the latest"
            " time, as in  --time lo,hi"
        )
    return earliest, until


def longest_in(arguments: Namespace) -> int | str | None:
    """The greatest length of an interval: a number of units, or the text of a duration."""
    text: str | None = arguments.longest
    return int(text) if text is not None and text.isdecimal() else text


def query_options(arguments: Namespace) -> dict[str, Any]:
    """The parameters and the recipe, as keywords of public functions."""
    return {"params": dict(map(parameter, arguments.param)), "plan": arguments.plan}


def _types(given: str | None) -> dict[str, Any] | list[str] | None:
    from sase.binding.schema_file import plain_data

    if given is None:
        return None
    path = Path(given)
    if not path.suffix and not path.exists():
        return [given]
    data = plain_data(path)
    if not isinstance(data, dict) or not data:
        raise ArgumentError(f"{path}: types are a table of names, and this is none")
    for name, listed in data.items():
        if not isinstance(listed, str) and not _is_list_of_names(listed):
            raise ArgumentError(
                f"{path}: `{name}` is {listed!r}: a type has the list of its attributes, or the"
                " condition that defines it"
            )
    return data


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def parameter(text: str) -> tuple[str, object]:
    """The name and the value of a parameter; a value that is no JSON is a text."""
    import json

    name, value = named_value("--param", text)
    try:
        found = json.loads(value, parse_float=to_decimal)
    except ValueError:
        return name, value
    return name, value if isinstance(found, dict) else found
