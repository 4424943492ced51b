"""Figures 6a, 6b, 6d of SASE++ 2014: imprecise time by runs (SASE+), and in the collapsed form.

All intervals have one length, and each type is of one component. So each event can have one time,
by which two events are in the order of the pattern if they are in it in some world: an A has the
begin of its interval, a B the end, and a C the end and the length. These times are multiplied, so
that no two Bs are simultaneous. SASE+ makes its runs over these times. The worlds of a match decide
whether it is one, and its confidence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sase
from experiments.core.experiment import Outcome, Way
from experiments.core.ways import Make, counters
from experiments.figures.imprecise import PREDICATE, query
from experiments.figures.pp_costs import RUNS, stages
from sase.engine.operators.imprecise.candidate_confidence import TimeBounds
from sase.engine.operators.imprecise.world_enumeration import WorldEnumeration

SHIFTS = {"A": -1, "B": 0, "C": 1}
SASE_PLUS, COLLAPSED = "SASE+", "collapsed"
SORTING, CONFIDENCE = "Sorting_s", "Confidence_s"


class Ordered(NamedTuple):
    """Events in query order: the table, the row of each event in the input, times in a unit."""

    table: pa.Table
    rows: np.typing.NDArray[np.int64]
    scale: int

    def reaching(self, window: int, longest: int) -> int:
        """The window of these times in which all events of a world's window are."""
        return (window + 3 * (longest - 1)) * self.scale


class Kept(NamedTuple):
    """The matches that some world has: their number, the sum of their rows, figures of the run."""

    matches: int
    rows: int
    figures: Mapping[str, float]


def in_query_order(table: pa.Table, longest: int) -> Ordered:
    """Order the events of the pattern, which come by `hi`, with intervals of `longest` times."""
    kinds = table["type"].combine_chunks()
    names, codes = kinds.dictionary.to_pylist(), kinds.indices.to_numpy()
    own = np.flatnonzero(np.array([name in SHIFTS for name in names])[codes])
    shift = np.array([SHIFTS.get(name, 0) for name in names])[codes[own]]
    until = table["hi"].to_numpy()[own]
    rank = np.arange(len(own)) - np.searchsorted(until, until)
    scale = int(rank.max(initial=0)) + 1
    # An A comes after all that end in its first unit, a C before all of its last one.
    rank = np.select([shift < 0, shift > 0], [scale - 1, 0], rank)
    at = (until + (longest - 1) * shift) * scale + rank
    order = np.argsort(at, kind="stable")
    ordered = table.select(["type", "v"]).take(pa.array(own[order]))
    return Ordered(ordered.append_column("ts", pa.array(at[order])), own[order], scale)


def by_runs(window: int, longest: int) -> Make:
    """SASE+: events sorted, each run of the NFAb made, and the worlds of each match enumerated."""

    def make(table: pa.Table) -> Way:
        first = in_query_order(table, longest)
        reach = first.reaching(window, longest)
        plan = sase.compile(query(reach), first.table, plan=RUNS)
        lows, highs = (table[name].to_numpy() for name in ("lo", "hi"))
        worlds = WorldEnumeration(window - 1)

        def is_match(events: list[list[int]]) -> bool:
            steps = [[TimeBounds(int(lows[e]), int(highs[e])) for e in step] for step in events]
            return worlds.of(steps, ()) > 0

        def run() -> Kept:
            start = time.process_time()
            ordered = in_query_order(table, longest)
            sorted_at = time.process_time()
            matches = plan.run(ordered.table, threads=1)
            found = list(_events(matches.rows, ordered.rows))
            matched_at = time.process_time()
            kept = [sum(map(sum, events)) for events in found if is_match(events)]
            spent = {SORTING: sorted_at - start, CONFIDENCE: time.process_time() - matched_at}
            return Kept(len(kept), sum(kept), counters(matches.report) | spent)

        def parts() -> Mapping[str, float]:
            return stages(RUNS, PREDICATE, reach)(plan, first.table)

        return Way(run, lambda kept: Outcome(kept.matches, kept.rows, kept.figures), parts)

    return make


def _events(rows: pa.Table, of_input: Any) -> Iterator[list[list[int]]]:
    """The rows of the input that each match has, by component."""
    for match in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        yield [of_input[step if isinstance(step, list) else [step]].tolist() for step in match]


def collapsed(window: int, longest: int) -> Make:
    """A row with all candidates for each last event: nothing is enumerated, and no confidence."""

    def make(table: pa.Table) -> Way:
        def run() -> pa.Table:
            ordered = in_query_order(table, longest)
            text = query(ordered.reaching(window, longest))
            return sase.match(text, ordered.table, output="compressed", threads=1).to_arrow()

        def told(found: pa.Table) -> Outcome:
            count = int(pc.sum(found["count"]).as_py() or 0)
            return Outcome(count, None, {"rows": found.num_rows})

        return Way(run, told)

    return make
