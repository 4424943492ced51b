"""A census of random examples: how many have a result, and which constructs those use.

python -m tests.drawing.census FORM SEED COUNT
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests import naive
from tests.drawing.examples import Example, example
from tests.drawing.forms_of_patterns import NEXT
from tests.drawing.patterns import QUANTIFIERS, Written, branches, edge, leaves, nodes
from tests.drawing.queries import GREEDY, Query
from tests.drawing.streams import TABLES, USUAL_CLOCKS

IN_CONDITIONS = {
    "a[1]": r"\[1\]\.", "a[i]": r"\[i\]\.", "a[i-1]": r"\[i-1\]\.", "a[a.len]": r"\.len\]\.",
    "first or last": r"\b(first|last)\(", "a.len": r"\b[a-t]\.len\b(?!\])",
    "count(a[])": r"count\([a-t]\[\]\)",
    "avg": r"avg\(", "sum": r"sum\(", "min or max": r"\b(min|max)\(", "stddev": r"stddev\(",
    "over a[..i-1]": r"\[(\.\.|1\.\.)i-1\]", "over a[..i]": r"\[\.\.i\]", "over a[]": r"\[\]\.",
    "OR": r"\bOR\b", "NOT": r"\bNOT\b", "IS NULL": r"IS (NOT )?NULL", "IN": r"\bIN \(",
    "LIKE": r"\bLIKE\b", "ILIKE": r"\bILIKE\b", "BETWEEN": r"\bBETWEEN\b",
    "arithmetic": r" [-+*/%] ",
    "a function of numbers": r"\b(round|floor|ceil|sqrt|power|ln|exp|sign)\(",
    "a function of texts": r"\b(trim|concat|substring|replace|split_part|\w+_with|contains)\(",
    "a part of a time": r"\b(year|day|hour|minute|second|date_trunc)\(",
    "a regular expression": "regexp_", "CASE": r"\b(CASE WHEN|if\(|nullif\()",
    "%": "%", "/": "/", "coalesce": "coalesce", "length": r"length\(",
    "parameter": r":\w+",
}  # fmt: skip
# Of a pattern that is known by its text.
IN_PATTERNS = {
    "OR": " OR ", "ANY": r"\bANY ", "ANY(…)": r"ANY\(", "a series": r"\w\[\]", "a set": r"SET\(",
    "a negative component": "![A-Z(]", "a negative group": r"!\(SEQ",
    "negated start": r"^(SEQ\()?!", "a repeated group": r"\)(\+|\*|\{[\d,]+\}) g",
    "a group that may be left out": r"[\]a-z)]\)\?",
    **{f"quantifier {form}": re.escape(form) + " " for form in QUANTIFIERS if form},
}  # fmt: skip
USUAL = {f"time {name}" for name in USUAL_CLOCKS}


class Census:
    """How many examples there were, how many with a result, and with which constructs."""

    def __init__(self) -> None:
        self.examples = self.refused = self.found = 0
        self.hits: Counter[str] = Counter()

    @classmethod
    def of(cls, form: str, first: int, count: int) -> Census:
        """Return the census of `count` examples of a form."""
        census = cls()
        for number in range(first, first + count):
            census.add(example(number, form))
        return census

    def add(self, example: Example) -> None:
        """Count an example."""
        self.examples += 1
        self.refused += example.is_refused
        if not example.is_refused and (not example.is_judged or example.expected):
            self.found += 1
            self.hits.update({*constructs(example)})

    def __str__(self) -> str:
        shares = f"{self.found} of {self.examples} with a result, {self.refused} refused"
        return "\n".join([shares, *(f"{n:6} {name}" for name, n in sorted(self.hits.items()))])


def constructs(example: Example) -> Iterator[str]:
    """The parts of the language in an example, the kinds of its data, and those of its result."""
    query, time = example.query, f"time {example.setting.clock.name}"
    yield f"strategy {query.strategy or 'by default'}"
    yield f"layout {example.setting.layout}"
    yield f"output {example.output}"
    yield time if time in USUAL else "other time"
    yield from (f"quantifier {part.quantifier}" for part in query.positives if part.quantifier)
    yield f"{len(query.positives)} positive"
    match query.tree:
        case Written(text):
            present = {name: bool(re.search(each, text)) for name, each in IN_PATTERNS.items()}
        case _:
            present = _in_pattern(query) | _in_choices(example)
    present |= _in_clauses(query) | _in_stream(example)
    present |= _in_result(example) if example.is_judged else {}
    yield from (name for name, is_there in present.items() if is_there)
    for name, pattern in IN_CONDITIONS.items():
        if any(re.search(pattern, text) for text in query.conditions):
            yield f"condition with {name}"
    yield from _of_two(query)


def _in_pattern(query: Query) -> dict[str, bool]:
    every, positives = leaves(query.tree), query.positives
    series = [part for part in positives if part.quantifier]
    kinds = [kind for part in positives for kind in part.types]
    ways = branches(query.tree)
    starts, ends = ({edge(way[::step]) for way in ways} for step in (1, -1))
    several = len(positives) > 1
    return {
        "Kleene at the start": several and bool(positives[0].quantifier),
        "Kleene in the middle": any(part.quantifier for part in positives[1:-1]),
        "Kleene at the end": several and bool(positives[-1].quantifier),
        "no Kleene": not series,
        "several Kleenes": len(series) > 1,
        "a series": any(part.is_list for part in every),
        "may be empty": any(part.least == 0 for part in series),
        "a type in two components": len({*kinds}) < len(kinds),
        "ANY": any(part.test == "ANY" for part in every),
        "ANY(…)": any(part.test.startswith("ANY(") for part in every),
        "ANY as Kleene": any(part.test.startswith("ANY") for part in series),
        "no variable": any(part.variable is None for part in positives),
        "a negative component": any(part.negated for part in every),
        "two negatives": sum(part.negated for part in every) > 1,
        "negated start": "each" in starts,
        "negated end": "each" in ends,
        "negated start in some": "some" in starts,
        "negated end in some": "some" in ends,
        "negated middle": any(part.negated for way in ways for part in way[1:-1]),
        "negation beside Kleene": any(
            left.negated and right.quantifier or left.quantifier and right.negated
            for way in ways
            for left, right in pairwise(way)
        ),
    }


def _in_choices(example: Example) -> dict[str, bool]:
    query, every = example.query, [*nodes(example.query.tree)]
    by_kind = {kind: [(each, deep) for each, deep in every if each.kind == kind]
               for kind in ("seq", "set", "or", "?", "not")}  # fmt: skip
    members = [part for each, _ in by_kind["set"] for part in leaves(each)]
    names = [part.variable for part in leaves(query.tree) if part.variable]
    ways = [{part.variable for part in way} for way in branches(query.tree)]
    lacking = {name for way in ways for name in {*names} - way}
    return {
        "OR": bool(by_kind["or"]),
        "three alternatives": any(len(each.parts) > 2 for each, _ in by_kind["or"]),
        "a group that may be left out": bool(by_kind["?"]),
        "a group with a variable": any(each.variable for each, _ in every),
        "a choice in a choice": any(deep for each, deep in by_kind["or"] + by_kind["?"]),
        "a variable in two places": len(names) > len({*names}),
        "a condition that is absent": any(
            re.search(rf"\b{name}[.[]", text) for name in lacking for text in query.conditions
        ),
        "a negative group": bool(by_kind["not"]),
        "a set alone": any(each is query.tree for each, _ in by_kind["set"]),
        "several sets": len(by_kind["set"]) > 1,
        "a series in a set": any(part.is_list for part in members),
        "a member that may be empty": any(not part.least for part in members),
        "a set in a choice": any(deep for _, deep in by_kind["set"]),
        "earliest_maximal without a set": query.strategy == GREEDY and not by_kind["set"],
        "members of one time": _has_members_of_one_time(example, {p.variable for p in members}),
    }


def _in_clauses(query: Query) -> dict[str, bool]:
    tests, window = " ".join(query.tests), query.window.removesuffix(" INCLUSIVE")
    several = r"\b[a-hj-z](?=\.[a-z])"
    return {
        "variables of a strategy": bool(query.listed and (query.tests or query.conditions)),
        "equivalence test": bool(tests),
        "two equivalence tests": len(query.tests) > 1 or "," in tests,
        "fixed equivalence test": "=" in tests,
        "no window": not window,
        "WITHIN": bool(window),
        "window in time": bool(window) and "EVENTS" not in window,
        "EVENTS": window.endswith("EVENTS"),
        "PER PARTITION": window.endswith("PARTITION"),
        "INCLUSIVE": query.is_inclusive,
        "WITH CONFIDENCE": bool(query.confidence),
        "HAVING of confidence": "confidence" in query.having,
        "RETURN of confidence": "confidence" in query.returned,
        "HAVING": bool(query.having),
        "HAVING with an aggregate": "[]" in query.having,
        "RETURN": bool(query.returned),
        "RETURN with an aggregate": "[]" in query.returned,
        "LIMIT": bool(query.limit),
        "parameters": bool(query.parameters),
        "several conditions": len(query.conditions) > 1,
        "condition on several events": any(
            len({*re.findall(several, text)}) > 1 for text in query.conditions
        ),
    }


def _in_stream(example: Example) -> dict[str, bool]:
    setting, words = example.setting, {*re.findall(r"\w+", example.query.text)}
    keys = [setting.key(row) for row in example.rows]
    named = [name for name in setting.columns if name in words]
    values = [row.get(name) for row in example.rows for name in named]
    declared = setting.declared.items()
    every = leaves(example.query.tree)
    used = [kind for part in every for kind in part.types]
    wanted = " ".join(example.query.tests + example.query.conditions)
    return {
        "ties": len({*keys}) < len(keys) and not setting.is_by_row,
        "unsorted": keys != sorted(keys),
        "seq": setting.seq is not None,
        "the row as seq": setting.is_by_row,
        "NULL in what is named": any(value is None or value != value for value in values),
        "−0.0": any(str(value) == "-0.0" for value in values),
        "an undeclared test": setting.layout in (TABLES, "declared") and any(
            kind in used and attribute not in attributes
            for kind, attributes in declared
            for attribute in re.findall(r"[a-z]+", " ".join(example.query.tests))
        ),
        "an undeclared attribute of ANY": any(
            re.search(rf"\b{part.variable}\.{attribute}\b", wanted)
            and any(attribute not in setting.declared[name] for name in part.types)
            for part in every
            for attribute in named
        ),
    }  # fmt: skip


def _in_result(example: Example) -> dict[str, bool]:
    query, found = example.query, example.expected
    longest = max(len(series) for match in found for series in match.events)
    bound = [frozenset(name for name, _ in mapping(match)) for match in found]
    keys = [example.setting.key(row) for row in example.rows]
    orders = [[keys[row] for row in _flat(match.events)] for match in found]
    return {
        "three matches": len(found) > 2,
        "a series of two": longest > 1,
        "a series of three": longest > 2,
        "an empty component": any(not all(match.events) for match in found),
        "several branches with a match": len({*bound}) > 1,
        "no choice taken": any(len(names) < 2 for names in bound),
        "members in another order than written": any(each != sorted(each) for each in orders),
        "a match that waits for its window": query.strategy == GREEDY
        and any(match.detected_at != match.ts_end for match in found),
        "a full series waits": query.strategy == NEXT
        and any(_waits_when_full(query, match) for match in found),
    }


def _flat(events: Any) -> list[int]:
    """The rows of all variables, those of iterations as well."""
    if not isinstance(events, tuple):
        return [events]
    return [row for each in events for row in _flat(each)]


def mapping(match: naive.Match) -> frozenset[tuple[str, tuple[int, ...]]]:
    """The variables that bind events, each with its events."""
    return frozenset(pair for pair in zip(match.names, match.events, strict=True) if pair[1])


def _waits_when_full(query: Query, match: naive.Match) -> bool:
    """Whether a match has a series at its maximum before another component."""
    parts = zip(query.positives[:-1], match.events, strict=False)
    return any(part.quantifier and len(events) == part.most for part, events in parts)


def _has_members_of_one_time(example: Example, members: set[str | None]) -> bool:
    keys = [example.setting.key(row) for row in example.rows]
    for match in example.expected:
        places = [(keys[row], name) for name, rows in mapping(match) for row in rows]
        at_once = {(key, name) for key, name in places if name in members}
        if len({key for key, _ in at_once}) < len(at_once):
            return True
    return False


def _of_two(query: Query) -> Iterator[str]:
    """Conditions that relate events of several components."""
    series = "".join(part.variable for part in query.positives if part.quantifier and part.variable)
    every = leaves(query.tree)
    gone = {part.variable for part in every if part.negated and part.variable}
    kept = {part.variable for part in every if not part.negated and part.variable}
    for text in query.conditions:
        names = {*re.findall(r"\b[a-hj-z](?=\.|\[)", text)}
        now = {*re.findall(r"\b([a-hj-z])\[i\]\.", text)}
        if len(now) > 1:
            yield "a[i] against b[i]"
        if now and any(name > min(now) for name in names & kept):
            yield "a[i] and a later variable"
        if now and any(name < max(now) for name in names & kept):
            yield "a[i] and an earlier variable"
        if names & gone:
            yield "condition on a negative"
            if now:
                yield "condition on a negative with a[i]"
            if series and re.search(rf"\w\([{series}]\[", text):
                yield "condition on a negative with an aggregate"


if __name__ == "__main__":
    print(Census.of(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
