"""(NFAb) Merge runs that behave alike into one run, and enumerate its matches."""

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
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.run_operator import NodeStore, RunStep
from sase.engine.operators.kleene.saved_runs import Edges, check_lengths, check_runs, check_starts
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of


class MergedStore(NodeStore):
    """Nodes that represent several runs, with edges to the nodes before them."""

    layout = NodeStore.layout | dict(
        links=Array(None, 2, low=NOTHING, path=None),
        edges=Array(None, 2, low=NOTHING, path=None),
        measures=Array(None, path="_merging.seen"),
        merging=Array(SAME, low=NOTHING, high=MOST_COUNTED, path="_merging.state"),
    )

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        super().__init__(code, step, room)
        self.kernel = advance_merged
        size, state = code.context.options.stack, np.zeros(of.MERGING_STATE, np.int64)
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
        """Return, by level, the number of node columns that are still read, and these columns."""
        components, rows = self._code.context.components, list[list[int]]()
        levels = len(components)
        for level, component in enumerate(components):
            # From a further event on, or from the end of the series; a single event only has an
            # end.
            first = of.MOMENTS * level + of.BEGIN + (1 if component.maximum != 1 else 2)
            columns = self._program.code.still_read(range(first, of.MOMENTS * levels))
            rows.append([len(columns), *columns])
        table = np.zeros((levels, max(map(len, rows))), np.int64)
        for level, row in enumerate(rows):
            table[level, : len(row)] = row
        return table

    def step(self, machine: of.Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; return its reason."""
        return advance_merged(
            machine, self._graph, self._runs, self._merging, incoming, self._room.written
        )

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the fields of a number of partitions."""
        super().make_room_for_keys(keys)
        seen, keys = self._merging.seen, len(self._runs.heads)
        if keys > len(seen):
            self._merging = self._merging._replace(seen=grown(seen, keys, EARLIEST))

    def make_room(self, incoming: Incoming) -> None:
        """Make room for the runs that an event may make, or for ways to enumerate."""
        if self._merging.state[of.ENUMERATING]:
            frames, ways = self._merging.frames, self._merging.ways
            self._merging = self._merging._replace(frames=_twice(frames), ways=_twice(ways))
            return
        key = incoming.keys[self._runs.state[of.AT]]
        needed = (int(self._runs.counts[key]) + 1) * self._code.context.levels
        self.expire(EARLIEST)
        # If few nodes are free, runs would soon have to be expired again.
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

    def expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed, NOTHING if there is none."""
        return int(expire_merged(self._runs, self._merging, bound, self.spot))

    def counters(self) -> Counters:
        """Count the runs that were merged into others, and those of them that may go on."""
        merged, alive = map(int, self._merging.state[[of.MERGED, of.MERGED_ALIVE]])
        return {"merged": merged, "merged_alive": alive}

    def _encoded(self) -> dict[str, Any]:
        merging = self._merging
        edges = merging.edges[: int(merging.state[of.EDGES])]
        links = merging.links[: int(self._runs.state[of.USED])]
        return super()._encoded() | {"links": links, "edges": edges}

    def _take(self, saved: Saved, values: Any) -> None:
        merging, state, edges = self._merging, values.merging, values.edges
        is_still = not (state[of.FRAMES] or state[of.WAYS] or state[of.ENUMERATING])
        saved.check(is_still or saved.live.is_done, "matches of an event are under way")
        saved.check(state[of.EDGES] == len(edges), "there is not a row for each edge")
        self._merging = merging._replace(
            links=grown(values.links, max(len(values.links), len(self._runs.cells)), NOTHING),
            edges=grown(edges, max(len(edges), len(merging.edges))),
            seen=values.measures,
            state=state,
        )
        super()._take(saved, values)

    def _check(self, saved: Saved, built: int) -> None:
        """Refuse runs and edges that lead to wrong nodes."""
        cells, links = self._runs.cells, self._merging.links
        rows = int(self._runs.state[of.USED])
        saved.check(len(links) >= rows, "there are fewer links than nodes")
        edges = self._check_edges(saved, cells[:rows], links[:rows])
        nodes = check_runs(saved, self._runs, self._code.context.levels, built, edges)
        keys, several = cells[nodes, KEY], cells[nodes, of.DEPTH]
        saved.check(((keys >= 0) & (keys < len(self._merging.seen))).all(), "there is no such key")
        before = cells[nodes, of.PREVIOUS]
        after = np.where(before == of.ROOT, 0, cells[before, of.DEPTH])
        is_one = links[nodes, of.HEAD_EDGE] == NOTHING
        # The depth of nodes of several runs, and of the nodes after them, is negative.
        fits = (several == SEVERAL) | (is_one & (several == after + 1))
        saved.check(fits.all(), "a depth is not that of its node")
        check_lengths(saved, cells, nodes[several > 0])
        check_starts(saved, cells, nodes, edges)

    def _check_edges(self, saved: Saved, cells: Numbers, links: Numbers) -> Edges:
        """Return the nodes with edges and the targets; each edge is of one node, or free."""
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
