"""The figures of SASE 2006 step by step, through the engine: stacks, and their output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sase
from sase.engine.kernels.scan.stacks import APART, COUNT, HEAD, LINKS, RIP, ROW, TAIL, TOP
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.pipeline.fused.open import open_pipeline
from sase.planning.recipes import recipe_names
from tests.drawing.ways import OF_RUNS
from tests.engine.operators.plans import alone

PAPERS = Path(__file__).parents[1] / "data" / "paper_cases.json"
CASES = {case["id"]: case for case in json.loads(PAPERS.read_text(encoding="utf-8"))["cases"]}
LEVEL_1 = [case for case in CASES.values() if case["level"] == 1]
# SEQ(A, B, D) without and with the tests of query Q3, and Q3 itself.
SEQUENCE, ONE_TEST, Q3, TWO_TESTS = (CASES[name] for name in ("S001", "S006", "S004", "S008"))


class Run:
    """A case on a plan, event by event."""

    def __init__(self, case: Any, recipe: str) -> None:
        self.names = [event.get("name", str(event["i"])) for event in case["events"]]
        self.rows = rows(case)
        self.matcher = plan_of(case, recipe).open()
        self.at = 0

    @property
    def scan(self) -> Any:
        return self.matcher.pipeline.operators[0]

    def push(self) -> list[str]:
        """The matches that the next event completes."""
        self.at += 1
        return self.shown(self.matcher.push(self.rows[self.at - 1 : self.at]))

    def push_until(self, name: str) -> list[str]:
        """The matches of all events up to this one."""
        found = list[str]()
        while self.at <= self.names.index(name):
            found += self.push()
        return found

    def finish(self) -> list[str]:
        found = self.push_until(self.names[-1])
        return found + self.shown(self.matcher.finish())

    def shown(self, matches: Any) -> list[str]:
        return [
            " ".join(self.names[row] for row in each.values()) for each in matches.rows.to_pylist()
        ]

    def counters(self) -> dict[str, Any]:
        return dict(self.matcher.counters)

    def built(self) -> int:
        """The sequences that were built so far."""
        return int(self.counters()["SequenceConstruction"]["sequences"])

    # ------------------------------------------------------------ contents of the stacks

    def name_of(self, number: int) -> str:
        store = self.matcher.pipeline.context.buffer
        return self.names[
            store.numbers("position")[number & store.mask] if store.is_needed else number
        ]

    def stack(self, level: int) -> list[str]:
        """Every instance of a level, with its RIP before it as in the paper: `(a4)b6`."""
        cells, ends = self.scan.stacks.stacks.cells, self.scan.stacks.stacks.ends
        found = []
        for number in range(ends[COUNT, level]):
            shown = self.name_of(cells[level, number, ROW])
            if level > 0:
                shown = f"({self.name_of(cells[level - 1, cells[level, number, RIP], ROW])}){shown}"
            found.append(shown)
        return found

    def partitions(self, level: int, attribute: int = 0) -> list[list[str]]:
        """The stack of each value of an attribute of the plan, each from the top down."""
        stacks = self.scan.stacks.stacks
        if attribute > 0:
            others = self.scan.stacks._others
            heads, below = others.heads[attribute - 1, level], others.below[attribute - 1, level]
        else:
            heads, links = stacks.heads[:, level * HEAD + TOP] - 1, stacks.cells[level, :, LINKS]
            below = np.arange(len(links)) - (links & APART)
        found = [
            [self.name_of(stacks.cells[level, number, ROW]) for number in chain(head, below)]
            for head in heads
            if head >= stacks.ends[TAIL, level]
        ]
        return sorted(found)


def chain(head: int, below: Any) -> Iterator[int]:
    while head != NOTHING:
        yield head
        head = below[head]


def rows(case: Any) -> list[dict[str, Any]]:
    """The events as rows of one table."""
    names = dict.fromkeys(name for event in case["events"] for name in event)
    return [{name: event.get(name) for name in names} for event in case["events"]]


def plan_of(case: Any, recipe: str) -> sase.Plan:
    options = {name: case[name] for name in ("types", "time_unit") if name in case}
    return sase.compile(case["query"], rows(case), plan=recipe, **options)


# ---------------------------------------------------------------- figures 2 and 3

SEVEN = ["a1 b3 d5", "a4 b6 d7", "a1 b6 d7", "a1 b3 d7", "a4 b6 d9", "a1 b6 d9", "a1 b3 d9"]


@pytest.mark.parametrize("recipe", recipe_names())
def test_seven_sequences_as_their_last_events_come(recipe: str) -> None:
    """Each when its last event comes, the tightest first; three of them for d9."""
    run = Run(SEQUENCE, recipe)
    found = {name: run.push() for name in run.names}
    assert {name: len(each) for name, each in found.items() if each} == {"d5": 1, "d7": 3, "d9": 3}
    assert [match for each in found.values() for match in each] == SEVEN
    assert run.finish() == []


def test_figure_2_the_runtime_stack() -> None:
    """The states that are active after each event; those that it entered are in brackets."""
    run, seen = Run(SEQUENCE, "basic"), []
    for name in run.names:
        run.push()
        stack = run.scan.stacks.stack
        cell = stack.sizes[0] - 1
        active, entered = (int(each[cell]) for each in (stack.active, stack.entered))
        marks = [
            f"[{s + 1}]" if entered >> s & 1 else f"{s + 1}" for s in range(3) if active >> s & 1
        ]
        seen.append(f"{name} {' '.join(marks)}")
    assert seen == [
        "a1 [1]",
        "c2 1",
        "b3 1 [2]",
        "a4 [1] 2",
        "d5 1 2 [3]",
        "b6 1 [2] 3",
        "d7 1 2 [3]",
        "c8 1 2 3",
        "d9 1 2 [3]",
    ]
    assert run.counters()["SequenceScan"]["cells"] == 9
    assert run.built() == 7


def test_figure_3_active_instance_stacks() -> None:
    """Step by step: b3 remembers a1, b6 remembers a4."""
    run = Run(SEQUENCE, "ais")
    steps = [
        ("a1", [["a1"], [], []]),
        ("c2", [["a1"], [], []]),
        ("b3", [["a1"], ["(a1)b3"], []]),
        ("a4", [["a1", "a4"], ["(a1)b3"], []]),
        ("d5", [["a1", "a4"], ["(a1)b3"], ["(b3)d5"]]),
        ("b6", [["a1", "a4"], ["(a1)b3", "(a4)b6"], ["(b3)d5"]]),
        ("d7", [["a1", "a4"], ["(a1)b3", "(a4)b6"], ["(b3)d5", "(b6)d7"]]),
        ("c8", [["a1", "a4"], ["(a1)b3", "(a4)b6"], ["(b3)d5", "(b6)d7"]]),
        ("d9", [["a1", "a4"], ["(a1)b3", "(a4)b6"], ["(b3)d5", "(b6)d7", "(b6)d9"]]),
    ]
    for name, stacks in steps:
        run.push_until(name)
        assert [run.stack(level) for level in range(3)] == stacks, name
    counted = run.counters()["SequenceScan"]
    assert counted["events"] == 7  # a `c` is not looked at
    assert counted["pushed"] == [2, 2, 3]
    assert counted["filtered"] == [0, 0, 0]


# ---------------------------------------------------------------- figure 4


def test_figure_4_partitioned_stacks() -> None:
    """A stack for each value of attr1; for d9 one sequence is built instead of three."""
    run, whole = Run(ONE_TEST, "pais"), Run(ONE_TEST, "ais")
    for each in (run, whole):
        each.push_until("c8")
    before = run.built(), whole.built()
    assert run.push() == whole.push() == ["a4 b6 d9"]
    assert (run.built() - before[0], whole.built() - before[1]) == (1, 3)
    again = Run(ONE_TEST, "pais")
    assert again.push_until("d9") == ["a1 b3 d5", "a1 b3 d7", "a4 b6 d9"]
    # Those of the last level are on no stack, as nothing follows them.
    assert [again.partitions(level) for level in range(2)] == [
        [["a1"], ["a4"]],
        [["b3"], ["b6"]],
    ]
    assert [again.stack(level) for level in range(3)] == [
        ["a1", "a4"],
        ["(a1)b3", "(a4)b6"],
        ["(b3)d5", "(b3)d7", "(b6)d9"],
    ]


def test_attribute_based_transition_filtering() -> None:
    """An event is dropped where the stack of its value is empty at the state before."""
    case = {**ONE_TEST, "events": [e for e in ONE_TEST["events"] if e["name"] != "a4"]}
    run = Run(case, "pais")
    run.push_until("d9")
    assert [run.stack(level) for level in range(3)] == [["a1"], ["(a1)b3"], ["(b3)d5", "(b3)d7"]]
    assert run.counters()["SequenceScan"]["filtered"] == [0, 1, 1]


# ---------------------------------------------------------------- figure 5


def test_figure_5_multi_pais() -> None:
    """The filter across attributes drops b5; of the two sequences built for b6 one is selected."""
    run = Run(TWO_TESTS, "multi_pais")
    assert run.push_until("a3") == []
    assert run.stack(0) == ["a1", "a2", "a3"]
    assert run.partitions(0, attribute=0) == [["a2"], ["a3", "a1"]]
    assert run.partitions(0, attribute=1) == [["a1"], ["a3", "a2"]]
    assert run.push_until("b5") == []
    assert run.stack(1) == []
    assert run.push_until("b6") == ["a3 b6"]
    assert run.stack(1) == ["(a3)b6"]
    assert run.partitions(1, attribute=1) == [["b6"]]
    counted = run.counters()
    assert counted["SequenceScan"]["pushed"] == [3, 1]
    assert counted["SequenceScan"]["filtered"] == [0, 1]
    assert counted["Selection"] == {"in": 2, "out": 1}


@pytest.mark.parametrize(
    ("recipe", "filtered", "built"),
    # Over attr1 alone b5 is not filtered; the second test decides after or while they are built.
    [("pais", 0, 3), ("dynamic_filtering", 0, 1), ("multi_pais", 1, 2), ("composite_key", 1, 1)],
)
def test_a_second_test(recipe: str, filtered: int, built: int) -> None:
    run = Run(TWO_TESTS, recipe)
    assert run.finish() == ["a3 b6"]
    assert run.counters()["SequenceScan"]["filtered"] == [0, filtered]
    assert run.built() == built


# ---------------------------------------------------------------- figures 1 and 6

# Events in, sequences out of SSC, after selection, window and negation; None: no such operator.
FLOWS = {
    "basic": (9, 7, 3, 2, 1),  # figure 1
    "ais": (9, 7, 3, 2, 1),
    # Of imprecise time; otherwise there is nothing but conditions on one event that they apply.
    "worlds": (9, 7, 3, 2, 1),
    "dp": (9, 7, 3, 2, 1),
    "ais_windows": (9, 3, 2, None, 1),
    "pais": (9, 2, 2, None, 1),
    "multi_pais": (9, 2, 2, None, 1),
    "dynamic_filtering": (9, 2, 2, None, 1),  # figure 6
    "composite_key": (9, 2, 2, None, 1),
    "negation_by_time": (9, 2, 2, None, 1),
    "predicates_in_construction": (9, 2, None, None, 1),
    "negation_in_construction": (9, 1, 1, None, None),
    "optimized": (9, 1, None, None, None),
    "unfused": (9, 1, None, None, None),
    "tree_left_deep": (9, 1, None, None, None),
    "tree_right_deep": (9, 1, None, None, None),
    "tree_bushy": (9, 1, None, None, None),
    # Negative events always go on.
    "match_window_f": (9, 1, None, None, None),
    "match_window_fp": (9, 1, None, None, None),
    "match_window_fpc": (8, 1, None, None, None),
    "match_window_fc": (9, 1, None, None, None),
}


def flow(run: Run) -> tuple[int | None, ...]:
    counted = run.counters()
    passed = (counted.get(name, {}).get("out") for name in ("Selection", "Window", "Negation"))
    return (counted["SequenceScan"]["events"], run.built(), *passed)


def test_every_recipe_of_sequences_has_its_flow() -> None:
    """Those of runs have other operators."""
    assert set(recipe_names()) - set(FLOWS) == set(OF_RUNS)


@pytest.mark.parametrize("recipe", FLOWS)
def test_figures_1_and_6_the_flow_between_operators(recipe: str) -> None:
    run = Run(Q3, recipe)
    assert run.finish() == ["a1 b3 d5"]
    assert flow(run) == FLOWS[recipe]
    batch = open_pipeline(plan_of(Q3, recipe).engine)
    list(batch.search(*batch.load(rows(Q3))))
    assert batch.counters == run.matcher.counters


@pytest.mark.parametrize("recipe", ["basic", "ais"])
def test_figure_1_step_by_step(recipe: str) -> None:
    """A sequence passes all operators when its last event comes."""
    run, seen = Run(Q3, recipe), {}
    for name in run.names:
        run.push()
        if name[0] == "d":
            seen[name] = flow(run)
    assert seen == {"d5": (5, 1, 1, 1, 1), "d7": (7, 4, 2, 1, 1), "d9": (9, 7, 3, 2, 1)}


def test_figure_6_step_by_step() -> None:
    """d7 is filtered when it comes: in its partition a1 is too old; c8 forbids a4 b6 d9."""
    run, seen = Run(Q3, "dynamic_filtering"), {}
    for name in run.names:
        run.push()
        if name[0] == "d":
            seen[name] = (*flow(run), run.stack(2)[-1])
    assert seen == {
        "d5": (5, 1, 1, None, 1, "(b3)d5"),
        "d7": (7, 1, 1, None, 1, "(b3)d5"),
        "d9": (9, 2, 2, None, 1, "(b6)d9"),
    }
    assert run.counters()["SequenceScan"]["filtered"] == [0, 0, 1]


def test_figure_6_windows_prune_the_stacks() -> None:
    """T is 6: when d7 has come no later event reaches back to a1."""
    run = Run(Q3, "dynamic_filtering")
    alive = []
    for name in run.names:
        run.push()
        alive.append((name, run.counters()["SequenceScan"]["alive"]))
    assert alive == [
        ("a1", [1, 0, 0]),
        ("c2", [1, 0, 0]),
        ("b3", [1, 1, 0]),
        ("a4", [2, 1, 0]),
        ("d5", [2, 1, 0]),
        ("b6", [2, 2, 0]),
        ("d7", [1, 1, 0]),
        ("c8", [1, 1, 0]),
        ("d9", [1, 1, 0]),
    ]


# ---------------------------------------------------------------- every case


@pytest.mark.parametrize("case", LEVEL_1, ids=lambda case: case["id"])
def test_every_case_by_every_plan(case: Any) -> None:
    """By each plan that some recipe makes."""
    plans = {alone(plan_of(case, recipe)): recipe for recipe in reversed(recipe_names())}
    assert len(plans) > 3
    wrong = {recipe: why for plan, recipe in plans.items() if (why := fault(case, plan))}
    assert wrong == {}


def fault(case: Any, plan: sase.Plan) -> str:
    """The fault of one batch and of pushes event by event: in the matches, or in their order."""
    table, matcher = rows(case), plan.open()
    parts = [*(matcher.push([event]) for event in table), matcher.finish()]
    pushed = [[*row.values()] for part in parts if len(part) for row in part.rows.to_pylist()]
    batch = [[*row.values()] for row in plan.run(table).rows.to_pylist()]
    if pushed != batch:
        return f"pushed {pushed}, as a batch {batch}"
    if "partial" in case:
        assert case["partial"] == "matches that end at position 8"
        batch = [row for row in batch if row[-1] == 8]
    return "" if sorted(batch) == case["expected"] else f"as a batch {batch}"


def test_the_cases_are_those_of_the_paper() -> None:
    assert [case["id"] for case in LEVEL_1] == [f"S{number:03}" for number in range(1, 14)]
