"""(NFAb) Merge runs that behave alike from an event on (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import MIXED, Outcome, reads_series, runs_of_several


def merge_runs(plan: Operator) -> Outcome:
    """Conditions on whole matches are possible, since all are listed."""
    runs = runs_of_several(plan, "and no two are alike")
    if isinstance(runs, Declined):
        return runs
    if runs.mixes_partitions:
        return MIXED
    ranging = reads_series(runs)
    if ranging is not None:
        return Declined(f"{ranging} reads every event of a series, and runs differ in them")
    return exchanged(plan, replace(runs, evaluation=Evaluation.MERGED))
