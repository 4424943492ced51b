"""The random examples use all of the language, most have a result, and each clause decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sase.lang.parser import parse_query
from tests.drawing.census import Census, mapping
from tests.drawing.examples import Example, example
from tests.drawing.patterns import Part, branches, leaves
from tests.drawing.queries import FORMS, PARTITION, Query
from tests.naive.pattern import written_out
from tests.seeds import draw_numbers, share, tries

NUMBERS = draw_numbers(share(50))
# How many of a thousand sequences have a construct and a result, and how many of a hundred series.
SEQUENCES = {
    50: ["2 positive", "ties", "unsorted", "window in time", "equivalence test", "time raw"],
    25: [
        "1 positive", "3 positive", "layout declared", "other time", "negated start",
        "negated middle", "condition on a negative", "ANY(…)", "ANY", "no variable", "no window",
        "RETURN", "parameters", "seq", "NULL in what is named", "−0.0", "condition with OR",
        "condition with NOT", "condition with IS NULL", "condition on several events",
        "time seconds", "time moments",
    ],
    10: [
        "4 positive", "layout wide", "layout defined", "layout single", "layout tables",
        "negated end", "two negatives", "EVENTS", "INCLUSIVE", "LIMIT", "the row as seq",
        "condition with IN", "condition with BETWEEN", "condition with %",
        "condition with coalesce",
    ],
    4: [
        "layout listed", "PER PARTITION", "two equivalence tests", "fixed equivalence test",
        "condition with LIKE", "condition with length", "an undeclared attribute of ANY",
    ],
    1: ["condition with /"],
}  # fmt: skip
SERIES = {
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
SHARES = {"sequences": (1000, 400, SEQUENCES), "series": (100, 200, SERIES)}
# Each must be in an example that has a result, before a test has seen enough.
CHOICES = {
    "OR", "three alternatives", "a group that may be left out", "a choice in a choice",
    "a group with a variable", "a variable in two places", "a series", "a negative component",
    "no variable", "a condition that is absent", "several branches with a match", "no choice taken",
    "strategy skip_till_next_match", "strategy strict_contiguity", "strategy partition_contiguity",
    "HAVING", "RETURN", "LIMIT", "output non_overlap", "ties", "NULL in what is named",
    "equivalence test", "EVENTS", "WITHIN",
}  # fmt: skip
SETS = {
    "a set alone", "several sets", "a series in a set", "a member that may be empty",
    "a set in a choice", "a negative component", "members in another order than written",
    "members of one time", "a match that waits for its window", "earliest_maximal without a set",
    "strategy skip_till_any_match", "strategy skip_till_next_match", "strategy strict_contiguity",
    "strategy partition_contiguity", "strategy earliest_maximal", "HAVING", "RETURN", "LIMIT",
    "output non_overlap", "ties", "NULL in what is named", "equivalence test", "EVENTS",
    "PER PARTITION", "WITHIN", "INCLUSIVE", "several conditions",
}  # fmt: skip
ABSENCES = {
    "a negative group", "OR", "a series", "strategy skip_till_any_match", "no variable",
    "strategy skip_till_next_match", "strategy strict_contiguity", "strategy partition_contiguity",
    "condition on a negative", "negated start", "negated middle", "negated end", "HAVING",
    "RETURN", "ties", "NULL in what is named", "equivalence test", "WITHIN",
}  # fmt: skip
# Of the examples that have such a clause.
DECIDES = {"negation": 0.2, "window": 0.15, "equivalence tests": 0.3, "conditions": 0.25}


@pytest.mark.heavy
@pytest.mark.parametrize("form", SHARES)
def test_the_examples_use_all_of_the_language(form: str) -> None:
    of, count, least = SHARES[form]
    census = Census.of(form, 0, count)
    print(census)
    assert census.found >= 0.6 * census.examples
    assert census.refused <= 0.05 * census.examples
    wanted = {name: part * count / of for part, names in least.items() for name in names}
    few = {name: hits for name in wanted if (hits := census.hits[name]) < wanted[name]}
    assert few == {}


@pytest.mark.heavy
@pytest.mark.random
@pytest.mark.parametrize(
    ("form", "wanted"), [("choices", CHOICES), ("sets", SETS), ("negative groups", ABSENCES)]
)
def test_the_examples_have_every_construct(form: str, wanted: set[str]) -> None:
    seen = set[str]()
    for number in tries(NUMBERS[0]):
        seen |= {*Census.of(form, number, 60).hits}
        if seen >= wanted:
            break


@pytest.mark.random
@pytest.mark.parametrize("form", FORMS)
def test_most_examples_have_a_result(form: str) -> None:
    found = count = 0
    for number in tries(NUMBERS[0]):
        census = Census.of(form, number, 12)
        found, count = found + census.found, count + census.examples
        if found >= (0.45 if form == "negative groups" else 0.6) * count:
            break


# ---------------------------------------------------------------- branches and steps


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_branches_are_those_of_the_choices(number: int) -> None:
    query = example(number, "choices").query
    pattern = written_out(parse_query(query.text).pattern)
    assert pattern.columns
    found = [[element.name for element in branch.elements] for branch in pattern.branches]
    places = {id(part): place for place, part in enumerate(leaves(query.tree), start=1)}
    wanted = branches(query.tree)
    assert found == [[_name(part, places[id(part)]) for part in way] for way in wanted]


def _name(part: Part, place: int) -> str:
    test = "ANY" if part.test.startswith("ANY") else part.test
    return part.variable or f"{test}_{place}"


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_matches_are_those_of_the_branches(number: int) -> None:
    drawn = example(number, "choices")
    query = replace(drawn.query, conditions=(), having="", returned="", limit="", listed="")
    named = all(part.variable for part in query.components if not part.negated)
    if not named or query.strategy == PARTITION or "PARTITION" in query.window:
        return
    bare = replace(drawn, query=replace(query, tests=()), output="all")
    alone = [replace(bare, query=bare.query.with_parts(way)) for way in branches(bare.query.tree)]
    expected = {mapping(each) for one in alone for each in one.expected}
    found = [mapping(each) for each in bare.expected]
    assert len(found) == len({*found}) and {*found} == expected


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_steps_are_those_of_the_pattern(number: int) -> None:
    query = example(number, "sets").query
    written = written_out(parse_query(query.text).pattern).branches
    sets = [[each.of_set for each in way.elements] for way in written]
    sizes = [[1 if each is None else way.count(each) for each in way] for way in sets]
    assert sizes == [[len(step) for step in way for _ in step] for way in query.ways]


# ---------------------------------------------------------------- clauses


@pytest.mark.heavy
def test_every_clause_decides() -> None:
    """Leaving a clause of a sequence out often changes the matches."""
    there: Counter[str] = Counter()
    decides: Counter[str] = Counter()
    for number in range(150):
        drawn = example(number, "sequences")
        unlimited = replace(drawn, query=replace(drawn.query, limit=""))
        for clause, query in without(unlimited.query):
            there[clause] += 1
            decides[clause] += rows(unlimited) != rows(replace(drawn, query=query))
    shares = {name: decides[name] / there[name] for name in DECIDES}
    assert {name: share for name, share in shares.items() if share < DECIDES[name]} == {}


def without(query: Query) -> Iterator[tuple[str, Query]]:
    """The query without one of its clauses, if it has that and can do without it."""
    if any(part.negated for part in query.components):
        yield "negation", query.without_negation()
    if query.window and not (query.negated_start or query.negated_end):
        yield "window", replace(query, window="")
    if query.tests and "PARTITION" not in query.window:
        yield "equivalence tests", replace(query, tests=())
    if query.conditions:
        yield "conditions", replace(query, conditions=())


def rows(example: Example) -> list[object]:
    return [match.events for match in example.expected]
