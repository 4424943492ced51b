"""What a plan costs, as values: nanoseconds of one core and bytes of state, operator by operator.

The work of an operator is counted in units of some nanoseconds each, which
`experiments/calibrate.py` measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

# Events of a block: stacks drop what has left the window once for each.
BLOCK = 1 << 17
# No plan takes more state than this if another takes less: runs may be more than fit.
MOST_BYTES = 1 << 30
# What the work of operators is made of, and the nanoseconds of each on a 2-core virtual machine.
NANOSECONDS: Mapping[str, float] = {
    "run": 2_200_000.0,  # what every run takes
    "event": 1.8,  # of the input
    "admitted": 8.0,  # an event of the query's types
    "windowed": 8.0,  # an event and a step of match windows
    "simple": 1.0,  # an operation of a condition on one event
    "key": 11.0,  # a number of the key of an event
    "far": 20.0,  # an event of whose key so much is known that it does not lie in the cache
    "tabled": 10.0,  # a key whose code is looked up in a table
    "tabled_far": 40.0,  # the same where the table does not lie in the cache
    "plain": 12.0,  # a plain text of the input, whose code is looked up
    "plain_far": 45.0,  # the same where there are so many that the table is not in the cache
    "plain_new": 120.0,  # one that has not been there before
    "hashed": 80.0,  # what a merged run is, which is looked up
    "stored": 8.0,  # a number of an event that is kept for tests and conditions
    "pushed": 5.0,  # an instance on a stack
    "shared": 80.0,  # an instance on the stacks of several attributes
    # The same of a walk that the fused scan takes.
    "fused_run": 1_300_000.0,
    "fused_event": 2.6,
    "fused_admitted": 8.0,
    "fused_key": 9.0,
    "fused_pushed": 14.0,
    "fused_noted": 25.0,
    "fused_visited": 3.0,
    # What joins take instead, of events near the rarest component where that is rare.
    "tree_run": 1_600_000.0,
    "tree_event": 1.2,  # of the input: its type is looked at
    "ranged": 3.0,  # one in the window of a rare one: its key is looked at
    "near": 10.0,  # one near a rare one
    "leaf": 17.0,  # one of the query's types
    "filled": 30.0,  # a record in a leaf
    "tree_noted": 40.0,  # an event of a negative component
    "sought": 12.0,  # a record that looks for those before it, which a join gives it
    "linked": 12.0,  # a record that others may find
    "paired": 3.0,  # a pair of records that a join tries
    "made": 8.0,  # a record that it makes
    "ordered": 130.0,  # a sequence that is put into the order of results
    "visited": 7.0,  # an instance that the walk looks at
    "pointer": 5.0,  # a pointer of the runtime stack that it follows
    "tested": 2.0,  # an equivalence test on an instance or a sequence
    "tried": 28.0,  # an instance on which the walk decides conditions
    "selected": 22.0,  # a sequence on which selection decides them
    "decided": 2.0,  # an operation of a condition on several events
    "walked": 100.0,  # an event at which a walk back from the end decides early conditions
    "rebuilt": 320.0,  # a walk that is bound anew, event by event, to decide the others
    "distinguished": 160.0,  # a match that is told apart from others of a merged run
    "built": 3.0,  # a sequence
    "bound": 1.0,  # an event of a sequence
    "listed": 25_000.0,  # a match of a compressed set, which Python walks to
    "checked": 2.0,  # a sequence by an operator above construction
    "gathered": 1.0,  # an event of such a sequence
    "indexed": 60.0,  # an event of a negative component
    "met": 2.0,  # a test on such an event in a gap, where the index is by time alone
    "noted": 50.0,  # the same where it bounds the walk
    "probed": 90.0,  # a search of the index for a sequence
    "placed": 40.0,  # a pair of events of a candidate of imprecise time, in a fixed order
    "spread": 900.0,  # such a pair where a series is a set: from 300 to 1,700, as intervals overlap
    "forbidden": 25_000.0,  # a candidate that a negative component may forbid: from 13 to 50 µs
    "returned": 1.0,  # a result
}

# What units are where the fused scan takes a walk.
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
    """What is expected of an operator: what goes in and out, its work, and its memory.

    `visited` are of construction the choices that the walk looks at, by level; `alive` of the scan
    the instances that are remembered at a time, by level.
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
        """The time of one core."""
        return sum(NANOSECONDS[unit] * amount for unit, amount in self.work)

    def renamed(self, units: Mapping[str, str]) -> OperatorCost:
        """The same work in units of other names."""
        work = ((units.get(unit, unit), amount) for unit, amount in self.work)
        return replace(self, work=tuple(work))


@dataclass(frozen=True, slots=True)
class Cost:
    """The operators from the bottom up, and the results."""

    operators: tuple[OperatorCost, ...]

    @property
    def nanoseconds(self) -> float:
        """The time of one core."""
        return sum(each.nanoseconds for each in self.operators)

    @property
    def bytes(self) -> float:
        """The memory that the state takes."""
        return sum(each.bytes for each in self.operators)

    @property
    def results(self) -> float:
        """The number of results."""
        return self.operators[-1].rows_out if self.operators else 0.0

    def operator(self, name: str) -> OperatorCost | None:
        """The cost of an operator by the name of its node: of several the one above the others."""
        return next((each for each in reversed(self.operators) if each.name == name), None)
