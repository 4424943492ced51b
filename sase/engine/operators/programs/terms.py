"""At which moments of a run conditions are decided."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import Conjunct, ConjunctClass, When
from sase.engine.expressions.series import Term
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, MOMENTS, TAKE
from sase.planning.nodes import RunEvaluation


def run_terms(node: RunEvaluation) -> Iterator[Term]:
    """The conditions with their moments."""
    levels = {component.index: level for level, component in enumerate(node.components)}
    for edge in node.conditions:
        conjunct = edge.conjunct
        if conjunct.kind is ConjunctClass.CONSTANT or conjunct.component is None:
            for level in range(len(levels)):
                yield Term(conjunct.condition, MOMENTS * level + BEGIN)
        else:
            yield from terms_at(conjunct, MOMENTS * levels[conjunct.component])


def terms_at(conjunct: Conjunct, level: int) -> Iterator[Term]:
    """A condition at the moments at which it is decided, the first of its level given."""
    condition, own = conjunct.condition, conjunct.component
    match conjunct.when:
        case When.WHOLE:
            yield Term(condition, level + FINISH)
        case When.FIRST | When.EVENT:
            yield Term(condition, level + BEGIN)
        case When.EVERY:
            yield Term(condition, level + BEGIN, own=own)
            yield Term(condition, level + TAKE, own=own)
        case When.FURTHER:
            yield Term(condition, level + TAKE, own=own)
