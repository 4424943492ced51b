"""The operators of a plan, as the paper draws them (SASE 2006, section 3.1): frozen values.

The checks of an operator are data on its node, so a plan shows where each part was pushed. Positive
components are identified by their *level*, 0 for the first.
"""

# long because: it is the one list of operators, and the functions that read a plan of them.

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias, TypeVar

from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Column,
    Condition,
    Conjunct,
    EquivalenceTest,
    Placeholder,
    Quantified,
    WindowKind,
)
from sase.cached_property import cached_property
from sase.lang.ast import StrategyName
from sase.planning.automaton.automaton import PatternAutomaton
from sase.planning.automaton.build import automaton_of
from sase.planning.plan.match_windows import MatchWindow
from sase.planning.plan.negatives import NegativeComponent, NegativeElement, NegativeSequence


class Stacks(Enum):
    """The storage of the scan: the runtime stack of the NFA, or an instance stack for each state.

    `LEAVES` are buffers for a tree of joins; they store events even without a sequence up to them.
    """

    NFA = "runtime stack"
    AIS = "active instance stacks"
    LEAVES = "leaf buffers"


@dataclass(frozen=True, slots=True)
class SequenceScan:
    """SS→: find the events that may take part in a match, and push them onto stacks.

    `tests` are the equivalence tests of the query, wherever they are decided, and `inferred` those
    that its equalities imply. `partitions` are keys of such tests: none, one key of one attribute
    (PAIS) or of several (composite), or several keys with separate stacks (Multi-PAIS). `columns`
    are the columns to read, None for all. `nothing` is the reason if no event can take part.
    """

    components: tuple[BoundComponent, ...]
    tests: tuple[EquivalenceTest, ...] = ()
    stacks: Stacks = Stacks.NFA
    partitions: tuple[tuple[EquivalenceTest, ...], ...] = ()
    conditions: tuple[Conjunct, ...] = ()
    values: tuple[EquivalenceTest, ...] = ()
    window: BoundWindow | None = None
    inferred: tuple[EquivalenceTest, ...] = ()
    columns: tuple[str, ...] | None = None
    nothing: str | None = None
    input: MatchWindow | None = None


@dataclass(frozen=True, slots=True)
class SequenceConstruction:
    """SC←: walk back from each event of the last component and build every sequence.

    `limit` bounds the sequences built, if every one is a result. With `joins` it joins leaf buffers
    instead: they are the gaps between levels in the order in which they are closed
    (`planning/plan/trees.py`). Negative components bound the walk, or a join; `sequences` only the
    walk.
    """

    input: SequenceScan
    conditions: tuple[Conjunct, ...] = ()
    equivalences: tuple[EquivalenceTest, ...] = ()
    negations: tuple[NegativeComponent, ...] = ()
    window: BoundWindow | None = None
    limit: int | None = None
    joins: tuple[int, ...] = ()
    sequences: tuple[NegativeSequence, ...] = ()

    @property
    def elements(self) -> tuple[NegativeElement, ...]:
        """The negative components and sequences that bound the walk."""
        return (*self.negations, *self.sequences)


@dataclass(frozen=True, slots=True)
class Selection:
    """σ: pass the sequences that satisfy conditions and equivalence tests."""

    input: Operator
    conditions: tuple[Conjunct, ...] = ()
    equivalences: tuple[EquivalenceTest, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """WD: pass the sequences with their first and last event within the window."""

    input: Operator
    window: BoundWindow


@dataclass(frozen=True, slots=True)
class Negation:
    """NG: pass the sequences that no event of a negative component forbids.

    The events of each are stored by key, in order of time; or `by_time` alone. `sequences` are
    negative sequences: a match of one forbids.
    """

    input: Operator
    negations: tuple[NegativeComponent, ...]
    window: BoundWindow | None = None
    by_time: bool = False
    sequences: tuple[NegativeSequence, ...] = ()

    @property
    def elements(self) -> tuple[NegativeElement, ...]:
        """The negative components and sequences."""
        return (*self.negations, *self.sequences)


@dataclass(frozen=True, slots=True)
class EdgeCondition:
    """A condition on an edge of the NFAb, and the series over which it ranges."""

    conjunct: Conjunct
    ranges: tuple[Quantified, ...] = ()


# The algorithm for imprecise time; its matches are candidates.
BY_INTERVALS = "by intervals"


@dataclass(frozen=True)
class RunEvaluation:
    """NFAb: evaluate the runs of a query with Kleene closure or a strategy (level 2).

    `partitions` are the tests of the key of runs, `simple` the conditions on one event that decide
    whether any run meets it. `early` are conditions that a postponed evaluation decides on the way
    back, and a collapsed one on neighbours. A postponed evaluation first checks some conditions on
    all candidates. If one of `dismissing` is false for each candidate, there is no walk. If all of
    `safe` are true for each, they are not checked again. If one of `discarding` is false for an
    event with each candidate before it, the event is no candidate. With imprecise time a walk ends
    if the order of its chosen events is less likely than `least`. `joins` are the gaps between
    required events, in the order in which a tree closes them. `algorithm` names one of
    `planning/physical/runs.py`, if one was chosen.
    """

    components: tuple[BoundComponent, ...]
    strategy: StrategyName
    conditions: tuple[EdgeCondition, ...] = ()
    equivalences: tuple[EquivalenceTest, ...] = ()
    window: BoundWindow | None = None
    algorithm: str = ""
    partitions: tuple[EquivalenceTest, ...] = ()
    simple: tuple[Conjunct, ...] = ()
    early: tuple[Conjunct, ...] = ()
    dismissing: tuple[Conjunct, ...] = ()
    discarding: tuple[Conjunct, ...] = ()
    safe: tuple[Conjunct, ...] = ()
    least: Fraction | Placeholder | None = None
    columns: tuple[str, ...] | None = None
    nothing: str | None = None
    input: MatchWindow | None = None
    joins: tuple[int, ...] = ()

    @cached_property
    def automaton(self) -> PatternAutomaton:
        """The automaton of the pattern, with the checks of the conditions."""
        conjuncts = [edge.conjunct for edge in self.conditions]
        return automaton_of(self.components, self.strategy, conjuncts)

    @property
    def tests(self) -> tuple[EquivalenceTest, ...]:
        """The equivalence tests of the query."""
        return self.equivalences

    @property
    def is_alone(self) -> bool:
        """Whether a match is a single event."""
        return len(self.components) == 1 and self.components[0].is_single

    @property
    def counts_in_partitions(self) -> bool:
        """Whether the window counts the events of a partition."""
        return self.window is not None and self.window.kind is WindowKind.PARTITION_EVENTS

    @property
    def mixes_partitions(self) -> bool:
        """Whether it counts them although not all tests partition the runs."""
        return self.counts_in_partitions and not set(self.equivalences) <= set(self.partitions)

    @property
    def is_ranked(self) -> bool:
        """Whether contiguity uses the ranks of events in their partitions."""
        is_contiguous = self.strategy is StrategyName.PARTITION_CONTIGUITY
        return is_contiguous and not self.is_alone and self._are_declared

    @property
    def is_watched(self) -> bool:
        """Whether contiguity needs every event: some have no partition and are in matches."""
        is_contiguous = self.strategy is StrategyName.PARTITION_CONTIGUITY
        return is_contiguous and not self.is_alone and not self._are_declared

    @property
    def tested(self) -> tuple[EquivalenceTest, ...]:
        """The tests that are decided event by event: those not in the key of runs.

        A fixed value is a condition; contiguity uses it all the same.
        """
        goes_by_it = self.is_ranked or self.is_watched or self.counts_in_partitions
        written = [test for test in self.equivalences if test.value is None or goes_by_it]
        return tuple([test for test in written if test not in self.partitions])

    @property
    def has_groups(self) -> bool:
        """Whether a component is a repeated group."""
        return any([each.group is not None for each in self.components])

    @property
    def has_absences_in_iterations(self) -> bool:
        """Whether iterations have negative elements, which are checked on finished matches."""
        groups = (each.group for each in self.components if each.group is not None)
        branches = (branch for group in groups for branch in group.branches)
        return any(b.negations or any(e.negated for e in b.elements) for b in branches)

    @property
    def has_sets(self) -> bool:
        """Whether a component is a member of a set."""
        return any([each.set_of is not None for each in self.components])

    @property
    def is_of_intervals(self) -> bool:
        """Whether events have time intervals, so that matches are candidates."""
        return self.algorithm == BY_INTERVALS

    @property
    def is_of_sets(self) -> bool:
        """Whether states of sets find its matches, also with runs that take all they can.

        With repeated groups, sets are states of the automaton instead.
        """
        if self.has_groups:
            return False
        return self.has_sets or self.strategy is StrategyName.EARLIEST_MAXIMAL

    @property
    def ends_by_event(self) -> bool:
        """Whether a match may be detected at the first event after its window."""
        is_counted = self.window is not None and self.window.kind is not WindowKind.TIME
        return self.strategy is StrategyName.EARLIEST_MAXIMAL and is_counted

    @property
    def never_forks(self) -> bool:
        """Whether an event makes at most one run of a run, as the run and the event decide.

        Runs ignore no event that they can bind, and a series that the same event may leave or
        extend is the last component, or before a single last one. No component may be empty, all
        tests partition, and no condition ranges over the events of a series.
        """
        series = [not each.is_single for each in self.components]
        if self.strategy is StrategyName.SKIP_TILL_ANY_MATCH or self.is_alone or self.is_watched:
            return False
        if self.has_groups or self.is_of_sets:
            return False
        if any(series[:-2]) or series[-2:] == [True, True]:
            return False
        is_optional = any([each.minimum == 0 for each in self.components])
        return not (is_optional or self.tested or any([edge.ranges for edge in self.conditions]))

    @property
    def is_in_lines(self) -> bool:
        """Whether no event forks a run, so that each run is a line, or a row of single events."""
        if not self.is_of_sets:
            return self.never_forks
        greedy = (StrategyName.EARLIEST_MAXIMAL, StrategyName.SKIP_TILL_NEXT_MATCH)
        if self.strategy not in greedy or self.tested or self.is_alone:
            return False
        # An event of any type fits several components.
        types = [name for each in self.components for name in each.types or ("", "")]
        return all(each.is_single for each in self.components) and len(types) == len({*types})

    @property
    def _are_declared(self) -> bool:
        tests, components = self.equivalences, self.components
        return all(test.is_declared_by(components) for test in tests)


@dataclass(frozen=True, slots=True)
class Confidence:
    """P: pass the candidates that may be matches of imprecise time, or reach a confidence.

    The window and the negative elements are part of it, since possible worlds decide both. A
    candidate passes at the threshold, if there is one, or above it if `strict`. It `enumerates`
    worlds, or computes the confidence in closed form.
    """

    input: Operator
    window: BoundWindow | None = None
    negations: tuple[NegativeComponent, ...] = ()
    threshold: Fraction | Placeholder | None = None
    strict: bool = False
    enumerates: bool = False
    sequences: tuple[NegativeSequence, ...] = ()

    @property
    def elements(self) -> tuple[NegativeElement, ...]:
        """The negative components and sequences."""
        return (*self.negations, *self.sequences)


@dataclass(frozen=True, slots=True)
class Union:
    """∪: merge the results of the branches of a pattern in one order, without duplicates.

    Each branch is a plan of its own, from its scan to HAVING and the columns of RETURN. The
    `components` are the variables of the whole pattern, `tests` the equivalence tests of the query.
    """

    branches: tuple[Operator, ...]
    components: tuple[BoundComponent, ...]
    tests: tuple[EquivalenceTest, ...] = ()

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns to read, None for all."""
        found = [reading(branch).columns for branch in self.branches]
        if any(columns is None for columns in found):
            return None
        return tuple(dict.fromkeys(name for columns in found for name in columns or ()))


@dataclass(frozen=True, slots=True)
class Transformation:
    """TF: make results of sequences: their columns, their type, and the limit.

    With `non_overlapping`, results do not overlap others that agree on these tests; without any
    test, they overlap no others. If it `prunes`, the evaluation of runs below finds no others.
    """

    input: Operator
    columns: tuple[Column, ...] | None = None
    type_name: str | None = None
    having: Condition | None = None
    limit: int | Placeholder | None = None
    non_overlapping: tuple[EquivalenceTest, ...] | None = None
    prunes: bool = False


Operator: TypeAlias = (
    MatchWindow
    | SequenceScan
    | SequenceConstruction
    | RunEvaluation
    | Selection
    | Window
    | Negation
    | Confidence
    | Union
    | Transformation
)


OperatorT = TypeVar("OperatorT", bound=Operator)


def chain(root: Operator) -> list[Operator]:
    """The operators of a plan from the top down."""
    found: list[Operator] = [root]
    while True:
        below = getattr(found[-1], "input", None)
        if below is None:
            return found
        found.append(below)


def rebuilt(operators: list[Operator]) -> Operator:
    """The plan of operators given from the top down."""
    *above, plan = operators
    for operator in reversed(above):
        assert _stands_on(operator, plan), (
            "construction needs a scan below it, and a scan or run evaluation nothing but match"
            " windows"
        )
        if getattr(operator, "input", None) is not plan:
            operator = replace(operator, input=plan)  # type: ignore[arg-type]
        plan = operator
    return plan


def _stands_on(operator: Operator, below: Operator) -> bool:
    match operator:
        case SequenceScan() | RunEvaluation():
            return isinstance(below, MatchWindow)
        case SequenceConstruction():
            return isinstance(below, SequenceScan)
    return not isinstance(operator, Union | MatchWindow)


def find(root: Operator, kind: type[OperatorT]) -> OperatorT | None:
    """The operator of a kind in a plan, or None."""
    operator: Operator | None = root
    while not (operator is None or isinstance(operator, kind)):
        operator = getattr(operator, "input", None)
    return operator


def require(root: Operator, kind: type[OperatorT]) -> OperatorT:
    """The operator of a kind in a plan that has one."""
    found = find(root, kind)
    assert found is not None, f"the plan has no {kind.__name__}"
    return found


def reading(root: Operator) -> SequenceScan | RunEvaluation | Union:
    """The operator at the bottom, which reads events, or has branches that do."""
    bottom = next(each for each in reversed(chain(root)) if not isinstance(each, MatchWindow))
    assert isinstance(bottom, SequenceScan | RunEvaluation | Union), "a plan reads events"
    return bottom


def branches_of(root: Operator) -> tuple[Operator, ...]:
    """The plans of the branches of a plan; itself if it has none."""
    union = find(root, Union)
    return (root,) if union is None else union.branches


def name_of(kind: str, branch: int | None) -> str:
    """The name of an operator in a plan: its kind, and the number of its branch, from 1."""
    return kind if branch is None else f"{kind} of branch {branch}"


def with_branch(root: Operator, number: int, branch: Operator) -> Operator:
    """Replace the plan of one branch."""
    union = find(root, Union)
    if union is None:
        return branch
    branches = (*union.branches[:number], branch, *union.branches[number + 1 :])
    return exchanged(root, replace(union, branches=branches))


def exchanged(root: Operator, *new: Operator) -> Operator:
    """Replace operators by new ones of their kinds; remove those that no longer check anything."""
    by_kind = {type(operator): operator for operator in new}
    operators = (by_kind.get(type(operator), operator) for operator in chain(root))
    return rebuilt([operator for operator in operators if not _is_empty(operator)])


def _is_empty(operator: Operator) -> bool:
    if isinstance(operator, Selection):
        return not operator.conditions and not operator.equivalences
    return isinstance(operator, Negation) and not operator.elements


def components_of(root: Operator) -> dict[int, BoundComponent]:
    """All components by their index, including negative ones."""
    found: list[BoundComponent] = []
    for operator in chain(root):  # for a union those of the whole pattern
        found += getattr(operator, "components", ())
        for name in ("negations", "sequences"):
            found += [c for each in getattr(operator, name, ()) for c in each.components]
    found += [c for each in found if each.group is not None for c in each.group.forbidding]
    return {component.index: component for component in found}


def variables_of(root: Operator) -> dict[int, str]:
    """The variables of all components by their index, including negative ones."""
    return {index: component.variable for index, component in components_of(root).items()}
