"""The driver: checks after every rule, the trace, rules that undo each other or are off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sase.errors import PlanError
from sase.planning.driver import SWITCHED_OFF, RewriteCall, RewriteStep, Trace
from sase.planning.plan.nodes import (
    Operator,
    SequenceScan,
    Stacks,
    Transformation,
    exchanged,
    find,
    require,
)
from sase.planning.recipes import read_recipe
from sase.planning.rewrites import REWRITES, Outcome, Rewrite
from tests.planning.plans import basic, known, made

QUERY = "EVENT SEQ(A a, B b) WHERE [many] AND a.v < b.v WITHIN 50 RETURN a.v, b.w LIMIT 9"
KLEENE = "EVENT SEQ(A+ a[], B b) WITHIN 50"
AIS, SCAN_WINDOW = RewriteCall("use_active_instance_stacks"), RewriteCall("push_window_into_scan")


def scanning(plan: Operator, **changes: object) -> Operator:
    """The plan with another scan."""
    return exchanged(plan, replace(require(plan, SequenceScan), **changes))  # type: ignore[arg-type]


def topped(plan: Operator, **changes: object) -> Operator:
    """The plan with another transformation."""
    return exchanged(plan, replace(require(plan, Transformation), **changes))  # type: ignore[arg-type]


def use_runtime_stack(plan: Operator) -> Outcome:
    """A rewrite that undoes the use of active instance stacks."""
    return scanning(plan, stacks=Stacks.NFA)


def forget_limit(plan: Operator) -> Outcome:
    return topped(plan, limit=None)


def return_less(plan: Operator) -> Outcome:
    return topped(plan, columns=(require(plan, Transformation).columns or ())[:1])


def rename_results(plan: Operator) -> Outcome:
    return topped(plan, type_name="Other")


def lose_a_component(plan: Operator) -> Outcome:
    return scanning(plan, components=require(plan, SequenceScan).components[:1])


def do_nothing(plan: Operator) -> Outcome:
    return plan


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """These rules are known as those of the package are."""
    for function in (
        use_runtime_stack, forget_limit, return_less, rename_results, lose_a_component, do_nothing
    ):  # fmt: skip
        monkeypatch.setitem(REWRITES, function.__name__, Rewrite(function))


def after(*calls: RewriteCall, query: str = QUERY) -> Trace:
    return Trace.of(basic(query)).after(calls)


# ---------------------------------------------------------------- rules that are wrong


def test_two_rules_that_undo_each_other_are_stopped() -> None:
    with pytest.raises(PlanError, match=r"rewrite use_runtime_stack: it leads back to a plan"):
        after(AIS, RewriteCall("use_runtime_stack"))


def test_also_where_others_stand_between() -> None:
    """The plan without the window and with it are not the same: only the third undoes all."""
    windowless = RewriteCall("drop_window")
    REWRITES["drop_window"] = Rewrite(lambda plan: scanning(plan, window=None, stacks=Stacks.NFA))
    try:
        with pytest.raises(PlanError, match=r"rewrite drop_window: it leads back"):
            after(AIS, SCAN_WINDOW, windowless)
    finally:
        del REWRITES["drop_window"]


def test_a_rule_that_says_it_changed_what_it_did_not_is_stopped() -> None:
    with pytest.raises(PlanError, match=r"rewrite do_nothing: it leads back"):
        after(RewriteCall("do_nothing"))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("forget_limit", "the results"),
        ("return_less", "the results"),
        ("rename_results", "the results"),
        ("lose_a_component", "the components"),
    ],
)
def test_a_rule_that_changes_the_output_is_a_defect(name: str, what: str) -> None:
    with pytest.raises(PlanError, match=f"rewrite {name}: it changed {what} of the plan"):
        after(RewriteCall(name))


# ---------------------------------------------------------------- the trace


def test_the_trace_has_every_step_in_order_with_the_plan_after_it() -> None:
    calls = [SCAN_WINDOW, AIS, SCAN_WINDOW, SCAN_WINDOW]
    trace = after(*calls)
    assert [step.call for step in trace.steps] == calls
    assert [step.applied for step in trace.steps] == [False, True, True, False]
    assert [step.declined for step in trace.steps] == [
        "the runtime stack of the NFA drops nothing",
        None,
        None,
        "the scan knows the window already",
    ]
    plans = [stage.plan for stage in trace.stages]
    assert plans[0] == plans[1] == basic(QUERY)
    assert plans[2] == scanning(basic(QUERY), stacks=Stacks.AIS)
    assert plans[3] == plans[4] == trace.plan
    assert require(trace.plan, SequenceScan).window is not None


def test_a_trace_goes_on_from_where_it_was() -> None:
    calls = list(read_recipe("optimized").calls)
    calls = [call for call in calls if "each" not in dict(call.parameters).values()]
    begun = after(*calls[:5])
    assert begun.after(calls[5:]) == after(*calls)
    assert begun == after(*calls[:5])


def test_a_step_is_written_as_a_recipe_has_it() -> None:
    assert str(RewriteCall("push_limit")) == "push_limit"
    call = RewriteCall("partition_stacks", (("on", "many"),))
    assert str(call) == "partition_stacks(on=many)"
    assert RewriteStep(call).rewrite == "partition_stacks"


def test_statistics_reach_the_rules_that_take_them() -> None:
    query = "EVENT SEQ(A a, B b) WHERE [few, many] WITHIN 50"
    statistics = known(A=10, B=10, agreements={("few", "a b"): 0.5, ("many", "a b"): 0.01})
    calls = [AIS, RewriteCall("partition_stacks")]
    keys = []
    for given in (None, statistics):
        scan = require(Trace.of(basic(query)).after(calls, given).plan, SequenceScan)
        keys.append([[test.attribute for test in key] for key in scan.partitions])
    assert keys == [[["few"]], [["many"]]]


# ---------------------------------------------------------------- rules that are off


@pytest.mark.parametrize("name", list(REWRITES))
def test_any_rule_can_be_switched_off(name: str) -> None:
    """It is passed over at any place, the plan comes out, and the trace says why."""
    recipe = "negation_in_construction" if "negation" in name else "optimized"
    steps = made(QUERY, off=[name], recipe=recipe).steps
    assert {step.declined for step in steps if step.rewrite == name} <= {SWITCHED_OFF}
    assert SWITCHED_OFF not in {step.declined for step in steps if step.rewrite != name}


def test_what_is_off_leaves_the_plan_as_it_is() -> None:
    every = {call.rewrite for call in read_recipe("optimized").calls}
    assert made(QUERY, off=every).plan == basic(QUERY)
    assert find(made(QUERY, off=["use_active_instance_stacks"]).plan, SequenceScan) == replace(
        require(made(QUERY).plan, SequenceScan), stacks=Stacks.NFA, partitions=(), window=None
    )


def test_off_can_break_a_cycle() -> None:
    trace = Trace.of(basic(QUERY)).after(
        [AIS, RewriteCall("use_runtime_stack")], off=["use_runtime_stack"]
    )
    assert trace.plan == scanning(basic(QUERY), stacks=Stacks.AIS)


def test_rules_of_scans_are_not_for_runs() -> None:
    others = [name for name, rewrite in REWRITES.items() if rewrite.of_runs is None]
    trace = after(*map(RewriteCall, others), query=KLEENE)
    ours = {step.rewrite: step.declined for step in trace.steps}
    assert trace.plan == basic(KLEENE)
    assert set(ours.values()) == {"the plan evaluates runs, and has no sequence scan"}
