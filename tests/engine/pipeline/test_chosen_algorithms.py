"""The physical plan is the plan that runs: each node is opened as its class."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest

import sase
from sase.engine.columns.arrow.input import SMALL
from sase.engine.kernels.kleene import stretch_groups
from sase.engine.kernels.scan.stacks import TAG_AT
from sase.engine.operators.contract import HasBranches
from sase.engine.operators.opening import OPENERS, opener, parts
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import TransformationState
from sase.engine.pipeline.fused.lines import MOST_KEYS
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.drive import DriveRequest, Feed, Need
from sase.planning.physical.drives import NarrowedScanDrive, choose_drive
from sase.planning.physical.line_drives import MOST_COMPARED, MOST_LEVELS
from sase.planning.physical.operators import (
    BranchUnion,
    EventScan,
    OperatorPlan,
    SequenceOutput,
    operators_of,
)
from sase.planning.physical.runs import RUNS
from sase.planning.physical.stack_drives import MOST_TAGGED, StackDrive
from sase.planning.recipes import recipe_names
from tests import routes
from tests.casefile import Case
from tests.repo.source import modules
from tests.test_cases import all_cases

Names: TypeAlias = list[Any]
# One in this number of cases, each by a recipe and an output of its own.
SHARE = 3
# The facts that the choice of an algorithm depends on; the rest is no choice of a class.
DECIDING = {"Stacks", "SequenceSearch", "choose_runs", "choose_operators"}


def chosen(plan: OperatorPlan) -> Names:
    """The classes of a plan, by the table."""
    found: Names = []
    for node in plan.operators:
        if isinstance(node, EventScan):
            found.append((SequenceScanState, opener(node)))
        elif isinstance(node, BranchUnion):
            # Those of several branches have an output each.
            found.append((opener(node), [chosen(each)[:-1] for each in node.scans]))
        else:
            found.append(TransformationState if isinstance(node, SequenceOutput) else opener(node))
    return found


def opened(states: list[Any]) -> Names:
    """The classes of running operators."""
    found: Names = []
    for state in states:
        if isinstance(state, SequenceScanState):
            found.append((type(state), type(state.stacks)))
        elif isinstance(state, HasBranches):
            scans: list[Any] = state.scans  # type: ignore[attr-defined]
            found.append((type(state), [opened(each.states) for each in scans]))
        else:
            found.append(type(state))
    return found


@cache
def plans() -> list[tuple[Case, EnginePlan, bool]]:
    """Plans, made once, and whether their events come in pieces."""
    made = list[tuple[Case, EnginePlan, bool]]()
    for case in all_cases():
        random = Random(case.title)  # so that a new case changes no other
        recipe = random.choice(["optimized", random.choice(recipe_names())])
        output = random.choice(["all", "non_overlap"])
        if random.randrange(SHARE) or not case.events or case.inputs or case.options.get("entry"):
            continue
        try:
            known: dict[str, Any] = {"plan": recipe, "output": output, **routes.keywords(case)}
            plan = sase.compile(case.query, routes.rows(case), **known)
        except sase.SaseError:
            continue  # a case of an error, or one that needs more than a table
        made.append((case, plan.engine, not random.randrange(3)))
    return made


def test_what_is_chosen_is_what_is_opened() -> None:
    seen = Counter[str]()
    for case, plan, streaming in plans():
        pipeline = Pipeline(plan, streaming=streaming)
        assert opened(pipeline.operators) == chosen(operators_of(plan)), case
        seen.update(type(each).__name__ for each in operators_of(plan).operators)
    assert seen.total() > 500
    assert {"StackScan", "LeafScan", "RunsInLines", "Prefixes", "SetRuns", "GroupRuns"} <= {*seen}


def test_what_is_driven_is_what_is_chosen() -> None:
    """No arithmetic is watched then, and a scan onto stacks keeps no event for later."""
    seen = Counter[str]()
    for case, plan, streaming in plans():
        pipeline = open_pipeline(plan, streaming=streaming)
        request = DriveRequest(plan, in_pieces=streaming)
        feeds = {Feed.LOADED: pipeline.loaded_path, Feed.PUSHED: pipeline.pushed_path}
        for feed, path in feeds.items():
            drive = choose_drive(request, feed)
            if feed is Feed.PUSHED and not streaming:
                assert path is None  # nothing is pushed
            elif drive is None or path is None:
                assert drive is None and path is None, case
            else:
                assert path.use.path == drive.name, case
                seen[drive.name] += 1
                if not isinstance(drive, NarrowedScanDrive):
                    assert not pipeline.context.overflows, case
                if isinstance(drive, StackDrive):
                    assert not pipeline.keeps_events, case
    assert {"fused scan", "fused push", "shared lines", "fused lines", "narrowed scan"} <= {*seen}


def test_bounds_are_those_of_the_kernels() -> None:
    assert (MOST_TAGGED, MOST_COMPARED) == (TAG_AT, stretch_groups.MOST_COMPARED)
    assert f"{MOST_KEYS:,}" in Need.FEW_KEYS.value
    assert f"{SMALL:,}" in Need.SMALL_BATCH.value
    assert 8 * np.dtype(np.uint8).itemsize == MOST_LEVELS


@pytest.mark.parametrize("node", OPENERS, ids=lambda node: node.__name__)
def test_every_node_has_a_class(node: type) -> None:
    made = [opener(node.__new__(node)), *parts(node.__new__(node))]
    named = [f"{each.__module__}:{each.__name__}" for each in made]
    assert named == [f"sase.engine.operators.{path}" for path in OPENERS[node].split()]


def test_few_classes_evaluate_runs() -> None:
    """Parts that differ from node to node are composed: the number may only shrink."""
    assert len({OPENERS[node].split()[0] for node in RUNS}) == 5


def test_the_engine_chooses_no_class() -> None:
    """Neither by the needs of a plan, nor by making the operator of a node elsewhere."""
    named = {path.split(":")[1] for paths in OPENERS.values() for path in paths.split()}
    classes = {name for name in named if not name.endswith("Check")}
    for each in modules():
        if not each.name.startswith("sase.engine."):
            continue
        if not any(name in each.text for name in DECIDING | classes):
            continue
        imported = {
            alias.name
            for node in each.nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sase.planning")
            for alias in node.names
        }
        assert not imported & DECIDING, each.name
        calls = (node.func for node in each.nodes if isinstance(node, ast.Call))
        made = {func.id for func in calls if isinstance(func, ast.Name)} & classes
        assert not made, each.name
