"""The algorithms of runs: the first one that applies and has the name in the plan is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sase.binding.bound import Comparison, Conjunct, ConjunctClass, Reference, When
from sase.binding.types import Kind
from sase.binding.values.text import condition_text
from sase.lang.ast import StrategyName
from sase.planning.declined import MIXED, NO_RUNS, Declined
from sase.planning.physical.run_algorithm import (
    ChosenRuns,
    PrunedRuns,
    Pruning,
    RunAlgorithm,
    RunRequest,
)
from sase.planning.plan.nodes import BY_INTERVALS, Operator, RunEvaluation, exchanged, find
from sase.planning.plan.trees import leaf_levels
from sase.planning.reasoning.paths import paths_of
from sase.planning.reasoning.run_forms import is_in_stretches

LINES_OFF = "lines are switched off"
NO_SETS = "no component is a member of a set"


class SetJoins(ChosenRuns):
    """(Tree) Joins the single events of sets: conjunctions, and sequences between (ZStream)."""

    text = "join the events of components{by_key}, sets by conjunctions: {tree} (tree)"
    name = "by joins"
    of_sets = True

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        runs = request.runs
        if not runs.has_sets:
            yield NO_SETS
        if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
            yield f"joins find every match, and not those of {runs.strategy.value} alone"
        for each in runs.components:
            if not each.is_single:
                yield f"joins put single events together, and {each.variable} is a series"
        yield from _mixed(runs)


class MatchGraph(RunAlgorithm):
    """Represents all matches as the paths of a graph."""

    text = "all paths through a graph of the events that may take part{by_key} (collapsed)"
    name = "collapsed"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if request.runs.has_groups:
            yield "a component is a repeated group"


class GroupGraph(RunAlgorithm):
    """Represents all matches as the paths of iterations of a graph."""

    text = (
        "all paths of iterations through a graph of the events that may take part{by_key}"
        " (collapsed)"
    )
    name = MatchGraph.name


class ExpandedGraph(ChosenRuns):
    """(SASE++) Lists all paths of a graph, so that HAVING can read whole matches."""

    text = MatchGraph.text
    name = "expanded"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        yield from paths_of(request.runs).reasons

    @property
    def logical(self) -> RunEvaluation:
        """The same runs with the conditions on adjacent events."""
        return replace(self.runs, conditions=(), early=paths_of(self.runs).neighbours)


class SetLines(RunAlgorithm):
    """Evaluates runs of single events in sets, one row a run, because no event forks them."""

    text = (
        "runs of the automaton, event by event{by_key}, through the subsets of each set"
        " (SES, in lines)"
    )
    never_forks = True

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if not request.runs.is_of_sets:
            yield NO_SETS
        if not request.lines:
            yield LINES_OFF
        if not request.runs.is_in_lines:
            yield "runs may fork"
        if not _only_compares(request.runs):
            yield "conditions do more than compare"


@dataclass(frozen=True)
class SetRuns(PrunedRuns):
    """Evaluates runs through the subsets of sets; a negated end may be after the levels `ends`."""

    text = "runs of the automaton, event by event{by_key}, through the subsets of each set (SES)"
    ends: tuple[int, ...] = ()

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if not request.runs.is_of_sets:
            yield NO_SETS


class GroupRuns(PrunedRuns):
    """Evaluates runs through the iterations of repeated groups."""

    text = "runs of the automaton, event by event{by_key}, through iterations of groups"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if not request.runs.has_groups:
            yield "no component is a repeated group"


class IntervalWalk(RunAlgorithm):
    """Walks back from the last event through events that may be before it (imprecise time)."""

    text = "walk back from each {last} through events that may be before it{by_key} (by intervals)"
    name = BY_INTERVALS


class PostponedWalk(ChosenRuns, PrunedRuns):
    """(SASE++) Stores events, and walks matches back from their last event.

    If every run may ignore every event, this replaces the runs.
    """

    text = "walk back from each {last} through remembered events{by_key} (postponed)"
    name = "postponed"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        if request.runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
            yield f"under {request.runs.strategy.value} conditions decide which events are taken"
        yield from _mixed(request.runs)


class SeriesJoins(ChosenRuns):
    """(Tree) Joins the components that must occur; walks find the series between them."""

    text = "join the required components{by_key}, and walk back through the others: {tree} (tree)"
    name = SetJoins.name

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        runs, last = request.runs, request.runs.components[-1]
        if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
            yield (
                f"under {runs.strategy.value} the events that a match passes over decide about it,"
                " and joins do not look at these"
            )
        yield from _mixed(runs)
        if last.minimum == 0:
            yield f"{last.variable} may be empty, so that its leaf does not close a match"
        if len(leaf_levels(runs.components)) < 2:
            yield "one component that must occur has nothing to join"


class CountedRuns(RunAlgorithm):
    """Merges runs and counts the histories of each; it lists no match."""

    text = "runs of the automaton, those of equal histories counted, event by event{by_key}"
    name = "counted"


class MergedRuns(ChosenRuns):
    """(NFAb) Merges runs with the same future; it lists all matches, so HAVING can test them."""

    text = "runs of the automaton, those alike as one, event by event{by_key} (merged)"
    name = "merged"
    alone = "and no two are alike"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        yield from _mixed(request.runs)
        for text in _ranging(request.runs):
            yield f"{text} reads every event of a series, and runs differ in them"


class VersionedRuns(ChosenRuns):
    """(NFAb) Stores the events of all runs in one buffer with version numbers, like SASE+.

    It is there for comparison. A version identifies a run only if at most one run stays at a
    component.
    """

    text = "runs of the automaton over a versioned buffer, event by event{by_key} (versioned)"
    name = "versioned"
    alone = "and shares none"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        runs = request.runs
        # Contiguity also applies to other partitions if some events have no key.
        ignores = runs.strategy is StrategyName.SKIP_TILL_ANY_MATCH or runs.is_watched
        for component in runs.components:
            if ignores and component.maximum != 1:
                yield (
                    f"a run may both take an event of {component.variable}[] and ignore it, and"
                    " both would go on under one version"
                )
        for text in _ranging(runs):
            yield f"{text} reads every event of a series, and a run keeps none of them"


class Backtracking(ChosenRuns):
    """(NFAb) Executes one run at a time over all events; waiting runs start after it (SASE+)."""

    text = "runs of the automaton, one at a time{by_key} (backtracking)"
    name = "backtracking"
    alone = "and there is no run to go back to"


class Rereading(ChosenRuns, PrunedRuns):
    """(NFAb) Executes one run at a time; a postponed run reads its events again (SASE+)."""

    text = (
        "runs of the automaton, one at a time, each from where it was put off{by_key}"
        " (backtracking, rereading)"
    )
    name = "rereading"
    alone = "and there is no run to put off"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        if request.pruning is Pruning.FIRST_TOLD:
            yield "a match that is read again must be known as one when it is found"


class UnforkedRuns(PrunedRuns):
    """Stores each run separately."""

    never_forks = True

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        if not request.lines:
            yield LINES_OFF


class RunsInStretches(UnforkedRuns):
    """Evaluates runs by contiguity; each one is a stretch of adjacent events of its partition."""

    text = "runs of the automaton, event by event{by_key} (in stretches)"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        if not is_in_stretches(request.runs):
            yield "no run is a stretch of its partition, compared step by step"
        if request.runs.is_in_lines and not request.shown:
            yield "an operator above looks at each match"


class RunsInLines(UnforkedRuns):
    """Evaluates runs that no event forks."""

    text = "runs of the automaton, event by event{by_key} (in lines)"

    @classmethod
    def _reasons(cls, request: RunRequest) -> Iterator[str]:
        yield from super()._reasons(request)
        if not request.runs.is_in_lines:
            yield "runs may fork"


class Prefixes(PrunedRuns):
    """Evaluates runs that share their prefixes."""

    text = "runs of the automaton, event by event{by_key}"


RUNS: tuple[type[RunAlgorithm], ...] = (
    SetJoins,
    SeriesJoins,
    MatchGraph,
    GroupGraph,
    ExpandedGraph,
    IntervalWalk,
    PostponedWalk,
    CountedRuns,
    MergedRuns,
    VersionedRuns,
    Backtracking,
    Rereading,
    SetLines,
    SetRuns,
    GroupRuns,
    RunsInStretches,
    RunsInLines,
    Prefixes,
)
# The algorithms by their names in recipes.
CHOSEN: dict[str, type[ChosenRuns]] = {
    each.name: each for each in RUNS if issubclass(each, ChosenRuns) and each is not SeriesJoins
}


def choose_runs(plan: Operator, *, lines: bool = True) -> RunAlgorithm:
    """Choose the algorithm of the runs of a plan."""
    request = RunRequest(plan, lines)
    chosen = first_applying(request)
    assert not isinstance(chosen, Declined), "a plan names only algorithms that apply to it"
    assert request.pruning is Pruning.NONE or isinstance(chosen, PrunedRuns), "all are found"
    return chosen


def with_algorithm(
    plan: Operator, kind: type[ChosenRuns], joins: tuple[int, ...] = ()
) -> Operator | Declined:
    """Return the plan with the algorithm named, or the reason why it does not apply."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.algorithm:
        return Declined(f"evaluation is {runs.algorithm} already")
    named = exchanged(plan, replace(runs, algorithm=kind.name, joins=joins))
    chosen = kind.applies(RunRequest(named))
    return chosen if isinstance(chosen, Declined) else exchanged(plan, chosen.logical)


def first_applying(request: RunRequest) -> RunAlgorithm | Declined:
    """Return the first algorithm that applies, or the reason of the first one of this name."""
    declined = list[Declined]()
    for each in (each for each in RUNS if each.name == request.runs.algorithm):
        made = each.applies(request)
        if not isinstance(made, Declined):
            return made
        declined.append(made)
    return declined[0]


def _mixed(runs: RunEvaluation) -> Iterator[str]:
    if runs.mixes_partitions:
        yield MIXED.reason


def _ranging(runs: RunEvaluation) -> Iterator[str]:
    """The texts of the conditions that range over series."""
    names = {component.index: component.variable for component in runs.components}
    ranging = (edge.conjunct.condition for edge in runs.conditions if edge.ranges)
    return (condition_text(condition, names) for condition in ranging)


def _only_compares(runs: RunEvaluation) -> bool:
    """Whether each condition on several events compares the bound event with an earlier one."""
    return all(_is_direct(edge.conjunct) for edge in runs.conditions)


def _is_direct(conjunct: Conjunct) -> bool:
    """Whether a condition compares attributes of two single events that all types declare."""
    condition = conjunct.condition
    if conjunct.kind is ConjunctClass.CONSTANT or not isinstance(condition, Comparison):
        return False
    if conjunct.when is When.WHOLE and not conjunct.checks:
        return False
    sides = condition.left, condition.right
    if not all(isinstance(each, Reference) and not each.undeclared_by for each in sides):
        return False
    is_text = any(each.type.kind is Kind.STRING for each in sides)
    return len(conjunct.references) == 2 and (not is_text or condition.operator in ("=", "!="))
