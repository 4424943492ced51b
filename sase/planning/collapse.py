"""Which queries have matches that can be counted without listing them.

Beside what `paths` says, nothing may depend on whole matches or several of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sase.binding.bound import All, Condition, Truth
from sase.binding.parts import conjoined
from sase.planning import nodes
from sase.planning.declined import Declined
from sase.planning.detection import may_share_matches
from sase.planning.paths import paths_of, states_of, why_no_path
from sase.planning.rewrites.evaluate_runs import evaluate_runs, of_sequences
from sase.planning.rewrites.partition_stacks import partition_runs
from sase.planning.rewrites.push_simple_conditions import push_simple_conditions_to_runs

# So many matches are counted one by one first where a key keeps them few: the events need not be
# held for that, and of ten million it takes half the time.
FEW = 1 << 23
OF_SETS = "the members of a set come in any order"
OF_GROUPS = "an iteration of a repeated group is several events"
FEW_AGREE = f"that is faster for up to {FEW:,} of them, and a key keeps them few"


@dataclass(frozen=True)
class Collapsible:
    """A plan that collects events instead of matches, and why that would not be enough.

    If it only `lacks_having`, the matches that HAVING decides on can be counted all the same. Of a
    pattern with choices each branch is counted, `by_branch`: no two have a match in common. The
    matches of a pattern with sets or groups are counted `by_states`, even if these are
    too many for a graph whose paths the matches are.
    """

    plan: nodes.Operator
    reasons: tuple[str, ...]
    lacks_having: bool = False
    by_branch: bool = False
    by_states: bool = False

    @property
    def list_reasons(self) -> tuple[str, ...]:
        """Why matches have to be listed to be counted; none if they need not be."""
        return () if self.by_branch or self.by_states else self.reasons


def collapsible(basic: nodes.Operator) -> Collapsible:
    """The collapsed plan of a basic plan."""
    union = nodes.find(basic, nodes.Union)
    if union is not None:
        return _of_branches(basic, union)
    written = nodes.find(basic, nodes.RunEvaluation)
    if written is not None and written.is_of_intervals:
        return Collapsible(basic, ("how likely a match is depends on all of its events",))
    if written is not None and written.has_groups:
        return _of_states(basic, OF_GROUPS)
    if written is not None and written.has_sets:
        return _of_states(basic, OF_SETS)
    others = of_sequences(basic)
    plan = _prepared(nodes.rebuilt([each for each in nodes.chain(basic) if each not in others]))
    runs, top = nodes.require(plan, nodes.RunEvaluation), nodes.require(plan, nodes.Transformation)
    names = {each.index: each.variable for each in runs.components}
    paths = paths_of(runs)
    reasons = list(paths.reasons)
    asked = (each for each in conjoined(top.having) if each != Truth(True))
    having = list(asked)
    reasons += [f"HAVING {why_no_path(each, names)}" for each in having]
    more = [f"{type(each).__name__} looks at whole matches" for each in others]
    more += _reasons_of_negation(plan)
    more += _reasons_of_whole(top)
    runs = replace(
        runs,
        conditions=paths.left,
        early=paths.neighbours,
        evaluation=nodes.Evaluation.COLLAPSED,
    )
    plan = nodes.exchanged(plan, runs, replace(top, having=_joined(having)))
    return Collapsible(plan, (*reasons, *more), bool(having) and not paths.reasons and not more)


def _of_branches(basic: nodes.Operator, union: nodes.Union) -> Collapsible:
    """What is known of a pattern with choices, all of whose branches may be countable."""
    top = nodes.require(basic, nodes.Transformation)
    if any(may_share_matches(one, other) for one, other in combinations(union.branches, 2)):
        return Collapsible(basic, ("several branches of the pattern may give the same match",))
    whole = tuple(_reasons_of_whole(top))
    found = [collapsible(branch) for branch in union.branches]
    reasons = (*_by_number([each.list_reasons for each in found]), *whole)
    if reasons:
        return Collapsible(basic, reasons)
    plan = nodes.exchanged(basic, replace(union, branches=tuple(e.plan for e in found)))
    return Collapsible(plan, tuple(_by_number([each.reasons for each in found])), by_branch=True)


def _by_number(reasons: Sequence[Sequence[str]]) -> Iterator[str]:
    """The reasons of each branch, with its number."""
    return (f"branch {n}: {reason}" for n, each in enumerate(reasons, 1) for reason in each)


def _of_states(basic: nodes.Operator, reason: str) -> Collapsible:
    """What is known of a pattern whose matches are no paths: states may count them."""
    plan = _prepared(basic)
    runs, top = nodes.require(plan, nodes.RunEvaluation), nodes.require(plan, nodes.Transformation)
    states = states_of(runs, [each for each in conjoined(top.having) if each != Truth(True)])
    whole = [*_reasons_of_negation(plan), *_reasons_of_whole(top)]
    if states.reasons or whole:
        return Collapsible(basic, (reason, *states.reasons, *whole))
    runs = replace(
        runs,
        conditions=(),
        early=states.neighbours,
        evaluation=nodes.Evaluation.COLLAPSED,
    )
    plan = nodes.exchanged(plan, runs, replace(top, having=None))
    reasons = () if states.too_large is None else (reason, states.too_large)
    return Collapsible(plan, reasons, by_states=True)


def _reasons_of_negation(plan: nodes.Operator) -> Iterator[str]:
    if nodes.find(plan, nodes.Negation) is not None:
        yield "a negative component looks at whole matches"


def _reasons_of_whole(top: nodes.Transformation) -> Iterator[str]:
    """What depends on whole matches or several of them, above all else."""
    if top.limit is not None:
        yield "LIMIT takes the first matches only"
    if top.non_overlapping is not None:
        yield "matches that do not overlap depend on each other"


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
