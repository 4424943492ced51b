"""Figure 4 and Table 3 of SASE+ 2008: the events that runs share in a buffer, and its updates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa

import sase
from experiments.core.checks import CPU_RATE, Check, ahead, every, near, rates, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.figures.stocks import IN_NODES, SOURCE, figured, query, stream
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.baselines import versioned_buffer as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.baselines.versioned_store import VersionedStore
from sase.engine.operators.kleene.run_operator import RunOperator
from sase.engine.pipeline.pipeline import Pipeline

VERSIONED = "nfab_versioned"
QUERIES = ("p1-s3", "p2-s3", "p3-s3")
WIDEST, REPEATS = 2_000, 7
STORED, POINTERS, SHARING, BUFFER = "stored_events", "pointers", "sharing", "buffer_s"


def points(size: Size) -> Iterator[Point]:
    """Runs that do all but end, over W; a panel for each query."""
    for window in size.of((500, 1_000, 1_500, WIDEST), (500, 1_000), (100,)):
        data, events = stream(window, size)
        for name in QUERIES:
            text = query(name, window, volume=0)
            ways = {
                IN_NODES: stored(figured(text, "nfab", IN_NODES)),
                VERSIONED: stored(figured(text, VERSIONED, VERSIONED, probes=(updates,))),
            }
            yield Point(window, ways, data, events, name)


def stored(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A way with the number of events that its buffer stores, and of pointers between them."""

    def made(table: pa.Table) -> Any:
        way = make(table)

        def told(found: Any) -> Any:
            outcome = way.told(found)
            figures = dict(outcome.figures)
            # A node is an event of one run, with a pointer to the one before.
            stored, pointers = (
                figures.get(each, figures["runs"]) for each in ("entries", POINTERS)
            )
            own = {STORED: stored, POINTERS: pointers, SHARING: pointers / max(stored, 1)}
            return outcome._replace(figures=figures | own)

        return way._replace(told=told)

    return made


# ---------------------------------------------------------------- the updates by themselves


class Updates(NamedTuple):
    """All rows that a run writes to its buffer, in order, and the entry of each pointer.

    `held` are the most entries and pointers at once.
    """

    entries: Numbers
    pointers: Numbers
    owners: Numbers
    held: tuple[int, int]


class RecordedStore(VersionedStore):
    """A store that keeps the rows that it drops from its buffer."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._dropped: list[tuple[Numbers, Numbers]] = []
        self._held = (0, 0)

    def _forget(self, first: int, least: int) -> None:
        before = [rows.copy() for rows in self._kept()]
        self._note(before)
        super()._forget(first, least)
        gone = [
            rows[: len(rows) - len(left)] for rows, left in zip(before, self._kept(), strict=True)
        ]
        if len(gone[0]):
            self._dropped.append((gone[0], gone[1]))

    def _note(self, kept: Sequence[Numbers]) -> None:
        entries, pointers = map(len, kept)
        self._held = (max(self._held[0], entries), max(self._held[1], pointers))

    def written(self) -> Updates:
        """The updates from the first on."""
        self._note(self._kept())
        entries, pointers = (
            np.concatenate(each) for each in zip(*self._dropped, self._kept(), strict=True)
        )
        owners, own = np.full(len(pointers), NOTHING), np.arange(len(entries))
        at = entries[:, of.POINTER]
        while len(at):
            owners[at], after = own, pointers[at, of.AFTER]
            at, own = after[after != NOTHING], own[after != NOTHING]
        return Updates(entries, pointers, owners, self._held)


def recorded(plan: sase.Plan, table: pa.Table) -> Updates:
    """The updates of a plan's versioned buffer."""
    pipeline = Pipeline(plan.engine)
    (runs,) = (each for each in pipeline.operators if isinstance(each, RunOperator))
    runs.keep_in(RecordedStore)
    for _ in pipeline.search(*pipeline.load(table)):
        pass
    assert isinstance(runs.store, RecordedStore)
    return runs.store.written()


@numba.njit
def write_again(
    entries: Numbers, pointers: Numbers, owners: Numbers, to_entries: Numbers, to_pointers: Numbers
) -> None:
    """Write entries and pointers as `store` of the versioned buffer does, around in a ring."""
    written = 0
    for number in range(len(owners)):
        owner = owners[number]
        row = to_entries[owner % len(to_entries)]
        while written <= owner:
            fresh = to_entries[written % len(to_entries)]
            fresh[of.EVENT], fresh[of.LEVEL] = (
                entries[written, of.EVENT],
                entries[written, of.LEVEL],
            )
            fresh[of.POINTER], fresh[of.BEFORE] = NOTHING, number
            written += 1
        pointer, known = to_pointers[number % len(to_pointers)], pointers[number]
        pointer[of.TO] = known[of.TO]
        pointer[of.AFTER], row[of.POINTER] = row[of.POINTER], number
        for place in range(of.VERSION, len(pointer)):
            pointer[place] = known[place]


def updates(plan: sase.Plan, table: pa.Table) -> Mapping[str, float]:
    """The seconds of the processor that the updates of the buffer take by themselves."""
    rows = recorded(plan, table)
    all_of_them = (np.zeros_like(rows.entries), np.zeros_like(rows.pointers))
    write_again(*rows[:3], *all_of_them)  # which compiles
    assert all(map(np.array_equal, all_of_them, rows[:2])), "other updates than those of the run"
    # Timed in rings as large as the buffer was, which caches may hold.
    ring = [part[: max(size, 1)] for part, size in zip(all_of_them, rows.held, strict=True)]
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        write_again(*rows[:3], *ring)
        taken.append(time.process_time() - start)
    return {BUFFER: median(taken)}


# ---------------------------------------------------------------- findings


def of_each(check: Callable[..., Check], *arguments: Any, **named: Any) -> Check:
    """A check of the three queries."""
    return every(*(check(*arguments, panel=name, **named) for name in QUERIES))


def buffer_order(results: Results) -> Verdict:
    """That the updates take least time for p2, and most for p1, at the widest window."""
    required = "least for p2-s3, most for p1-s3"
    costs = {name: results.at(VERSIONED, WIDEST, BUFFER, name) for name in QUERIES}
    known = {name: cost for name, cost in costs.items() if cost is not None}
    if len(known) < len(QUERIES):
        return Verdict(None, f"not all queries are measured at W = {WIDEST:,}", required)
    told = ", ".join(f"{1000 * cost:.3g} ms for {name}" for name, cost in known.items())
    order = sorted(known, key=lambda name: known[name])
    return Verdict((order[0], order[-1]) == ("p2-s3", "p1-s3"), told, required)


EXPERIMENT = Experiment(
    "versioned",
    "Figure 4 and Table 3: events shared in the versioned buffer, and the time of its updates",
    f"{SOURCE}, 5.1 and experiment 6",
    "In the shared versioned buffer an event that several runs have selected is stored once, with a"
    " pointer for each. Buffer updates cost much for p1 and p3, whose matches are long, and little"
    " for p2. (All updates of a run are recorded, and written again by themselves: this is timed.)",
    points,
    (
        Plot(SHARING, "pointers for each stored event", "W, events of a partition"),
        Plot(BUFFER, "s for the updates of the buffer", "W, events of a partition"),
    ),
    (
        Finding(
            "an event is stored more often in nodes, at least 1.5 times, for each query and W",
            of_each(ahead, IN_NODES, VERSIONED, 1.5, y=STORED),
        ),
        Finding(
            "there are as many pointers as nodes (within 1.01)",
            of_each(near, IN_NODES, VERSIONED, 1.01, y=POINTERS),
        ),
        Finding(
            "the wider the window the more runs share an event of p1-s3",
            slope(VERSIONED, 0.3, inf, y=SHARING, panel="p1-s3"),
        ),
        Finding("Table 3, W = 2,000: updates cost least for p2-s3, most for p1-s3", buffer_order),
        Finding(
            "updates are at most half of the time of matching, for each query and W",
            of_each(rates, VERSIONED, 0, 0.5, of=BUFFER, by="cpu_s"),
        ),
        Finding(
            "(ours) runs in nodes are at least as fast as in the versioned buffer (within 1.1)",
            of_each(ahead, IN_NODES, VERSIONED, 1 / 1.1, y=CPU_RATE),
        ),
    ),
    (STORED, POINTERS, SHARING, BUFFER, "runs", "steps"),
)
