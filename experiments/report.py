"""The figures of the throughput experiment as Markdown with the targets, and as lines of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments import machine
from experiments.cells import Q1_D3, Cell
from experiments.memory import WARM_UP, Growth, Keys
from experiments.micro_batches import BATCH, Feed, Pushes
from experiments.times import Times

MILLION = 1_000_000

# The targets.
TIMES_C = 4
EVENTS_PER_SECOND = {"plan.run": 60 * MILLION, "plain strings": 35 * MILLION}  # of Q1/D3
COMPILING_MS = 15
PUSHED_PER_SECOND = 20 * MILLION
P99_MS = 1


def cells_table(cells: Mapping[Cell, Mapping[str, Times]]) -> str:
    """The times of each cell by each way, and the targets beside them."""
    rows = list(_cell_rows(cells))
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(row.values() for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"Milliseconds as median (shortest–longest), one thread, each way in turn.\n\n{table}"


def _cell_rows(cells: Mapping[Cell, Mapping[str, Times]]) -> Iterator[dict[str, str]]:
    for cell, times in cells.items():
        ours = times["plan.run"].median
        row = {"cell": cell.name, "matches": f"{cell.matches:,}"}
        for way in EVENTS_PER_SECOND:
            row[f"{way}, ms"] = times[way].milliseconds
            row[f"{way}, M events/s"] = _speed(cell, way, times[way])
        more = 1000 * (times["sase.match"].median - ours)
        row["sase.match, ms"] = times["sase.match"].milliseconds
        row["more than plan.run, ms"] = _judged(f"{more:.1f}", more <= COMPILING_MS, "≤ 15")
        if "C" in times:
            ratio = ours / times["C"].median
            row["C, ms"] = times["C"].milliseconds
            row["plan.run : C"] = _judged(f"{ratio:.2f}", ratio <= TIMES_C, "≤ 4")
        if "DuckDB" in times:
            ratio = ours / times["DuckDB"].median
            row["DuckDB, ms"] = times["DuckDB"].milliseconds
            row["plan.run : DuckDB"] = _judged(f"{ratio:.2f}", ratio < 1, "< 1")
        yield row


def _speed(cell: Cell, way: str, times: Times) -> str:
    speed = cell.stream.events / times.median
    shown = f"{speed / MILLION:.0f}"
    target = EVENTS_PER_SECOND[way]
    return _judged(shown, speed >= target, f"≥ {target // MILLION}") if cell == Q1_D3 else shown


def _judged(shown: str, met: bool, target: str) -> str:
    return f"{shown} ({target} {'met' if met else 'MISSED'})"


def pushes_list(feed: Feed, pushes: Pushes) -> str:
    """The speed of micro-batches, and the times of pushes."""
    speed, p99 = pushes.events_per_second, 1000 * pushes.p99
    shown = _judged(f"{speed / MILLION:.1f} M", speed >= PUSHED_PER_SECOND, "≥ 20 M")
    return "\n".join(
        [
            f"Batches of {BATCH:,} events, {feed.name}:\n",
            f"- events/s: {shown}",
            f"- a push, p50: {1000 * pushes.p50:.3f} ms",
            f"- a push, p99: {_judged(f'{p99:.3f} ms', p99 < P99_MS, '< 1 ms')}",
            f"- a push, longest: {1000 * pushes.longest:.3f} ms",
        ]
    )


def growth_line(cell: Cell, growth: Growth) -> str:
    """The memory that a run took beside the columns that it read."""
    ratio = growth.grown / growth.read
    return (
        f"Memory: at its peak `plan.run` on {cell.name} held {_mb(growth.grown)} more than before;"
        f" the columns that it reads have {_mb(growth.read)}: {ratio:.2f} times those."
    )


def state_list(state: Mapping[Keys, Mapping[int, int]]) -> str:
    """The growth of the state of a stream."""
    told = [
        f"- {keys} as keys: "
        + ", ".join(f"{_mb(size)} after {events:,} events" for events, size in sizes.items())
        for keys, sizes in state.items()
    ]
    title = f"Keys that never repeat, peak above that of the first {WARM_UP:,} events:"
    return "\n".join([title, "", *told])


def _mb(size: int) -> str:
    return f"{size / MILLION:.1f} MB"


@dataclass(frozen=True)
class Results:
    """All that was measured: cells by each way, micro-batches, memory of a run and of a state."""

    cells: Mapping[Cell, Mapping[str, Times]]
    feed: Feed
    pushes: Pushes
    run: Cell
    growth: Growth
    state: Mapping[Keys, Mapping[int, int]]


def lines(results: Results) -> Iterator[tuple[object, ...]]:
    """The figures one by one: what was measured, by which way, and the name of the figure."""
    yield "subject", "way", "figure", "value"
    yield "machine", "", "processor", machine.processor()
    yield "machine", "", "versions", machine.versions()
    yield "machine", "", "commit", machine.commit()
    for cell, by_way in results.cells.items():
        yield cell.name, "", "events", cell.stream.events
        yield cell.name, "", "matches", cell.matches
        for way, times in by_way.items():
            for name, seconds in times._asdict().items():
                yield cell.name, way, f"{name}_s", seconds
            yield cell.name, way, "events_per_s", cell.stream.events / times.median
    for name, value in vars(results.pushes).items():
        yield results.feed.name, "push", name, value
    for name, size in results.growth._asdict().items():
        yield results.run.name, "plan.run", f"{name}_bytes", size
    for keys, sizes in results.state.items():
        for events, size in sizes.items():
            yield f"{keys} that never repeat", "push", f"grown_bytes_after_{events}", size
