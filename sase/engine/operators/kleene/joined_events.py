"""(Tree) Series at the leaves of a tree: join the required events, walk over those in between.

A series has one record in its leaf for each event that may be its last, not one for each subset of
its events. A record of the whole tree has an event of each component that must occur. All other
events of a match are between two events of a record, or before the first one. Only these events are
passed to walks. The walks choose among them, decide the conditions that joins could not decide, and
give the matches in the order of results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.run_joins import RunJoins, by_join
from sase.engine.snapshots.layout import Array, Declared
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.trees import decided_by_joins, leaf_levels

# The rows of an event that may take part: its number, key, tie and measure, and levels as bits.
NUMBER, KEY, TIE, MEASURE, BEGINS, TAKES = range(6)
ROWS = 6


class JoinedEvents(Declared):
    """A buffer for each required component and for each join, and the events in between."""

    layout = RunJoins.layout | dict(pool=Array(ROWS, None, path=None))

    def __init__(self, code: RunCode) -> None:
        self._code, node, context = code, code.node, code.context
        self._leaves = leaf_levels(node.components)
        joined = tuple(node.components[level] for level in self._leaves)
        flat = replace(context, components=joined)
        groups = by_join(decided_by_joins(node.components, node.conditions), joined, node.joins)
        tests = code.program.code.tests
        checking = ResidualFilter(flat, tests, groups, len(joined))
        self._joins = RunJoins(flat, node.joins, node.window, checking)
        self._pool = [np.empty((ROWS, 0), np.int64)]
        # For each leaf, as bits, the levels that may be in the gap before its event.
        self._gaps = [
            sum(
                1 << each
                for each in range(low + 1, level + 1)
                if each < level or not node.components[level].is_single
            )
            for low, level in zip((-1, *self._leaves), self._leaves, strict=False)
        ]

    # ------------------------------------------------------------ matches

    def chosen(self, block: Block, incoming: Incoming) -> tuple[Incoming, Incoming, int] | None:
        """Return the events of new records and of their gaps, if the block completes records.

        The result has the events before the block, the events of the block, and the number of keys.
        """
        self._remember(incoming)
        self._joins.widen(self._keys)
        arrivals = block.arrivals(self._admitted(incoming), incoming.keys, incoming.measures)
        records = np.concatenate([*self._joins.rounds(arrivals)])
        if not len(records):
            return None
        self._pool = [np.concatenate(self._pool, axis=1)]
        events = self._wanted(self._pool[0], records)
        _, keys = np.unique(events[KEY], return_inverse=True)
        events[KEY] = keys.reshape(-1)
        split = int(np.searchsorted(events[NUMBER], int(incoming.numbers[0])))
        older, newer = _as_incoming(events[:, :split]), _as_incoming(events[:, split:])
        return older, newer, int(events[KEY].max(initial=0)) + 1

    @property
    def _keys(self) -> int:
        return self._code.context.dictionary.size(self._code.admission.key)

    def _remember(self, incoming: Incoming) -> None:
        """Keep the events that may take part."""
        columns = (
            incoming.numbers, incoming.keys, incoming.ties, incoming.measures,
            incoming.begins, incoming.takes,
        )  # fmt: skip
        events = np.stack([np.asarray(column, np.int64) for column in columns])
        some = (events[KEY] >= 0) & ((events[BEGINS] | events[TAKES]) != 0)
        if some.any():
            self._pool.append(events[:, some])

    def _admitted(self, incoming: Incoming) -> Numbers:
        """Return the leaves of events as bits; a series has the leaf of its last event."""
        states = np.zeros(len(incoming.numbers), np.int64)
        for leaf, level in enumerate(self._leaves):
            may = incoming.begins
            if not self._code.node.components[level].is_single:
                may = may | incoming.takes
            states |= (may >> level & 1) << leaf
        return states

    def _wanted(self, pool: Numbers, records: Numbers) -> Numbers:
        """Return the events of records, with their levels there, and the events in their gaps."""
        order = np.argsort(pool[KEY], kind="stable")
        keys = pool[KEY][order]
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        bits = np.zeros(len(order), np.int64)
        before = np.searchsorted(keys, pool[KEY][np.searchsorted(pool[NUMBER], records[:, 0])]) - 1
        for leaf, level in enumerate(self._leaves):
            at = places[np.searchsorted(pool[NUMBER], records[:, leaf])]
            bits[at] |= 1 << level
            if self._gaps[leaf]:
                # The running sum of the starts and ends of gaps is positive inside of a gap.
                edges = np.zeros(len(order) + 1, np.int64)
                np.add.at(edges, before + 1, 1)
                np.add.at(edges, at, -1)
                bits[np.cumsum(edges[:-1]) > 0] |= self._gaps[leaf]
            before = at
        events = pool[:, bits[places] != 0].copy()
        wanted = bits[places][bits[places] != 0]
        events[BEGINS] &= wanted
        events[TAKES] &= wanted
        return events

    # ------------------------------------------------------------ time and state

    def oldest(self) -> int | None:
        """Return the oldest event that may take part."""
        return next((int(each[NUMBER, 0]) for each in self._pool if each.shape[1]), None)

    def evict(self, bound: int) -> None:
        """Drop the events before a bound, which are in no later match."""
        self._joins.evict(bound)
        pool = np.concatenate(self._pool, axis=1)
        self._pool = [pool[:, pool[MEASURE] >= bound]]

    @property
    def size(self) -> int:
        """The bytes of the kept records and events."""
        return self._joins.size + sum(part.nbytes for part in self._pool)

    def counters(self) -> Counters:
        """Count the records of joins, and the kept ones."""
        return self._joins.counters()

    def _encoded(self) -> dict[str, Any]:
        pool = {"pool": np.concatenate(self._pool, axis=1)}
        return self._joins.state(self._keys) | pool

    def _take(self, saved: Saved, values: Any) -> None:
        self._joins.take(values.tried)
        pool = values.pool
        saved.check_events(pool[NUMBER])
        saved.check(bool((np.diff(pool[NUMBER]) > 0).all()), "the joined events are not in order")
        is_key = (pool[KEY] >= 0) & (pool[KEY] < max(self._keys, 1))
        saved.check(bool(is_key.all()), "there is no such key")
        is_level = (pool[BEGINS] | pool[TAKES]) >> self._code.admission.width == 0
        saved.check(bool(is_level.all()), "there is no such level")
        self._pool = [pool]


def _as_incoming(events: Numbers) -> Incoming:
    rows = (np.ascontiguousarray(events[row]) for row in (NUMBER, BEGINS, TAKES, KEY, MEASURE, TIE))
    numbers, begins, takes, keys, measures, ties = rows
    return Incoming(numbers, begins, takes, keys, measures, ties, numbers)
