"""Rewrites and recipes: the parts that each moves, the place, and the rest."""

import itertools
from functools import cache
from pathlib import Path

import pytest

from sase.binding import Schema, bind_text
from sase.binding.schema_file import schema_from
from sase.errors import PlanError
from sase.planning.driver import RewriteCall, Trace
from sase.planning.optimizer import optimized
from sase.planning.plan.basic import basic_plan, without_overlaps
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    Window,
    chain,
    find,
    require,
)
from sase.planning.plan.traversal import outline
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites.infer_equivalence_tests import implied_by
from tests.planning.plans import CALLS, CHOICES

# Query Q3 of the paper (section 3.1) over one wide table.
TABLE = schema_from(
    {"columns": dict.fromkeys(["ts", "attr1", "attr2", "attr3", "attr4"], "integer")}
)
INTERVALS = Schema(columns=TABLE.columns, time="ts", until="attr4")
Q3 = (
    "EVENT SEQ(A x1, B x2, !(C x3), D x4)"
    " WHERE [attr1, attr2] AND x1.attr3 = 1 AND x1.attr4 < x4.attr4 WITHIN 6"
)
EQUALITIES = (
    "EVENT SEQ(A x1, B x2, !(C x3), D x4) WHERE x1.attr1 = x2.attr1 AND x2.attr1 = x4.attr2"
    " AND x3.attr1 = x1.attr1 AND x4.attr2 > 3 AND x1.attr4 < x4.attr4 WITHIN 6"
    " RETURN x1.attr3 LIMIT 5"
)
# Conditions on several events are conditions on neighbours.
NEIGHBOURS = "EVENT SEQ(A+ a[], B b) WHERE [attr1] AND a[i].attr2 > a[i-1].attr2 WITHIN 6"
RISING = "EVENT SEQ(A+ a[], B b) WHERE a[i].attr2 > max(a[..i-1].attr2) WITHIN 6"
OF_SETS = "EVENT SEQ(SET(A a, B+ b[]), C c) WHERE [attr1] WITHIN 9"
SINGLES = "EVENT SEQ(SET(A a, B b), C c) WHERE [attr1] WITHIN 9"
GROUP = "EVENT SEQ(A a, !(SEQ(B b, C c)), D d) WHERE [attr1] WITHIN 6"
# It only pays where nothing was pushed, and has cases of its own.
RARE = "negate_before_selection"


@cache
def basic_of(text: str, schema: Schema = TABLE) -> Operator:
    """The basic plan of a query."""
    return basic_plan(bind_text(text, schema))


def plan_of(recipe: str, text: str = Q3, schema: Schema = TABLE) -> Operator:
    """The plan of a query by a recipe."""
    return optimized(read_recipe(recipe), basic_of(text, schema)).plan


def test_the_basic_plan_is_that_of_figure_1() -> None:
    """Bottom up: scan, construction, selection, window, negation, transformation."""
    names = [type(operator).__name__ for operator in reversed(chain(plan_of("basic")))]
    assert names == [
        "SequenceScan",
        "SequenceConstruction",
        "Selection",
        "Window",
        "Negation",
        "Transformation",
    ]


def test_the_optimised_plan_is_that_of_figure_6() -> None:
    """The window in scan and construction, attr1 and attr3 in the scan, attr2 in construction."""
    plan = plan_of("dynamic_filtering")
    scan, construction = find(plan, SequenceScan), find(plan, SequenceConstruction)
    selection = find(plan, Selection)
    assert scan is not None
    assert construction is not None
    assert selection is not None
    assert scan.stacks is Stacks.AIS
    assert [[test.attribute for test in key] for key in scan.partitions] == [["attr1"]]
    assert len(scan.conditions) == 1
    assert [test.attribute for test in construction.equivalences] == ["attr2"]
    assert scan.window is not None
    assert construction.window is not None
    assert find(plan, Window) is None
    assert find(plan, Negation) is not None
    assert len(selection.conditions) == 1


def checks(plan: Operator) -> tuple[set[object], set[str]]:
    """Every conjunct, and every attribute of a written test, that some operator decides.

    Derived conditions are left out, and a key decides those that it implies.
    """
    conjuncts: set[object] = set()
    attributes: set[str] = set()
    if (runs := find(plan, RunEvaluation)) is not None:
        every = [*(edge.conjunct for edge in runs.conditions), *runs.simple, *runs.early]
        decided_after = find(plan, Negation)
        assert decided_after is not None
        return {c for c in every if not c.derived}, {test.attribute for test in runs.tests}
    written = {test.attribute for test in require(plan, SequenceScan).tests}
    for operator in chain(plan):
        conjuncts |= {c for c in getattr(operator, "conditions", ()) if not c.derived}
        if isinstance(operator, SequenceScan):
            keys = operator.partitions[:1]  # construction runs in the first one's stacks
            decided = [test for key in keys for test in key]
        else:
            decided = list(getattr(operator, "equivalences", ()))
        attributes |= {test.attribute for test in decided} & written
    known = basic_of(Q3 if written else EQUALITIES)
    selection, scan = require(known, Selection), require(plan, SequenceScan)
    implied_by_key = [test for key in scan.partitions[:1] for test in key]
    conjuncts |= {*filter(implied_by(implied_by_key), selection.conditions)}
    return conjuncts, attributes


@pytest.mark.parametrize("recipe", recipe_names())
def test_a_recipe_loses_no_check(recipe: str) -> None:
    """The checks of the basic plan are in each plan somewhere, the window too."""
    plan = plan_of(recipe)
    assert checks(plan) == checks(plan_of("basic"))
    if (runs := find(plan, RunEvaluation)) is not None:
        assert runs.window is not None
        return
    construction = find(plan, SequenceConstruction)
    assert construction is not None
    assert (find(plan, Window) is None) == (construction.window is not None)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_rewrite_is_used_and_applies_once(call: RewriteCall) -> None:
    """Where a recipe uses it, it changes a plan there, and it does nothing to its own result.

    This test does not check that one does: every rewrite has a case in which it applies
    (`tests/repo`)."""
    used, applied = False, []
    texts = Q3, EQUALITIES, NEIGHBOURS, RISING, GROUP, OF_SETS, SINGLES
    bound = [bind_text(text, TABLE) for text in texts]
    bound.append(bind_text(f"{RISING} WITH CONFIDENCE > 0.5", INTERVALS))
    plans = [*map(basic_plan, bound), without_overlaps(basic_plan(bound[2]), bound[2])]
    for recipe, basic in itertools.product(map(read_recipe, recipe_names()), plans):
        if any(_is_of(each, call) for each in recipe.calls):
            used = True
            trace = Trace.of(basic)
            for each in recipe.calls:
                trace = trace.after([each])
                if _is_of(each, call) and trace.steps[-1].applied:
                    applied.append(trace.plan)
    assert applied or not used or call.rewrite == RARE
    again = (Trace.of(plan).after([call]).steps[-1] for plan in applied)
    assert not any(step.applied for step in again)


def _is_of(made: RewriteCall, call: RewriteCall) -> bool:
    """Whether it calls the same rewrite, perhaps with parameters."""
    return made.rewrite == call.rewrite and call.parameters in ((), made.parameters)


@pytest.mark.parametrize("text", [Q3, EQUALITIES])
def test_any_order_ends_and_loses_nothing(text: str) -> None:
    """Two rewrites in either order, repeated until none applies."""
    basic = basic_of(text)
    for order in itertools.permutations(CALLS, 2):
        trace = Trace.of(basic)
        for _ in range(4):
            trace = trace.after(order)
        assert all(not step.applied for step in trace.steps[-2:]), order
        assert checks(trace.plan) == checks(basic), order


def test_stacks_are_partitioned_only_where_every_type_declares_the_attribute() -> None:
    """Two events of which one has no such attribute agree, so they may not be kept apart."""
    schema = schema_from({"types": {"A": {"k": "integer"}, "B": {}, "C": {"k": "integer"}}})
    plan = plan_of("pais", "EVENT SEQ(A a, ANY(B, C) b) WHERE [k] WITHIN 5", schema)
    scan = find(plan, SequenceScan)
    assert scan is not None
    assert scan.partitions == ()
    plan = plan_of("pais", "EVENT SEQ(A a, !(B n), C c) WHERE [k] WITHIN 5", schema)
    scan = find(plan, SequenceScan)
    assert scan is not None
    assert len(scan.partitions) == 1


def test_a_window_in_events_of_a_partition_needs_its_partition() -> None:
    """Positions of different partitions do not compare."""
    text = "EVENT SEQ(A a, B b) WHERE [attr1, attr2] WITHIN 5 EVENTS PER PARTITION"
    assert find(plan_of("ais_windows", text), Window) is not None
    assert find(plan_of("pais", text), Window) is not None
    plan = plan_of("composite_key", text)
    scan = find(plan, SequenceScan)
    assert find(plan, Window) is None
    assert scan is not None
    assert scan.window is None


def test_of_a_kleene_query_runs_are_partitioned_and_what_is_simple_is_pushed() -> None:
    """Its plan has run evaluation at the bottom, where the rewrites of stacks are not legal.

    Beside these there are three other ways to evaluate such runs.
    """
    text = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [attr1] AND a[i].attr2 > 1 }"
    basic = basic_plan(bind_text(text, TABLE))
    assert find(basic, RunEvaluation) is not None
    steps = [Trace.of(basic).after([call]).steps[-1] for call in CALLS]
    algorithms = [CHOICES[name] for name in ("merged", "backtracking", "rereading", "versioned")]
    applied = {RewriteCall("partition_stacks"), RewriteCall("push_simple_conditions"), *algorithms}
    assert {step.call for step in steps if step.applied} == applied
    (window,) = (step for step in steps if step.rewrite == "push_window_into_scan")
    assert "skip_till_next_match" in str(window.declined)


def test_skip_till_any_match_is_postponed() -> None:
    """Conditions that the events of a walk decide are decided on the way; the rest waits."""
    text = "EVENT SEQ(A+ a[], B b) WHERE a[i].attr2 > a[i-1].attr2 AND sum(a[].attr2) > b.attr2"
    runs = require(plan_of("optimized", text), RunEvaluation)
    assert runs.algorithm == "postponed"
    assert len(runs.early) == len(runs.conditions) == 1


def test_a_plan_is_shown_as_a_list_from_the_top() -> None:
    """With the checks of each operator."""
    assert outline(plan_of("pais", "EVENT SEQ(A a, B b) WHERE [attr1] WITHIN 5")) == (
        "Transformation\n"
        "  SequenceConstruction window=5\n"
        "    SequenceScan components=[a, b] tests=[attr1] stacks=AIS"
        " partitions=[[attr1]] window=5"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rewrites = ['partition_stack']", "no rewrite `partition_stack`.*`partition_stacks`"),
        ("rewrites = [{one_of = ['push_limit']}]", "'push_limit' is no alternative"),
        ("rewrites = [{one_of = []}]", r"is no rewrite: give .*one_of"),
        ("rewrites = [3]", "3 is no rewrite"),
        ("rewrites = [{algorithm = 3}]", "name = 3: `use_algorithm` takes name, as text"),
        ("rewrites = ['merge_runs']", 'no rewrite `merge_runs`; write {algorithm = "merged"}'),
        ("rewrites = [{rewrite = 'push_limit', on = 'id'}]", "`push_limit` takes no parameters"),
        ("rewrites = [{rewrite = 'partition_stacks', of = 'id'}]", "`partition_stacks` takes on"),
        ("summary = 'x'", "has a `summary` and a list of `rewrites`"),
        ("rewrites = [", "not valid TOML"),
        ("extends = 'optimized'\nrewrites = []", "a list of `rewrites`, or `extends` a recipe"),
        ("extends = 3", "or `extends` a recipe"),
        ("rewrites = []\nfused = 'no'", "fused = 'no': it is true or false"),
    ],
)
def test_a_wrong_recipe_says_why(content: str, message: str, tmp_path: Path) -> None:
    """The name of the recipe and a remedy."""
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PlanError, match=f"(?s)mine.*{message}"):
        read_recipe(str(path))


def test_a_recipe_extends_another_but_not_itself(tmp_path: Path) -> None:
    """At whatever distance."""
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(f"extends = '{other}'\nfused = false", encoding="utf-8")
    other.write_text("extends = 'pais'", encoding="utf-8")
    assert read_recipe(str(one)).entries == read_recipe("pais").entries
    assert [read_recipe(str(each)).fused for each in (one, other)] == [False, True]
    other.write_text(f"extends = '{one}'", encoding="utf-8")
    with pytest.raises(PlanError, match=r"one\.toml: it extends itself"):
        read_recipe(str(one))


def test_an_unknown_recipe_says_which_there_are() -> None:
    """The nearest, and that a file is possible."""
    with pytest.raises(PlanError, match=r"did you mean `pais`\?.*ends in .toml"):
        read_recipe("pias")
