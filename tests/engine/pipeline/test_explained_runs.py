"""EXPLAIN names the runs and drives that are opened, by every recipe and output."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from random import Random
from typing import Any

import pytest
from hypothesis import settings

import sase
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.recipes import recipe_names
from tests.engine.pipeline.hunt import (
    CLASSES,
    EVENTS,
    TYPES,
    drawn_text,
    feeds_differ,
    hunt,
    opened,
    said_of,
)
from tests.seeds import draw_numbers, tries

MOST_ALIKE = ["(in lines)", "(in stretches)", "(SES, in lines)", "(SES)"]
NUMBERS = draw_numbers(settings().max_examples * 20)


def differs(number: int, seen: Counter[str]) -> str | None:
    random = Random(number)
    text = drawn_text(random)
    keywords: dict[str, Any] = {
        "plan": random.choice([*["optimized"] * 8, *recipe_names()]),
        "output": random.choice(["all", "non_overlap"]),
    }
    plan = sase.compile(text, EVENTS, types=random.choice([None, TYPES]), **keywords)
    said = said_of(sase.explain(text, schema=plan.engine.schema, **keywords))
    found = opened(Pipeline(plan.engine, streaming=True))
    seen.update(said)
    wrong = feeds_differ(plan.engine, seen) or (found != said and f"said {said}, opened {found}")
    return f"{number} {keywords}: {text}\n{wrong}" if wrong else None


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


@pytest.mark.random
def test_what_is_said_is_what_a_run_does() -> None:
    """Of every form and output; `python -m tests.engine.pipeline.hunt` draws more."""
    (first,) = draw_numbers(1)
    assert not hunt(first, settings().max_examples)["faults"]


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
