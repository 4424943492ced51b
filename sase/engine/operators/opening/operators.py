"""Open the operators of a plan, node by node."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import BoundComponent
from sase.engine.operators.bindings.forms import form_of
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.opening.negation import open_negation
from sase.engine.operators.selection import SelectionState, WindowState
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.operators.transformation import TransformationState
from sase.planning.match_windows import MatchWindow
from sase.planning.nodes import (
    Confidence,
    Negation,
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Union,
    Window,
    chain,
    find,
)
from sase.planning.run_algorithms import run_algorithm, shows_all
from sase.planning.split import may_end


def open_operators(root: Operator, context: Context) -> list[OperatorState]:
    """Open the operators of a plan, from the bottom up."""
    states: list[OperatorState] = []
    runs = find(root, RunEvaluation)
    context.form = form_of(runs)
    nodes = list(reversed(chain(root)))
    taken = None if runs is None else _taken_matches(runs, nodes[-1], context)
    for place, node in enumerate(nodes):
        if isinstance(node, RunEvaluation):
            states.append(_open_runs(root, node, nodes[place + 1], taken, context))
        else:
            states.append(_open(node, nodes[place + 1 :], states, taken, context))
    return states


def _taken_matches(runs: RunEvaluation, top: Operator, context: Context) -> TakenMatches | None:
    """What ends runs, where those of matches are pruned that overlap."""
    if not (isinstance(top, Transformation) and top.prunes):
        return None
    are_told = top.having is not None or top.input is not runs or runs.has_absences_in_iterations
    return TakenMatches(context, runs.partitions, are_told=are_told)


def _open_runs(
    root: Operator,
    node: RunEvaluation,
    above: Operator,
    taken: TakenMatches | None,
    context: Context,
) -> OperatorState:
    # With half of all kernels, which a query without series or strategies never loads.
    from sase.engine.operators.opening.runs import open_runs

    algorithm = run_algorithm(root, lines=context.options.lines)
    ends = _ends(above, node.components)
    return open_runs(node, algorithm, context, taken, is_shown=shows_all(root), ends=ends)


def _open(
    node: Operator,
    above: list[Operator],
    below: list[OperatorState],
    taken: TakenMatches | None,
    context: Context,
) -> OperatorState:
    match node:
        case MatchWindow():
            # With kernels that few plans need.
            from sase.engine.operators.match_window import MatchWindowState

            return MatchWindowState(node, above, context)
        case SequenceScan():
            assert isinstance(above[0], SequenceConstruction)
            return SequenceScanState(node, above[0], context)
        case SequenceConstruction():
            scan = below[-1]
            assert isinstance(scan, SequenceScanState)
            return SequenceConstructionState(node, scan, context)
        case Selection():
            return SelectionState(node, context)
        case Window():
            return WindowState(node, context)
        case Negation():
            return open_negation(node, context, of_series=_are_series(below))
        case Confidence():
            # With kernels that precise time never loads.
            from sase.engine.operators.imprecise.confidence_filter import ConfidenceState

            return ConfidenceState(node, context)
        case Union():
            # With a kernel that a pattern without choices never loads.
            from sase.engine.operators.branches.union import UnionState

            return UnionState(node, context, open_operators)
        case Transformation():
            return TransformationState(node, context, taken, of_series=_are_series(below))
        case _:
            raise AssertionError(f"{type(node).__name__} is opened elsewhere")


def _are_series(below: Sequence[OperatorState]) -> bool:
    """Whether matches are of series or sets, or come from branches: no scan stands below."""
    return not any([isinstance(each, SequenceScanState) for each in below])


def _ends(above: Operator, components: Sequence[BoundComponent]) -> tuple[int, ...]:
    """The levels behind which a negated end may stand."""
    if not isinstance(above, Negation):
        return ()
    ends = (each for each in above.elements if may_end(components, each))
    return tuple(-1 if each.after is None else each.after for each in ends)
