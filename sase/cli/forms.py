"""`sase run --output count` and `--output compressed`: matches that are not listed."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sase.cli.queries import ArgumentError
from sase.cli.signals import Ending
from sase.cli.told import counted, say
from sase.cli.writing import write_file
from sase.digits import digits, grouped, number_of

if TYPE_CHECKING:
    from sase.api.compiling import Compiled
    from sase.engine.report import Report
    from sase.engine.set_results import CompressedMatches

FORMS = ("compressed", "count")
SAMPLES = 3


def check_form(arguments: Namespace) -> None:
    """Refuse options that a form has no use for."""
    form, format = arguments.output, arguments.format
    if form == "count" and arguments.out is not None:
        raise ArgumentError("-o does not go with --output count: that prints a number")
    if form == "count" and format not in (None, "jsonl"):
        raise ArgumentError(
            f"--format {format} does not go with --output count: that prints a number, with"
            " --format jsonl as JSON"
        )
    if form == "compressed" and format is not None:
        raise ArgumentError(
            f"--format {format} does not go with --output compressed: that prints a summary, and"
            " -o FILE writes the collapsed form"
        )


def is_flat(arguments: Namespace) -> bool:
    """Whether matches are written as CSV, where the attributes of events are columns."""
    if arguments.output in FORMS:
        return False
    if arguments.out is None:
        return bool(arguments.format == "csv")
    return bool(arguments.out.lower().endswith(".csv"))


def deliver_form(
    known: Compiled,
    events: object,
    arguments: Namespace,
    settings: dict[str, Any],
    ending: Ending,
) -> tuple[int, Report]:
    """Print the number of matches, or a summary of all; the number and the report."""
    if arguments.output == "count":
        return _deliver_count(known, events, arguments, settings)
    return _deliver_set(known, events, arguments, settings, ending)


def _deliver_count(
    known: Compiled, events: object, arguments: Namespace, settings: dict[str, Any]
) -> tuple[int, Report]:
    """Print the number of matches."""
    from sase.api.forms import counted as count_of

    count = count_of(known, events, **settings)
    print_count(count, arguments.format)
    return int(count), count.report


def print_count(count: int, format: str | None) -> None:
    """Print a number of any size, as JSON if that is asked for."""
    print(f'{{"count": {digits(count)}}}' if format == "jsonl" else digits(count))


def _deliver_set(
    known: Compiled,
    events: object,
    arguments: Namespace,
    settings: dict[str, Any],
    ending: Ending,
) -> tuple[int, Report]:
    """Print a summary of all matches as a set; write their collapsed form to a file."""
    from sase.api.forms import compressed

    def again(query: str) -> Compiled:
        raise AssertionError("the command line adds no condition")

    found = compressed(known, events, again, **settings)
    count = found.count()
    table = found.to_arrow()
    print("\n".join(_summary(found, count, table)))
    if arguments.out is not None:
        write_file(table.schema, table.to_batches(), arguments.out, ending)
        say([f"the collapsed form: {counted(table.num_rows, 'row')} in {arguments.out}"])
    return count, found.report


def _summary(found: CompressedMatches, count: int, table: Any) -> list[str]:
    lines = [f"{counted(count, 'match')}, {counted(table.num_rows, 'final event')}"]
    if not count:
        return lines
    counts = [number_of(str(each)) for each in table["count"].to_pylist()]
    largest = max(range(len(counts)), key=counts.__getitem__)
    last = table.slice(largest, 1).to_pylist()[0]
    lines.append(
        f"{most_end(last, counts[largest])}, of "
        + " and ".join(f"{len(rows):,} {name}" for name, rows in last["rows"].items())
    )
    lines.append(f"{SAMPLES} of them by chance, as input rows:")
    matches = found.sample(SAMPLES).rows.to_pylist()
    return lines + [
        "  " + "  ".join(f"{name} {_rows(rows)}" for name, rows in match.items())
        for match in matches
    ]


def most_end(last: dict[str, Any], count: int) -> str:
    """At which final event, a row of the collapsed form, most matches end, and how many."""
    of = ", ".join(f"{name} {value}" for name, value in last.get("key", {}).items())
    return f"most end at {last['ts_end']}{f' of {of}' if of else ''}: {grouped(count)}"


def _rows(rows: int | list[int] | None) -> str:
    """Rows of the input, not more than fit into a line."""
    if not isinstance(rows, list):
        return "–" if rows is None else f"{rows}"
    shown = [str(row) for row in rows]
    if len(shown) > 8:
        shown = [*shown[:4], "…", *shown[-3:]]
    return f"[{' '.join(shown)}]"
