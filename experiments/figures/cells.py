"""Ours: the cells of the throughput table, Q1 to Q5, beside the hand-written C program if given."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import sase
from experiments.c_limit import REPEATS, Limit
from experiments.cells import CELLS, D1, Q5_S5, Cell, Series
from experiments.core.checks import Check, ahead
from experiments.core.experiment import (
    Experiment,
    Finding,
    LeftOut,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make, in_a_row, listed
from experiments.rivals.streams import contest, with_codes

RUN, STRINGS, MATCH, BOTH, LIMIT = (
    "plan.run",
    "plain strings",
    "sase.match",
    "two threads",
    "C program",
)
DUCKDB = "DuckDB, one thread"
# Where its data are.
PLACE = Path("build/experiments/limit")
# The script beside the C program, which is not part of the repository.
VARIABLE = "SASE_LIMIT"
# A way is not run again once it took this number of seconds.
ENOUGH = 1.0
MOST_OF_C = 2.0
# The seconds of a short cell in C, and those that ours may take more.
SHORT, MORE = 0.003, 0.0035


def points(size: Size) -> Iterator[Point]:
    """A point for each cell. Small sizes have the cells with short streams."""
    cells = [cell for cell in CELLS if size.name == "full" or cell.stream is D1]
    for cell in cells[: size.of(None, None, 0)]:
        ways = {RUN: listed(cell.query.text), STRINGS: _strings(cell), MATCH: _match(cell)}
        ways |= {BOTH: listed(cell.query.text, threads=2), LIMIT: _limit(cell)}
        ways |= {DUCKDB: _duckdb(cell)}
        yield Point(
            cell.name,
            _as_timed(ways),
            cell.stream.table,
            cell.stream.events,
            known=cell.matches,
            known_check=cell.row_sum,
        )
    series = Q5_S5
    ways = {RUN: listed(series.text), MATCH: _match(series), LIMIT: _limit(series)}
    yield Point(series.name, _as_timed(ways), series.table, series.events, known=series.matches)


def _as_timed(ways: dict[str, Make]) -> dict[str, Make]:
    """All ways as the C program is: the median of runs one after the other."""
    return {
        name: way if name == LIMIT else in_a_row(way, REPEATS, ENOUGH) for name, way in ways.items()
    }


def _duckdb(cell: Cell) -> Make:
    """As an expert would have DuckDB do it, with buckets of time."""

    def make(table: pa.Table) -> Way:
        if importlib.util.find_spec("duckdb") is None:
            raise LeftOut("duckdb is not installed: pip install -e '.[experiments]'")
        from experiments.rivals.duckdb import asked

        form = "bucketed" if cell.query.negated is None else "as-of"
        task = contest(cell).task(Path(), form, threads=1, repeats=1, enough=0)
        source = with_codes(table).select(task.columns)
        return Way(asked(task, source), lambda rows: Outcome(rows.num_rows))

    return make


def _strings(cell: Cell) -> Make:
    return lambda table: listed(cell.query.text)(cell.stream.table("string"))


def _match(cell: Cell | Series) -> Make:
    text = cell.query.text if isinstance(cell, Cell) else cell.text

    def make(table: pa.Table) -> Way:
        return Way(
            lambda: sase.match(text, table, threads=1).rows, lambda rows: Outcome(rows.num_rows)
        )

    return make


def _limit(cell: Cell | Series) -> Make:
    def make(table: pa.Table) -> Way:
        script = os.environ.get(VARIABLE)
        if script is None:
            raise LeftOut(f"{VARIABLE} does not name the C program's limit.py")
        limit = Limit(Path(script), PLACE)
        limit.prepare(cell, table)

        def told(times: object) -> Outcome:
            # Its own clock: without the start of a process and the reading of files.
            return Outcome(cell.matches, None, {"own_s": times.median})  # type: ignore[attr-defined]

        return Way(lambda: limit.run(cell), told)

    return make


def only_short(results: Results) -> Verdict:
    """That all cells above the limit are short in C, and take few milliseconds more."""
    own, ours = (dict(results.curve(way, "wall_s")) for way in (LIMIT, RUN))
    above = [x for x in ours if x in own and ours[x] > MOST_OF_C * own[x]]
    told = ", ".join(
        f"{x}: {1000 * own[x]:.2f} ms, {1000 * (ours[x] - own[x]):.2f} ms more" for x in above
    )
    is_so = all(own[x] <= SHORT and ours[x] - own[x] <= MORE for x in above)
    required = f"at most {1000 * SHORT:g} ms in C, and {1000 * MORE:g} ms more"
    return Verdict(is_so if above else None, told or "none is above it", required)


def within_limit() -> Check:
    """That every cell takes at most twice as long as C with one thread."""

    required = f"at most {MOST_OF_C:g}"

    def check(results: Results) -> Verdict:
        own = dict(results.curve(LIMIT, "wall_s"))
        ratios = {x: seconds / own[x] for x, seconds in results.curve(RUN, "wall_s") if x in own}
        if not ratios:
            return Verdict(
                None, f"the C program was not run: {VARIABLE} names its limit.py", required
            )
        told = ", ".join(f"{ratio:.2f} at {x}" for x, ratio in ratios.items())
        holds = max(ratios.values()) <= MOST_OF_C
        return Verdict(holds, f"{RUN} : C = {told}", required)

    return check


def compiling(most_ms: float) -> Check:
    """That compiling the query each time adds at most so much."""

    required = f"at most {most_ms:g} ms"

    def check(results: Results) -> Verdict:
        run = dict(results.curve(RUN, "wall_s"))
        more = {x: 1e3 * (s - run[x]) for x, s in results.curve(MATCH, "wall_s") if x in run}
        told = ", ".join(f"{ms:.1f} ms at {x}" for x, ms in more.items())
        return Verdict(max(more.values()) <= most_ms if more else None, told, required)

    return check


def rate_of(way: str, cell: str, least: float) -> Check:
    """A way reads at least `least` events a second."""

    required = f"at least {least / 1e6:g} M events/s"

    def check(results: Results) -> Verdict:
        found = results.at(way, cell)
        if found is None:
            return Verdict(None, f"{cell} is not measured", required)
        return Verdict(found >= least, f"{found / 1e6:.1f} M events/s", required)

    return check


EXPERIMENT = Experiment(
    "cells",
    "The cells of the throughput table: Q1 to Q5",
    "Ours",
    "within twice the time of a hand-written C program, one thread each.",
    points,
    (Plot("events_per_s", "events/s", "", log_y=True, bars=True),),
    (
        Finding(
            "at most twice the C program",
            within_limit(),
            (
                Reason(
                    f"It is but for cells in which the C program takes at most {1000 * SHORT:g} ms."
                    f" There ours takes at most {1000 * MORE:g} ms more.",
                    only_short,
                ),
            ),
        ),
        Finding("Q1/D3: 60 M events/s", rate_of(RUN, "Q1/D3", 60e6)),
        Finding(
            "Q1/D3 with plain strings: 35 M events/s",
            rate_of(STRINGS, "Q1/D3", 35e6),
        ),
        Finding("faster than DuckDB with buckets on every cell", ahead(RUN, DUCKDB)),
        Finding("sase.match takes at most 15 ms more than a compiled plan", compiling(15)),
    ),
    ("held", "own_s"),
)
