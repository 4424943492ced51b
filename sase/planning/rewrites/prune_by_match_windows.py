"""(MW) Search the windows that may hold a match, and no others (KDD 2012, sections 4 and 5)."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from sase.binding.bound import BoundWindow, EquivalenceTest, WindowKind
from sase.planning.cost.cost import cost_of, handed_on
from sase.planning.cost_values import Cost
from sase.planning.declined import Declined
from sase.planning.plan.match_windows import MatchWindow, fewest_events
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    SequenceScan,
    Union,
    exchanged,
    reading,
)
from sase.planning.quantities import percentage
from sase.planning.rewrites.contract import KEPT_OUT, NOT_KNOWN, Outcome
from sase.planning.rewrites.partition_stacks import tests_of
from sase.planning.split import window_of
from sase.planning.statistics import Statistics

# The least expected speed-up: the cost of runs is estimated too high rather than too low. If few
# events meet a run or begin one, most of the cost does not depend on runs, and is certain.
LEAST_GAIN, LEAST_CERTAIN_GAIN = 3.0, 1.25
METHODS = ("f", "fp", "fpc", "fc")
WHERE = ("always", "cheaper")


def prune_by_match_windows(
    plan: Operator,
    *,
    by: str = "fpc",
    where: str = "always",
    statistics: Statistics | None = None,
) -> Outcome:
    """Filter events (f), partition by a key (p), and find windows by counters (c).

    With where="cheaper" only if the plan is much faster.
    """
    source, window = reading(plan), window_of(plan)
    assert not isinstance(source, Union), "each branch is rewritten by itself"
    declined = _declined(source, window)
    if declined is not None:
        return Declined(declined)
    if by not in METHODS:
        return Declined(f"there is no method `{by}`: {', '.join(METHODS)}")
    if where not in WHERE:
        return Declined(f"where={where}: it is {' or '.join(WHERE)}")
    assert window is not None
    node = MatchWindow(
        window,
        _keys(plan, source) if "p" in by else (),
        "c" in by and fewest_events(source.components) > 0,
    )
    pruned = exchanged(plan, replace(source, input=node))
    if where == "cheaper":
        return _paying(plan, pruned, source, node, statistics)
    return pruned


def _declined(source: SequenceScan | RunEvaluation, window: BoundWindow | None) -> str | None:
    """The reason why windows cannot be pruned, or None."""
    is_one = len(source.components) == 1 and source.components[0].is_single
    reasons = {
        "match windows are there already": source.input is not None,
        "there is no window": window is None,
        "the window counts in partitions": window is not None
        and window.kind is WindowKind.PARTITION_EVENTS,
        "a match is a single event": is_one,
        "no event can take part": source.nothing is not None,
        "contiguity needs every event": isinstance(source, RunEvaluation) and source.is_watched,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _keys(plan: Operator, source: SequenceScan | RunEvaluation) -> tuple[EquivalenceTest, ...]:
    """The tests on all events of a match, those of the evaluation's key first."""
    own = source.partitions if isinstance(source, RunEvaluation) else _flat(source)
    every = dict.fromkeys([*own, *tests_of(plan)])
    return tuple(t for t in every if t.value is None and t.is_declared_by(source.components))


def _flat(scan: SequenceScan) -> tuple[EquivalenceTest, ...]:
    return tuple(test for key in scan.partitions for test in key)


def _paying(
    plan: Operator,
    pruned: Operator,
    source: SequenceScan | RunEvaluation,
    node: MatchWindow,
    statistics: Statistics | None,
) -> Outcome:
    """The pruned plan, if it is expected to take much less time."""
    if isinstance(source, SequenceScan):
        return KEPT_OUT
    if statistics is None:
        return NOT_KNOWN
    if not statistics.loaded:
        return Declined("in small pushes they would leave out little, and events may come so")
    share = handed_on(source, node, statistics)
    before, after = cost_of(plan, statistics), cost_of(pruned, statistics)
    if before.nanoseconds < _least_gain(before) * after.nanoseconds:
        gain = before.nanoseconds / after.nanoseconds
        return Declined(
            f"they would hand on {percentage(share)} of the events, and gain {gain:.2g} times"
        )
    return pruned


def _least_gain(before: Cost) -> float:
    """The least gain that pays, by the runs that an admitted event meets and makes."""
    work = dict(before.operators[0].work)
    runs = [work.get(unit, inf) for unit in ("visited", "tried")]
    return LEAST_CERTAIN_GAIN if max(runs) <= work.get("admitted", 0.0) else LEAST_GAIN
