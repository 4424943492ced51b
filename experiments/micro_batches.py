"""A stream in batches of 1,000 events: how many events a second, and how long a push takes."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import sase
from experiments.cells import Query, Stream

BATCH = 1_000


@dataclass(frozen=True)
class Feed:
    """The first events of a stream, and the number of matches in them."""

    query: Query
    stream: Stream
    events: int
    matches: int

    @property
    def name(self) -> str:
        """As in: the first 2,000,000 events of Q1/D3."""
        return f"{self.query.name} on the first {self.events:,} events of {self.stream.name}"


@dataclass(frozen=True)
class Pushes:
    """Events a second, and the seconds that pushes take: half of them, 99 of 100, and the worst."""

    events_per_second: float
    p50: float
    p99: float
    longest: float


def measured(feed: Feed, passes: int) -> Pushes:
    """The feed pushed several times, each time into a new matcher, after one time to warm up."""
    table = feed.stream.table().slice(0, feed.events)
    # Made before the clock starts, as if they came from elsewhere one by one.
    batches = table.to_batches(max_chunksize=BATCH)
    plan = sase.compile(feed.query.text, table)
    marks = [_pushed(plan, batches, feed) for _ in range(passes + 1)][1:]
    each = np.concatenate([np.diff(mark) for mark in marks])
    p50, p99 = np.percentile(each, [50, 99])
    speeds = [feed.events / (mark[-1] - mark[0]) for mark in marks]
    return Pushes(statistics.median(speeds), float(p50), float(p99), float(each.max()))


def _pushed(plan: sase.Plan, batches: list[pa.RecordBatch], feed: Feed) -> list[float]:
    """The time before the first push and after each; the last one finishes the stream, too."""
    now = time.perf_counter
    matcher = plan.open()
    found = 0
    marks = [now()]
    for batch in batches[:-1]:
        found += len(matcher.push(batch))
        marks.append(now())
    found += len(matcher.push(batches[-1]))
    found += len(matcher.finish())
    marks.append(now())
    if found != feed.matches:
        raise SystemExit(f"{feed.name}: pushes find {found} matches, right are {feed.matches}")
    return marks
