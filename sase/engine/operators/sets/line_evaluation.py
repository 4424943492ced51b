"""(SES) Run evaluation of sets of single events that no event forks: a row for each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.sets import lines as lines
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.contract import Checkpoint, Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.run_evaluation import IncrementalEvaluation
from sase.engine.operators.programs.set_states import bits
from sase.engine.operators.sets.saved_sets import check_rows
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.lang.ast import StrategyName
from sase.planning.nodes import RunEvaluation


class SetLineEvaluationState(IncrementalEvaluation):
    """A running evaluation of runs of single events, each in a row."""

    kernel: Any = staticmethod(lines.advance_set_lines)

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        self.form = SetForm(context.levels, node.strategy is StrategyName.EARLIEST_MAXIMAL)
        assert not self._program.code.asks, "rows of runs know comparisons alone"
        self._pattern = self._pattern_of()
        width = lines.EVENTS + context.levels
        self._runs = lines.LineRuns(
            np.zeros((context.options.stack, width), np.int64),
            _keys(16),
            np.zeros(nodes.STATE, np.int64),
        )
        self._runs.state[nodes.FREE] = NOTHING
        if self.form.detects:
            context.buffer.keep("ts")

    def _pattern_of(self) -> lines.LinePattern:
        """Levels and comparisons as kernels read them."""
        code, states = self._program.code, self._states
        places = _places_of(code.tables)
        rows, checks = list[list[int]](), list[list[int]]()
        for level in range(self._context.levels):
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
            span_of(self._window),
        )

    # ------------------------------------------------------------ matches

    def _advance(self, incoming: nodes.Incoming) -> Iterator[SetBindings]:
        machine, state = self._program.machine(), self._runs.state
        state[nodes.AT] = 0
        why = NOTHING
        while why != nodes.DONE:
            why = lines.advance_set_lines(
                machine, self._pattern, self._runs, incoming, self._room.written, self._room.beside
            )
            self._context.check(0)
            if why == nodes.CROWDED:
                self._make_room()
            elif why != nodes.PAUSED:
                yield from self._found(1 + (self._live(incoming) if why == nodes.FULL else 0))

    def _live(self, incoming: nodes.Incoming) -> int:
        """How many runs the key of the event at hand has."""
        key = incoming.keys[self._runs.state[nodes.AT]]
        return int(self._runs.keys[key, lines.COUNT])

    def _match_room(self, matches: int) -> MatchRoom:
        levels = self._context.levels
        return MatchRoom(self._memory, levels, matches, groups=0, events=levels)

    def _found(self, needed: int) -> Iterator[SetBindings]:
        """Yield the matches that were written; then there is room for as many as are needed."""
        written, chunk = self._room.take(), self._context.options.chunk
        events = needed * self._context.levels
        if events > len(self._room.written.events):
            self._room.resize(needed, events)
        if written is None:
            return
        assert written.listed is not None
        found = SetBindings(*written[:3], written.listed.levels)
        self._built += found.size
        if self.form.detects:
            store = self._context.buffer
            found = found.detected_at(store.numbers("ts")[found.last & store.mask])
        for begin in range(0, found.size, chunk):
            yield found.between(begin, begin + chunk)

    # ------------------------------------------------------------ room

    def _make_room_for_keys(self, keys: int) -> None:
        runs = self._runs
        if keys > len(runs.keys):
            room = _keys(max(keys, 2 * len(runs.keys)))
            room[: len(runs.keys)] = runs.keys
            self._runs = runs._replace(keys=room)

    def _make_room(self) -> None:
        """Make room for more runs."""
        rows = self._runs.rows
        self._check_memory(2 * rows.nbytes)
        self._runs = self._runs._replace(rows=grown(rows, 2 * len(rows)))

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any run, once those are freed whose window has passed."""
        bound = EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)
        found = lines.expire_set_lines(self._runs, bound)
        return None if found == NOTHING else int(found)

    def counters(self) -> Counters:
        """Count events, runs made and alive, steps, and matches."""
        counts = self._runs.state[nodes.MADE : nodes.SPLIT + 1]
        return self._counters(counts, self._runs.rows.nbytes)

    def checkpoint(self) -> Checkpoint:
        """The runs."""
        runs = self._runs
        rows = runs.rows[: int(runs.state[nodes.USED])]
        return {**super().checkpoint(), "rows": rows, "keys": runs.keys, "state": runs.state}

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint; behind LIMIT, which may end an event halfway, with none."""
        super().restore(saved)
        state = saved.part("state").array(nodes.STATE, low=NOTHING, high=MOST_COUNTED)
        if saved.live.is_done:
            state[nodes.USED], state[nodes.FREE], state[nodes.SPARE] = 0, NOTHING, 0
            self._runs = self._runs._replace(state=state)
            return
        kept = saved.part("rows").array(None, self._runs.rows.shape[1])
        keys = saved.part("keys").array(None, lines.KEY_WIDTH)
        rows = np.zeros((max(len(kept), len(self._runs.rows)), kept.shape[1]), np.int64)
        rows[: len(kept)] = kept
        saved.check(state[nodes.USED] == len(kept), "there is not a row for each run")
        self._runs = lines.LineRuns(rows, keys, state)
        check_rows(saved, self._runs, self._pattern)


def _keys(count: int) -> Numbers:
    keys = np.zeros((count, lines.KEY_WIDTH), np.int64)
    keys[:, lines.HEAD], keys[:, lines.LIMIT] = NOTHING, lines.FEWEST
    return keys


def _places_of(tables: Numbers) -> dict[int, int]:
    """The levels whose event a word of a node holds."""
    first, end = int(tables[0, nodes.CHANGES_OF]), int(tables[0, nodes.CHANGES])
    begins = tables[first:end, 0].tolist()
    return {
        int(tables[end + number, 1]): level
        for level, (begin, stop) in enumerate(zip(begins[:-1], begins[1:], strict=True))
        for number in range(begin, stop)
        if tables[end + number, 0] == nodes.FIRST_EVENT
    }
