"""Conditions that a walk back decides when their events are chosen, or before the walk begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from sase.binding.bound import Condition, Part, Reference, When
from sase.engine.expressions import ProgramLayout, lower_terms, make_stack
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.early_filters import (
    BEHIND,
    CHOSEN,
    ENTER,
    EXTEND,
    LAST_OF,
    LOOP,
    OF_EACH,
    OF_EVERY,
    OF_FURTHER,
    OF_ONE,
    allow,
)
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.machinery import Machinery
from sase.engine.operators.programs.series_program import conditions_of, packed
from sase.planning.plan.nodes import RunEvaluation
from sase.planning.reasoning.value_ranges import of_one, series_of
from sase.planning.reasoning.walk_back import WalkStep, decided_early


@dataclass
class _Fills:
    """The rows and loops of a program; `own` is its earliest component, which is chosen last."""

    levels: dict[int, int]
    own: int
    has_previous: bool
    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    loops: list[tuple[int, int]] = field(default_factory=list)

    def place(self, reference: Reference) -> int:
        """Return the row of an event."""
        row = self._source(reference)
        for known in self.rows:
            if known[:2] == row:
                return known[4]
        self.rows.append((*row, 0, 0, len(self.rows) + 1))
        return len(self.rows)

    def _source(self, reference: Reference) -> tuple[int, int]:
        part, level = reference.part, self.levels[reference.component]
        if part is Part.LAST:
            return LAST_OF, level
        if reference.component == self.own:
            is_behind = part is Part.CURRENT and self.has_previous
            return (BEHIND, 0) if is_behind else (CHOSEN, 0)
        if part is Part.EVENT:
            return LAST_OF, level
        if (level, 0) not in self.loops:
            self.loops.append((level, 0))
        return LOOP, self.loops.index((level, 0))


@dataclass(frozen=True)
class _EarlyLayout(ProgramLayout):
    fills: _Fills | None = None

    def row(self, reference: Reference) -> int:
        """Return the row of a referenced event."""
        assert self.fills is not None
        return self.fills.place(reference)

    def row_of_arithmetic(self, operation: object) -> int:
        """Return the row of the event that is chosen last."""
        return 0


@dataclass(frozen=True)
class _Early:
    """A condition, the moment at which it is decided, and the component of its event."""

    moment: int
    condition: Condition
    component: int
    has_previous: bool = False


class EarlyProgram:
    """The early conditions of a walk, ordered by moment.

    Each level has two moments of each of three kinds. First, an event is chosen: as the last event
    of its level, or as a further one. Second, all candidates of the level are checked with the last
    event: one of them must satisfy a condition, or each of them. Third, an event is checked with
    the candidates before it: as a further event, or as any event.
    """

    def __init__(self, context: Context, node: RunEvaluation) -> None:
        self._context = context
        levels = {each.index: context.level_of(each.index) for each in context.components}
        found = [
            *_on_the_way(node, levels),
            *_of_candidates(node, levels),
            *_of_earlier(node, levels),
        ]
        found.sort(key=lambda each: each.moment)
        base = context.layout([each.condition for each in found])
        fills = [_Fills(levels, each.component, each.has_previous) for each in found]
        terms = [
            (each.condition, _EarlyLayout.over(base, fills=fill))
            for each, fill in zip(found, fills, strict=True)
        ]
        lowered, starts = lower_terms(terms)
        stack = make_stack(lowered.depth)
        context.watch(dict(lowered.arithmetic), stack)
        counts = np.bincount([each.moment for each in found], minlength=6 * context.levels)
        nothing = np.zeros(0, np.int64)
        moments = np.append(0, np.cumsum(counts))
        conditions = conditions_of(starts, fills)
        self._machinery = Machinery(
            allow if terms else None,
            None,
            packed(nothing, nothing, nothing, nothing, moments, *conditions),
            frozen(np.zeros((0, 0), np.uint8)),
            lowered.program,
            stack,
            rows=1 + max([len(each.rows) for each in fills], default=0),
            cursors=1 + max([len(each.loops) for each in fills], default=0),
        )

    def machine(self) -> Machine:
        """Return the machine with the current arrays."""
        return self._machinery.machine(self._context)


def _on_the_way(node: RunEvaluation, levels: Mapping[int, int]) -> Iterator[_Early]:
    """The conditions that are decided when an event is chosen."""
    for conjunct in node.early:
        decided = decided_early(conjunct, node.components)
        assert decided is not None, "the plan decides it later"
        for moment in _moments(decided.step):
            yield _Early(
                2 * levels[decided.component] + moment,
                conjunct.condition,
                decided.component,
                decided.step is WalkStep.FURTHER,
            )


def _of_candidates(node: RunEvaluation, levels: Mapping[int, int]) -> Iterator[_Early]:
    """The conditions on each candidate of a series."""
    for kind, conjuncts in ((OF_ONE, node.dismissing), (OF_EACH, node.safe)):
        for conjunct in conjuncts:
            series = series_of(conjunct)
            moment = 2 * len(levels) + 2 * levels[series] + kind
            yield _Early(moment, of_one(conjunct.condition), series)


def _of_earlier(node: RunEvaluation, levels: Mapping[int, int]) -> Iterator[_Early]:
    """The conditions on an event and the candidates of its series before it."""
    for conjunct in node.discarding:
        series, is_every = series_of(conjunct), conjunct.when is When.EVERY
        moment = 4 * len(levels) + 2 * levels[series] + (OF_EVERY if is_every else OF_FURTHER)
        yield _Early(moment, of_one(conjunct.condition), series, has_previous=not is_every)


def _moments(step: WalkStep) -> tuple[int, ...]:
    """Return the moments of a condition: entry of its component, further events, or both."""
    if step is WalkStep.ENTERING:
        return (ENTER,)
    return (EXTEND,) if step is WalkStep.FURTHER else (ENTER, EXTEND)
