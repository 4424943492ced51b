"""The match windows of the 2012 paper: each one is searched by itself, as its Algorithm 1 does.

The automaton, or a tree of joins, reads the events of a window and finds the matches that begin
with the first of them. One window learns nothing from another. Without a method there is a window
for each event, and it holds all events. With `f` it holds only events that may be of some
component, with `p` only those of the key of its first event, and with `c` only the windows are
searched that may hold a match. The engine finds the same matches by runs that read each event once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa

import sase
from sase.binding.bound import elements_of, ranks_of
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, FULL, Incoming, Machine, Runs
from sase.engine.kernels.runs.graph import Members, RunGraph
from sase.engine.kernels.runs.matches import Listed, is_shown, write_ended, write_listed
from sase.engine.kernels.runs.step import HEAD, Ended, commit, end_run, step
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators import opening
from sase.engine.operators.contract import Context, Counters, span_of
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.kleene.run_operator import NodeStore, RunOperator
from sase.engine.operators.match_window import MatchWindowState
from sase.engine.operators.sets.run_sinks import SetSink
from sase.engine.operators.sets.tree_evaluation import SetTreeEvaluationState
from sase.planning.physical.operators import MatchWindows
from sase.planning.physical.run_algorithm import RunAlgorithm
from sase.planning.plan.match_windows import MatchWindow
from sase.planning.plan.nodes import RunEvaluation

# The records of a window, and the matches, for which there is room at first.
ROOM = 4_096


class Searched(NamedTuple):
    """The matches, the number of searched windows, and the events in all of them."""

    matches: sase.Matches
    windows: int
    events: int


@kernel
def search_windows(
    machine: Machine, graph: RunGraph, members: Members, first: Runs, later: Runs, ended: Ended,
    incoming: Incoming, starts: Ints, ends: Ints, most: int, written: MatchBuffer, listed: Listed,
    counted: OutInts,
) -> int:  # fmt: skip
    """Search windows from one on; if there is no room for a match, that one is searched again.

    A window has the events from its start to its end. Of the runs only the `first` begin any.
    Windows are counted, and the events in them. By an event a run may become as many as `most`.
    """
    cells, state = first.cells, first.state
    while state[nodes.AT] < len(starts):
        begin, end = starts[state[nodes.AT]], ends[state[nodes.AT]]
        matches, bound = written.sizes[0], written.sizes[1]
        state[nodes.USED], state[nodes.FREE], state[nodes.SPARE] = 1, NOTHING, 0
        state[nodes.LIVE] = state[nodes.FRESH] = state[nodes.LOOKED] = 0
        first.heads[0], first.counts[0], ended.state[HEAD] = NOTHING, 0, NOTHING
        why, i = DONE, begin
        while why == DONE and i < end:
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
        counted[1] += end - begin
        state[nodes.AT] += 1
    return DONE


class WindowStore(NodeStore):
    """The runs of one window at a time."""

    def search(self, incoming: Incoming, starts: Numbers, ends: Numbers, counted: Numbers) -> int:
        """Search windows until the kernel stops; return its reason."""
        later = self._runs._replace(rules=self._runs.rules._replace(first=0))
        ended = self._step.ended or Ended(np.array([NOTHING, 0, 0], np.int64))
        assert self._step.members is not None
        why: int = search_windows(
            self._program.machine(), self._graph, self._step.members, self._runs, later, ended,
            incoming, starts, ends, self._most, self._room.written, self._room.beside, counted,
        )  # fmt: skip
        return why

    def double(self) -> None:
        """Make room for twice as many nodes."""
        self._make_room_for_nodes(2 * len(self._runs.cells))


@kernel
def join_windows(
    incoming: Incoming, steps: Ints, starts: Ints, ends: Ints, state: OutInts, leaves: OutIntRows,
    sizes: OutInts, records: OutIntRows, written: OutIntRows, counted: OutInts,
) -> int:  # fmt: skip
    """Join the leaf buffers of windows from one on; return the reason why it stops.

    `steps` has the set of each component. The leaf of the first event has no other event, because a
    match of the window begins with it, and is the first to be joined. `state` has the next window,
    and the number of written matches.
    """
    while state[0] < len(starts):
        begin, end, first = starts[state[0]], ends[state[0]], NOTHING
        sizes[:] = 0
        for i in range(begin, end):
            bits, level = incoming.begins[i], 0
            while bits:
                if bits & 1:
                    leaves[level, sizes[level]] = i
                    sizes[level] += 1
                    if i == begin:
                        first = level
                bits >>= 1
                level += 1
        low, high = 0, 0
        if first != NOTHING and incoming.keys[begin] >= 0:
            records[0, first], high = begin, 1
        for level in range(len(steps)):
            if level == first:
                continue
            after = high
            for place in range(sizes[level]):
                i = leaves[level, place]
                if incoming.keys[i] != incoming.keys[begin]:
                    continue
                for record in range(low, high):
                    if is_in_order(incoming, steps, records[record], first, level, i):
                        if after == len(records):
                            return CROWDED
                        for other in range(len(steps)):
                            records[after, other] = records[record, other]
                        records[after, level] = i
                        after += 1
            low, high = high, after
        if high - low > len(written) - state[1]:
            return FULL
        for record in range(low, high):
            for level in range(len(steps)):
                written[state[1], level] = incoming.numbers[records[record, level]]
            state[1] += 1
        counted[0] += 1
        counted[1] += end - begin
        state[0] += 1
    return DONE


@inlined
def is_in_order(
    incoming: Incoming, steps: Ints, record: OutInts, first: int, level: int, i: int
) -> bool:
    """Whether an event is after all of earlier sets that a record has, and before all of later."""
    tie = incoming.ties[i]
    for other in range(len(steps)):
        if other == first or other < level:
            known = incoming.ties[record[other]]
            if steps[other] < steps[level] and known >= tie:
                return False
            if steps[other] > steps[level] and known <= tie:
                return False
    return True


@dataclass
class Search:
    """The windows of a run, with the events that its operators add.

    There are the times of all events. If events are filtered, `marks` says by position which ones
    begin a window that is searched. `counted` are windows and their events.
    """

    times: Numbers
    windows: MatchWindow | None
    marks: Mask = field(init=False)
    parts: list[tuple[Incoming, Numbers]] = field(default_factory=list)
    counted: Numbers = field(default_factory=lambda: np.zeros(2, np.int64))

    def __post_init__(self) -> None:
        self.marks = np.full(len(self.times), self.windows is None)

    def cut(self, span: int) -> tuple[Incoming, Numbers, Numbers]:
        """The events by key and time, and of each searched window its start and its end."""
        whole, positions = self._filtered() if self.windows else self._all()
        starts = np.flatnonzero(self.marks[positions])
        keys = whole.keys if self.windows and self.windows.partitions else 0
        apart = int(whole.measures.max(initial=0)) + span + 1
        reached = keys * apart + whole.measures
        return whole, starts, np.searchsorted(reached, reached[starts] + span, side="right")

    def _filtered(self) -> tuple[Incoming, Numbers]:
        assert self.windows is not None
        positions = np.concatenate([each for _, each in self.parts])
        columns = zip(*(part for part, _ in self.parts), strict=True)
        whole = Incoming(*map(np.concatenate, columns))
        if not self.windows.partitions:
            return whole, positions
        order = np.argsort(whole.keys, kind="stable")
        return Incoming(*(each[order] for each in whole)), positions[order]

    def _all(self) -> tuple[Incoming, Numbers]:
        """Also the events of no component."""
        count = len(self.times)
        whole = Incoming(*(np.zeros(count, np.int64) for _ in Incoming._fields))
        for part, positions in self.parts:
            for column, values in zip(whole, part, strict=True):
                column[positions] = values
        whole.measures[:] = self.times
        whole.ties[:] = np.append(0, np.cumsum(np.diff(self.times) > 0))
        return whole, np.arange(count)


class WindowsAtTheEnd(RunEvaluationBase):
    """An evaluation that searches the windows after all events have come."""

    _search: Search

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Take the events of a block."""
        self._search.parts.append((self._admission.incoming(block), block.positions.copy()))
        return iter(())

    def horizon(self) -> int | None:
        """The first event: all are needed."""
        return 0

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield all matches at the end."""
        if watermark.is_final and self._search.parts:
            assert self._window is not None
            yield from self.found(*self._search.cut(span_of(self._window)))

    def found(self, whole: Incoming, starts: Numbers, ends: Numbers) -> Iterator[Any]:
        """Yield the matches of windows, each of which has the events from a start to its end."""
        raise NotImplementedError


class RunsByWindow(WindowsAtTheEnd, RunOperator):
    """The automaton over each window, after all events have come."""

    def __init__(
        self, search: Search, node: RunEvaluation, context: Context, *_: Any, **__: Any
    ) -> None:
        super().__init__(node, context, WindowStore, SetSink)
        self._search = search

    def found(self, whole: Incoming, starts: Numbers, ends: Numbers) -> Iterator[Any]:
        """Yield the matches of runs, which have no key within a window."""
        store = self.store
        assert isinstance(store, WindowStore)
        whole.keys[:] = 0
        store.make_room_for_keys(1)
        store.begin_block(whole)
        why = FULL
        while why != DONE:
            why = store.search(whole, starts, ends, self._search.counted)
            yield from self.flushed(why)
            if why == CROWDED:
                store.double()


class TreesByWindow(WindowsAtTheEnd, SetTreeEvaluationState):
    """A tree of joins over each window, after all events have come."""

    def __init__(
        self, search: Search, node: RunEvaluation, context: Context, *_: Any, **__: Any
    ) -> None:
        RunEvaluationBase.__init__(self, node, context, joins=True)
        assert not node.conditions, "only keys and order relate the events"
        self._ranks = np.array(ranks_of(node.components), np.int64)
        sets = elements_of(node.components)
        self._steps = np.array([n for n, levels in enumerate(sets) for _ in levels], np.int64)
        self._search = search

    def counters(self) -> Counters:
        """No counters but those of the windows."""
        return {}

    def found(self, whole: Incoming, starts: Numbers, ends: Numbers) -> Iterator[Any]:
        """Yield the joined events of windows."""
        levels, state = len(self._steps), np.zeros(2, np.int64)
        leaves = np.empty((levels, int((ends - starts).max(initial=0))), np.int64)
        records, written = np.empty((2, ROOM, levels), np.int64)
        why = FULL
        while why != DONE:
            why = join_windows(
                whole, self._steps, starts, ends, state, leaves, np.zeros(levels, np.int64),
                records, written, self._search.counted,
            )  # fmt: skip
            if state[1]:
                yield self._ordered(written[: state[1]].copy())
            elif why == FULL:
                written = np.empty((2 * len(written), levels), np.int64)
            if why == CROWDED:
                records = np.empty((2 * len(records), levels), np.int64)
            state[1] = 0


class MarkedWindows(MatchWindowState):
    """A match window that marks the first event of each searched window."""

    def __init__(self, search: Search, *opened: Any) -> None:
        super().__init__(*opened)
        self._search = search

    def _starts(self, block: Block, takes: Numbers, keys: Numbers, measures: Numbers) -> Mask:
        starts = super()._starts(block, takes, keys, measures)
        self._search.marks[block.positions] = starts
        return starts


def searched(plan: sase.Plan, table: pa.Table, *, by_tree: bool = False) -> Searched:
    """Run a plan of runs in which each window is searched by itself, by the method of the plan.

    The automaton searches sets, and the tree patterns of single events with nothing but a key.
    """
    times = table.column("ts").to_numpy().astype(np.int64)
    search, opener = Search(times, plan.engine.match_window), opening.opener

    def opened(node: object) -> Any:
        match node:
            case MatchWindows():
                return partial(MarkedWindows, search)
            case RunAlgorithm():
                return partial(TreesByWindow if by_tree else RunsByWindow, search)
        return opener(node)

    with mock.patch.object(opening, "opener", opened):
        matches = plan.run(table, threads=1)
        len(matches)
    return Searched(matches, *map(int, search.counted))
