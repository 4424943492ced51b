"""The operators of a physical plan: frozen nodes, each of one algorithm, from the bottom up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest
from sase.planning import nodes
from sase.planning.match_windows import MatchWindow
from sase.planning.negatives import NegativeSequence, SequenceSearch
from sase.planning.physical.forms import BindingForm, form_of
from sase.planning.physical.runs import RunAlgorithm, choose_runs
from sase.planning.plan import EnginePlan
from sase.planning.shared_scans import shared_scans
from sase.planning.split import negations_of

Tests: TypeAlias = tuple[EquivalenceTest, ...]


@dataclass(frozen=True)
class MatchWindows:
    """Narrows events to windows that may hold a match, by the conditions of what stands above."""

    windows: MatchWindow
    above: tuple[nodes.Operator, ...]


@dataclass(frozen=True)
class EventScan:
    """Takes in events for a construction."""

    scan: nodes.SequenceScan
    construction: nodes.SequenceConstruction


@dataclass(frozen=True)
class StackScan(EventScan):
    """Pushes events onto active instance stacks, with a key onto those of its value."""

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
    """Finds what a negative sequence forbids by the latest start for each end."""

    sequence: NegativeSequence


@dataclass(frozen=True)
class GapSearch:
    """Looks for a negative sequence in each gap."""

    sequence: NegativeSequence


class GroupGapSearch(GapSearch):
    """Looks for it in each gap of matches with repeated groups."""


Search: TypeAlias = TightSearch | GapSearch


@dataclass(frozen=True)
class SequenceAbsences:
    """Passes the sequences that nothing forbids."""

    negation: nodes.Negation
    searches: tuple[Search, ...] = ()


class SeriesAbsences(SequenceAbsences):
    """Passes the matches of series or sets that nothing forbids."""


class GroupAbsences(SequenceAbsences):
    """Passes the matches of repeated groups that nothing forbids."""


@dataclass(frozen=True)
class BranchUnion:
    """Merges the results of branches; those of each of `scans` share its operators."""

    union: nodes.Union
    scans: tuple[OperatorPlan, ...]


@dataclass(frozen=True)
class SequenceOutput:
    """Makes results of sequences."""

    transformation: nodes.Transformation


class SeriesOutput(SequenceOutput):
    """Makes results of the matches of series or sets."""


class GroupOutput(SequenceOutput):
    """Makes results of the matches of repeated groups."""


class CandidateOutput(SequenceOutput):
    """Makes results of the candidates of imprecise time."""


# What has one algorithm stands for itself.
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
    """The operators of a plan, which are chosen once."""
    if OperatorPlan not in plan.cache:
        plan.cache[OperatorPlan] = choose_operators(plan.operators, lines=plan.options.lines)
    known: OperatorPlan = plan.cache[OperatorPlan]
    return known


def choose_operators(root: nodes.Operator, *, lines: bool = True) -> OperatorPlan:
    """Choose the algorithm of each operator of a plan; without `lines` runs share beginnings."""
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
    """Choose where a scan keeps events; a component that stands alone agrees with itself."""
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
