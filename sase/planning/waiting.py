"""Whether the matches of runs that take all they can are known before their window has passed.

Under earliest_maximal a match is reported when it can bind nothing more: at its last event, where
its last element is then full, otherwise once time has left its window (docs/semantics.md, Earliest
and maximal).
"""

from __future__ import annotations

from enum import Enum

from sase.binding.bound import elements_of
from sase.lang.ast import StrategyName
from sase.planning.nodes import Operator, RunEvaluation, reading


class Waiting(Enum):
    """Which matches wait for their window to pass."""

    NONE = "no match waits"
    SOME = "matches wait that may grow"
    ALL = "every match waits"


def waiting_of(plan: Operator) -> Waiting:
    """Which matches of a plan, or of the plan of a branch, wait since they may grow."""
    runs = reading(plan)
    is_greedy = isinstance(runs, RunEvaluation) and runs.strategy is StrategyName.EARLIEST_MAXIMAL
    if not is_greedy:
        return Waiting.NONE
    last = [runs.components[level] for level in elements_of(runs.components)[-1]]
    if any(each.maximum is None for each in last):
        return Waiting.ALL
    is_full = all(each.minimum == each.maximum for each in last)
    return Waiting.NONE if is_full else Waiting.SOME
