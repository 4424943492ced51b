"""The operators of a physical plan: frozen nodes, each of one algorithm, from the bottom up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest
from sase.planning.branches import shared_scans
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.forms import BindingForm, form_of
from sase.planning.physical.run_algorithm import RunAlgorithm
from sase.planning.physical.runs import choose_runs
from sase.planning.plan import nodes
from sase.planning.plan.match_windows import MatchWindow
from sase.planning.plan.negatives import NegativeSequence, SequenceSearch
from sase.planning.split import negations_of

Tests: TypeAlias = tuple[EquivalenceTest, ...]


@dataclass(frozen=True)
class MatchWindows:
    """Narrows events to windows that may contain a match, by the conditions of operators above."""

    windows: MatchWindow
    above: tuple[nodes.Operator, ...]


@dataclass(frozen=True)
class EventScan:
    """Stores events for a construction."""

    scan: nodes.SequenceScan
    construction: nodes.SequenceConstruction


@dataclass(frozen=True)
class StackScan(EventScan):
    """Pushes events onto active instance stacks; with a key, onto the stacks of its value."""

    key: Tests = ()


@dataclass(frozen=True)
class MultiStackScan(EventScan):
    """Pushes events onto the stacks of several keys."""

    keys: tuple[Tests, ...]


class RuntimeStackScan(EventScan):
    """Pushes every event onto the runtime stack of the NFA."""


@dataclass(frozen=True)
class LeafScan(EventScan):
    """Puts events into the leaf buffers of a tree."""

    key: Tests = ()


@dataclass(frozen=True)
class TightSearch:
    """Finds the matches of a negative sequence by the latest start for each end."""

    sequence: NegativeSequence


@dataclass(frozen=True)
class GapSearch:
    """Searches for a negative sequence in each gap."""

    sequence: NegativeSequence


class GroupGapSearch(GapSearch):
    """Searches each gap of matches with repeated groups."""


Search: TypeAlias = TightSearch | GapSearch


@dataclass(frozen=True)
class SequenceAbsences:
    """Passes the sequences that no negative element excludes."""

    negation: nodes.Negation
    searches: tuple[Search, ...] = ()


class SeriesAbsences(SequenceAbsences):
    """Passes the matches of series or sets that no negative element excludes."""


class GroupAbsences(SequenceAbsences):
    """Passes the matches of repeated groups that no negative element excludes."""


@dataclass(frozen=True)
class BranchUnion:
    """Merges the results of branches; the branches of each of `scans` share its operators."""

    union: nodes.Union
    scans: tuple[OperatorPlan, ...]


@dataclass(frozen=True)
class SequenceOutput:
    """Builds results of sequences."""

    transformation: nodes.Transformation


class SeriesOutput(SequenceOutput):
    """Builds results of the matches of series or sets."""


class GroupOutput(SequenceOutput):
    """Builds results of the matches of repeated groups."""


class CandidateOutput(SequenceOutput):
    """Builds results of the candidates of imprecise time."""


# A logical operator with only one algorithm is its own physical operator.
PhysicalOperator: TypeAlias = (
    MatchWindows
    | EventScan
    | nodes.SequenceConstruction
    | nodes.Selection
    | nodes.Window
    | RunAlgorithm
    | SequenceAbsences
    | nodes.Confidence
    | BranchUnion
    | SequenceOutput
)


@dataclass(frozen=True)
class OperatorPlan:
    """The operators of a plan from the bottom up, and the form of its matches."""

    operators: tuple[PhysicalOperator, ...]
    form: BindingForm


_ABSENCES = {BindingForm.SEQUENCES: SequenceAbsences, BindingForm.ITERATIONS: GroupAbsences}
_OUTPUTS = {
    BindingForm.SEQUENCES: SequenceOutput,
    BindingForm.ITERATIONS: GroupOutput,
    BindingForm.CANDIDATES: CandidateOutput,
}


def operators_of(plan: EnginePlan) -> OperatorPlan:
    """The operators of a plan; they are chosen once and cached."""
    if OperatorPlan not in plan.cache:
        plan.cache[OperatorPlan] = choose_operators(plan.operators, lines=plan.options.lines)
    known: OperatorPlan = plan.cache[OperatorPlan]
    return known


def choose_operators(root: nodes.Operator, *, lines: bool = True) -> OperatorPlan:
    """Choose the algorithm of each operator; without `lines`, runs share their prefixes."""
    return OperatorPlan(tuple(_operators(root, lines=lines)), form_of(root))


def _operators(root: nodes.Operator, *, lines: bool) -> Iterator[PhysicalOperator]:
    operators, form = list(reversed(nodes.chain(root))), form_of(root)
    for place, node in enumerate(operators):
        above = operators[place + 1 :]
        match node:
            case MatchWindow():
                yield MatchWindows(node, tuple(above))
            case nodes.SequenceScan():
                (construction, *_) = above
                assert isinstance(construction, nodes.SequenceConstruction)
                yield _scan(node, construction, root)
            case nodes.RunEvaluation():
                yield choose_runs(root, lines=lines)
            case nodes.Negation():
                searches = tuple(_search(each, form) for each in node.sequences)
                yield _ABSENCES.get(form, SeriesAbsences)(node, searches)
            case nodes.Union():
                scans = (choose_operators(each.plan, lines=lines) for each in shared_scans(node))
                yield BranchUnion(node, tuple(scans))
            case nodes.Transformation():
                yield _OUTPUTS.get(form, SeriesOutput)(node)
            case _:
                yield node


def _scan(
    scan: nodes.SequenceScan, construction: nodes.SequenceConstruction, root: nodes.Operator
) -> EventScan:
    """Choose where a scan stores events; a pattern of one component needs no key."""
    negatives = {c.index for each in negations_of(root) for c in each.components}
    is_alone = len(scan.components) + len(negatives) == 1
    keys = () if is_alone else scan.partitions
    first = keys[0] if keys else ()
    if scan.stacks is nodes.Stacks.NFA:
        return RuntimeStackScan(scan, construction)
    if scan.stacks is nodes.Stacks.LEAVES:
        return LeafScan(scan, construction, first)
    if len(keys) > 1:
        return MultiStackScan(scan, construction, keys)
    return StackScan(scan, construction, first)


def _search(sequence: NegativeSequence, form: BindingForm) -> Search:
    if sequence.search is SequenceSearch.TIGHT:
        return TightSearch(sequence)
    return GroupGapSearch(sequence) if form is BindingForm.ITERATIONS else GapSearch(sequence)
