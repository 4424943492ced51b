"""Which queries have matches that can be counted without listing them.

Beside what `paths` says, nothing may depend on whole matches or several of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sase.binding.bound import All, Condition
from sase.binding.parts import conjoined
from sase.planning import nodes
from sase.planning.paths import paths_of, why_no_path
from sase.planning.rewrites.contract import Declined
from sase.planning.rewrites.evaluate_runs import evaluate_runs, of_sequences
from sase.planning.rewrites.partition_stacks import partition_runs
from sase.planning.rewrites.push_simple_conditions import push_simple_conditions_to_runs

# So many matches are counted one by one first where a key keeps them few: the events need not be
# held for that, and of ten million it takes half the time.
FEW = 1 << 23
FEW_AGREE = f"that is faster for up to {FEW:,} of them, and a key keeps them few"


@dataclass(frozen=True)
class Collapsible:
    """A plan that collects events instead of matches, and why that would not be enough.

    If it only `lacks_having`, the matches that HAVING decides on can be counted all the same.
    """

    plan: nodes.Operator
    reasons: tuple[str, ...]
    lacks_having: bool = False


def collapsible(basic: nodes.Operator) -> Collapsible:
    """The collapsed plan of a basic plan."""
    if nodes.find(basic, nodes.Union) is not None:
        return Collapsible(basic, ("several branches of the pattern may give the same match",))
    written = nodes.find(basic, nodes.RunEvaluation)
    if written is not None and written.is_of_intervals:
        return Collapsible(basic, ("how likely a match is depends on all of its events",))
    if written is not None and written.has_groups:
        return Collapsible(basic, ("an iteration of a repeated group is several events",))
    if written is not None and written.has_sets:
        return Collapsible(basic, ("the members of a set come in any order",))
    others = of_sequences(basic)
    plan = _prepared(nodes.rebuilt([each for each in nodes.chain(basic) if each not in others]))
    runs, top = nodes.require(plan, nodes.RunEvaluation), nodes.require(plan, nodes.Transformation)
    names = {each.index: each.variable for each in runs.components}
    paths = paths_of(runs)
    reasons = list(paths.reasons)
    having = [each for each in conjoined(top.having) if not paths.bounds.take(each)]
    reasons += [f"HAVING {why_no_path(each, names)}" for each in having]
    more = [f"{type(each).__name__} looks at whole matches" for each in others]
    if nodes.find(plan, nodes.Negation) is not None:
        more.append("a negative component looks at whole matches")
    if top.limit is not None:
        more.append("LIMIT takes the first matches only")
    if top.non_overlapping is not None:
        more.append("matches that do not overlap depend on each other")
    runs = replace(
        runs,
        components=paths.bounds.components,
        conditions=paths.left,
        early=paths.neighbours,
        evaluation=nodes.Evaluation.COLLAPSED,
    )
    plan = nodes.exchanged(plan, runs, replace(top, having=_joined(having)))
    return Collapsible(plan, (*reasons, *more), bool(having) and not paths.reasons and not more)


def _prepared(basic: nodes.Operator) -> nodes.Operator:
    """A plan of runs with simple conditions pushed down."""
    plan = basic
    if nodes.find(plan, nodes.RunEvaluation) is None:
        made = evaluate_runs(plan)
        assert not isinstance(made, Declined), "a plan without runs is of level 1, and basic"
        plan = made
    for rewrite in (partition_runs, push_simple_conditions_to_runs):
        made = rewrite(plan)
        plan = plan if isinstance(made, Declined) else made
    return plan


def _joined(conditions: Sequence[Condition]) -> Condition | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return All(tuple(conditions))
