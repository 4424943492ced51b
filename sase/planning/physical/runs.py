"""The algorithms that evaluate runs, in the order in which they are asked; the first applies."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, Self

from sase.binding.bound import Comparison, Conjunct, ConjunctClass, Reference, When
from sase.binding.types import Kind
from sase.cached_property import cached_property
from sase.planning.declined import Declined
from sase.planning.nodes import (
    Evaluation,
    Negation,
    Operator,
    RunEvaluation,
    Transformation,
    chain,
    require,
)
from sase.planning.split import may_end
from sase.planning.stretches import is_in_stretches


class Pruning(Enum):
    """Whether the first match of a partition ends its other runs."""

    NONE = "every match is wanted"
    FIRST_ALONE = "the first match is a result"
    FIRST_TOLD = "an operator above decides which match is the first"


@dataclass(frozen=True)
class RunRequest:
    """A plan of runs; without `lines` runs share their beginnings."""

    plan: Operator
    lines: bool = True

    @cached_property
    def runs(self) -> RunEvaluation:
        """What is to be evaluated."""
        return require(self.plan, RunEvaluation)

    @cached_property
    def shown(self) -> bool:
        """Whether each run that is whole is a result as it is, with all of its events."""
        top, below = chain(self.plan)[:2]
        if not isinstance(top, Transformation) or below is not self.runs:
            return False
        return top.having is None and top.columns is None and top.non_overlapping is None

    @cached_property
    def pruning(self) -> Pruning:
        """Whether the output prunes matches that overlap."""
        top = self.plan
        if not isinstance(top, Transformation) or not top.prunes:
            return Pruning.NONE
        is_told = top.having is not None or top.input is not self.runs
        is_told |= self.runs.has_absences_in_iterations
        return Pruning.FIRST_TOLD if is_told else Pruning.FIRST_ALONE

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The levels behind which a negated end may stand."""
        operators = chain(self.plan)
        above = operators[operators.index(self.runs) - 1]
        if not isinstance(above, Negation):
            return ()
        ends = (each for each in above.elements if may_end(self.runs.components, each))
        return tuple(-1 if each.after is None else each.after for each in ends)


@dataclass(frozen=True)
class RunAlgorithm:
    """Evaluates runs: all matches, whether or not they overlap. `text` is what EXPLAIN prints."""

    runs: RunEvaluation

    text: ClassVar[str]
    evaluation: ClassVar[Evaluation] = Evaluation.NFAB
    # Whether each run is kept by itself, as no event forks it.
    never_forks: ClassVar[bool] = False

    @classmethod
    def applies(cls, request: RunRequest) -> Self | Declined:
        """The node for a plan, or why it is not evaluated so."""
        reason = cls._reason(request)
        if reason is not None:
            return Declined(reason)
        return cls(**{each.name: getattr(request, each.name) for each in fields(cls)})

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        given = request.runs.evaluation
        return None if given is cls.evaluation else f"the evaluation is {given.value}"


@dataclass(frozen=True)
class PrunedRuns(RunAlgorithm):
    """Evaluates runs up to the first match of each partition, where the output prunes."""

    pruning: Pruning = Pruning.NONE


class SetJoins(RunAlgorithm):
    """Joins of the single events of sets."""

    text = "join the events of components{by_key}, sets by conjunctions: {tree} (tree)"
    evaluation = Evaluation.TREE

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        return _lacks_sets(request) or super()._reason(request)


class MatchGraph(RunAlgorithm):
    """All matches as the paths of a graph."""

    text = "all paths through a graph of the events that may take part{by_key} (collapsed)"

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        runs = request.runs
        if runs.has_groups:
            return "a component is a repeated group"
        expands = runs.evaluation is Evaluation.EXPANDED and not runs.is_of_sets
        if runs.evaluation is Evaluation.COLLAPSED or expands:
            return None
        return f"the evaluation is {runs.evaluation.value}"


class GroupGraph(RunAlgorithm):
    """All matches as the paths of iterations of a graph."""

    text = (
        "all paths of iterations through a graph of the events that may take part{by_key}"
        " (collapsed)"
    )
    evaluation = Evaluation.COLLAPSED

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        return _lacks_groups(request) or super()._reason(request)


class SetLines(RunAlgorithm):
    """Runs of single events in sets, a row each, as no event forks them."""

    text = (
        "runs of the automaton, event by event{by_key}, through the subsets of each set"
        " (SES, in lines)"
    )
    never_forks = True

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        if not request.runs.is_of_sets:
            return _lacks_sets(request)
        if not request.lines:
            return LINES_OFF
        if not request.runs.is_in_lines:
            return "runs may fork"
        return None if _only_compares(request.runs) else "conditions do more than compare"


@dataclass(frozen=True)
class SetRuns(PrunedRuns):
    """Runs through the subsets of each set; behind the levels `ends` a negated end may stand."""

    text = "runs of the automaton, event by event{by_key}, through the subsets of each set (SES)"
    ends: tuple[int, ...] = ()

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        return _lacks_sets(request)


class GroupRuns(PrunedRuns):
    """Runs through the iterations of repeated groups."""

    text = "runs of the automaton, event by event{by_key}, through iterations of groups"

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        return _lacks_groups(request)


class IntervalWalk(RunAlgorithm):
    """Walks back from the last event through what may be before it, with imprecise time."""

    text = "walk back from each {last} through what may be before it{by_key} (by intervals)"
    evaluation = Evaluation.INTERVALS


class PostponedWalk(PrunedRuns):
    """Remembers events, and walks matches back from their last one."""

    text = "walk back from each {last} through remembered events{by_key} (postponed)"
    evaluation = Evaluation.POSTPONED


class SeriesJoins(RunAlgorithm):
    """Joins of what must occur; series lie between what is joined."""

    text = "join what must occur{by_key}, and walk back through what is between: {tree} (tree)"
    evaluation = Evaluation.TREE


class CountedRuns(RunAlgorithm):
    """Merged runs that know how many histories they stand for; no match is found."""

    text = "runs of the automaton, those of equal histories counted, event by event{by_key}"
    evaluation = Evaluation.COUNTED


class MergedRuns(RunAlgorithm):
    """Runs that go on alike are one."""

    text = "runs of the automaton, those alike as one, event by event{by_key} (merged)"
    evaluation = Evaluation.MERGED


class VersionedRuns(RunAlgorithm):
    """Runs keep their events in a versioned buffer."""

    text = "runs of the automaton over a versioned buffer, event by event{by_key} (versioned)"
    evaluation = Evaluation.VERSIONED


class Backtracking(RunAlgorithm):
    """One run at a time meets all events."""

    text = "runs of the automaton, one at a time{by_key} (backtracking)"
    evaluation = Evaluation.BACKTRACKING


class Rereading(PrunedRuns):
    """One run at a time, which reads events again from where it was put off."""

    text = (
        "runs of the automaton, one at a time, each from where it was put off{by_key}"
        " (backtracking, rereading)"
    )
    evaluation = Evaluation.REREADING


@dataclass(frozen=True)
class ShownRuns(PrunedRuns):
    """Keeps each run by itself; matches that are `shown` are results as they are."""

    shown: bool = False

    never_forks = True

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        reason = super()._reason(request)
        return reason or (None if request.lines else LINES_OFF)


class RunsInStretches(ShownRuns):
    """Runs by contiguity, each a stretch of its partition."""

    text = "runs of the automaton, event by event{by_key} (in stretches)"

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        runs, reason = request.runs, super()._reason(request)
        if reason is None and not is_in_stretches(runs):
            reason = "no run is a stretch of its partition, compared step by step"
        if reason is None and runs.is_in_lines and not request.shown:
            reason = "an operator above looks at each match"
        return reason


class RunsInLines(ShownRuns):
    """Runs that no event forks."""

    text = "runs of the automaton, event by event{by_key} (in lines)"

    @classmethod
    def _reason(cls, request: RunRequest) -> str | None:
        reason = super()._reason(request)
        return reason or (None if request.runs.is_in_lines else "runs may fork")


class Prefixes(PrunedRuns):
    """Runs that share their beginnings."""

    text = "runs of the automaton, event by event{by_key}"


LINES_OFF = "lines are switched off"
RUNS: tuple[type[RunAlgorithm], ...] = (
    SetJoins,
    MatchGraph,
    GroupGraph,
    SetLines,
    SetRuns,
    GroupRuns,
    IntervalWalk,
    PostponedWalk,
    SeriesJoins,
    CountedRuns,
    MergedRuns,
    VersionedRuns,
    Backtracking,
    Rereading,
    RunsInStretches,
    RunsInLines,
    Prefixes,
)


def choose_runs(plan: Operator, *, lines: bool = True) -> RunAlgorithm:
    """Choose the algorithm of the runs of a plan."""
    request = RunRequest(plan, lines)
    made = (each.applies(request) for each in RUNS)
    chosen = next(each for each in made if not isinstance(each, Declined))
    assert request.pruning is Pruning.NONE or isinstance(chosen, PrunedRuns), "all are found"
    return chosen


def _lacks_sets(request: RunRequest) -> str | None:
    return None if request.runs.is_of_sets else "no component is a member of a set"


def _lacks_groups(request: RunRequest) -> str | None:
    return None if request.runs.has_groups else "no component is a repeated group"


def _only_compares(runs: RunEvaluation) -> bool:
    """Whether all that is decided of several events compares the one bound with one before."""
    return all(_is_direct(edge.conjunct) for edge in runs.conditions)


def _is_direct(conjunct: Conjunct) -> bool:
    """Whether it compares the attributes of two single events, which all of their types declare."""
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
