"""The driver of rewrites: apply them in order, check each, and record the trace."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from sase.base.limits import heed
from sase.errors import PlanError
from sase.planning.plan.nodes import (
    Operator,
    Transformation,
    branches_of,
    reading,
    require,
    with_branch,
)
from sase.planning.rewrites import REWRITES, Declined
from sase.planning.statistics import Statistics

SWITCHED_OFF = "it is switched off"


@dataclass(frozen=True, slots=True)
class RewriteCall:
    """A rewrite, and the parameters that a recipe sets."""

    rewrite: str
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.rewrite}({given})" if given else self.rewrite


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """A rewrite that was applied, or declined for a reason; with its branch, if there are any."""

    call: RewriteCall
    declined: str | None = None
    branch: int | None = None

    @property
    def rewrite(self) -> str:
        """The name of the rewrite."""
        return self.call.rewrite

    @property
    def applied(self) -> bool:
        """Whether it changed the plan."""
        return self.declined is None


@dataclass(frozen=True, slots=True)
class Stage:
    """A plan, and the step that led to it; the basic plan has no step."""

    plan: Operator
    step: RewriteStep | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The plans from the basic one to the last, step by step."""

    stages: tuple[Stage, ...]

    @classmethod
    def of(cls, plan: Operator) -> Trace:
        """A trace with one plan and no rewrites."""
        return cls((Stage(plan),))

    @property
    def plan(self) -> Operator:
        """The last plan."""
        return self.stages[-1].plan

    @property
    def steps(self) -> tuple[RewriteStep, ...]:
        """The rewrites that were tried, in order."""
        return tuple(stage.step for stage in self.stages if stage.step is not None)

    def after(
        self,
        calls: Iterable[RewriteCall],
        statistics: Statistics | None = None,
        off: Collection[str] = (),
    ) -> Trace:
        """Append rewrites; those that are switched off decline."""
        trace = self
        for call in calls:
            branches = branches_of(self.plan)
            if len(branches) == 1:
                trace = trace._after(call, statistics, off)
            else:
                for number, branch in enumerate(branches_of(trace.plan)):
                    after = Trace.of(branch).after([call], statistics, off)
                    trace = trace.with_branch(number, after)
        return trace

    def with_branch(self, number: int, trace: Trace) -> Trace:
        """Append the steps that rewrote a branch."""
        stages = [
            Stage(
                with_branch(self.plan, number, stage.plan),
                None if stage.step is None else replace(stage.step, branch=number),
            )
            for stage in trace.stages[1:]
        ]
        return Trace((*self.stages, *stages))

    def _after(
        self, call: RewriteCall, statistics: Statistics | None, off: Collection[str]
    ) -> Trace:
        heed()
        plan = self.plan
        rewritten: Operator | Declined = Declined(SWITCHED_OFF)
        if call.rewrite not in off:
            rewritten = REWRITES[call.rewrite](plan, statistics, **dict(call.parameters))
        if isinstance(rewritten, Declined):
            return Trace((*self.stages, Stage(plan, RewriteStep(call, rewritten.reason))))
        _check(call, plan, rewritten)
        if any(rewritten == stage.plan for stage in self.stages):
            raise PlanError(
                f"rewrite {call}: it leads back to a plan that was there before, so it undoes"
                " another one: leave one of them out"
            )
        return Trace((*self.stages, Stage(rewritten, RewriteStep(call))))


def _check(call: RewriteCall, before: Operator, after: Operator) -> None:
    """Check that a rewrite kept the results of the plan and changed only their computation."""
    for name, made_of in (("the results", _output), ("the components", _components)):
        if made_of(before) != made_of(after):
            raise PlanError(f"rewrite {call}: it changed {name} of the plan, which is a defect")


def _output(plan: Operator) -> tuple[object, ...]:
    top = require(plan, Transformation)
    return top.columns, top.type_name, top.having, top.limit, top.non_overlapping


def _components(plan: Operator) -> object:
    return reading(plan).components
