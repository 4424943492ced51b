"""`--output count` and `--output compressed` of `sase run` and `sase replay`: no matches listed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sase.cli.messages import counted, notify
from sase.cli.output_files import write_file
from sase.cli.signals import Ending
from sase.digits import digits, grouped, number_of
from sase.printable import printable

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.engine.report import Report
    from sase.engine.set_results import CompressedMatches
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame

SAMPLES = 3


def deliver_form(
    known: CompiledQuery, arguments: Namespace, settings: dict[str, Any], ending: Ending
) -> tuple[int, Report]:
    """Print the number of matches, or a summary of all as a set; the number and the report.

    The collapsed form of the set is written to a file.
    """
    from sase.api import set_results

    if arguments.output == "count":
        total = set_results.counted(known, **settings)
        print_count(total, arguments.format)
        return int(total), total.report

    def again(query: str) -> CompiledQuery:
        raise AssertionError("the command line adds no condition")

    found = set_results.compressed(known, again, **settings)
    count = found.count()
    table = found.to_arrow()
    print("\n".join(_summary(found, count, table)))
    if arguments.out is not None:
        safe = arguments.csv_safe
        write_file(table.schema, table.to_batches(), arguments.out, ending, safe=safe)
        notify([f"the collapsed form: {counted(table.num_rows, 'row')} in {arguments.out}"])
    return count, found.report


def print_count(count: int, format: str | None) -> None:
    """Print a number of any size, as JSON if that is asked for."""
    print(f'{{"count": {digits(count)}}}' if format == "jsonl" else digits(count))


def _summary(found: CompressedMatches, count: int, table: Any) -> list[str]:
    lines = [f"{counted(count, 'match')}, {counted(table.num_rows, 'final event')}"]
    if not count:
        return lines
    counts = [number_of(str(each)) for each in table["count"].to_pylist()]
    largest = max(range(len(counts)), key=counts.__getitem__)
    last = table.slice(largest, 1).to_pylist()[0]
    lines.append(
        f"{most_end(last, counts[largest])}, of "
        + " and ".join(f"{len(rows):,} {printable(name)}" for name, rows in last["rows"].items())
    )
    lines.append(f"{SAMPLES} of them by chance, as input rows:")
    matches = found.sample(SAMPLES).rows.to_pylist()
    return lines + [
        "  " + "  ".join(f"{printable(name)} {_rows(rows)}" for name, rows in match.items())
        for match in matches
    ]


def most_end(last: dict[str, Any], count: int) -> str:
    """At which final event, a row of the collapsed form, most matches end, and how many."""
    of = ", ".join(f"{name} {value}" for name, value in last.get("key", {}).items())
    return printable(f"most end at {last['ts_end']}{f' of {of}' if of else ''}: {grouped(count)}")


def _rows(rows: int | list[int] | None) -> str:
    """Rows of the input, not more than fit into a line."""
    if not isinstance(rows, list):
        return "–" if rows is None else f"{rows}"
    shown = [str(row) for row in rows]
    if len(shown) > 8:
        shown = [*shown[:4], "…", *shown[-3:]]
    return f"[{' '.join(shown)}]"


# ---------------------------------------------------------------- on Spark


def print_set(replay: Replay, write: Callable[[DataFrame], object]) -> int:
    """Print a summary of all matches as a set, and write their collapsed form; their number."""
    from sase.spark.result_schema import batches_of

    found = replay.compressed.persist()  # it is summed up, and then written
    rows, total, most = 0, 0, None
    for batch in batches_of(found.drop("events")):
        for end in batch.to_pylist():
            end["count"] = number_of(end["count"])
            rows, total = rows + 1, total + end["count"]
            if most is None or end["count"] > most["count"]:
                most = end
    print(f"{counted(total, 'match')}, {counted(rows, 'final event')}")
    if most is not None:
        print(most_end(most, most["count"]))
    write(found.orderBy("ts_end"))
    return total
