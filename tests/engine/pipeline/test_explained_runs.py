"""What EXPLAIN says of runs and drives is what is opened, by every recipe and output."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

import sase
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.explain.driven import paths_of
from sase.planning.physical.drive import Feed
from sase.planning.recipes import recipe_names
from tests.seeds import draw_numbers, tries

EVENTS = pa.table({"ts": [1], "type": ["A"], "k": [1], "v": [2], "s": ["x"]})
TYPES = {"A": ["k", "v", "s"], "B": ["k", "v", "s"], "C": ["k"], "D": ["k", "v"]}
PATTERNS = [
    "SEQ(A a, B b)", "SEQ(A a, B b, D d)", "SEQ(A a, !(C n), D d)", "SEQ(A a, B? b, D d)",
    "SEQ(A a, B+ b[], D d)", "SEQ(B+ b[], D d)", "SEQ(A+ a[], A b)", "SEQ(A+ a[], A+ b[])",
    "SEQ(A a, A+ b[], A+ d[])", "SEQ(A{2,5} a[], D d)", "SEQ(A+ a[], B b, !(C n))",
    "SEQ(SET(A a, B b), D d)", "SET(A a, B b)", "SEQ(SET(A a, A b), D d)", "SET(A+ a[], B b)",
    "SEQ(A a, (SEQ(B b, D d))+ g[])", "SEQ(ANY(A, B) a, D d)", "SEQ(ANY a, D d)",
]  # fmt: skip
CONDITIONS = [
    "[k]", "[v]", "a.v < b.v", "a.v + 1 < b.v", "a.s < b.s", "a.s = b.s", "b.v > a.v OR a.k = 1",
    "a.v > 1", "b[i].v > b[i-1].v", "b[i].v < b[i-1].v", "d[1].v > b[b.len].v", "a.k < d.v",
    "d[i].v > d[i-1].v", "a[i].v > a[i-1].v", "b.v < a[a.len].v", "b[1].v < a[a.len].v",
    "b[i].v > a.v", "b[i].s > b[i-1].s", "b.len > 1", "a.v = d.v", "d.k != b.k",
]  # fmt: skip
STRATEGIES = [
    "skip_till_any_match", "skip_till_next_match", "strict_contiguity", "partition_contiguity",
    "earliest_maximal",
]  # fmt: skip
WINDOWS = ["", "WITHIN 10", "WITHIN 10 EVENTS", "WITHIN 10 EVENTS PER PARTITION"]
TAILS = ["", "", "RETURN a.v AS x", "HAVING a.v > 1", "HAVING a.len + 0 > 1"]
# By words of EXPLAIN the class that is opened.
CLASSES = {
    "(in lines)": "LineEvaluationState",
    "(in stretches)": "StretchEvaluationState",
    "(SES, in lines)": "SetLineEvaluationState",
    "(SES)": "SetEvaluationState",
    "through iterations of groups": "GroupEvaluationState",
    "(merged)": "MergedEvaluationState",
    "(versioned)": "VersionedState",
    "(backtracking)": "BacktrackingState",
    "(backtracking, rereading)": "RereadingState",
    "(postponed)": "WalkBackEvaluationState",
    "join the events of components": "SetTreeEvaluationState",
    "join what must occur": "SeriesTreeEvaluationState",
    "all paths through a graph": "MatchSetEvaluationState",
    "runs of the automaton, event by event": "RunEvaluationState",
}


MOST_ALIKE = ["(in lines)", "(in stretches)", "(SES, in lines)", "(SES)"]
NUMBERS = draw_numbers(settings().max_examples * 40)


def fits(clause: str, pattern: str) -> bool:
    """Whether a clause reads series of a pattern as such, and single events as such."""
    read = re.findall(r"\b([a-d])(\[|\.len|\.)", clause)
    names = [f"{name}{'' if how == '.' else '[]'}" for name, how in read]
    return all(re.search(rf" {re.escape(name)}[,)]", pattern) for name in names)


def drawn(random: Random) -> str:
    pattern, strategy = random.choice(PATTERNS), random.choice(STRATEGIES)
    some = [each for each in CONDITIONS if fits(each, pattern)]
    chosen = random.sample(some, min(len(some), random.randrange(3)))
    asked = " AND ".join(["[k]"] * (strategy == "partition_contiguity") + chosen) or "TRUE"
    tail = random.choice([each for each in TAILS if fits(each, pattern)])
    window = random.choice(WINDOWS)
    return f"EVENT {pattern} WHERE {strategy} {{ {asked} }} {window} {tail}"


def differs(number: int, seen: Counter[str]) -> str | None:
    random = Random(number)
    text = drawn(random)
    keywords: dict[str, Any] = {
        "plan": random.choice([*["optimized"] * 8, *recipe_names()]),
        "output": random.choice(["all", "non_overlap"]),
    }
    plan = sase.compile(text, EVENTS, types=random.choice([None, TYPES]), **keywords)
    said = sase.explain(text, schema=plan.engine.schema, **keywords).to_text()
    lines = [line.split("─ NFAb ")[1] for line in said.splitlines() if "─ NFAb " in line]
    opened = Pipeline(plan.engine, streaming=True).operators
    for streaming in (False, True):
        paths = paths_of(plan.engine, in_pieces=streaming)
        feeds = [Feed.LOADED, *[Feed.PUSHED] * streaming]
        taken = [path for path in paths if path.declined is None and path.feed in feeds]
        driven = {path.feed: path.name for path in taken}
        pipeline = open_pipeline(plan.engine, streaming=streaming)
        used = {Feed.LOADED: pipeline.loaded_path, Feed.PUSHED: pipeline.pushed_path}
        names = {feed: path.meter.path for feed, path in used.items() if path is not None}
        if driven != names:
            return f"{number} {keywords}: {text}\n{driven}\n{names}"
        seen.update(driven.values())
    found = [type(each).__name__ for each in opened if type(each).__name__ in CLASSES.values()]
    expected = [next(name for words, name in CLASSES.items() if words in line) for line in lines]
    seen.update(expected)
    return None if found == expected else f"{number} {keywords}: {text}\n{lines}\n{found}"


@pytest.mark.random
def test_what_is_said_is_what_is_opened() -> None:
    seen, compared = Counter[str](), 0
    for number in chain.from_iterable(zip(*map(tries, NUMBERS), strict=True)):
        try:
            wrong = differs(number, seen)
        except sase.QueryError:
            continue  # not every clause fits every pattern
        assert wrong is None, wrong
        compared += 1
        if compared >= len(NUMBERS) and all(seen[CLASSES[each]] for each in MOST_ALIKE):
            break


@pytest.mark.parametrize(
    ("text", "output", "words"),
    [
        ("SEQ(A+ a[], A b) WHERE partition_contiguity { [k] AND a[i].v > a[i-1].v AND"
         " b.v < a[a.len].v } WITHIN 10 HAVING a.len + 0 > 1", "all", "(in lines)"),
        ("SEQ(A+ a[], A b) WHERE partition_contiguity { [k] AND a[i].v > a[i-1].v AND"
         " b.v < a[a.len].v } WITHIN 10", "non_overlap", "(in lines)"),
        ("SEQ(A+ a[], A b) WHERE partition_contiguity { [k] AND a[i].v > a[i-1].v AND"
         " b.v < a[a.len].v } WITHIN 10", "all", "(in stretches)"),
        ("SEQ(SET(A a, B b), D d) WHERE skip_till_next_match { [k] }", "all", "(SES, in lines)"),
        ("SEQ(SET(A a, B b), D d) WHERE skip_till_any_match { [k] }", "all", "(SES)"),
    ],
)  # fmt: skip
def test_lines_stretches_and_sets(text: str, output: str, words: str) -> None:
    said = sase.explain(f"EVENT {text}", EVENTS, types=TYPES, output=output).to_text()
    assert next(line for line in said.splitlines() if "NFAb" in line).endswith(words)
    assert "runs may fork" not in said
