"""`sase generate`: streams of example events, as CSV or in files."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sase.cli.messages import counted
from sase.cli.output_files import (
    Target,
    check_standard_output,
    check_target,
    discard,
    print_rows,
    write_file,
)
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import ArgumentError
from sase.cli.standard_input import Ending
from sase.errors import SaseError

# Every other option is a parameter of a generator, with the same name.
OURS = ("stream", "output", "answers")
BATCH = 2**20  # rows


class GeneratedStream(NamedTuple):
    """A kind of stream: its name, its description, an example, and the function for its options."""

    name: str
    summary: str
    example: str
    options: Callable[[ArgumentParser], None]


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    streams = parser.add_subparsers(title="streams", metavar="STREAM", required=True)
    for name, summary, example, options in STREAMS:
        stream = streams.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"Example: sase generate {name} {example}",
        )
        stream.set_defaults(stream=name)
        options(stream)
        _add(stream, "seed", "N", _count, "0", "another seed, another stream")
        stream.add_argument(
            "-o",
            dest="output",
            metavar="FILE",
            type=Path,
            help=".parquet, .csv, .jsonl, .ndjson or .arrow; default: CSV to standard output",
        )


def run(arguments: Namespace) -> int:
    """Make the stream, write it, and print its size to standard error."""
    with Ending() as ending:
        try:
            return _generate(arguments, ending)
        except SaseError as problem:
            message = str(problem)
            name, _, rest = message.partition(" ")
            if name in vars(arguments):  # generators use the names of their parameters
                message = f"{_option(name)} {rest}"
            raise ArgumentError(message) from None


def _generate(arguments: Namespace, ending: Ending) -> int:
    hide_pandas()
    from sase.generate import hadoop_events, retail_events, stock_reader, uniform_reader

    for option, name in ("-o", "output"), ("--answers", "answers"):
        if (path := getattr(arguments, name, None)) is not None:
            check_target(Target(option, str(path)))
    given = {name: value for name, value in vars(arguments).items() if name not in OURS}
    match arguments.stream:
        case "uniform":
            # The wide layout has room for any number of types.
            stream = uniform_reader(**given, type_layout="int32")
            _write(stream, arguments.output, "event", ending)
        case "stock":
            _write(stock_reader(**given), arguments.output, "event", ending)
        case "retail":
            _planted(retail_events, given, "theft", arguments, ending)
        case "hadoop":
            _planted(hadoop_events, given, "fault", arguments, ending)
    return 0


def _planted(
    generate: Callable[..., Any],
    given: dict[str, Any],
    thing: str,
    arguments: Namespace,
    ending: Ending,
) -> None:
    """Write events with planted things, and where `--answers` says so a list of these."""
    output, answers = arguments.output, arguments.answers
    if answers is not None and output is not None and answers.resolve() == output.resolve():
        raise SaseError(f"-o and --answers both name {output}: give each a file of its own")
    made = generate(**given)
    if answers is not None:  # first, so that a wrong name is an error before the events are written
        _write(made.answers().to_reader(), answers, thing, ending)
    _write(made.table.to_reader(BATCH), output, "event", ending)
    if answers is None:
        count = counted(made.answers().num_rows, thing)
        print(f"{count} among them: --answers FILE tells which", file=sys.stderr)


def _write(rows: Any, path: Path | None, thing: str, ending: Ending) -> None:
    """Write an Arrow reader of batches, as CSV without a file, and print the number of things."""
    counts: list[int] = []
    start = time.perf_counter()
    if path is None:
        check_standard_output()
        print_rows("csv", rows.schema, rows, wrote=counts.append)
        sys.stdout.flush()  # or the summary could be printed before the lines
    else:
        write_file(rows.schema, rows, str(path), ending, give_up=discard, wrote=counts.append)
    seconds = time.perf_counter() - start
    written = f"{counted(sum(counts), thing)} written to {path or 'standard output'}"
    print(f"{written} in {seconds:.1f} s", file=sys.stderr)


def _uniform(parser: ArgumentParser) -> None:
    _add_events(parser)
    _add(parser, "types", "N", _count, "20", "how many types: E1, E2, ...")
    domains = "how many values each attribute has"
    _add(parser, "domains", "N,N,...", _counts, "100,20,1000,1000,10", domains)
    skew = "the k-th type is drawn in proportion to 1 / k^SKEW"
    _add(parser, "type_skew", "SKEW", float, "0", skew)
    _add(parser, "value_skew", "SKEW", float, "0", "the same for the values of attributes")


def _stock(parser: ArgumentParser) -> None:
    _add_events(parser)
    _add(parser, "symbols", "N", _count, "2", "how many symbols: 1, 2, ...")
    _add(parser, "prices", "N", _count, "1000", "the highest price; after it comes 1")
    _add(parser, "volumes", "N", _count, "1000", "the highest volume")
    moves = "how often a price rises by 1, falls by 1, or stays"
    _add(parser, "moves", "P,P,P", _shares, "0.7,0.15,0.15", moves)


def _retail(parser: ArgumentParser) -> None:
    _add(parser, "items", "N", _count, "10k", "how many items leave, each read two to four times")
    _add(parser, "thefts", "N", _count, "8", "how many of them skip the counter")
    _add(parser, "shelved_again", "N", _count, "0", "how many are read at a shelf twice")
    _add(parser, "hours", "N", _count, "12", "the hours over which the first readings spread")
    opening = "when the shop opens, in UTC unless it says otherwise"
    _add(parser, "start", "TIME", _moment, "2026-01-01T08:00", opening)
    parser.add_argument(
        "--tags",
        choices=("string", "integer"),
        default="string",
        help="the type of tags: T000017 or 17; default: string",
    )
    _add_answers(parser, "the tags of the stolen items")


def _hadoop(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workload",
        choices=("twitter", "worldcup_u", "worldcup_s"),
        default="twitter",
        help="the jobs of the paper: tri-grams of tweets, frequent users of a site, sessions of"
        " its users; default: twitter",
    )
    nodes = "how many nodes the cluster has, each with 13.62 events a second"
    _add(parser, "nodes", "N", _count, "10", nodes)
    _add(parser, "hours", "N", _count, "1", "the hours in which jobs start")
    _add(parser, "jobs", "N", _count, "2", "how many jobs of the workload")
    slow = "how many of their reducers have a last pull of data that takes long"
    _add(parser, "stragglers", "N", _count, "4", slow)
    uneven = "during how many reducers of small jobs the load becomes uneven"
    _add(parser, "unbalanced", "N", _count, "3", uneven)
    _add_answers(parser, "the tasks of these reducers")


# The tests run the examples in help texts.
STREAMS = (
    GeneratedStream(
        "uniform",
        "Types and attributes drawn independently (SASE, SIGMOD 2006, Table 1).",
        "--events 1M --types 20 --domains 100,20 -o events.parquet",
        _uniform,
    ),
    GeneratedStream(
        "stock",
        "Trades, the price of each symbol a random walk (SASE+, SIGMOD 2008).",
        "--events 1M --symbols 100 -o trades.parquet",
        _stock,
    ),
    GeneratedStream(
        "retail",
        "Items go from shelf to counter to exit; thieves skip the counter.",
        "--items 50k --thefts 8 -o shop.parquet --answers stolen.csv",
        _retail,
    ),
    GeneratedStream(
        "hadoop",
        "Jobs, tasks and the load of a cluster; some reducers are slow (SASE++, 2014, 6.5).",
        "--nodes 2 --jobs 1 -o cluster.parquet --answers faults.csv",
        _hadoop,
    ),
)


def _add_answers(parser: ArgumentParser, things: str) -> None:
    parser.add_argument(
        "--answers",
        metavar="FILE",
        type=Path,
        help=f"write {things}, in a format as -o has them",
    )


def _add_events(parser: ArgumentParser) -> None:
    _add(parser, "events", "N", _count, "100k", "how many events, such as 5000, 200k or 10M")


def _add(
    parser: ArgumentParser,
    parameter: str,
    metavar: str,
    kind: Callable[[str], object],
    default: str,
    says: str,
) -> None:
    parser.add_argument(
        _option(parameter),
        metavar=metavar,
        type=kind,
        default=default,
        help=f"{says}; default: {default}",
    )


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _count(text: str) -> int:
    """Read a whole number, with k for thousands and M for millions."""
    digits, factor = text, 1
    for letter, times in ("k", 1_000), ("M", 1_000_000):
        if text.endswith(letter):
            digits, factor = text.removesuffix(letter), times
    try:
        return int(digits) * factor
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is not a whole number, such as 5000, 200k or 10M"
        ) from None


def _counts(text: str) -> list[int]:
    return [_count(each.strip()) for each in text.split(",") if text.strip()]


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is not three numbers with commas between them, such as 0.5,0.25,0.25"
        ) from None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time such as 2026-01-01T08:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
