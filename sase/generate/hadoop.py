"""Generate the log of a Hadoop cluster, in which some reducers are slow (SASE++ 2014, 6.5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.generate import batches as arguments
from sase.generate.batches import Int64s, TypeLayout, check_layout, type_column

WorkloadName = Literal["twitter", "worldcup_u", "worldcup_s"]
Floats = npt.NDArray[np.float64]

# The attributes of each type. No query names a Metric.
ATTRIBUTES = {
    "JobStart": ("job_id",),
    "JobEnd": ("job_id",),
    "Mapper": ("job_id", "task_id", "period"),
    "Reducer": ("job_id", "task_id", "period"),
    "ReducerStart": ("task_id",),
    "ReducerEnd": ("task_id", "period"),
    "DataPull": ("task_id", "period"),
    "DataIO": ("job_id", "task_id", "size"),
    "LoadStd": ("val",),
    "Balance": (),
    "Imbalance": (),
    "Metric": ("val",),
}
TYPES = tuple(ATTRIBUTES)
COLUMNS = {"job_id": "i4", "task_id": "i4", "period": "f8", "size": "i8", "val": "f8"}
SECOND = 1_000_000  # in microseconds, as the times are
START = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS_PER_NODE = 13.62  # a second
# The monitor reports every 15 seconds; a report is about a second of the last 14 or its own.
REPORT, BEFORE = 15, 14
# One job in ten waits for others before its first mapper starts.
WAIT = 2_300
# Seconds between two small jobs, each with one reducer.
SMALL = 600
SMALL_JOBS_PER_HOUR = 3_600 // SMALL
# Seconds between the records of a job's reducers that consume its data.
CONSUME = 5
# How many times as fast as the mappers put data out the reducers consume them.
SPEED = 1.18
# All other reducers run longer than the ten minutes of the windows.
LONGER, LONGEST = 660, 7_000
LONGEST_MAPPER = 80
# A straggler's last pull is surely longer than twice the average of six pulls and more.
LEAST_PULLS, MOST_PULLS = 6, 9


class Workload(NamedTuple):
    """A job: mappers of 64 MB, the bytes that they put out, slots, median seconds, reducers."""

    mappers: int
    output: int
    slots: int
    mapper: float
    reducers: int
    reducer: float


WORKLOADS = {
    "twitter": Workload(797, 565 * 10**9, 36, 45, 30, 900),
    "worldcup_u": Workload(3_768, 32 * 10**9, 36, 15, 40, 4_500),
    "worldcup_s": Workload(3_768, 2_635 * 10**8, 36, 20, 40, 2_500),
}


class Cluster(NamedTuple):
    """The log in time order, and the tasks of the reducers that are slow or load one node."""

    table: pa.Table
    stragglers: frozenset[int]
    unbalanced: frozenset[int]

    def answers(self) -> pa.Table:
        """The columns `task_id`, sorted, and `fault`: straggler or unbalanced."""
        faults = [(task, "straggler") for task in self.stragglers]
        faults += [(task, "unbalanced") for task in self.unbalanced]
        rows = [{"task_id": task, "fault": fault} for task, fault in sorted(faults)]
        schema = pa.schema([("task_id", pa.int32()), ("fault", pa.string())])
        return pa.Table.from_pylist(rows, schema=schema)


class _Reducers(NamedTuple):
    """Reducers with the seconds from their start to their end, and of an average pull."""

    job: Int64s
    task: Int64s
    start: Floats
    life: Floats
    pull: Floats


class _Log:
    """Events by type, with their seconds since the start and the values of their attributes."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Floats, dict[str, Any]]] = []
        self.tasks = 0

    def add(self, kind: str, seconds: npt.ArrayLike, **values: Any) -> None:
        """Add events of a type; a value may be one for all of them."""
        assert values.keys() == set(ATTRIBUTES[kind])
        at = np.atleast_1d(np.asarray(seconds, np.float64))
        self._parts.append((TYPES.index(kind), at, values))

    def new_tasks(self, count: int) -> Int64s:
        """Numbers of tasks that no task has."""
        self.tasks += count
        return np.arange(self.tasks - count + 1, self.tasks + 1)

    def __len__(self) -> int:
        return sum(len(at) for _, at, _ in self._parts)

    @property
    def end(self) -> float:
        """The second of the last event."""
        return max(float(at.max()) for _, at, _ in self._parts if len(at))

    def table(self, start: int, layout: TypeLayout) -> pa.Table:
        """All events in time order; NULL where a type has no such attribute."""
        seconds = np.concatenate([at for _, at, _ in self._parts])
        order = np.argsort(seconds, kind="stable")
        kinds = [np.full(len(at), kind, np.int8) for kind, at, _ in self._parts]
        kind = np.concatenate(kinds)[order]
        # No two events have the same time: one is not after the other, and could not be in a match.
        number = np.arange(len(order))
        ts = start + np.rint(seconds[order] * SECOND).astype(np.int64)
        ts = np.maximum.accumulate(ts - number) + number
        reported = np.array([name in ("LoadStd", "Balance", "Imbalance") for name in TYPES])
        lo = ts - np.where(reported[kind], BEFORE * SECOND, 0)
        time = pa.timestamp("us", "UTC")
        columns = {name: self._column(name, kind, order) for name in COLUMNS}
        times = {"lo": pa.array(lo, time), "hi": pa.array(ts, time)}
        types = type_column(kind, TYPES, layout)
        return pa.table({"ts": pa.array(ts, time), "type": types, **columns, **times})

    def _column(self, name: str, kind: npt.NDArray[np.int8], order: Int64s) -> pa.Array:
        absent = np.array([name not in attributes for attributes in ATTRIBUTES.values()])
        values = [
            np.broadcast_to(np.asarray(own.get(name, 0), COLUMNS[name]), len(at))
            for _, at, own in self._parts
        ]
        return pa.array(np.concatenate(values)[order], mask=absent[kind])


def hadoop_events(
    *,
    workload: WorkloadName = "twitter",
    nodes: int = 10,
    hours: int = 1,
    jobs: int = 2,
    stragglers: int = 4,
    unbalanced: int = 3,
    seed: int = 0,
    type_layout: TypeLayout = "int8",
) -> Cluster:
    """Events of jobs, tasks and a monitor with `ts`, `type`, their attributes, `lo` and `hi`.

    `jobs` jobs of the workload start within `hours`, and every ten minutes a small job with one
    reducer. The log ends with the last job. `stragglers` reducers have a last pull that takes three
    to ten times as long as their others. While one of `unbalanced` reducers of small jobs runs,
    the load of the nodes becomes less and less even. Metrics fill the log up to 13.62 events a
    second for each node; there are none if the jobs have more events than that.
    """
    arguments.one_of("workload", workload, get_args(WorkloadName))
    nodes = arguments.whole("nodes", nodes, 1, 10**4)
    hours = arguments.whole("hours", hours, 1, 24 * 365)
    jobs = arguments.whole("jobs", jobs, 0, 10**4)
    kind = WORKLOADS[workload]
    stragglers = arguments.whole("stragglers", stragglers, 0, jobs * kind.reducers)
    unbalanced = arguments.whole("unbalanced", unbalanced, 0, hours * SMALL_JOBS_PER_HOUR)
    check_layout(type_layout, len(TYPES))
    rng = np.random.default_rng(arguments.whole("seed", seed))

    log = _Log()
    starts = np.sort(rng.random(jobs) * hours * 3_600)
    large = [_job(rng, log, kind, n, start) for n, start in enumerate(starts.tolist(), 1)]
    small = _small_jobs(rng, log, jobs + 1, hours * SMALL_JOBS_PER_HOUR)
    is_uneven = rng.permutation(len(small.task)) < unbalanced
    _run(rng, log, small, np.zeros(len(small.task), np.bool_))
    slow = rng.permutation(jobs * kind.reducers) < stragglers
    for number, reducers in enumerate(large):
        _run(rng, log, reducers, slow[number * kind.reducers :][: kind.reducers])
    end = log.end + 4 * REPORT
    _monitor(rng, log, small.start[is_uneven], small.life[is_uneven], end)
    metrics = max(round(EVENTS_PER_NODE * nodes * end) - len(log), 0)
    log.add("Metric", rng.random(metrics) * end, val=rng.random(metrics))

    tasks = np.concatenate([each.task for each in large] or [np.zeros(0, np.int64)])
    return Cluster(
        log.table(arguments.moment("start", START), type_layout),
        frozenset(tasks[slow].tolist()),
        frozenset(small.task[is_uneven].tolist()),
    )


def _job(rng: np.random.Generator, log: _Log, kind: Workload, job: int, start: float) -> _Reducers:
    """Log a job but for its reducers' own events: mappers, and the data that wait and are consumed.

    Mappers run in slots, one after the other. The reducers consume from the time when a tenth of
    the mappers is done, at a constant rate, but never more than there is.
    """
    log.add("JobStart", start, job_id=job)
    start += WAIT if job % 10 == 0 else 0
    life = rng.lognormal(np.log(kind.mapper), 0.4, kind.mappers)
    life = np.minimum(life, LONGEST_MAPPER).round(3)
    ends = start + _in_slots(life, kind.slots)
    tasks = log.new_tasks(kind.mappers)
    size = rng.multinomial(kind.output, rng.dirichlet(np.full(kind.mappers, 10.0)))
    log.add("Mapper", ends, job_id=job, task_id=tasks, period=life)
    log.add("DataIO", ends, job_id=job, task_id=tasks, size=size)

    order = np.argsort(ends)
    ends, ready = ends[order], np.cumsum(size[order])
    first = float(ends[kind.mappers // 10])
    rate = SPEED * kind.output / (ends[-1] - start)
    last = max(first + kind.output / rate, float(ends[-1])) + CONSUME
    reducers = _reducers(rng, log, kind, job, first, last)
    at = np.append(np.arange(first + CONSUME, last, CONSUME), last)
    there = np.append(0, ready)[np.searchsorted(ends, at, side="left")]
    done = np.minimum(((at - first) * rate).astype(np.int64), there)
    done[-1] = kind.output
    taken = np.diff(done, prepend=0)
    some = taken > 0
    begun = np.searchsorted(np.sort(reducers.start), at[some], side="left")
    by = reducers.task[np.argsort(reducers.start)][(rng.random(len(begun)) * begun).astype(int)]
    log.add("DataIO", at[some], job_id=job, task_id=by, size=-taken[some])
    log.add("JobEnd", (reducers.start + reducers.life).max() + 1, job_id=job)
    return reducers


def _reducers(
    rng: np.random.Generator, log: _Log, kind: Workload, job: int, first: float, last: float
) -> _Reducers:
    """Reducers of a job, the first of which runs all the time in which data are consumed.

    Short ones start late, so that none ends before the last data are there.
    """
    life = rng.lognormal(np.log(kind.reducer), 0.35, kind.reducers)
    life = np.clip(life, LONGER, LONGEST)
    life[0] = max(life[0], last - first + CONSUME)
    after = rng.random(kind.reducers) * 60
    after[0] = 0
    start = np.maximum(first + after, last + after - life)
    pull = rng.uniform(10, 25, kind.reducers)
    job_ids = np.full(kind.reducers, job)
    return _Reducers(job_ids, log.new_tasks(kind.reducers), start, life.round(3), pull)


def _small_jobs(rng: np.random.Generator, log: _Log, first: int, count: int) -> _Reducers:
    """Log jobs of two mappers and a reducer but for the reducer's own events."""
    job = np.arange(first, first + count)
    start = np.arange(count) * SMALL + rng.uniform(60, 120, count)
    log.add("JobStart", start, job_id=job)
    size = rng.integers(10**6, 10**7, (2, count))
    for each in size:
        life = rng.uniform(5, 20, count).round(3)
        tasks = log.new_tasks(count)
        log.add("Mapper", start + life, job_id=job, task_id=tasks, period=life)
        log.add("DataIO", start + life, job_id=job, task_id=tasks, size=each)
    begin, life = start + 30, rng.uniform(60, 105, count).round(3)
    reducers = _Reducers(job, log.new_tasks(count), begin, life, rng.uniform(1, 3, count))
    end = begin + life
    log.add("DataIO", end - 1, job_id=job, task_id=reducers.task, size=-size.sum(axis=0))
    log.add("JobEnd", end + 1, job_id=job)
    return reducers


def _run(
    rng: np.random.Generator, log: _Log, own: _Reducers, is_slow: npt.NDArray[np.bool_]
) -> None:
    """Log the starts, ends and pulls of reducers; the last pull of a slow one takes long."""
    end = own.start + own.life
    log.add("ReducerStart", own.start, task_id=own.task)
    log.add("ReducerEnd", end, task_id=own.task, period=own.life)
    log.add("Reducer", end, job_id=own.job, task_id=own.task, period=own.life)
    count = len(own.task)
    pulls = rng.integers(LEAST_PULLS, MOST_PULLS + 1, count)
    each = np.arange(MOST_PULLS)[:, np.newaxis]
    period = own.pull * rng.uniform(0.8, 1.2, (MOST_PULLS, count))
    others = (period * (each < pulls - 1)).sum(axis=0) / (pulls - 1)
    longer = others * rng.uniform(3, 10, count)
    period = np.where(is_slow & (each == pulls - 1), longer, period).round(3)
    is_made = each < pulls
    ends = own.start + np.cumsum(period, axis=0)
    tasks = np.broadcast_to(own.task, is_made.shape)
    log.add("DataPull", ends[is_made], task_id=tasks[is_made], period=period[is_made])


def _monitor(rng: np.random.Generator, log: _Log, start: Floats, life: Floats, end: float) -> None:
    """Log the deviation of load, 0.1 to 0.18 but in reports of uneven load, in which it rises.

    A report is of uneven load if all its 15 seconds are. Such reports are an Imbalance each, and
    one in four of the others is a Balance.
    """
    at = np.arange(REPORT, end, REPORT, dtype=np.float64)
    load = rng.uniform(0.1, 0.18, len(at))
    is_uneven = np.zeros(len(at), np.bool_)
    for begin, seconds in zip(start.tolist(), life.tolist(), strict=True):
        own = slice(*np.searchsorted(at, (begin + BEFORE, begin + seconds), side="right"))
        is_uneven[own] = True
        load[own] = load[own.start] * 1.6 ** np.arange(1, own.stop - own.start + 1)
    log.add("LoadStd", at, val=load.round(4))
    log.add("Imbalance", at[is_uneven])
    log.add("Balance", at[~is_uneven & (np.arange(len(at)) % 4 == 0)])


def _in_slots(life: Floats, slots: int) -> Floats:
    """The ends of tasks that take turns in slots, each slot without a break."""
    rounds = -(-len(life) // slots)
    padded = np.append(life, np.zeros(rounds * slots - len(life)))
    return np.cumsum(padded.reshape(rounds, slots), axis=0).reshape(-1)[: len(life)]
