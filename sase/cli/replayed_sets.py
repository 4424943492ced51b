"""`sase replay --output count` and `--output compressed`: matches that are not listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sase.cli.forms import most_end, print_count
from sase.cli.told import counted
from sase.digits import number_of

if TYPE_CHECKING:
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame


def print_number(replay: Replay, format: str | None) -> int:
    """Print the number of matches."""
    count = replay.count()
    print_count(count, format)
    return count


def print_set(replay: Replay, write: Callable[[DataFrame], object]) -> int:
    """Print a summary of all matches as a set, and write their collapsed form; their number."""
    from sase.spark.collecting import batches_of

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
