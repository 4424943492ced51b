"""The counts of explanations of queries with series are those of the naive matcher.

Each example has a number, so that a failure is named by it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings

from tests.diagnostics.why_not.explaining import explained, small_pieces, twice
from tests.drawing.examples import MOST_RUNS, Example, shortened
from tests.drawing.examples import example as drawn
from tests.drawing.forms_of_patterns import ANY, NEXT
from tests.drawing.patterns import QUANTIFIERS, Part
from tests.drawing.queries import PARTITION, STRICT, Query
from tests.drawing.streams import TABLES
from tests.seeds import draw_numbers

COUNT = max(settings().max_examples // 10, 5)
# Those that show something, and as many others.
SHOWING, OTHERS = range(9, 9 + COUNT), draw_numbers(2 * COUNT)[COUNT:]
STRATEGIES = (STRICT, PARTITION, NEXT, ANY)
BOUNDS = {bounds: form for form, bounds in reversed(QUANTIFIERS.items())}
Relax = Callable[[Query], Query]
Rows = tuple[tuple[int, ...], ...]
hits: Counter[str] = Counter()
pytestmark = pytest.mark.usefixtures(small_pieces.__name__)


def example_of(number: int) -> Example:
    """The example of a number, small enough to be explained under every strategy."""
    example = replace(drawn(number, "series"), output="all")
    rows = shortened(example.query, example.setting, example.rows, MOST_RUNS)
    return replace(example, rows=rows)


def found(example: Example, query: Query) -> list[Rows]:
    """The rows of the naive matches of another query on the same stream, LIMIT left out."""
    asked = replace(example, query=replace(query, limit="", returned=""))
    return [tuple(map(tuple, match.events)) for match in asked.expected]


# ---------------------------------------------------------------- the query without a part


def relaxing(query: Query) -> Iterator[tuple[str, Relax]]:
    """The ways to leave out each part of the query, under the text of the part in the query."""
    for text in query.tests:
        if "," not in text and "PARTITION" not in query.window:
            yield text, lambda q, text=text: _without_test(q, text)
    for text in query.conditions:
        yield text, lambda q, text=text: replace(q, conditions=_others(q.conditions, text))
    for part in query.components:
        name = f"{part.test} {part.variable}" if part.variable else part.test
        if part.negated:
            yield f"!({part.text})", lambda q, part=part: _without_component(q, part)
        elif part.least > 1 and part.variable:
            yield f"at least {part.least} {name}", lambda q, part=part: _bounded(q, part, least=1)
        if part.is_list and part.most is not None and part.variable:
            yield f"at most {part.most} {name}", lambda q, part=part: _bounded(q, part, most=None)
    if query.window and not any(part.negated for part in query.components):
        yield "WITHIN", lambda q: replace(q, window="")
    if query.having:
        yield "HAVING", lambda q: replace(q, having="")
    for place, name in enumerate(STRATEGIES):
        own = query.strategy or ANY
        if place > STRATEGIES.index(own):
            yield f"{name} instead of {own}", lambda q, name=name: replace(q, strategy=name)


def _others(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(each for each in texts if each != text)


def _without_test(query: Query, text: str) -> Query:
    tests = _others(query.tests, text)
    contiguous = query.strategy == PARTITION and not tests
    return replace(query, tests=tests, strategy=STRICT if contiguous else query.strategy)


def _without_component(query: Query, part: Part) -> Query:
    kept = tuple(t for t in query.conditions if not re.search(rf"\b{part.variable}\.", t))
    others = [each for each in query.components if each != part]
    return replace(query.with_parts(others), conditions=kept)


def _bounded(query: Query, part: Part, **changes: int | None) -> Query:
    """The query with other bounds of one component, which is found by its variable."""

    def changed(each: Part) -> Part:
        if (each.variable, each.test) != (part.variable, part.test) or each.negated:
            return each
        new = each._replace(**changes)
        form = BOUNDS.get((new.least, new.most)) or f"{{{new.least},{new.most or ''}}}"
        return new._replace(quantifier=form)

    return query.with_parts([*map(changed, query.components)])


def part_of(each: Any) -> str:
    """The text of the removed part, but for parts that are not as written."""
    text = str(each)
    return next((name for name in ("WITHIN", "HAVING") if text.startswith(name)), text)


# ---------------------------------------------------------------- the tests


def fault(number: int) -> str | None:
    """The mistakes in the explanation of an example."""
    example = example_of(number)
    why = explained(example, near=4)
    if why is None:
        return None
    every = found(example, example.query)
    if (why.matches.number, why.is_complete) != (len(every), True):
        return f"{why.matches} matches, of {len(every)}"
    counted = {part_of(each): each.matches.number for each in why.left_out}
    names = [part_of(each) for each in why.left_out]
    cases = [(name, relax) for name, relax in relaxing(example.query) if name in counted]
    doubtful = twice(names) | twice([name for name, _ in cases])
    without: dict[str, list[Rows]] = {}
    for name, relax in cases:
        if name in doubtful:
            continue
        without[name] = found(example, relax(example.query))
        hits["left out"] += 1
        helps = len(without[name]) > len(every)
        seen = {
            "that helps": helps,
            "strategies that help": helps and "instead of" in name,
            "bounds": name.startswith("at "),
        }
        hits.update(text for text, is_so in seen.items() if is_so)
        if counted[name] != len(without[name]):
            return f"{counted[name]} without {name}, of {len(without[name])}"
    return _in_near_misses(example, why, every, without) or _in_funnel(example, why)


def _in_near_misses(
    example: Example, why: Any, every: list[Rows], without: dict[str, list[Rows]]
) -> str | None:
    if example.setting.layout == TABLES:
        return None  # in which the naive matcher numbers rows as one table
    names = [part.column for part in example.query.positives]
    variables = [level.candidates.component.variable for level in why.levels]
    assert len(names) == len(variables)
    for miss in why.near_misses.to_pylist():
        rows = tuple(_tuple(miss["rows"][name]) for name in variables)
        if rows in every:
            return f"a match as a near miss: {rows}"
        hits["near misses"] += 1
        part = part_of(miss["stopped_by"])
        cases = [each for name, each in without.items() if name.endswith(part)]
        if cases and not any(rows in each for each in cases):
            return f"no near miss of {part}: {rows}"
        hits.update(["of series"] * any(len(each) > 1 for each in rows))
        hits.update(["with what forbids it"] * part.startswith("!"))
    return None


def _tuple(rows: int | list[int] | None) -> tuple[int, ...]:
    return () if rows is None else (rows,) if isinstance(rows, int) else tuple(rows)


def beginning(query: Query, levels: int) -> Query | None:
    """The query of the first components; None if a condition does not show its components."""
    kept = [each for each in query.components if not each.negated][:levels]
    if not kept[-1].least:
        if kept[-1].quantifier == "?" or not kept[-1].variable:
            return None
        query = _bounded(query, kept[-1], least=1)
        kept = [each for each in query.components if not each.negated][:levels]
    names, conditions = {each.variable for each in kept}, []
    for text in query.conditions:
        read = set(re.findall(r"\b([a-z])(?=[.\[])", text))
        if re.search(r"\b(AND|OR|NOT|TRUE|FALSE)\b", text) or not read:
            return None
        if read <= names:
            conditions.append(text)
    return replace(query.with_parts(kept), conditions=tuple(conditions), having="")


def _in_funnel(example: Example, why: Any) -> str | None:
    """The partial matches of each level, the events that they end with, and each step before."""
    relaxers = dict(relaxing(example.query))
    own = example.query.strategy or ANY
    relaxers[own] = relaxers.get(f"{ANY} instead of {own}", lambda query: query)
    for number, level in enumerate(why.levels, start=1):
        is_last = number == len(why.levels)
        query = example.query if is_last else beginning(example.query, number)
        if query is None:
            continue
        partial = found(example, query)
        hits.update(["levels"] * (not is_last))
        ends = {max(_ordered(example, rows)) for rows in partial}
        if (level.partial.number, level.reached.number) != (len(partial), len(ends)):
            return f"level {number}: {level.partial}, {level.reached} of {partial}"
        texts = [part_of(step.part.text) for step in level.steps]
        for place, step in enumerate(level.steps):
            relaxed: Query | None = example.query
            for text in texts[place + 1 :]:
                relaxed = relaxers[text](relaxed) if text in relaxers and relaxed else None
            if relaxed is not None and not is_last:
                relaxed = beginning(relaxed, number)
            if relaxed is None or twice(texts):
                continue
            ends = {max(_ordered(example, rows)) for rows in found(example, relaxed)}
            hits["steps"] += 1
            if step.left.number != len(ends):
                return f"level {number}, {step}: {len(ends)}"
    return None


def _ordered(example: Example, rows: Rows) -> list[tuple[Any, int]]:
    """The rows of a match with their place in the stream."""
    return [(example.setting.key(example.rows[row]), row) for series in rows for row in series]


@pytest.mark.random
@pytest.mark.parametrize("examples", [SHOWING, OTHERS], ids=["showing", "others"])
def test_an_explanation_is_that_of_the_naive_matcher(examples: range) -> None:
    for number in examples:
        wrong = fault(number)
        assert wrong is None, f"example {number}: {wrong}\n{example_of(number)}"


def test_what_is_cut_is_said_and_no_more_than_there_is() -> None:
    """If a search may find a few only, exact figures are right, and the rest are lower bounds."""
    for number in SHOWING:
        example = example_of(number)
        why = explained(example, most=number % 4, near=2)
        if why is None:
            continue
        every = len(found(example, example.query))
        assert why.matches.number <= every, number
        assert why.matches.number == every or not why.matches.is_exact, number
        hits.update(["cut"] * (not why.is_complete))


def test_the_examples_show_something() -> None:
    """Those that were run just now."""
    if not {"levels", "cut"} <= hits.keys():
        pytest.skip("the examples did not run before this test")
    assert hits.keys() == {
        "left out", "that helps", "strategies that help", "bounds", "near misses", "of series",
        "with what forbids it", "levels", "steps", "cut",
    }  # fmt: skip
