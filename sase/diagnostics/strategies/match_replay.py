"""The events that a match skips and a strategy forbids to skip, by the runs of the engine.

A match determines its run, and so the events that the run ignores. Strategies differ only in
*ignore* (docs/semantics.md, Runs): a strategy has the match if it may ignore all of them; otherwise
those it may not are the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.binding.bound import BoundComponent
from sase.diagnostics.strategies.reasons import ForbiddenSkip, reasons
from sase.engine.blocks.builder import BlockBuilder
from sase.engine.columns import Events
from sase.engine.kernels.kleene.run_nodes import ROOT, Incoming
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.kleene.run_operator import AppliedEvent, RunOperator
from sase.engine.pipeline.pipeline import Pipeline
from sase.lang.ast import StrategyName
from sase.planning.automaton.automaton import END, Bind, PatternAutomaton, PatternGroup
from sase.planning.engine_plan import EnginePlan, Options
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import RunEvaluation, require

# Runs share their beginnings; there is room for few matches.
ONE_BY_ONE = Options(chunk=1 << 8, fused=False, lines=False)
# Contiguity meets every event, which may be taken where no state is.
NO_STATE = 62
# Events that are applied at once.
PIECE = 1 << 16


class Step(NamedTuple):
    """An event of a match, the state that binds it, and whether it begins its component."""

    position: int
    state: int
    bind: Bind


def replayed_plan(query: BoundQuery, strategy: StrategyName, schema: Schema) -> EnginePlan:
    """The plan of a query without branches under a strategy, for replays."""
    plan = basic_plan(replace(query, strategy=strategy))
    return EnginePlan(plan, schema, query.definitions, ONE_BY_ONE)


class MatchReplay:
    """Binds the events of matches again, and shows runs the events in between."""

    def __init__(self, plan: EnginePlan, events: Events) -> None:
        pipeline, self._events = Pipeline(plan), events
        self._node = require(plan.operators, RunEvaluation)
        self._automaton, self._strategy = self._node.automaton, self._node.strategy
        evaluation = pipeline.operators[0]
        assert isinstance(evaluation, RunOperator)
        self._runs = evaluation.store
        builder = BlockBuilder(
            plan.components, len(plan.positives), pipeline.dictionary, plan.ranked,
            dense=False, every=True,
        )  # fmt: skip
        (block,) = builder.blocks(events, len(events))
        if pipeline.keeps_events:
            pipeline.context.buffer.append_block(block)
        incoming = evaluation.incoming(block)
        self._incoming = incoming._replace(takes=incoming.takes | 1 << NO_STATE)

    def forbidden(self, match: Sequence[Any]) -> list[list[ForbiddenSkip]]:
        """List the events that a match skips and the strategy does not let it skip.

        The match has the positions of each positive component, those of a group by iteration and
        variable. The result has such a list if the pattern binds the match in one way, none if it
        does not bind it, and several if iterations may be of several branches.
        """
        paths = _paths(self._automaton, self._node.components, match)
        if len(paths) != 1:
            return [[] for _ in paths]
        found = list[ForbiddenSkip]()
        ((before, *rest),) = paths
        applied = self._bound(ROOT, before, 0)
        for spot, step in enumerate(rest, 1):
            node = applied.made
            if node == NOTHING:
                return []
            found += self._forbidden(node, before.state, before.position + 1, step.position)
            before, applied = step, self._bound(node, step, spot)
        return [found] if applied.is_whole else []

    def reasons(
        self, forbidden: Sequence[ForbiddenSkip], row_of: Callable[[int], int]
    ) -> tuple[str, ...]:
        """Return sentences why the strategy lacks a match; events are named by row."""
        names, types = [*self._events.type_names, None], self._events.types
        tests = "".join(f"[{test.attribute}]" for test in self._node.equivalences)
        return reasons(self._strategy, forbidden, row_of, lambda at: names[types[at]], tests)

    def _bound(self, node: int, step: Step, spot: int) -> AppliedEvent:
        """Bind an event of the match; contiguity counts these alone."""
        return self._applied(node, step.position, step.position + 1, step.bind, step.state, spot)

    # ------------------------------------------------------------ events in between

    def _forbidden(self, node: int, state: int, begin: int, end: int) -> Iterator[ForbiddenSkip]:
        """The events of a range that a node's run may not ignore; with variables to bind them."""
        match self._strategy:
            case StrategyName.STRICT_CONTIGUITY:
                yield from map(ForbiddenSkip, range(begin, end))
            case StrategyName.PARTITION_CONTIGUITY:
                yield from map(ForbiddenSkip, self._of_partition(node, begin, end))
            case StrategyName.SKIP_TILL_NEXT_MATCH:
                yield from self._waited(node, state, begin, end)

    def _of_partition(self, node: int, begin: int, end: int) -> Iterator[int]:
        """The events of a range that are of the partition of a node."""
        is_short = end - begin <= PIECE
        if begin == end or (is_short and self._applied(node, begin, end).stays):
            return
        if end - begin == 1:
            yield begin
            return
        middle = (begin + end) // 2
        yield from self._of_partition(node, begin, middle)
        yield from self._of_partition(node, middle, end)

    def _waited(self, node: int, state: int, begin: int, end: int) -> Iterator[ForbiddenSkip]:
        """The events of a range with which the run of a node must move, by the first such move."""
        edges = [each for each in self._automaton.after(state) if each.target != END]
        known = {Bind.BEGIN: self._incoming.begins, Bind.TAKE: self._incoming.takes}
        bound = sum(known[each.bind][begin:end] >> each.target & 1 for each in edges)
        for position in (begin + np.flatnonzero(bound)).tolist():
            for edge in edges:
                at = position, position + 1
                if not self._applied(node, *at, edge.bind, edge.target).stays:
                    variable = self._automaton.states[edge.target].component.variable
                    yield ForbiddenSkip(position, variable, edge.bind is Bind.BEGIN)
                    break

    def _applied(
        self,
        node: int,
        begin: int,
        end: int,
        bind: Bind = Bind.TAKE,
        state: int = NO_STATE,
        spot: int = NOTHING,
    ) -> AppliedEvent:
        """Apply the events of a range to the run of a node, which may bind them at one state."""
        known = Incoming(*(column[begin:end] for column in self._incoming))
        begins = known.begins & (bind is Bind.BEGIN) << state
        takes = known.takes & (bind is Bind.TAKE) << state
        spots = np.full(end - begin, spot)
        return self._runs.apply_alone(known._replace(begins=begins, takes=takes, spots=spots), node)


# ---------------------------------------------------------------- the steps of a match


def _paths(
    automaton: PatternAutomaton, components: Sequence[BoundComponent], match: Sequence[Any]
) -> list[list[Step]]:
    """The steps that may bind a match; the same twice if iterations may be of several branches."""
    steps, ways = list[Step](), 1
    for level, bound in enumerate(match):
        first = next(each.number for each in automaton.states if each.level == level)
        group, repeated = automaton.group_of(first), components[level].group
        if group is None or repeated is None:
            steps += _series(first, bound)
            continue
        variables = [n for n, each in enumerate(repeated.variables) if not each.is_absent]
        for iteration in bound:
            series = dict(zip(variables, iteration, strict=True))
            ways *= len(branches := list(_branches(automaton, group, series)))
            for branch in branches[:1]:
                steps += [s for n in branch for s in _series(n, series[automaton.states[n].slot])]
    return [sorted(steps, key=lambda step: step.position)] * min(ways, 2)


def _series(state: int, positions: Sequence[int]) -> Iterator[Step]:
    """The steps that bind events at a state."""
    for place, position in enumerate(positions):
        yield Step(position, state, Bind.TAKE if place else Bind.BEGIN)


def _branches(
    automaton: PatternAutomaton, group: PatternGroup, series: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, ...]]:
    """The states of each branch that may bind these events of an iteration, by variable."""
    bound = {slot for slot, events in series.items() if events}
    for branch in group.branches:
        own = [automaton.states[number] for number in branch]
        if {each.slot for each in own if each.count.least > 0} <= bound <= {e.slot for e in own}:
            yield branch
