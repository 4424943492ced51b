"""Snapshots changed anywhere, with a checksum that fits: they are gone on with, or refused."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

import sase
from sase.engine.snapshots.codec import from_bytes, to_bytes
from tests.fuzz import changes, driver
from tests.fuzz.documents import base, read_table, warm, written_table

# The header of a document: the lengths of the plan, of the snapshot, and of the events.
_HEAD = np.dtype("<i8")


@dataclass(frozen=True)
class Stopped:
    """A plan as text, a snapshot of it after some pushes, and the events to come."""

    plan: str
    snapshot: bytes
    rest: Any


def stopped(plan: sase.Plan, table: Any, random: Random) -> Stopped:
    """Push some of the events, in any cuts, and stop."""
    matcher, at = plan.open(), random.randrange(len(table) + 1)
    start = 0
    while start < at:
        size = random.randrange(1, 6)
        matcher.push(table.slice(start, min(size, at - start)))
        start += size
    return Stopped(plan.to_json(), matcher.snapshot(), table.slice(at))


@lru_cache(maxsize=8)
def _stopped(number: int) -> Stopped:
    random, known = Random(number), base(100 * number)
    return stopped(known.plan, known.table, random)


def make(number: int) -> bytes:
    """A plan, a changed snapshot of it, and events to go on with."""
    return document(_stopped(number // 100), Random(number), changes_it=number % 100 > 0)


def document(known: Stopped, random: Random, *, changes_it: bool) -> bytes:
    """A plan, a snapshot as it is or changed, and events to go on with."""
    state = from_bytes(known.snapshot)
    if changes_it:
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            changes.change_state(state, random)
    try:
        snapshot = to_bytes(state)
    except (AssertionError, TypeError, OverflowError):  # bytes that no header describes
        snapshot = known.snapshot[: random.randrange(len(known.snapshot))]
    parts = [known.plan.encode(), snapshot, written_table(known.rest)]
    return np.array(list(map(len, parts)), _HEAD).tobytes() + b"".join(parts)


@lru_cache(maxsize=100)
def _plan(text: bytes) -> sase.Plan:
    """A plan, read once for the documents that share it."""
    return sase.Plan.from_json(text.decode())


def judge(given: bytes) -> str:
    """Restore a matcher, push the rest of the events, take a snapshot, and finish."""
    head = 3 * _HEAD.itemsize
    plan, snapshot, rest = np.frombuffer(given[:head], _HEAD).tolist()
    compiled = _plan(given[head : head + plan])
    table = read_table(given[head + plan + snapshot : head + plan + snapshot + rest])
    matcher = compiled.restore(given[head + plan : head + plan + snapshot])
    matcher.snapshot()
    try:
        for begin in range(0, len(table), 7):
            matcher.push(table.slice(begin, 7)).to_pylist()
        compiled.restore(matcher.snapshot())
        repr(matcher.late), repr(matcher)
        found = matcher.finish()
        found.to_pylist(), found.rows.to_pylist(), repr(found.report)
    except sase.SaseError:
        return "opened, and refused events"
    return "opened"


TARGET = driver.Target(make, judge, ".snapshot", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.snapshots"]))
