"""(Tree) Series at the leaves of a tree: joins of what must occur, walks through what is between.

A series has one record in its leaf for each event that may be its last, not one for each subset of
the events that it may take: a record of the whole tree has an event of each component that must
occur. That closes the series by their neighbours: what else a match may have lies between two
events of a record, or before the first. Only these events are handed on to walks, which choose of
them, decide what joins could not, and give matches in the order of results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, bound_of
from sase.engine.operators.kleene.walk_back_evaluation import WalkBackEvaluationState, unknown
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.operators.run_joins import RunJoins, by_join
from sase.engine.snapshots.layout import Array
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation
from sase.planning.trees import decided_by_joins, leaf_levels

# Rows of what may take part: its number, key, tie and measure, and levels as bits.
NUMBER, KEY, TIE, MEASURE, BEGINS, TAKES = range(6)
ROWS = 6


class SeriesTreeEvaluationState(WalkBackEvaluationState):
    """A buffer of each component that must occur and of each join, and walks through the rest."""

    layout = (
        WalkBackEvaluationState.layout | RunJoins.layout | dict(pool=Array(ROWS, None, path=None))
    )

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        self._leaves = leaf_levels(node.components)
        joined = tuple(node.components[level] for level in self._leaves)
        flat = replace(context, components=joined)
        groups = by_join(decided_by_joins(node.components, node.conditions), joined, node.joins)
        checking = ResidualFilter(flat, self._rest, groups, len(joined))
        self._joins = RunJoins(flat, node.joins, node.window, checking)
        self._pool = [np.empty((ROWS, 0), np.int64)]
        # As bits, by leaf, what may be in the gap before its event.
        self._gaps = [
            sum(
                1 << each
                for each in range(low + 1, level + 1)
                if each < level or not node.components[level].is_single
            )
            for low, level in zip((-1, *self._leaves), self._leaves, strict=False)
        ]

    # ------------------------------------------------------------ matches

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that a block completes."""
        self._seen += len(block)
        if self.node.nothing is not None or not len(block):
            return
        incoming = self._incoming(block, block.positions)
        self._remember(incoming)
        self._joins.widen(self._context.dictionary.size(self._key))
        arrivals = block.arrivals(self._admitted(incoming), incoming.keys, incoming.measures)
        records = np.concatenate([*self._joins.rounds(arrivals)])
        if len(records):
            yield from self._chosen(records, int(incoming.numbers[0]))

    def _remember(self, incoming: Incoming) -> None:
        """Keep what may take part."""
        columns = (
            incoming.numbers, incoming.keys, incoming.ties, incoming.measures,
            incoming.begins, incoming.takes,
        )  # fmt: skip
        events = np.stack([np.asarray(column, np.int64) for column in columns])
        some = (events[KEY] >= 0) & ((events[BEGINS] | events[TAKES]) != 0)
        if some.any():
            self._pool.append(events[:, some])

    def _admitted(self, incoming: Incoming) -> Numbers:
        """As bits the leaves that events come to: of a series that of its last event."""
        states = np.zeros(len(incoming.numbers), np.int64)
        for leaf, level in enumerate(self._leaves):
            may = incoming.begins
            if not self.node.components[level].is_single:
                may = may | incoming.takes
            states |= (may >> level & 1) << leaf
        return states

    def _chosen(self, records: Numbers, fresh: int) -> Iterator[Bindings]:
        """The matches of new records, whose last events are from a number on."""
        self._pool = [np.concatenate(self._pool, axis=1)]
        events = self._wanted(self._pool[0], records)
        _, keys = np.unique(events[KEY], return_inverse=True)
        events[KEY] = keys.reshape(-1)
        levels, walk = self._context.levels, self._walk
        known = unknown(levels * (int(events[KEY].max(initial=0)) + 1))
        last = walk.bounds.last
        split = int(np.searchsorted(events[NUMBER], fresh))
        # What is older ends no match that is not told yet.
        self._walk = walk._replace(known=known, bounds=walk.bounds._replace(last=0))
        yield from self._walked(_as_incoming(events[:, :split]))
        self._walk = self._walk._replace(bounds=walk.bounds._replace(last=last))
        yield from self._walked(_as_incoming(events[:, split:]))
        self._forget()

    def _forget(self) -> None:
        """Forget the events of walks, one of which LIMIT may have left half done."""
        state = self._walk.state
        state[of.TAIL] = state[of.COUNT]
        state[of.DEPTH] = state[of.WAYS] = 0
        self._walk = self._walk._replace(known=unknown(self._context.levels))

    def _wanted(self, pool: Numbers, records: Numbers) -> Numbers:
        """The events of records, each as what it is there, and those in their gaps."""
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
                # Where gaps begin and end, added up, is where there is one.
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

    def horizon(self) -> int | None:
        """The oldest event that may take part, once those are given up whose window has passed."""
        if self._watermark.is_final:
            return None
        self._evict()
        return next((int(each[NUMBER, 0]) for each in self._pool if each.shape[1]), None)

    def _evict(self) -> None:
        """Give up what is in no match to come."""
        if self._walk.bounds.prunes and not self._watermark.is_final:
            bound = bound_of(self._watermark, self._window)
            self._joins.evict(bound)
            pool = np.concatenate(self._pool, axis=1)
            self._pool = [pool[:, pool[MEASURE] >= bound]]

    def counters(self) -> Counters:
        """Events, records of joins and what is kept of them, and what walks did."""
        size = self._joins.size + sum(part.nbytes for part in self._pool)
        found = {**super().counters(), **self._joins.counters()}
        if "most_bytes" in found:
            found["most_bytes"] += size
        return found

    def _encoded(self) -> dict[str, Any]:
        self._evict()
        self._forget()
        joins = self._joins.state(self._context.dictionary.size(self._key))
        return super()._encoded() | joins | {"pool": np.concatenate(self._pool, axis=1)}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._joins.take(values.tried)
        pool, keys = values.pool, max(self._context.dictionary.size(self._key), 1)
        saved.check_events(pool[NUMBER])
        saved.check(bool((np.diff(pool[NUMBER]) > 0).all()), "what may take part is not in order")
        is_key = (pool[KEY] >= 0) & (pool[KEY] < keys)
        saved.check(bool(is_key.all()), "there is no such key")
        is_level = (pool[BEGINS] | pool[TAKES]) >> self._width == 0
        saved.check(bool(is_level.all()), "there is no such level")
        self._pool = [pool]


def _as_incoming(events: Numbers) -> Incoming:
    rows = (np.ascontiguousarray(events[row]) for row in (NUMBER, BEGINS, TAKES, KEY, MEASURE, TIE))
    numbers, begins, takes, keys, measures, ties = rows
    return Incoming(numbers, begins, takes, keys, measures, ties, numbers)
