"""(SASE++) Build a graph of the events that may take part; its paths are the matches."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.paths import paths_of
from sase.planning.rewrites.contract import Outcome, unpruned_runs


def collapse_matches(plan: Operator) -> Outcome:
    """Conditions on whole matches are possible, since all paths are listed as matches."""
    runs = unpruned_runs(plan)
    if isinstance(runs, Declined):
        return runs
    paths = paths_of(runs)
    if paths.reasons:
        return Declined(paths.reasons[0])
    collapsed = replace(
        runs,
        conditions=(),
        early=paths.neighbours,
        evaluation=Evaluation.EXPANDED,
    )
    return exchanged(plan, collapsed)
