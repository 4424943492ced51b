"""The operators, one file each; what a node of a plan becomes when it is opened."""

from __future__ import annotations

from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.negation import NegationState
from sase.engine.operators.selection import SelectionState
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import TransformationState
from sase.engine.operators.window import WindowState
from sase.errors import PlanError
from sase.planning.nodes import (
    Negation,
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Window,
    chain,
)


def opened(root: Operator, context: Context) -> list[OperatorState]:
    """The running operators of a plan, from the bottom up."""
    states: list[OperatorState] = []
    nodes = list(reversed(chain(root)))
    for node, above in zip(nodes, [*nodes[1:], None], strict=True):
        states.append(_opened(node, above, states, context))
    return states


def _opened(
    node: Operator, above: Operator | None, below: list[OperatorState], context: Context
) -> OperatorState:
    match node:
        case SequenceScan():
            assert isinstance(above, SequenceConstruction)
            return SequenceScanState(node, above, context)
        case SequenceConstruction():
            scan = below[-1]
            assert isinstance(scan, SequenceScanState)
            return SequenceConstructionState(node, scan, context)
        case Selection():
            return SelectionState(node, context)
        case Window():
            return WindowState(node, context)
        case Negation():
            return NegationState(node, context)
        case Transformation():
            return TransformationState(node, context)
        case RunEvaluation():
            raise runs_refused()


def runs_refused() -> PlanError:
    """The error for what only level 2 can run."""
    return PlanError(
        "Kleene closure, optional components and selection strategies can be checked and formatted,"
        " but this version cannot run them yet"
    )
