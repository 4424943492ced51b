"""What an explanation says of the physical plan, in words."""

from __future__ import annotations

from itertools import groupby

from sase.planning.explain.value import ExplainedPlan
from sase.planning.physical import PhysicalPath
from sase.planning.rewrites.contract import NO_RUNS, NO_SCAN

# Nothing was passed over where something is for the other kind of plans.
OF_OTHER_PLANS = (NO_SCAN.reason, NO_RUNS.reason)


def executed(explanation: ExplainedPlan) -> str:
    """What executes the operators, for each way in which events reach the plan."""
    taken = [path for path in explanation.physical if path.declined is None]
    feeds = {path.feed for path in taken}
    rest = [p.feed.value for p in explanation.physical if p.feed not in feeds]
    ways = [_taken(path) for path in taken]
    ways += [f"{feed} block by block" for feed in dict.fromkeys(rest)]
    return "; ".join(ways) if taken else "block by block through the operators"


def _taken(path: PhysicalPath) -> str:
    text = f"{path.feed.value} by the {path.name}"
    if path.events is not None:
        text += f", which took {path.events:,}"
    return text if path.refused is None else f"{text} and left the others: {path.refused}"


def declined(explanation: ExplainedPlan, *, verbose: bool = False) -> list[str]:
    """The paths that declined, and why; `verbose` names those for the other kind of plans, too."""
    found = [
        (path.declined, path.name)
        for path in explanation.physical
        if path.declined is not None and (verbose or path.declined not in OF_OTHER_PLANS)
    ]
    return [
        f"{', '.join(name for _, name in group)}: {reason}"
        for reason, group in groupby(found, key=lambda each: each[0])
    ]
