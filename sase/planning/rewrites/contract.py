"""The contract of rewrites: functions from a plan to another, or to a reason for declining."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sase.cached_property import cached_property
from sase.lang.ast import StrategyName
from sase.planning.declined import GREEDY, NO_SCAN, SETS, Declined
from sase.planning.plan.nodes import Operator, RunEvaluation, SequenceScan, find
from sase.planning.statistics import Statistics

# Why a walk is kept without an estimate of joins by a tree.
NOT_KNOWN = Declined("without statistics it is not known whether a component is rare")
NOT_AT_HAND = Declined("joins pay where all events are at hand, and these may come in pieces")
IS_PRECISE = Declined("time is precise")
KEPT_OUT = Declined("stacks and leaves themselves keep out events that no earlier event leads to")
NONE_RARE = Declined(
    "no component is so rare that joins would begin at its events, and no absence at the start"
    " spares conditions"
)
GROUPS = Declined("an iteration of a repeated group is several events, and a run is inside of it")
IMPRECISE = Declined("it does not keep the candidates of imprecise time")
Outcome: TypeAlias = Operator | Declined
# The strategy under which conditions merely select sequences. Under others, and with Kleene
# closure, conditions define which events are taken and skipped.
ANY_MATCH = frozenset({StrategyName.SKIP_TILL_ANY_MATCH})


@dataclass(frozen=True)
class Rewrite:
    """A rule with the name of its file and function, and the function's keywords.

    `legal` are the strategies under which it keeps the result. `of_runs` is its counterpart for
    plans of runs, which is legal under every strategy; `of_groups`, `of_sets` and `of_intervals`
    allow it with repeated groups, with sets and earliest_maximal, and with imprecise time.
    """

    function: Callable[..., Outcome]
    legal: frozenset[StrategyName] = ANY_MATCH
    of_runs: Callable[..., Outcome] | None = None
    of_groups: bool = False
    of_sets: bool = False
    of_intervals: bool = False

    @property
    def name(self) -> str:
        """The name in recipes and in traces."""
        return self.function.__name__

    @cached_property
    def summary(self) -> str:
        """The first line of its file: the effect and the paper's short form, shown by EXPLAIN."""
        return (sys.modules[self.function.__module__].__doc__ or "").splitlines()[0]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that a recipe may set."""
        return self._keywords - {"statistics"}

    @cached_property
    def _keywords(self) -> frozenset[str]:
        parameters = inspect.signature(self.function).parameters.values()
        return frozenset(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)

    def __call__(
        self, plan: Operator, statistics: Statistics | None = None, **parameters: str
    ) -> Outcome:
        """The rewritten plan, or the reason why it is unchanged."""
        runs = find(plan, RunEvaluation)
        if runs is not None and runs.has_groups and not self.of_groups:
            return GROUPS
        if runs is not None and runs.is_of_intervals and not self.of_intervals:
            return IMPRECISE
        if runs is not None and self.of_runs is not None:
            if runs.has_sets and not self.of_sets:
                return SETS
            if runs.strategy is StrategyName.EARLIEST_MAXIMAL and not self.of_sets:
                return GREEDY
            known = inspect.signature(self.of_runs).parameters
            given: dict[str, object] = {**parameters, "statistics": statistics}
            return self.of_runs(plan, **{k: v for k, v in given.items() if k in known})
        if runs is not None and runs.strategy not in self.legal:
            return Declined(f"it does not keep the result under {runs.strategy.value}")
        if find(plan, SequenceScan) is None:
            return NO_SCAN
        keywords: dict[str, object] = dict(parameters)
        if "statistics" in self._keywords:
            keywords["statistics"] = statistics
        return self.function(plan, **keywords)
