"""The plain match window of the 2012 paper: each is searched by itself, and none is left out.

The events of the window of each event are given to the automaton, which looks for the matches that
begin with that one. One window learns nothing from another, and events of no component are events
like all others. It finds the same matches as runs that meet each event once, and takes longer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import sase
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, FULL, Incoming, Machine, Runs
from sase.engine.kernels.runs.graph import Members, RunGraph
from sase.engine.kernels.runs.matches import Listed, is_shown, write_ended, write_listed
from sase.engine.kernels.runs.step import HEAD, Ended, commit, end_run, step
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators import opening
from sase.engine.operators.contract import Context, span_of
from sase.engine.operators.kleene.run_operator import NodeStore, RunOperator
from sase.engine.operators.sets.run_sinks import SetSink
from sase.planning.physical.runs import SetLines, SetRuns
from sase.planning.plan.nodes import RunEvaluation


@kernel
def search_windows(
    machine: Machine, graph: RunGraph, members: Members, first: Runs, later: Runs, ended: Ended,
    incoming: Incoming, span: int, most: int, written: MatchBuffer, listed: Listed,
    counted: OutInts,
) -> int:  # fmt: skip
    """Search windows, on from one; where there is no room that one is searched once more.

    Of the runs only the `first` begin any. Counted are windows, and the events in them. By an event
    a run may become as many as `most`.
    """
    cells, state, count = first.cells, first.state, incoming.numbers.shape[0]
    while state[nodes.AT] < count:
        begin, matches, bound = state[nodes.AT], written.sizes[0], written.sizes[1]
        state[nodes.USED], state[nodes.FREE], state[nodes.SPARE] = 1, NOTHING, 0
        state[nodes.LIVE] = state[nodes.FRESH] = state[nodes.LOOKED] = 0
        first.heads[0], first.counts[0], ended.state[HEAD] = NOTHING, 0, NOTHING
        why, i = DONE, begin
        while why == DONE and i < count:
            if incoming.measures[i] - incoming.measures[begin] > span:
                break
            needed = (first.counts[0] + 1) * most
            room = cells.shape[0] - state[nodes.USED] + state[nodes.SPARE]
            if needed > room or needed > first.fresh.shape[0]:
                why = CROWDED
                break
            runs = first if i == begin else later
            step(machine, graph, None, members, None, ended, runs, incoming, i)
            if not write_ended(graph, None, runs, ended, NOTHING, written, listed):
                why = FULL
            for place in range(state[nodes.FRESH]):
                is_match = is_shown(machine, graph, None, members, ended, runs, place)
                if is_match and not write_listed(
                    graph, None, cells, runs.fresh[place], NOTHING, written, listed
                ):
                    why = FULL
            commit(graph, None, members, None, runs, 0)
            i += 1
        while why == DONE and later.heads[0] != NOTHING:
            later.state[nodes.EXPIRED] += 1
            end_run(machine, graph, None, members, ended, later, 0, NOTHING, later.heads[0])
        if why == DONE and not write_ended(graph, None, later, ended, NOTHING, written, listed):
            why = FULL
        if why != DONE:
            written.sizes[0], written.sizes[1] = matches, bound
            return why
        counted[0] += 1
        counted[1] += i - begin
        state[nodes.AT] = begin + 1
    return DONE


class PlainStore(NodeStore):
    """The runs of one window at a time."""

    def search(self, incoming: Incoming, span: int, counted: Numbers) -> int:
        """Search windows until the kernel stops; why it did."""
        later = self._runs._replace(rules=self._runs.rules._replace(first=0))
        ended = self._step.ended or Ended(np.array([NOTHING, 0, 0], np.int64))
        assert self._step.members is not None
        why: int = search_windows(
            self._program.machine(), self._graph, self._step.members, self._runs, later, ended,
            incoming, span, self._most, self._room.written, self._room.beside, counted,
        )  # fmt: skip
        return why

    def double(self) -> None:
        """Make room for twice as many nodes."""
        self._make_room_for_nodes(2 * len(self._runs.cells))


class PlainWindows(RunOperator):
    """An evaluation that has all events at its end, and searches their windows then."""

    # The times of all events, and the counters.
    times: Numbers = np.empty(0, np.int64)
    counted: Numbers = np.zeros(2, np.int64)

    def __init__(self, node: RunEvaluation, context: Context, *_: Any, **__: Any) -> None:
        super().__init__(node, context, PlainStore, SetSink)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Take the events of a block."""
        self._spots = block.positions
        return super().push(block, below)

    def _advance(self, incoming: Incoming) -> Iterator[Any]:
        self._parts: list[tuple[Incoming, Numbers]] = getattr(self, "_parts", [])
        self._parts.append((incoming, self._spots.copy()))
        return iter(())

    def horizon(self) -> int | None:
        """The first event: all are needed."""
        return 0

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield all matches at the end."""
        if watermark.is_final:
            yield from self._searched()

    def _searched(self) -> Iterator[Any]:
        assert self._window is not None
        count = len(self.times)
        whole = Incoming(*(np.zeros(count, np.int64) for _ in Incoming._fields))
        whole.measures[:] = self.times
        for incoming, spots in self._parts:
            for name in ("numbers", "begins", "takes"):
                getattr(whole, name)[spots] = getattr(incoming, name)
        whole.ties[:] = np.append(0, np.cumsum(np.diff(self.times) > 0))
        store = self.store
        assert isinstance(store, PlainStore)
        store.make_room_for_keys(1)
        store.begin_block(whole)
        why = FULL
        while why != DONE:
            why = store.search(whole, span_of(self._window), self.counted)
            yield from self.flushed(why)
            if why == CROWDED:
                store.double()


def searched_by_itself(query: str, table: pa.Table, recipe: str) -> tuple[int, int, int]:
    """Matches, windows and their events, where each window of a plan of sets is searched by itself.

    All events are of one key, whatever the recipe does.
    """
    PlainWindows.times = table.column("ts").to_numpy().astype(np.int64)
    PlainWindows.counted = np.zeros(2, np.int64)
    known = opening.opener

    def opener(node: object) -> Any:
        return PlainWindows if isinstance(node, SetRuns | SetLines) else known(node)

    with mock.patch.object(opening, "opener", opener):
        matches = len(sase.compile(query, table, plan=recipe).run(table, threads=1))
    return matches, *map(int, PlainWindows.counted)
