"""(NFAb) Run evaluation: a store keeps runs, a step applies events, a sink makes matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, PAUSED, Incoming
from sase.engine.kernels.runs import advance as of
from sase.engine.kernels.runs.advance import advance_chain
from sase.engine.kernels.runs.graph import FIRST_EDGE, LAST_EDGE, Groups, Members
from sase.engine.kernels.runs.matches import LeadingRuns
from sase.engine.kernels.runs.step import Ended
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, HasTimers, span_of
from sase.engine.operators.kleene.evaluation import RunCode, RunEvaluationBase, wanted
from sase.engine.operators.kleene.match_room import (
    EVENTS_A_MATCH,
    MatchRoom,
    Written,
    bindings_of,
    fewest,
)
from sase.engine.operators.kleene.saved_runs import check_automaton_runs
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import SAME, Array, Declared, StateField
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.plan.nodes import RunEvaluation


class AppliedEvent(NamedTuple):
    """Whether a run stays, a new node that may go on or NOTHING, and whether there is a match."""

    stays: bool
    made: int
    is_whole: bool


class RunStep(NamedTuple):
    """The kernel that applies events to runs, and the parts of the automaton except its graph."""

    kernel: Any
    groups: Groups | None = None
    members: Members | None = None
    ended: Ended | None = None
    leading: LeadingRuns | None = None


class NodeStore(Declared):
    """The runs of a plan, and the step that a kernel applies to them.

    A kernel writes into a room. If matches must not overlap those that are `taken`, each taken
    match ends runs.
    """

    layout = dict(
        cells=Array(None, SAME, path=None),
        heads=Array("keys", low=NOTHING, path="_runs.heads"),
        counts=Array("keys", path="_runs.counts"),
        state=Array(SAME, low=NOTHING, high=MOST_COUNTED, path="_runs.state"),
    )

    # The position up to which all events have come.
    spot = 0
    _runs: Any

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        self._code, self._step, self._room = code, step, room
        self._program, self._taken = code.program, code.taken
        size, taken = code.context.options.stack, code.taken
        # The largest kernel, which applies events.
        self.kernel: Any = step.kernel
        self._graph = code.program.automaton[0]
        # The most runs that one run may become by an event.
        self._most = int(
            (self._graph.states[:, LAST_EDGE] - self._graph.states[:, FIRST_EDGE]).max()
        )
        self._runs = nodes.Runs(
            nodes.Rules(
                code.admission.strategy, span_of(code.node.window), int(code.prunes),
                code.states.first, wanted(taken),
            ),
            self._program.cells(size),
            np.full(16, NOTHING, np.int64),
            np.zeros(16, np.int64),
            np.zeros(0, np.int64) if taken is None else taken.orders,
            np.zeros(size, np.int64),
            np.zeros(nodes.STATE, np.int64),
        )  # fmt: skip
        self._runs.state[nodes.USED], self._runs.state[nodes.FREE] = 1, NOTHING

    # ------------------------------------------------------------ events

    def note(self, block: Block) -> None:
        """Note the values of the next block."""

    def begin_block(self, incoming: nodes.Incoming) -> None:
        """Prepare to apply events."""
        self.rewind()

    def rewind(self) -> None:
        """Continue with the first of several events."""
        self._runs.state[nodes.AT] = 0

    def step(self, machine: nodes.Machine, incoming: nodes.Incoming) -> int:
        """Apply events until the kernel stops; return its reason."""
        kernel, groups, members, ended, leading = self._step
        why: int = kernel(
            machine, self._graph, groups, members, ended, leading, self._runs, incoming, self._most,
            self._room.written, self._room.listed,
        )  # fmt: skip
        return why

    def end_overlapping(self, incoming: nodes.Incoming, keys: Numbers, lasts: Numbers) -> None:
        """End the runs that overlap the last matches taken of partitions."""
        state = self._runs.state
        applied = int(incoming.keys[state[nodes.AT]]) if state[nodes.FRESH] else NOTHING
        of.end_overlapping(self._runs, keys, lasts, applied)

    def end(self, bound: int, watermark: Watermark) -> int:
        """Write the matches among the runs that time has ended; return the kernel's reason."""
        step = self._step
        assert step.members is not None and step.ended is not None
        return int(
            of.end_runs(
                self._program.machine(), self._graph, step.members, self._runs, step.ended, bound,
                watermark.position, watermark.is_final, self._room.written, self._room.beside,
            )
        )  # fmt: skip

    def apply_alone(self, events: nodes.Incoming, node: int) -> AppliedEvent:
        """Apply events of a partition to the run of a node, or to the root, and to no other run.

        The node stays in any case. If there are several events, none of them may be bound.
        """
        runs, state, key = self._runs, self._runs.state, int(events.keys[0])
        state[:], runs.heads[:], runs.counts[:] = 0, NOTHING, 0
        state[nodes.USED], state[nodes.FREE] = node + 1, NOTHING
        self._make_room_for_nodes(2 * self._most)
        rules, cells = runs.rules._replace(first=self._code.states.first), self._runs.cells
        if node != nodes.ROOT:
            rules = rules._replace(first=0)
            cells[node, nodes.NEEDED], cells[node, nodes.NEXT] = 2, NOTHING
            runs.heads[key], runs.counts[key] = node, 1
        self._runs = self._runs._replace(rules=rules)
        is_whole = self.step(self._program.machine(), events) == nodes.FULL
        is_whole |= self._room.flush(nodes.DONE) is not None
        made = range(node + 1, int(state[nodes.USED]))
        kept = (each for each in made if cells[each, nodes.EVENT] == events.numbers[0])
        run = runs.heads[key]
        while run not in (NOTHING, node):
            run = cells[run, nodes.NEXT]
        return AppliedEvent(bool(run == node), next(kept, NOTHING), is_whole)

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the runs of a number of partitions."""
        runs, room = self._runs, max(keys, 2 * len(self._runs.heads))
        if keys > len(runs.heads):
            heads, counts = grown(runs.heads, room, NOTHING), grown(runs.counts, room)
            self._runs = runs._replace(heads=heads, counts=counts)
        if self._taken is not None:
            self._taken.make_room(keys)
            self._runs = self._runs._replace(taken=self._taken.orders)

    def make_room(self, incoming: nodes.Incoming) -> None:
        """Make room for all runs that the next event may make of the runs of its partition."""
        key = incoming.keys[self._runs.state[nodes.AT]]
        self._make_room_for_nodes((int(self._runs.counts[key]) + 1) * self._most)

    def _make_room_for_nodes(self, needed: int) -> None:
        """Make room for the nodes that an event may make, and for one more to try."""
        runs = self._runs
        size = len(runs.cells)
        while size - int(runs.state[nodes.USED]) + int(runs.state[nodes.SPARE]) <= needed:
            size *= 2
        cells, fresh = runs.cells, runs.fresh
        if size > len(cells):
            self._code.check_memory(8 * size * self._program.width)
            cells = grown(runs.cells, size)
        if needed >= len(fresh):
            fresh = np.zeros(1 << needed.bit_length(), np.int64)
        self._runs = runs._replace(cells=cells, fresh=fresh)

    # ------------------------------------------------------------ time and state

    def expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed, NOTHING if there is none."""
        return int(of.expire(self._runs, bound, self.spot))

    def oldest(self) -> tuple[int, int]:
        """Return the first event of all runs, NOTHING if there is none, and its measure."""
        found = np.empty(2, np.int64)
        of.oldest_of(self._runs.cells, self._runs.heads, found)
        return int(found[0]), int(found[1])

    @property
    def counts(self) -> Numbers:
        """The counters of runs, from `MADE` to `SPLIT`."""
        found: Numbers = self._runs.state[nodes.MADE : nodes.SPLIT + 1]
        return found

    def counted(self) -> Counters:
        """Return the counters of runs by name."""
        made, alive, most_alive, expired, steps, initiated, split = map(int, self.counts)
        return {
            "runs": made,
            "initiated": initiated,
            "split": split,
            "alive": alive,
            "most_alive": most_alive,
            "expired": expired,
            "steps": steps,
        }

    def counters(self) -> Counters:
        """Return further counters."""
        return {}

    @property
    def bytes_held(self) -> int:
        """The bytes of the nodes."""
        return int(self._runs.cells.nbytes)

    def _encoded(self) -> dict[str, Any]:
        return {"cells": self._runs.cells[: int(self._runs.state[nodes.USED])]}

    def _take(self, saved: Saved, values: Any) -> None:
        """Restore a checkpoint; after LIMIT, which may stop within an event, restore no run."""
        state = values.state
        if saved.live.is_done:
            state[nodes.USED], state[nodes.FREE], state[nodes.SPARE] = 1, NOTHING, 0
            self._runs = self._runs._replace(state=state)
            return
        kept = values.cells
        cells = self._program.cells(max(len(kept), len(self._runs.cells)))
        cells[1 : len(kept)] = kept[1:]  # the plan makes the root
        # A free node still has values of its last run; their texts may be gone.
        is_used = kept[1:, nodes.EVENT] != NOTHING
        self._program.check_values(saved, kept[1:][is_used])
        saved.check(0 < state[nodes.USED] == len(kept), "there is not a row for each node")
        self._runs = self._runs._replace(
            cells=cells, heads=values.heads, counts=values.counts, state=state
        )
        self._check(saved, saved.part("built").count())
        self.make_room_for_keys(len(values.heads))

    def _check(self, saved: Saved, built: int) -> None:
        """Refuse runs that lead to wrong nodes, or that show matches that are not built."""
        automaton = self._program.automaton
        check_automaton_runs(saved, self._runs, self._code.states, automaton, built)


# A function that yields the matches of a kernel, by the reason why it stopped.
Flush = Callable[[int], Iterator[Any]]
SERIES_STEP = RunStep(advance_chain)


class SeriesSink(Declared):
    """The sink for matches of series, each of which is written when it is complete."""

    layout: ClassVar[dict[str, StateField]] = {}
    # The number of written matches that `formed` has left out.
    dropped = 0

    def __init__(
        self,
        code: RunCode,
        step: RunStep = SERIES_STEP,
        *,
        groups: int | None = None,
        events: int = EVENTS_A_MATCH,
    ) -> None:
        self._code, self.step = code, step
        matches = fewest(code.taken, code.context)
        self.room = MatchRoom(code.memory, code.context.levels, matches, groups, events)

    def note(self, block: Block) -> None:
        """Note the events of the next block."""

    def formed(self, written: Written) -> Bindings:
        """Return the written matches."""
        return bindings_of(written)

    def passed(self, found: Iterator[Any]) -> Iterator[Any]:
        """Return the matches found that are due at once."""
        return found

    def released(self, watermark: Watermark, runs: NodeStore, flush: Flush) -> Iterator[Any]:
        """Return the matches that a time completes."""
        return iter(())

    def next_timer(self, runs: NodeStore) -> int | None:
        """Return the next time that completes a match."""
        return None

    def oldest(self, runs: NodeStore, bound: int) -> int | None:
        """Return the oldest event needed, after runs are freed that no event can complete."""
        found = runs.expire(bound)
        return None if found == NOTHING else found

    def counters(self) -> Counters:
        """Return the counters of the sink."""
        return {}


class RunOperator(RunEvaluationBase, HasTimers):
    """A running evaluation that applies each event to all runs."""

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        store: Callable[..., NodeStore],
        sink: Callable[..., SeriesSink],
        taken: TakenMatches | None = None,
        **more: Any,
    ) -> None:
        super().__init__(node, context, taken)
        self._sink = sink(self._code, **more)
        self._room = self._sink.room
        self.keep_in(store)
        context.kernels.append(self.store.kernel)

    def keep_in(self, store: Callable[..., NodeStore]) -> None:
        """Set the store of the runs, before there are any."""
        self.store = store(self._code, self._sink.step, self._room)

    def incoming(self, block: Block) -> Incoming:
        """Return the events of a block with the states in which they may be bound."""
        return self._admission.incoming(block)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that the events of a block complete."""
        self._seen += len(block)
        self._sink.note(block)
        if self._taken is not None:
            self._taken.note(block)
        if self.node.nothing is None:
            incoming = self.incoming(block)
            self.store.make_room_for_keys(self._context.dictionary.size(self.key))
            self.store.note(block)
            yield from self._sink.passed(self._advance(incoming))

    def _formed(self, written: Written) -> Bindings:
        return self._sink.formed(written)

    def _advance(self, incoming: Incoming) -> Iterator[Bindings]:
        """Yield the matches that events complete."""
        machine, store, why = self._program.machine(), self.store, NOTHING
        store.begin_block(incoming)
        while why != DONE:
            why = store.step(machine, incoming)
            self._context.check(0)
            if why != PAUSED:
                yield from self.flushed(why)
                self._end_overlapping(partial(store.end_overlapping, incoming), why)
            if why == CROWDED:
                store.make_room(incoming)

    # ------------------------------------------------------------ time and state

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that time completes."""
        self._watermark, self.store.spot = watermark, watermark.position
        return self._sink.released(watermark, self.store, self.flushed)

    def next_timer(self) -> int | None:
        """Return the time at which the next match is detected."""
        return self._sink.next_timer(self.store)

    def horizon(self) -> int | None:
        """Return the oldest event that is needed, after expired runs are freed."""
        first = self._sink.oldest(self.store, self._bound)
        return first if self._taken is None else self._taken.horizon(first)

    def counters(self) -> Counters:
        """Count events, runs made and alive, steps, and matches."""
        store = self.store
        found = {"events": self._seen, **store.counted()}
        found["matches"] = self._built - self._sink.dropped
        found |= self._counted(store.bytes_held)
        return found | store.counters() | self._sink.counters()

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self.store.spot = self._watermark.position

    def _owned(self) -> tuple[Declared, ...]:
        return self.store, self._sink
