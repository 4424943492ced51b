"""How matches are counted: without listing them where a query allows that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations

from sase.binding.bound import All, Condition, Truth
from sase.binding.conditions.parts import conjoined
from sase.planning.branches import may_share_matches
from sase.planning.declined import Declined
from sase.planning.driver import RewriteCall
from sase.planning.optimizer import optimized
from sase.planning.physical.runs import CountedRuns, MatchGraph, MergedRuns
from sase.planning.plan import nodes
from sase.planning.plan.nodes import Operator, RunEvaluation, Transformation, chain, exchanged
from sase.planning.reasoning.paths import paths_of, states_of, why_no_path
from sase.planning.recipes import Recipe, read_recipe
from sase.planning.rewrites.evaluate_runs import evaluate_runs, of_sequences
from sase.planning.rewrites.partition_stacks import partition_runs
from sase.planning.rewrites.push_simple_conditions import push_simple_conditions_to_runs

# ---------------------------------------------------------------- collapse

# Besides the conditions in `paths`, no part of the query may depend on whole or several matches.

# Up to FEW, matches are first listed to be counted if a key keeps them few. The events need not be
# stored for that, and for ten million events it takes half the time. If they may be very many, one
# in RARE events is listed first, or SOME if the events are not known. A scan that finds few takes a
# third to four fifths of the time of a graph. With a match for each RARE events both take about as
# long, and a scan that finds many more is soon given up. Of fewer than ENOUGH events, a graph takes
# so little time that nothing is listed first.
FEW, RARE, SOME, ENOUGH = 1 << 23, 1 << 3, 1 << 14, 1 << 12
OF_SETS = "the members of a set come in any order"
OF_GROUPS = "an iteration of a repeated group is several events"
TOO_MANY = "the events are too many to be held"
FEW_AGREE = "a key keeps them few, and that is faster"
OFTEN_FEW = "that is faster for few"


class CountMethod(Enum):
    """A method to count matches; the value is the text in EXPLAIN."""

    PATHS = "paths through a graph of events are counted, and no single match is looked at"
    BRANCHES = (
        "the matches of each branch are counted without looking at one: no two branches have a"
        " match in common"
    )
    STATES = "events are counted through the states of the pattern, and no match is looked at"
    HISTORIES = "the histories of merged runs are counted, and no single match is looked at"
    LISTED = "the matches are looked at one by one, since {reasons}"
    FEW_LISTED = f"{LISTED}; where they are more than {{most:,}},"


@dataclass(frozen=True)
class Collapsible:
    """A plan that collects events instead of matches, and the reasons why its count would be wrong.

    If it only `lacks_having`, the matches before HAVING can be counted all the same. The branches
    of a pattern with choices are counted one by one, if no two have a match in common. The matches
    of a pattern with sets or groups are counted through states, even if the states are too many for
    a graph with the matches as paths.
    """

    plan: nodes.Operator
    reasons: tuple[str, ...]
    lacks_having: bool = False
    method: CountMethod = CountMethod.PATHS

    @property
    def list_reasons(self) -> tuple[str, ...]:
        """Why matches have to be listed to be counted; empty if they need not be."""
        return self.reasons if self.method is CountMethod.PATHS else ()


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
        algorithm=MatchGraph.name,
    )
    plan = nodes.exchanged(plan, runs, replace(top, having=_joined(having)))
    return Collapsible(plan, (*reasons, *more), bool(having) and not paths.reasons and not more)


def _of_branches(basic: nodes.Operator, union: nodes.Union) -> Collapsible:
    """The collapsed plan of a pattern with choices; all branches must be countable."""
    top = nodes.require(basic, nodes.Transformation)
    if any(may_share_matches(one, other) for one, other in combinations(union.branches, 2)):
        return Collapsible(basic, ("several branches of the pattern may give the same match",))
    whole = tuple(_reasons_of_whole(top))
    found = [collapsible(branch) for branch in union.branches]
    reasons = (*_by_number([each.list_reasons for each in found]), *whole)
    if reasons:
        return Collapsible(basic, reasons)
    plan = nodes.exchanged(basic, replace(union, branches=tuple(e.plan for e in found)))
    reasons = tuple(_by_number([each.reasons for each in found]))
    return Collapsible(plan, reasons, method=CountMethod.BRANCHES)


def _by_number(reasons: Sequence[Sequence[str]]) -> Iterator[str]:
    """The reasons of each branch, with its number."""
    return (f"branch {n}: {reason}" for n, each in enumerate(reasons, 1) for reason in each)


def _of_states(basic: nodes.Operator, reason: str) -> Collapsible:
    """The collapsed plan of a pattern with matches that are no paths: states may count them."""
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
        algorithm=MatchGraph.name,
    )
    plan = nodes.exchanged(plan, runs, replace(top, having=None))
    reasons = () if states.too_large is None else (reason, states.too_large)
    return Collapsible(plan, reasons, method=CountMethod.STATES)


def _reasons_of_negation(plan: nodes.Operator) -> Iterator[str]:
    if nodes.find(plan, nodes.Negation) is not None:
        yield "a negative component looks at whole matches"


def _reasons_of_whole(top: nodes.Transformation) -> Iterator[str]:
    """The parts of the topmost operator that depend on whole matches or several of them."""
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


# ---------------------------------------------------------------- ways of counting

# The recipe that merges runs wherever possible, and the rewrite in such recipes.
MERGING = "nfab_merged"
MERGING_RUNS = RewriteCall("use_algorithm", (("name", MergedRuns.name),))


@dataclass(frozen=True)
class CountingWay:
    """A way to count: by a plan that collects events in memory, or one by one for some reasons.

    If matches are listed because of HAVING, the plan counts the matches before HAVING. A way that
    is tried before others gives up if there are more than `most`.
    """

    method: CountMethod
    plan: Operator | None = None
    reasons: tuple[str, ...] = ()
    most: int = 0

    @property
    def text(self) -> str:
        """The text in EXPLAIN."""
        return self.method.value.format(reasons="; ".join(self.reasons), most=self.most)


def ways_of_counting(
    basic: Operator,
    recipe: Recipe,
    *,
    explodes: bool,
    is_number: bool,
    events: int | None = None,
    is_held: Callable[[Operator], bool] = lambda plan: True,
) -> tuple[CountingWay, ...]:
    """The ways to count the matches of a basic plan, in the order in which they are tried.

    The last way always counts; a way before it gives up when there are too many matches. The plan
    `explodes` if no key keeps matches few. The result is their number, or else a set of all. The
    number of `events` is None if it is not known.
    """
    form, merges = collapsible(basic), MERGING_RUNS in recipe.entries
    method, plan, few, most = form.method, None, tuple[str, ...](), FEW
    reasons = form.list_reasons if is_number else form.reasons
    if not reasons:
        plan = form.plan
        if method is CountMethod.STATES and not is_number:
            method = CountMethod.PATHS  # of which each is a match, with its states
        if is_number:
            few = (OFTEN_FEW,) if explodes else (FEW_AGREE,)
            most = FEW if not explodes else SOME if events is None else _listed_first(events)
    elif is_number and (merges or explodes):
        made = optimized(recipe if merges else read_recipe(MERGING), basic)
        method, plan = CountMethod.HISTORIES, counting_histories(made.plan)
        few = () if merges else reasons
    if plan is None or not is_held(plan):
        among = form.plan if form.lacks_having else None
        return (CountingWay(CountMethod.LISTED, among, reasons or (TOO_MANY,)),)
    before = (CountingWay(CountMethod.FEW_LISTED, None, few, most),) if few and most else ()
    return (*before, CountingWay(method, plan))


def _listed_first(events: int) -> int:
    """The most matches that are listed to be counted if they may be very many."""
    return events // RARE if events >= ENOUGH else 0


def counting_histories(plan: Operator) -> Operator | None:
    """The plan that counts; None unless runs are merged and no operator above examines matches."""
    match chain(plan):
        case [
            Transformation(having=None, limit=None, non_overlapping=None),
            RunEvaluation(algorithm=MergedRuns.name) as runs,
        ]:
            return exchanged(plan, replace(runs, algorithm=CountedRuns.name))
    return None
