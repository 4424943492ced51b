"""Values for costs: time and memory by operator, and the work for codes of keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import ceil, exp, isfinite, log2, prod
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest
from sase.planning.statistics import AttributeStatistics, Statistics

# ---------------------------------------------------------------- cost values

# The work of an operator is counted in units. `experiments/calibrate.py` measures the nanoseconds
# of each unit.

# Events of a block: stacks drop expired instances once for each block.
BLOCK = 1 << 17
# A plan with less state than this is preferred to one with more: more runs may not fit in memory.
MOST_BYTES = 1 << 30
# The units of work of operators, with the nanoseconds of each on a 2-core virtual machine.
NANOSECONDS: Mapping[str, float] = {
    "run": 2_200_000.0,  # fixed cost of a run
    "event": 1.8,  # an event of the input
    "admitted": 8.0,  # an event of the query's types
    "windowed": 5.0,  # an event and a step of match windows
    "simple": 1.0,  # an operation of a condition on one event
    "key": 11.0,  # a part of the key of an event
    "far": 25.0,  # an event with the state of its key outside of the cache
    "page": 350.0,  # the first access to a page of the states of keys
    "tabled": 10.0,  # a lookup of the code of a key in a table
    "tabled_far": 40.0,  # the same if the table is outside of the cache
    "plain": 12.0,  # a plain text of the input for which a code is looked up
    "plain_far": 45.0,  # the same if the table of texts is outside of the cache
    "plain_new": 120.0,  # a plain text that is new
    "hashed": 80.0,  # the lookup of a merged run
    "stored": 8.0,  # a number of an event that is stored for tests and conditions
    "pushed": 5.0,  # an instance on a stack
    "shared": 80.0,  # an instance on the stacks of several attributes
    # The units of a walk that the fused scan takes.
    "fused_run": 1_300_000.0,
    "fused_event": 2.6,
    "fused_admitted": 8.0,
    "fused_key": 9.0,
    "fused_pushed": 14.0,
    "fused_noted": 25.0,
    "fused_visited": 3.0,
    # The units of joins, which read only events near the rarest component if it is rare.
    "tree_run": 1_600_000.0,
    "tree_event": 0.7,  # an event of the input: its type is read
    "ranged": 0.8,  # an event in the window of a rare one: its key is read
    "near": 10.0,  # an event near a rare one
    "leaf": 17.0,  # an event of the query's types
    "filled": 30.0,  # a record in a leaf
    "tree_noted": 40.0,  # an event of a negative component
    "sought": 12.0,  # a record that probes for the records that a join puts before it
    "linked": 12.0,  # a record that others may find
    "paired": 3.0,  # a pair of records that a join examines
    "made": 8.0,  # a record that a join makes
    "ordered": 130.0,  # a sequence that is sorted into the order of results
    "visited": 7.0,  # an instance that the walk visits
    "pointer": 5.0,  # a pointer of the runtime stack that the walk follows
    "tested": 2.0,  # an equivalence test on an instance or a sequence
    "tried": 28.0,  # an instance for which the walk evaluates conditions
    "selected": 22.0,  # a sequence for which selection evaluates them
    "decided": 2.0,  # an operation of a condition on several events
    "walked": 100.0,  # an event at which a walk back evaluates early conditions
    "rebuilt": 320.0,  # an event of a match that is rebuilt to evaluate the other conditions
    "distinguished": 160.0,  # a match of a merged run that is distinguished from the others
    "built": 3.0,  # a sequence that is built
    "bound": 1.0,  # an event of a sequence that is built
    "listed": 25_000.0,  # a match of a compressed set, listed in Python
    "checked": 2.0,  # a sequence by an operator above construction
    "gathered": 1.0,  # an event of such a sequence
    "indexed": 60.0,  # an event of a negative component
    "met": 2.0,  # a test of such an event in a gap, if the index is by time alone
    "noted": 50.0,  # an event of a negative component that bounds the walk
    "probed": 90.0,  # a search of the index for a sequence
    "placed": 40.0,  # a pair of events of a candidate of imprecise time, in a fixed order
    "spread": 900.0,  # such a pair if a series is a set: 300 to 1,700, by the overlap
    "forbidden": 25_000.0,  # a candidate that a negative component may forbid: 13 to 50 µs
    "returned": 1.0,  # a result
}

# The units of a walk, and the names of the same units if the fused scan takes it.
FUSED_UNITS = {
    "run": "fused_run",
    "event": "fused_event",
    "admitted": "fused_admitted",
    "key": "fused_key",
    "pushed": "fused_pushed",
    "noted": "fused_noted",
    "visited": "fused_visited",
}


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """The estimate for an operator: input and output, work, and memory.

    `visited` is for construction: the choices that the walk examines, by level. `alive` is for the
    scan: the instances stored at a time, by level.
    """

    name: str
    rows_in: float
    rows_out: float
    work: tuple[tuple[str, float], ...]
    bytes: float = 0.0
    visited: tuple[float, ...] = ()
    alive: tuple[float, ...] = ()

    @property
    def nanoseconds(self) -> float:
        """The time on one core."""
        return sum(NANOSECONDS[unit] * amount for unit, amount in self.work)

    def renamed(self, units: Mapping[str, str]) -> OperatorCost:
        """Rename units of work."""
        work = ((units.get(unit, unit), amount) for unit, amount in self.work)
        return replace(self, work=tuple(work))


@dataclass(frozen=True, slots=True)
class Cost:
    """The operators from the bottom up, and the number of results."""

    operators: tuple[OperatorCost, ...]

    @property
    def nanoseconds(self) -> float:
        """The time on one core."""
        return sum(each.nanoseconds for each in self.operators)

    @property
    def bytes(self) -> float:
        """The memory of the state."""
        return sum(each.bytes for each in self.operators)

    @property
    def results(self) -> float:
        """The number of results."""
        return self.operators[-1].rows_out if self.operators else 0.0

    def operator(self, name: str) -> OperatorCost | None:
        """The cost of the operator with this name; if there are several, of the topmost one."""
        return next((each for each in reversed(self.operators) if each.name == name), None)


# ---------------------------------------------------------------- dense codes

Tests: TypeAlias = tuple[EquivalenceTest, ...]
# The bits of the widest dense codes: at least the first number. If all events are loaded, also as
# many as the number of events needs plus the last number, up to the second; or as many as it needs,
# up to the third: a key has a cache line of state. In stacks of rows it has a few bytes.
FEWEST_BITS, SOME_BITS, MOST_BITS, MORE_BITS = 16, 19, 23, 4
# The numbers of state for which an event pays that has dense codes: a table of codes takes as long
# as to clear them.
CLEARED = 24
# The dense codes for which an event pays in stacks of rows. A thread has a part of the events.
OF_ROWS = 4
# With fewer texts the table of codes stays in the cache.
MANY_TEXTS = 1 << 14
# The states of up to 2**15 keys stay in the cache; with 23 times as many, hardly any does.
NEAR_BITS, FAR_BITS = 15.0, 4.5
# The units of work for codes of texts.
OF_TEXTS = ("plain", "plain_far", "plain_new")
# Bytes of the state of a key, of its head at a level in stacks of rows, and of a page of memory.
KEY_STATE, HEAD, PAGE = 64, 4, 4096


def dense_bits(events: int, codes: int = 0) -> int:
    """The bits of the widest dense codes of keys, if all `events` are loaded.

    Up to `codes` are dense in any case.
    """
    bits = events.bit_length()
    usual = max(FEWEST_BITS, min(bits + MORE_BITS, SOME_BITS), bits)
    return max(min(usual, MOST_BITS), codes.bit_length() - 1)


def work_of_codes(
    keys: Collection[Tests], events: float, statistics: Statistics, heads: int = 0
) -> dict[str, float]:
    """The work that depends on the number of keys and on the distances between their values.

    In stacks of rows a key has a number of `heads`. Plain texts are coded once for all events.
    """
    dense, state = OF_ROWS * statistics.rows if heads else 0, HEAD * heads or KEY_STATE
    known = [codes_of(key, events, statistics, dense) for key in keys]
    return {
        "tabled": events * sum(is_tabled for is_tabled, _ in known),
        "far": events * sum(_far(codes * state / KEY_STATE) for _, codes in known),
        "tabled_far": events * sum(_far(codes) for is_tabled, codes in known if is_tabled),
        "page": sum(pages(codes * state, events) for _, codes in known),
        **_work_of_texts(statistics),
    }


def pages(size: float, events: float) -> float:
    """The pages of a table of `size` bytes that `events` random accesses touch."""
    every = size / PAGE
    return every * (1 - exp(-events / every)) if every > 1 else 0.0


def _work_of_texts(statistics: Statistics) -> dict[str, float]:
    # Types mostly have the same values of an attribute, because it is a key.
    attributes = (each for known in statistics.types for each in known.attributes if each.plain)
    values: dict[str, int] = {}
    for each in attributes:
        values[each.name] = max(values.get(each.name, 0), each.distinct or 1)
    far = sum(count > MANY_TEXTS for count in values.values())
    return {
        "plain": float(statistics.rows * len(values)),
        "plain_far": float(statistics.rows * far),
        "plain_new": float(sum(values.values())),
    }


def codes_of(
    key: Tests, events: float, statistics: Statistics, dense: int = 0
) -> tuple[bool, float]:
    """Whether a table assigns the codes of a key, and their number.

    It does if the values are so far apart that even `dense` codes do not reach. Then the codes
    follow each other, and there is at most one for each event.
    """
    known = [list(statistics.attributes(test.attribute)) for test in key]
    widths = (max(map(_width, each), default=1.0) for each in known)
    bits = sum(ceil(log2(max(width, 1.0))) for width in widths)
    values = prod(max((each.distinct or 1 for each in found), default=1) for found in known)
    if bits > dense_bits(statistics.rows, dense):
        return True, min(values, events)
    return False, values


def _far(values: float) -> float:
    """The share of events with the state of their key outside of the cache."""
    return min(max((log2(max(values, 1.0)) - NEAR_BITS) / FAR_BITS, 0.0), 1.0)


def _width(attribute: AttributeStatistics) -> float:
    """The number of codes of the values; for numbers the range from the least to the greatest."""
    if attribute.quantiles:
        width = attribute.quantiles[-1] - attribute.quantiles[0] + 1
        return width if isfinite(width) else 2.0**64
    return float(attribute.distinct or 1)
