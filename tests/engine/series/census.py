"""A census of random examples: how many have a result, and which constructs those use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import repeat

from tests import naive
from tests.engine.matching.streams import TABLES
from tests.engine.series.examples import SeriesExample
from tests.engine.series.queries import NEXT, SeriesQuery, edge

REFERENCE = r"\b[a-d]\[(?:i|i-1|1|[a-d]\.len)\]\."
IN_CONDITIONS = {
    "a[1]": r"\[1\]\.", "a[i]": r"\[i\]\.", "a[i-1]": r"\[i-1\]\.", "a[a.len]": r"\.len\]\.",
    "first or last": r"\b(first|last)\(", "a.len": r"\b[a-d]\.len\b(?!\])",
    "count(a[])": r"count\([a-d]\[\]\)",
    "avg": r"avg\(", "sum": r"sum\(", "min or max": r"\b(min|max)\(", "stddev": r"stddev\(",
    "over a[..i-1]": r"\[(\.\.|1\.\.)i-1\]", "over a[..i]": r"\[\.\.i\]", "over a[]": r"\[\]\.",
    "OR": r"\bOR\b", "NOT": r"\bNOT\b", "IS NULL": r"IS (NOT )?NULL", "IN": r"\bIN \(",
    "LIKE": r"\bLIKE\b", "BETWEEN": r"\bBETWEEN\b", "arithmetic": r" [-+*/%] ",
    "parameter": r":\w+",
}  # fmt: skip


class Census:
    """How many examples there were, how many with a result, and with which constructs."""

    def __init__(self) -> None:
        self.examples = self.refused = self.found = 0
        self.hits: Counter[str] = Counter()

    def add(self, example: SeriesExample) -> None:
        """Count an example."""
        self.examples += 1
        self.refused += example.is_refused
        self.found += bool(example.expected)
        self.hits.update(set(constructs(example)) if example.expected else ())

    def __str__(self) -> str:
        shares = f"{self.found} of {self.examples} with a result, {self.refused} refused"
        return "\n".join([shares, *(f"{n:6} {name}" for name, n in sorted(self.hits.items()))])


def constructs(example: SeriesExample) -> Iterator[str]:
    """What of the language an example uses, what of data, and what its result shows."""
    query = example.query
    yield f"strategy {query.strategy or 'by default'}"
    yield f"layout {example.setting.layout}"
    yield f"output {example.output}"
    yield from (f"quantifier {part.quantifier}" for part in query.positives if part.quantifier)
    yield f"{len(query.positives)} positive"
    present = {**_in_pattern(query), **_in_clauses(query), **_in_stream(example)}
    yield from (name for name, is_there in present.items() if is_there)
    for name, pattern in IN_CONDITIONS.items():
        if any(re.search(pattern, text) for text in query.conditions):
            yield f"condition with {name}"
    yield from _of_two(query)
    if query.strategy == NEXT and any(map(_waits_when_full, repeat(query), example.expected)):
        yield "a full series waits"


def _waits_when_full(query: SeriesQuery, match: naive.Match) -> bool:
    """Whether a match has a series at its maximum before another component."""
    parts = zip(query.positives[:-1], match.events, strict=False)
    return any(part.quantifier and len(events) == part.most for part, events in parts)


def _in_pattern(query: SeriesQuery) -> dict[str, bool]:
    series = [part for part in query.positives if part.quantifier]
    first, *middle, last = query.positives * 2
    middle = query.positives[1:-1]
    kinds = [kind for part in query.positives for kind in part.types]
    beside = zip(query.components, query.components[1:], strict=False)
    return {
        "Kleene at the start": bool(first.quantifier) and len(query.positives) > 1,
        "Kleene in the middle": any(part.quantifier for part in middle),
        "Kleene at the end": bool(last.quantifier) and len(query.positives) > 1,
        "no Kleene": not series,
        "several Kleenes": len(series) > 1,
        "may be empty": any(part.least == 0 for part in series),
        "a type in two components": len(set(kinds)) < len(kinds),
        "ANY": any(part.test == "ANY" for part in query.components),
        "ANY(…)": any(part.test.startswith("ANY(") for part in query.components),
        "ANY as Kleene": any(part.test.startswith("ANY") for part in series),
        "no variable": any(part.variable is None for part in query.positives),
        "negated start": edge(query.components) == "each",
        "negated end": query.negated_end == "each",
        "negated start in some": edge(query.components) == "some",
        "negated end in some": query.negated_end == "some",
        "negated middle": any(part.negated for part in query.components[1:-1]),
        "negation beside Kleene": any(
            left.negated and right.quantifier or left.quantifier and right.negated
            for left, right in beside
        ),
    }


def _in_clauses(query: SeriesQuery) -> dict[str, bool]:
    tests, window = " ".join(query.tests), query.window.removesuffix(" INCLUSIVE")
    return {
        "variables of a strategy": bool(query.listed and (query.tests or query.conditions)),
        "equivalence test": bool(tests),
        "two equivalence tests": len(query.tests) > 1 or "," in tests,
        "fixed equivalence test": "=" in tests,
        "no window": not window,
        "window in time": bool(window) and "EVENTS" not in window,
        "EVENTS": window.endswith("EVENTS"),
        "PER PARTITION": window.endswith("PARTITION"),
        "INCLUSIVE": query.is_inclusive,
        "HAVING": bool(query.having),
        "HAVING with an aggregate": "[]" in query.having,
        "RETURN": bool(query.returned),
        "RETURN with an aggregate": "[]" in query.returned,
        "LIMIT": bool(query.limit),
    }


def _in_stream(example: SeriesExample) -> dict[str, bool]:
    setting, words = example.setting, set(re.findall(r"\w+", example.query.text))
    keys = [setting.key(row) for row in example.rows]
    values = [row.get(name) for row in example.rows for name in setting.columns if name in words]
    declared = setting.declared.items()
    used = [kind for part in example.query.components for kind in part.types]
    longest = max(len(series) for match in example.expected for series in match.events)
    return {
        "ties": len(set(keys)) < len(keys) and not setting.is_by_row,
        "unsorted": keys != sorted(keys),
        "seq": setting.seq is not None,
        "the row as seq": setting.is_by_row,
        "NULL in what is named": None in values,
        "an undeclared test": setting.layout in (TABLES, "declared") and any(
            kind in used and attribute not in attributes
            for kind, attributes in declared
            for attribute in re.findall(r"[a-z]+", " ".join(example.query.tests))
        ),
        "three matches": len(example.expected) > 2,
        "a series of two": longest > 1,
        "a series of three": longest > 2,
        "an empty component": any(not all(match.events) for match in example.expected),
    }  # fmt: skip


def _of_two(query: SeriesQuery) -> Iterator[str]:
    """Conditions that relate events of several components."""
    series = "".join(part.variable for part in query.positives if part.quantifier and part.variable)
    gone = [part.variable for part in query.components if part.negated and part.variable]
    for text in query.conditions:
        names = set(re.findall(r"\b[a-dxyz](?=\.|\[)", text))
        now = set(re.findall(r"\b([a-d])\[i\]\.", text))
        if len(now) > 1:
            yield "a[i] against b[i]"
        if now and any(name > min(now) for name in names & set("abcd")):
            yield "a[i] and a later variable"
        if now and any(name < max(now) for name in names & set("abcd")):
            yield "a[i] and an earlier variable"
        if names & {*gone}:
            yield "condition on a negative"
            if now:
                yield "condition on a negative with a[i]"
            if "(" in text and series and re.search(rf"\w\([{series}]\[", text):
                yield "condition on a negative with an aggregate"
