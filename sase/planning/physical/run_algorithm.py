"""The base of the algorithms of runs: nodes of the physical plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, Self

from sase.cached_property import cached_property
from sase.planning.declined import GREEDY, PRUNED, SETS, Declined
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    RunEvaluation,
    Transformation,
    chain,
    require,
)
from sase.planning.split import may_end


class Pruning(Enum):
    """Whether the first match of a partition ends the other runs of the partition."""

    NONE = "every match is wanted"
    FIRST_ALONE = "the first match is a result"
    FIRST_TOLD = "an operator above decides which match is the first"


@dataclass(frozen=True)
class RunRequest:
    """A plan of runs; without `lines`, runs share their prefixes."""

    plan: Operator
    lines: bool = True

    @cached_property
    def runs(self) -> RunEvaluation:
        """The runs to evaluate."""
        return require(self.plan, RunEvaluation)

    @cached_property
    def shown(self) -> bool:
        """Whether each complete run is a result without changes, with all of its events."""
        top, below = chain(self.plan)[:2]
        if not isinstance(top, Transformation) or below is not self.runs:
            return False
        return top.having is None and top.columns is None and top.non_overlapping is None

    @cached_property
    def pruning(self) -> Pruning:
        """Whether the output prunes overlapping matches, and who decides which is the first."""
        top = self.plan
        if not isinstance(top, Transformation) or not top.prunes:
            return Pruning.NONE
        is_told = top.having is not None or top.input is not self.runs
        is_told |= self.runs.has_absences_in_iterations
        return Pruning.FIRST_TOLD if is_told else Pruning.FIRST_ALONE

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The levels after which a negated end may be."""
        operators = chain(self.plan)
        above = operators[operators.index(self.runs) - 1]
        if not isinstance(above, Negation):
            return ()
        ends = (each for each in above.elements if may_end(self.runs.components, each))
        return tuple(-1 if each.after is None else each.after for each in ends)


@dataclass(frozen=True)
class RunAlgorithm:
    """Evaluates runs: all matches, whether or not they overlap.

    `text` is printed by EXPLAIN. An algorithm without a `name` is for plans that name no algorithm.
    """

    runs: RunEvaluation

    text: ClassVar[str]
    name: ClassVar[str] = ""
    # Whether each run is stored separately, because no event forks it.
    never_forks: ClassVar[bool] = False

    @classmethod
    def applies(cls, request: RunRequest) -> Self | Declined:
        """Return the node for a plan, or the reason why the algorithm does not apply."""
        for reason in cls._reasons(request):
            return Declined(reason)
        return cls(**{each.name: getattr(request, each.name) for each in fields(cls)})

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        """The reasons why the algorithm cannot evaluate a plan."""
        yield from ()

    @property
    def logical(self) -> RunEvaluation:
        """The runs of the logical plan that names this algorithm."""
        return self.runs


@dataclass(frozen=True)
class PrunedRuns(RunAlgorithm):
    """Evaluates runs; if the output prunes, only up to the first match of each partition."""

    pruning: Pruning = Pruning.NONE


class ChosenRuns(RunAlgorithm):
    """An algorithm that recipes can name; most of them are for patterns without sets."""

    of_sets: ClassVar[bool] = False
    # The reason why the algorithm declines matches of a single event, or None.
    alone: ClassVar[str | None] = None

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if request.runs.is_of_sets and not cls.of_sets:
            yield (SETS if request.runs.has_sets else GREEDY).reason
        if request.pruning is not Pruning.NONE and not issubclass(cls, PrunedRuns):
            yield PRUNED.reason
        if request.runs.is_alone and cls.alone is not None:
            yield f"a match is a single event, {cls.alone}"
