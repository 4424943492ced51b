"""Near misses of imprecise time: as the naive matcher finds them, with confidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings

import sase
from sase.errors import SaseError
from sase.lang.parser import parse_query
from tests.drawing.examples import Example, example
from tests.drawing.patterns import Written, written
from tests.drawing.queries import Query
from tests.naive.imprecise import ordered_series
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples
TYPES = r"(?:ANY\([A-Z, ]+\)|(?!SEQ)[A-Z]+)"
ABSENT = re.compile(rf"!\(({TYPES} (\w))\)|!({TYPES} (\w))")
LIKELY = re.compile(r"(?:confidence of|instead of) ([\d.e-]+)")
Rows = tuple[Any, ...]


def matches(drawn: Example, **clauses: Any) -> dict[Rows, float]:
    """How likely each match of a query with other clauses is, by its rows."""
    found = replace(drawn, query=replace(drawn.query, **clauses)).expected
    return {each.events: float(each.confidence or 0) for each in found}


def without(query: Query) -> Iterator[tuple[str, dict[str, Any]]]:
    """The other clauses without each of the parts, under its text as far as that is known."""
    pattern = written(query.tree)
    # Without a condition on a negative group more is forbidden, which HAVING may demand.
    if "!(" not in ABSENT.sub("", pattern):
        for text in {*query.conditions} if "!" not in pattern else ():
            part = text.removeprefix("(").removesuffix(")") if " OR " in text else text
            yield part, {"conditions": tuple(each for each in query.conditions if each != text)}
        for text in query.tests:
            yield text, {"tests": ()}
    for absent in ABSENT.finditer(pattern):
        text, (what, name) = absent.group(), filter(None, absent.groups())
        kept = tuple(each for each in query.conditions if not re.search(rf"\b{name}[.\[]", each))
        left = pattern.replace(f"{text}, ", "").replace(f", {text}", "")
        yield f"!({what})", {"tree": Written(left), "conditions": kept}
    if query.window and "!" not in pattern:
        yield "WITHIN", {"window": ""}
    if query.confidence:
        yield "WITH CONFIDENCE", {"confidence": ""}
    if query.having:
        yield "HAVING", {"having": ""}


def part_of(text: str) -> str:
    """The text of a part, without parts in other words."""
    for clause in ("WITHIN", "WITH CONFIDENCE", "HAVING"):
        if text.startswith(clause):
            return clause
    return text


def _off(threshold: re.Match[str]) -> str:
    """A threshold that no confidence has: within 1e-9 of one either answer is right."""
    return f"{float(threshold.group()) * 0.99731:.9f}"


def check(number: int) -> None:
    drawn = example(number, "imprecise")
    confidence = re.sub(r"[\d.]+", _off, drawn.query.confidence)
    query = replace(drawn.query, returned="", limit="", confidence=confidence)
    if any(" AND " in each for each in query.conditions):
        return  # of which each part is a condition of its own
    drawn, pattern = replace(drawn, query=query), written(query.tree)
    if " OR " in pattern or "SEQ(!" in pattern[4:]:
        return
    try:
        why = sase.why(query.text, drawn.table, near=50, clock=lambda: 0.0, **drawn.keywords)
        every = matches(drawn)
    except (SaseError, NotImplementedError, ValueError, OverflowError):
        return
    assert why.matches.number == len(every)
    names = [each.component.variable for each in why.components if not each.component.negated]
    whole = matches(drawn, confidence="", having="")
    misses: dict[str, dict[Rows, float]] = {}
    for miss in why.near_misses.to_pylist():
        rows = tuple(_numbers(miss["rows"][name]) for name in names)
        assert rows not in every, drawn
        *instead, confidence = map(float, LIKELY.findall(miss["by"]))
        misses.setdefault(part_of(miss["stopped_by"]), {})[rows] = confidence
        if instead:
            assert instead == pytest.approx([whole.get(rows, 0.0)], abs=1e-5), drawn
    ordered = ordered_series(parse_query(query.text))
    for name, clauses in without(query):
        if ordered_series(parse_query(replace(query, **clauses).text)) != ordered:
            continue  # of which other candidates are a match
        relaxed = matches(drawn, **clauses).items()
        found = {rows: each for rows, each in relaxed if rows not in every}
        told = misses.get(name, {})
        assert bool(told) == bool(found), (name, drawn)
        for rows, confidence in told.items():
            assert confidence == pytest.approx(found[rows], abs=1e-5), (name, drawn)
        if found:
            assert max(told.values()) == pytest.approx(max(found.values()), abs=1e-5)


def _numbers(rows: Any) -> tuple[int, ...]:
    return () if rows is None else tuple(rows) if isinstance(rows, list) else (rows,)


@pytest.mark.random
def test_what_a_part_stops_is_a_match_without_it() -> None:
    """The likeliest that there is of each part, with its confidence."""
    for number in draw_numbers(EXAMPLES):
        check(number)
