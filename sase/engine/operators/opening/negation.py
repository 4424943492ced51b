"""Open a node that forbids; what series, groups and negative sequences need others never load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.negation import NegationState
from sase.planning.negatives import NegativeSequence, SequenceSearch
from sase.planning.nodes import Negation

if TYPE_CHECKING:
    from sase.engine.operators.negative_sequences import SequencesInGaps
    from sase.engine.operators.tight_sequences import TightSequences


def open_negation(node: Negation, context: Context, *, of_series: bool) -> OperatorState:
    """Open what forbids, by the form of its matches."""
    if context.has_groups:
        from sase.engine.operators.groups.checks import GroupNegationState

        return GroupNegationState(node, context, open_sequences)
    if of_series:
        from sase.engine.operators.kleene.series_negation import SeriesNegationState

        return SeriesNegationState(node, context, open_sequences)
    return NegationState(node, context, open_sequences)


def open_sequences(node: Negation, context: Context) -> list[SequencesInGaps | TightSequences]:
    """What forbids by matches of negative sequences."""
    return [_opened(each, node, context) for each in node.sequences]


def _opened(
    sequence: NegativeSequence, node: Negation, context: Context
) -> SequencesInGaps | TightSequences:
    # With kernels that a pattern without negative groups never loads.
    if sequence.search is SequenceSearch.TIGHT:
        from sase.engine.operators.tight_sequences import TightSequences

        return TightSequences(sequence, node, context)
    if context.has_groups:
        from sase.engine.operators.groups.sequences import GroupSequencesInGaps

        return GroupSequencesInGaps(sequence, node, context)
    from sase.engine.operators.negative_sequences import SequencesInGaps

    return SequencesInGaps(sequence, node, context)
