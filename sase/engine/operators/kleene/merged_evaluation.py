"""(NFAb) Merged evaluation: runs that behave alike are one; their matches are enumerated."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.kernels.runs.merged_enumeration import FRAME, WAY, advance_merged
from sase.engine.kernels.runs.merged_runs import KEY, SEVERAL, expire_merged
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Checkpoint, Context, Counters
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.kleene.saved_runs import Edges, check_lengths, check_runs, check_starts
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of
from sase.planning.nodes import RunEvaluation


class MergedEvaluationState(RunEvaluationState):
    """A running merged evaluation."""

    kernel: Any = staticmethod(advance_merged)

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        size, state = context.options.stack, np.zeros(of.MERGING_STATE, np.int64)
        state[of.FREE_EDGE] = NOTHING
        self._merging = of.Merging(
            frozen(self._needed()),
            np.full((len(self._runs.cells), 2), NOTHING, np.int64),
            np.zeros((size, 2), np.int64),
            np.zeros((size, 2), np.int64),
            np.full(len(self._runs.heads), EARLIEST, np.int64),
            np.zeros((size, FRAME), np.int64),
            np.zeros((size, WAY), np.int64),
            state,
        )

    def _needed(self) -> Numbers:
        """By level the columns of a node that are still read, behind their number."""
        levels, rows = self._context.levels, list[list[int]]()
        for level, component in enumerate(self._context.components):
            # From a further event on, or from the end of the series; a single event has
            # only an end.
            first = of.MOMENTS * level + of.BEGIN + (1 if component.maximum != 1 else 2)
            columns = self._program.code.still_read(range(first, of.MOMENTS * levels))
            rows.append([len(columns), *columns])
        table = np.zeros((levels, max(map(len, rows))), np.int64)
        for level, row in enumerate(rows):
            table[level, : len(row)] = row
        return table

    def _step(self, machine: of.Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; why it did."""
        return advance_merged(
            machine, self._graph, self._runs, self._merging, incoming, self._room.written
        )

    # ------------------------------------------------------------ room

    def _make_room_for_keys(self, keys: int) -> None:
        super()._make_room_for_keys(keys)
        self._make_room_for_measures()

    def _make_room_for_measures(self) -> None:
        seen, keys = self._merging.seen, len(self._runs.heads)
        if keys > len(seen):
            self._merging = self._merging._replace(seen=grown(seen, keys, EARLIEST))

    def _make_room_for_event(self, key: int) -> None:
        """Make room for all that the runs of a partition may become, or for ways to enumerate."""
        if self._merging.state[of.ENUMERATING]:
            frames, ways = self._merging.frames, self._merging.ways
            self._merging = self._merging._replace(frames=_twice(frames), ways=_twice(ways))
            return
        needed = (int(self._runs.counts[key]) + 1) * self._context.levels
        self._expire(EARLIEST)
        # Where so few nodes are free, expiring runs would soon be needed again.
        room, state = len(self._runs.cells) // 4, self._runs.state
        is_tight = len(self._runs.cells) - int(state[of.USED]) + int(state[of.SPARE]) <= room
        self._make_room_for_nodes(max(needed, room if is_tight else 0))
        merging, state = self._merging, self._merging.state
        links, edges, buckets, ways = merging.links, merging.edges, merging.buckets, merging.ways
        if len(links) < len(self._runs.cells):
            links = grown(links, len(self._runs.cells), NOTHING)
        while len(edges) - state[of.EDGES] + state[of.SPARE_EDGES] <= max(needed, len(edges) // 4):
            edges = _twice(edges)
        while len(buckets) // 2 <= needed:
            buckets = np.zeros((2 * len(buckets), 2), np.int64)
        while len(ways) <= needed:
            ways = _twice(ways)
        self._merging = merging._replace(links=links, edges=edges, buckets=buckets, ways=ways)

    # ------------------------------------------------------------ time and state

    def _expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed."""
        self._make_room_for_measures()
        return int(expire_merged(self._runs, self._merging, bound, self._watermark.position))

    def counters(self) -> Counters:
        """The counters of runs, and how many runs were merged into others."""
        merged, alive = map(int, self._merging.state[[of.MERGED, of.MERGED_ALIVE]])
        return {**super().counters(), "merged": merged, "merged_alive": alive}

    def checkpoint(self) -> Checkpoint:
        """The runs, and what each stands for."""
        merging = self._merging
        return {
            **super().checkpoint(),
            "links": merging.links[: int(self._runs.state[of.USED])],
            "edges": merging.edges[: int(merging.state[of.EDGES])],
            "measures": merging.seen,
            "merging": merging.state,
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        kept = saved.part("links").array(None, 2, low=NOTHING)
        known = saved.part("edges").array(None, 2, low=NOTHING)
        self._restore_merging(saved, kept, known)
        super().restore(saved)

    def _restore_merging(self, saved: Saved, kept: Numbers, known: Numbers) -> None:
        merging, rows = self._merging, max(len(kept), len(self._runs.cells))
        links = grown(kept, rows, NOTHING)
        edges = grown(known, max(len(known), len(merging.edges)))
        seen = saved.part("measures").array(None)
        state = saved.part("merging").array(of.MERGING_STATE)
        saved.check(((state >= NOTHING) & (state <= MOST_COUNTED)).all(), "counts are none")
        is_still = not (state[of.FRAMES] or state[of.WAYS] or state[of.ENUMERATING])
        saved.check(is_still or saved.live.is_done, "matches of an event are under way")
        saved.check(state[of.EDGES] == len(known), "there is not a row for each edge")
        self._merging = merging._replace(links=links, edges=edges, seen=seen, state=state)

    def _check(self, saved: Saved) -> None:
        """Refuse runs and edges that lead anywhere else than such do."""
        cells, links = self._runs.cells, self._merging.links
        rows = int(self._runs.state[of.USED])
        saved.check(len(links) >= rows, "there are fewer links than nodes")
        edges = self._check_edges(saved, cells[:rows], links[:rows])
        nodes = check_runs(saved, self._runs, self._context.levels, self._built, edges)
        keys, several = cells[nodes, KEY], cells[nodes, of.DEPTH]
        saved.check(((keys >= 0) & (keys < len(self._merging.seen))).all(), "there is no such key")
        before = cells[nodes, of.PREVIOUS]
        after = np.where(before == of.ROOT, 0, cells[before, of.DEPTH])
        is_one = links[nodes, of.HEAD_EDGE] == NOTHING
        # Those that stand for several runs, and those that follow them, are counted below zero.
        fits = (several == SEVERAL) | (is_one & (several == after + 1))
        saved.check(fits.all(), "a depth is not that of its node")
        check_lengths(saved, cells, nodes[several > 0])
        check_starts(saved, cells, nodes, edges)

    def _check_edges(self, saved: Saved, cells: Numbers, links: Numbers) -> Edges:
        """The nodes with edges and those that they lead to; each edge is of one node, or free."""
        edges = self._merging.edges[: int(self._merging.state[of.EDGES])]
        is_used = cells[:, of.EVENT] != NOTHING
        is_used[of.ROOT] = False
        heads = np.where(is_used, links[:, of.HEAD_EDGE], NOTHING)
        free = self._merging.state[of.FREE_EDGE : of.FREE_EDGE + 1]
        owners = lists_of(
            np.concatenate([heads, free]), edges[:, of.AFTER], np.arange(len(edges)), saved
        )
        taken = np.flatnonzero(owners < len(heads))
        spare = self._merging.state[of.SPARE_EDGES]
        saved.check(spare == len(edges) - len(taken), "there are more free edges or fewer")
        above, before = owners[taken], edges[taken, of.TO]
        saved.check(((before >= of.ROOT) & (before < len(cells))).all(), "an edge leads nowhere")
        known = before != of.ROOT
        earlier = cells[before[known], of.EVENT]
        is_back = (earlier != NOTHING) & (earlier < cells[above[known], of.EVENT])
        saved.check(is_back.all(), "an edge leads to a node that is not before its own")
        ends = np.flatnonzero(edges[taken, of.AFTER] == NOTHING)
        last = links[above[ends], of.LAST_EDGE]
        saved.check((last == taken[ends]).all(), "a node has another last edge")
        return above, before


def _twice(array: Numbers) -> Numbers:
    return grown(array, 2 * len(array))
