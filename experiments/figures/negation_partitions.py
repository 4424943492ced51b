"""SASE 2006, 3.3: negation's index in partitions of time, dropped as a whole, beside ours by key.

Each structure has the same negative events, sequences and window in one loop: it adds the events up
to the last one of a sequence, drops those out of the window, and looks for one in the gap.

    jump lists      a list of events for each key, with jumps: the search is logarithmic
    by key          a partition of δ units has a list for each key; a gap looks into each of its own
    by time         a partition has a list of all events; a gap looks at each event in it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sase
from experiments.core.checks import CPU_RATE, Check, ahead, every, slope
from experiments.core.experiment import Experiment, Finding, Outcome, Plot, Point, Size, Way
from experiments.core.ways import Make, cost_by_operator, listed
from experiments.figures.sequences import SOURCE, stream
from sase.engine.columns.arrays import Numbers

WINDOW, KEYS = 10_000, (10_000, 1_000, 100)
JUMPS, BY_KEY, BY_TIME, OPERATOR = "jump lists", "partitions by key", "partitions by time", "engine"
NONE = -1


class Probed(NamedTuple):
    """Negative events, and sequences in the order of their last events: times and keys."""

    times: Numbers
    keys: Numbers
    firsts: Numbers
    lasts: Numbers
    of_sequences: Numbers
    domain: int


@numba.njit
def by_jumps(
    times: Numbers, keys: Numbers, firsts: Numbers, lasts: Numbers, own: Numbers, domain: int,
    size: int,
) -> int:  # fmt: skip
    """Count the sequences without an event in their gap, by lists of keys with jumps."""
    below, jump, depth = np.empty_like(times), np.empty_like(times), np.zeros_like(times)
    heads = np.full(domain, NONE, np.int64)
    added = tail = kept = 0
    for number in range(len(firsts)):
        while added < len(times) and times[added] < lasts[number]:
            top = heads[keys[added]]
            below[added] = jump[added] = top
            if top >= tail:
                depth[added] = depth[top] + 1
                one = jump[top]
                two = jump[one] if one >= tail else NONE
                if two >= tail and depth[top] - depth[one] == depth[one] - depth[two]:
                    jump[added] = two
            heads[keys[added]] = added
            added += 1
        while tail < added and times[tail] <= lasts[number] - size:
            tail += 1
        at = heads[own[number]]
        while at >= tail and times[at] >= lasts[number]:
            far = jump[at]
            at = far if far >= tail and times[far] >= lasts[number] else below[at]
        kept += not (at >= tail and times[at] > firsts[number])
    return kept


@numba.njit
def by_partitions(
    times: Numbers, keys: Numbers, firsts: Numbers, lasts: Numbers, own: Numbers, domain: int,
    size: int, width: int, keyed: bool,
) -> int:  # fmt: skip
    """Count them by partitions, which are dropped as a whole when another one takes their place."""
    places = size // width + 2
    heads = np.full((places, domain if keyed else 1), NONE, np.int64)
    # By place and key the partition that the list is of: all others are dropped.
    owner = np.full(heads.shape, NONE, np.int64)
    below = np.empty_like(times)
    added = kept = 0
    for number in range(len(firsts)):
        while added < len(times) and times[added] < lasts[number]:
            part = times[added] // width
            place, key = part % places, keys[added] if keyed else 0
            below[added] = heads[place, key] if owner[place, key] == part else NONE
            heads[place, key], owner[place, key] = added, part
            added += 1
        found, key = False, own[number] if keyed else 0
        part, first = lasts[number] // width, firsts[number] // width
        while part >= first and not found:
            place = part % places
            at = heads[place, key] if owner[place, key] == part else NONE
            while at != NONE and times[at] > firsts[number]:
                if times[at] < lasts[number] and keys[at] == own[number]:
                    found = True
                    break
                at = below[at]
            part -= 1
        kept += not found
    return kept


def probed(table: pa.Table) -> Probed:
    """The negative events of a table, and the sequences without regard to them."""
    times, keys = (table[name].to_numpy() for name in ("ts", "attr1"))
    negative = np.flatnonzero(pc.equal(table["type"], "E2").to_numpy())
    rows = sase.match(query(), table, plan="composite_key", threads=1).rows
    first, last = (column.to_numpy() for column in rows.columns)
    return Probed(
        times[negative], keys[negative], times[first], times[last], keys[first],
        int(keys.max()) + 1,
    )  # fmt: skip


def over(count: Callable[[Probed], int]) -> Make:
    """A structure over the events and sequences of a table, which are found before."""

    def make(table: pa.Table) -> Way:
        events = probed(table)
        return Way(lambda: count(events), lambda kept: Outcome(int(kept)))

    return make


def points(size: Size) -> Iterator[Point]:
    """By the partition's size δ, a panel for each number of keys."""
    events = size.of(1_000_000, 200_000, 10_000)
    for domain in size.of(KEYS, KEYS[1:], KEYS[2:]):
        data = stream(events, domain)
        for parts in size.of((1, 4, 16, 64, 256), (1, 16, 64), (4,)):
            width = -(-WINDOW // parts)
            ways = {
                JUMPS: over(lambda each: by_jumps(*each, WINDOW)),
                BY_KEY: over(lambda each, width=width: by_partitions(*each, WINDOW, width, True)),
                BY_TIME: over(lambda each, width=width: by_partitions(*each, WINDOW, width, False)),
                OPERATOR: listed(query("!(E2 b), "), "composite_key", probes=(cost_by_operator,)),
            }
            yield Point(width, ways, data, events, panel(domain))


def panel(domain: int) -> str:
    """The name of the panel of a number of keys."""
    return f"V1 = {domain:,}"


def query(negative: str = "") -> str:
    """Two positive components, and perhaps a negative one between them."""
    return f"EVENT SEQ(E1 a, {negative}E3 c) WHERE [attr1] WITHIN {WINDOW}"


def of_each(check: Callable[..., Check], *arguments: Any, **named: Any) -> Check:
    """A check for each number of keys."""
    return every(*(check(*arguments, panel=panel(domain), **named) for domain in KEYS))


def is_large(x: float) -> bool:
    """Whether a gap overlaps at most some 16 partitions."""
    return x >= WINDOW // 16


EXPERIMENT = Experiment(
    "negation_partitions",
    "Section 3.3: negation's index in partitions of time",
    f"{SOURCE}, 3.3",
    "The stream is partitioned by time; each negated type has an index over each partition, and a"
    " partition out of the window is dropped with its indexes in one step. (Beside it the lists of"
    " the engine, in a loop of the same form, which drops their events one by one. The engine's own"
    " time is that of the whole query, and of its operator in Negation_s.)",
    points,
    (Plot("cpu_s", "s of the processor", "δ, time units", log_x=True, log_y=True),),
    (
        Finding(
            "an index by key in each partition is faster than a list by time, at least twice, if a"
            " window has at most 16 partitions",
            of_each(ahead, BY_KEY, BY_TIME, 2, y=CPU_RATE, when=is_large),
        ),
        Finding(
            "the smaller the partitions, the more of them a gap overlaps, and the longer it takes",
            of_each(slope, BY_KEY, -inf, -0.1, y="cpu_s"),
        ),
        Finding(
            "(ours) lists by key with jumps are at least as fast as partitions by key (within 1.1),"
            " for each δ: the engine would gain nothing by partitions",
            of_each(ahead, JUMPS, BY_KEY, 1 / 1.1, y=CPU_RATE),
        ),
    ),
    ("Negation_s",),
)
