"""The optimizer: make the plan of a recipe, with the cheapest alternative of each choice.

Choices are made in the order of the recipe. An alternative is judged by the cost of the whole plan,
with the first alternative of each later choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import MOST_BYTES, Cost
from sase.planning.driver import RewriteCall, RewriteStep, Trace
from sase.planning.plan.nodes import Operator, branches_of
from sase.planning.recipes import Choice, Entry, Recipe
from sase.planning.statistics import Statistics

# The parameter of rewrites that compare costs themselves.
CHEAPER = ("where", "cheaper")
# The limit on state is ignored if the best plan that respects it takes longer than an hour.
LONGEST = 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative of a choice, without declined rewrites, and the cost of the whole plan."""

    calls: tuple[RewriteCall, ...]
    cost: Cost
    is_taken: bool

    def __str__(self) -> str:
        return ", ".join(map(str, self.calls)) or "none of them"


@dataclass(frozen=True, slots=True)
class Optimized:
    """A plan, its trace, and the alternatives of each choice."""

    trace: Trace
    choices: tuple[tuple[Alternative, ...], ...] = ()

    @classmethod
    def of(cls, plan: Operator) -> Optimized:
        """A plan without rewrites."""
        return cls(Trace.of(plan))

    @property
    def plan(self) -> Operator:
        """The plan."""
        return self.trace.plan

    @property
    def steps(self) -> tuple[RewriteStep, ...]:
        """The rewrites that were tried, in order."""
        return self.trace.steps


def optimized(
    recipe: Recipe, basic: Operator, statistics: Statistics | None = None, off: Collection[str] = ()
) -> Optimized:
    """The plan of a recipe; without statistics the first alternative of each choice is taken.

    Each branch of a plan is optimized by itself.
    """
    trace, choices = Trace.of(basic), list[tuple[Alternative, ...]]()
    branches = branches_of(basic)
    if len(branches) > 1:
        if statistics is not None:  # branches make no choices of their own by cost
            statistics = replace(statistics, loaded=False)
        for number, branch in enumerate(branches):
            made_of_branch = optimized(recipe, branch, statistics, off)
            trace = trace.with_branch(number, made_of_branch.trace)
            choices += made_of_branch.choices
        return Optimized(trace, tuple(choices))
    costs: dict[Operator, Cost] = {}
    for place, entry in enumerate(recipe.entries):
        if isinstance(entry, RewriteCall):
            trace = trace.after([entry], statistics, off)
        elif statistics is None:
            trace = trace.after(_usual(entry), None, off)
        else:
            rest = recipe.entries[place + 1 :]
            trace, made = _choose(entry, rest, trace, statistics, off, costs)
            choices += [made] if made else []
    return Optimized(trace, tuple(choices))


def _choose(
    choice: Choice,
    rest: Sequence[Entry],
    trace: Trace,
    statistics: Statistics,
    off: Collection[str],
    known: dict[Operator, Cost],
) -> tuple[Trace, tuple[Alternative, ...]]:
    """The trace after a choice, and its alternatives; of equal plans only one counts.

    The costs of plans are `known` from earlier choices, since many lead to the same plans.
    """
    usual = [call for entry in rest for call in _usual(entry)]
    started: list[Trace] = []
    for calls in choice.alternatives:
        after = trace.after(calls, statistics, off)
        if all(after.plan != other.plan for other in started):
            started.append(after)
    if len(started) == 1:
        return started[0], ()
    plans = [each.after(usual, statistics, off).plan for each in started]
    known |= {plan: cost_of(plan, statistics) for plan in plans if plan not in known}
    costs = [known[plan] for plan in plans]
    best = _best(costs)
    made = tuple(
        Alternative(_applied(each.steps[len(trace.steps) :]), cost, place == best)
        for place, (each, cost) in enumerate(zip(started, costs, strict=True))
    )
    return started[best], made


def _best(costs: Sequence[Cost]) -> int:
    """The index of the fastest alternative; state must fit unless that takes more than an hour."""
    fits = [cost.bytes <= MOST_BYTES for cost in costs]
    ends = any(f and cost.nanoseconds <= LONGEST for f, cost in zip(fits, costs, strict=True))
    judged = [(ends and not f, cost.nanoseconds) for f, cost in zip(fits, costs, strict=True)]
    return judged.index(min(judged))


def _applied(steps: Iterable[RewriteStep]) -> tuple[RewriteCall, ...]:
    return tuple(step.call for step in steps if step.applied)


def _usual(entry: Entry) -> tuple[RewriteCall, ...]:
    """The rewrites that represent an entry while others are judged; none for `where=cheaper`."""
    if isinstance(entry, Choice):
        return entry.alternatives[0]
    return () if CHEAPER in entry.parameters else (entry,)
