"""(SES) Keep runs of sets of single events that no event forks, each in a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import lines as lines
from sase.engine.operators.contract import span_of
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.run_operator import NodeStore, RunStep
from sase.engine.operators.programs.set_states import bits
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, in_order, linked


class RowStore(NodeStore):
    """Runs of single events in sets, each in a row in place of nodes; matches do not end runs."""

    layout = dict(
        rows=Array(None, ".width", path=None),
        keys=Array(None, lines.KEY_WIDTH - 1, low=0, path=None),
        counts=Array(SAME, low=0, high=MOST_COUNTED, path="counts"),
    )

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        assert not code.program.code.asks, "rows of runs know comparisons alone"
        self._code, self._room, levels = code, room, code.context.levels
        self.kernel = lines.advance_set_lines
        self._pattern = self._pattern_of()
        # The matches that need room after the written ones were taken.
        self._needed = 0
        self._runs = lines.LineRuns(
            np.zeros((code.context.options.stack, lines.EVENTS + levels), np.int64),
            _keys(16),
            np.zeros(nodes.STATE, np.int64),
        )
        self._runs.state[nodes.FREE] = NOTHING

    def _pattern_of(self) -> lines.LinePattern:
        """Levels and comparisons, as tables for kernels."""
        code, states = self._code.program.code, self._code.states
        places = _places_of(code.tables)
        rows, checks = list[list[int]](), list[list[int]]()
        for level in range(self._code.context.levels):
            begin = len(checks)
            for moment, row in code.gates:
                if moment == nodes.MOMENTS * level + nodes.BEGIN:
                    check = code.tables[row, nodes.PLAIN :].tolist()
                    other = places[check[3]]
                    check[3] = lines.EVENTS + other - nodes.HEAD
                    checks.append([other, *check])
            members = bits(states.automaton.members(level))
            rows.append([members, states.onward(level), begin, len(checks)])
        return lines.LinePattern(
            frozen(np.array(rows, np.int64)),
            frozen(np.array(checks, np.int64).reshape(-1, 1 + nodes.TABLE_WIDTH - nodes.PLAIN)),
            states.first,
            span_of(self._code.node.window),
        )

    def step(self, machine: nodes.Machine, incoming: nodes.Incoming) -> int:
        """Apply events until the kernel stops; return the reason."""
        room, events = self._room, self._needed * self._code.context.levels
        if events > len(room.written.events):
            room.resize(self._needed, events)
        why: int = lines.advance_set_lines(
            machine, self._pattern, self._runs, incoming, room.written, room.beside
        )
        self._needed = int(why == nodes.DONE)
        if why == nodes.FULL:
            # A new run and those of the event's key may all be matches.
            key = incoming.keys[self._runs.state[nodes.AT]]
            self._needed = 1 + int(self._runs.keys[key, lines.COUNT])
        elif why == nodes.CROWDED:
            self.make_room(incoming)
        is_halfway = why == nodes.CROWDED or (why == nodes.FULL and not room.sizes[0])
        return nodes.PAUSED if is_halfway else why

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the entries of this number of partitions."""
        runs = self._runs
        if keys > len(runs.keys):
            room = _keys(max(keys, 2 * len(runs.keys)))
            room[: len(runs.keys)] = runs.keys
            self._runs = runs._replace(keys=room)

    def make_room(self, incoming: nodes.Incoming) -> None:
        """Make room for more runs."""
        rows = self._runs.rows
        self._code.check_memory(2 * rows.nbytes)
        self._runs = self._runs._replace(rows=grown(rows, 2 * len(rows)))

    # ------------------------------------------------------------ time and state

    def expire(self, bound: int) -> int:
        """Free runs with a past window; return the oldest event of the others, or NOTHING."""
        return int(lines.expire_set_lines(self._runs, bound))

    @property
    def bytes_held(self) -> int:
        """The bytes of the rows."""
        return int(self._runs.rows.nbytes)

    @property
    def width(self) -> int:
        """The width of a row that is saved: the next one of its key is not."""
        return int(self._runs.rows.shape[1]) - 1

    def _encoded(self) -> dict[str, Any]:
        rows = self._runs.rows[: int(self._runs.state[nodes.USED])]
        live = np.flatnonzero(rows[:, lines.HELD])
        members = in_order(self._runs.keys[:, lines.HEAD], rows[:, lines.NEXT], live)
        keys = self._runs.keys[:, lines.WANTED :]
        return {"rows": rows[members][:, lines.START :], "keys": keys}

    def _take(self, saved: Saved, values: Any) -> None:
        """Continue from a checkpoint; after LIMIT without runs."""
        count, state = len(values.rows), self._runs.state
        state[nodes.MADE : nodes.SPLIT + 1] = values.counts
        if saved.live.is_done:
            return
        counts = values.keys[:, lines.COUNT - lines.WANTED]
        heads, following, owners = linked(saved, counts, count)
        rows = np.zeros((max(count, len(self._runs.rows)), self.width + 1), np.int64)
        rows[:count, lines.NEXT], rows[:count, lines.START :] = following, values.rows
        _check_rows(saved, rows[:count], self._pattern)
        keys = np.append(heads[:, None], values.keys, axis=1)
        lacks = rows[:count, lines.WAITS] & ~keys[owners, lines.WANTED]
        saved.check(not lacks.any(), "a key waits for less than its runs")
        state[nodes.USED] = state[nodes.LIVE] = count
        self._runs = lines.LineRuns(rows, keys, state)


def _keys(count: int) -> Numbers:
    keys = np.zeros((count, lines.KEY_WIDTH), np.int64)
    keys[:, lines.HEAD], keys[:, lines.LIMIT] = NOTHING, lines.FEWEST
    return keys


def _places_of(tables: Numbers) -> dict[int, int]:
    """The level of the event in a word of nodes, by word."""
    first, end = int(tables[0, nodes.CHANGES_OF]), int(tables[0, nodes.CHANGES])
    begins = tables[first:end, 0].tolist()
    return {
        int(tables[end + number, 1]): level
        for level, (begin, stop) in enumerate(zip(begins[:-1], begins[1:], strict=True))
        for number in range(begin, stop)
        if tables[end + number, 0] == nodes.FIRST_EVENT
    }


def _check_rows(saved: Saved, rows: Numbers, pattern: lines.LinePattern) -> None:
    """Check runs of single events, one a row. The next events of a run follow from its row."""
    levels, held = pattern.levels, rows[:, lines.HELD]
    is_bound = (held[:, None] >> np.arange(len(levels))) & 1 == 1
    is_held = (held > 0) & (held >> len(levels) == 0)
    saved.check(is_held.all(), "there is no such level")
    saved.check_events(rows[:, lines.EVENTS :][is_bound])
    saved.check_events(rows[:, lines.FIRST])
    waits, is_reached = np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_)
    for members in dict.fromkeys(levels[:, lines.MEMBERS].tolist()):
        own = held & members
        saved.check((is_reached | (own == 0)).all(), "a run holds a later event")
        is_at = is_reached & (own != members)
        waits = np.where(is_at, members & ~own, waits)
        is_reached &= own == members
    saved.check((rows[:, lines.WAITS] == waits).all(), "a run waits for something else")
