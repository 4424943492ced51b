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
from tests import naive
from tests.drawing.imprecise import TIME, Drawn, draw
from tests.drawing.imprecise_ways import table
from tests.naive.imprecise import ordered_series
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples
ABSENT = re.compile(r"!\((?:ANY\([A-Z, ]+\)|[A-Z]+) ([a-z])\)")
LIKELY = re.compile(r"(?:confidence of|instead of) ([\d.e-]+)")
Rows = tuple[Any, ...]


def matches(drawn: Drawn) -> dict[Rows, float]:
    """How likely each match of a query is, by its rows."""
    found = naive.match(parse_query(drawn.text), drawn.rows, time=TIME)
    return {each.events: float(each.confidence or 0) for each in found}


def without(drawn: Drawn) -> Iterator[tuple[str, Drawn]]:
    """The query without each of its parts, under the text of the part as far as it is known."""
    for text in set(drawn.conditions):
        kept = tuple(each for each in drawn.conditions if each != text)
        # Without a condition on a negative group more is forbidden, which HAVING may demand.
        is_of_group = "!(SEQ" in drawn.pattern
        if not is_of_group and (not ABSENT.search(drawn.pattern) or text[0] == "["):
            yield text, replace(drawn, conditions=kept)
    for absent in ABSENT.finditer(drawn.pattern):
        written, name = absent.group(), absent[1]
        kept = tuple(each for each in drawn.conditions if not re.search(rf"\b{name}[.\[]", each))
        pattern = drawn.pattern.replace(f"{written}, ", "").replace(f", {written}", "")
        yield written, replace(drawn, pattern=pattern, conditions=kept)
    if drawn.window and "!" not in drawn.pattern:
        yield "WITHIN", replace(drawn, window="")
    if drawn.confidence:
        yield "WITH CONFIDENCE", replace(drawn, confidence="")
    if drawn.having:
        yield "HAVING", replace(drawn, having="")


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
    drawn = replace(draw(number), returned="", limit="")
    drawn = replace(drawn, confidence=re.sub(r"[\d.]+", _off, drawn.confidence))
    if " OR " in drawn.pattern or "SEQ(!" in drawn.pattern[4:]:
        return
    try:
        why = sase.why(drawn.text, table(drawn.rows), time=TIME, near=50, clock=lambda: 0.0)
        every = matches(drawn)
    except (SaseError, NotImplementedError, ValueError, OverflowError):
        return
    assert why.matches.number == len(every)
    names = [each.component.variable for each in why.components if not each.component.negated]
    whole = matches(replace(drawn, confidence="", having=""))
    misses: dict[str, dict[Rows, float]] = {}
    for miss in why.near_misses.to_pylist():
        rows = tuple(_numbers(miss["rows"][name]) for name in names)
        assert rows not in every, drawn
        *instead, confidence = map(float, LIKELY.findall(miss["by"]))
        misses.setdefault(part_of(miss["stopped_by"]), {})[rows] = confidence
        if instead:
            assert instead == pytest.approx([whole.get(rows, 0.0)], abs=1e-5), drawn
    ordered = ordered_series(parse_query(drawn.text))
    for name, relaxed in without(drawn):
        if ordered_series(parse_query(relaxed.text)) != ordered:
            continue  # of which other candidates are a match
        found = {rows: each for rows, each in matches(relaxed).items() if rows not in every}
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
