"""Which plans count their matches by the histories of merged runs, without finding any of them."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import (
    Evaluation,
    Operator,
    RunEvaluation,
    Transformation,
    chain,
    exchanged,
)

# The recipe that merges runs wherever they can be.
MERGING = "nfab_merged"
# Of which matches the histories are counted: of all, or where they are too many to be found.
ALL, MANY = "all", "many"


def counting_histories(plan: Operator) -> Operator | None:
    """The plan that counts; None unless runs are merged, and nothing above looks at matches."""
    match chain(plan):
        case [
            Transformation(having=None, limit=None, non_overlapping=None),
            RunEvaluation() as runs,
        ]:
            if runs.evaluation is Evaluation.MERGED:
                return exchanged(plan, replace(runs, evaluation=Evaluation.COUNTED))
    return None
