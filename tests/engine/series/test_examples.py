"""The random examples of level 2 use all of series and strategies, and most have a result."""

from __future__ import annotations

import time

import pytest

from tests.engine.series.census import Census
from tests.engine.series.examples import drawn, examples

# How many of a hundred examples have a construct and a result.
LEAST = {
    20: [
        "Kleene at the end", "Kleene at the start", "NULL in what is named", "a series of two",
        "a type in two components", "equivalence test", "may be empty", "output all",
        "quantifier +", "several Kleenes", "three matches", "ties", "window in time",
    ],
    8: [
        "2 positive", "3 positive", "ANY", "ANY as Kleene", "Kleene in the middle", "RETURN",
        "RETURN with an aggregate", "a series of three", "an empty component",
        "condition on a negative", "condition with OR", "condition with a[i]", "layout declared",
        "negated middle", "negation beside Kleene", "no variable", "quantifier *", "quantifier ?",
        "a full series waits", "seq", "strategy skip_till_next_match", "unsorted",
    ],
    3: [
        "1 positive", "4 positive", "ANY(…)", "EVENTS", "HAVING", "INCLUSIVE", "LIMIT",
        "an undeclared test", "condition with BETWEEN", "condition with IS NULL",
        "condition with NOT", "condition with a[1]", "condition with a[i-1]",
        "condition with arithmetic", "condition with avg", "condition with over a[..i-1]",
        "condition with over a[..i]", "condition with over a[]", "layout defined",
        "layout listed", "layout single", "layout tables", "layout wide", "negated end",
        "negated start", "no window", "output non_overlap", "quantifier {2,}",
        "strategy by default", "strategy partition_contiguity", "strategy skip_till_any_match",
        "strategy strict_contiguity", "the row as seq", "two equivalence tests",
        "variables of a strategy",
    ],
    1: [
        "HAVING with an aggregate", "PER PARTITION", "a[i] against b[i]",
        "a[i] and a later variable", "a[i] and an earlier variable",
        "condition on a negative with a[i]", "condition on a negative with an aggregate",
        "condition with IN", "condition with LIKE", "condition with a.len",
        "condition with a[a.len]", "condition with first or last", "condition with min or max",
        "condition with parameter", "condition with sum", "fixed equivalence test",
        "negated end in some", "negated start in some", "no Kleene", "quantifier {0,1}",
        "quantifier {0,}", "quantifier {1}", "quantifier {2,3}", "quantifier {2}",
    ],
    0.25: [
        "condition with count(a[])", "condition with stddev", "quantifier {0,2}",
        "quantifier {1,2}",
    ],
}  # fmt: skip


@pytest.mark.heavy
def test_the_examples_use_all_of_level_2() -> None:
    census, spent = Census(), list[float]()
    for number in range(200):
        example = drawn(number, examples())
        start = time.perf_counter()
        census.add(example)
        spent.append(time.perf_counter() - start)
    print(
        f"{census}\n{sum(spent) / len(spent) * 1000:.1f} ms an example, at most {max(spent):.2f} s"
    )
    assert census.found >= 0.6 * census.examples
    assert census.refused <= 0.05 * census.examples
    wanted = {
        name: share * census.examples / 100 for share, names in LEAST.items() for name in names
    }
    assert {name: hits for name in wanted if (hits := census.hits[name]) < wanted[name]} == {}
