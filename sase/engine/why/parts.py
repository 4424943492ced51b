"""The parts of a query that can stop a match, each of which the query may be asked without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum

from sase.binding.bound import (
    BoundComponent,
    BoundQuery,
    BoundWindow,
    Conjunct,
    ConjunctClass,
    Placeholder,
    WindowKind,
)
from sase.binding.text import condition_text, test_text
from sase.lang.names import spelled_type


class Kind(Enum):
    """What a part is."""

    CONSTANT = "condition on no event"
    OWN = "condition on one event"
    TEST = "equivalence test"
    WINDOW = "window"
    RELATION = "condition on several events"
    NEGATION = "negative component"
    HAVING = "HAVING"


@dataclass(frozen=True, slots=True)
class Part:
    """A part by its kind and its number: of a conjunct, a test, or a component in the pattern.

    `components` are those that it speaks of; none where it speaks of all.
    """

    kind: Kind
    number: int
    text: str
    components: tuple[int, ...] = ()


def parts_of(query: BoundQuery, text: str) -> tuple[Part, ...]:
    """The parts of a query, as its text has them, in the order in which they are looked at."""
    found = [
        *_conjuncts(query, text),
        *(Part(Kind.TEST, n, f"[{test_text(each)}]") for n, each in enumerate(query.equivalences)),
        *(Part(Kind.NEGATION, c.index, f"!({shown(c)})", (c.index,)) for c in query.negatives),
    ]
    if query.window is not None:
        found.append(Part(Kind.WINDOW, 0, f"WITHIN {window_text(query.window)}"))
    if query.having is not None:
        names = {each.index: each.variable for each in query.components}
        found.append(Part(Kind.HAVING, 0, f"HAVING {condition_text(query.having, names)}"))
    order = list(Kind)
    return tuple(sorted(found, key=lambda part: (order.index(part.kind), part.number)))


def without(query: BoundQuery, parts: Collection[Part]) -> BoundQuery:
    """The query without some parts.

    The window takes with it the negative components that need one, a negative component what is
    said of it; and without a partition the events per partition are all events.
    """
    gone = {kind: {part.number for part in parts if part.kind is kind} for kind in Kind}
    removed = gone[Kind.OWN] | gone[Kind.RELATION] | gone[Kind.CONSTANT]
    negatives = gone[Kind.NEGATION]
    if gone[Kind.WINDOW]:
        negatives = negatives | {each.index for each in at_the_edges(query)}
    tests = tuple(
        each for n, each in enumerate(query.equivalences) if n not in gone[Kind.TEST]
    )  # fmt: skip
    return replace(
        query,
        components=tuple(c for c in query.components if c.index not in negatives),
        conjuncts=tuple(
            each
            for n, each in enumerate(query.conjuncts)
            if n not in removed and not negatives & set(each.references)
        ),
        equivalences=tests,
        window=None if gone[Kind.WINDOW] else _window(query.window, has_tests=bool(tests)),
        having=None if gone[Kind.HAVING] else query.having,
    )


def at_the_edges(query: BoundQuery) -> tuple[BoundComponent, ...]:
    """The negative components before the first positive one and after the last."""
    first, last = query.positives[0].index, query.positives[-1].index
    return tuple(c for c in query.negatives if not first < c.index < last)


def needing_window(query: BoundQuery) -> str:
    """The negative components that go with the window, as text."""
    edges = " and ".join(f"!({shown(each)})" for each in at_the_edges(query))
    return f", and with it {edges}" if edges and query.window is not None else ""


def shown(component: BoundComponent) -> str:
    """A component as the pattern has it."""
    names = ", ".join(map(spelled_type, component.types or ())) or "ANY"
    test = f"ANY({names})" if component.is_any and component.types is not None else names
    return f"{test} {component.variable}" if component.named else test


def window_text(window: BoundWindow) -> str:
    """The length of a window as it is written."""
    amount = window.amount
    assert not isinstance(amount, Placeholder), "a query that runs has all parameters"
    what = {WindowKind.EVENTS: "EVENTS", WindowKind.PARTITION_EVENTS: "EVENTS PER PARTITION"}
    unit = what.get(window.kind, window.unit or "")
    if amount == 1 and window.kind is WindowKind.TIME:
        unit = unit.removesuffix("s")
    return f"{float(amount):g} {unit}".strip() + (" INCLUSIVE" if window.inclusive else "")


_KINDS = {ConjunctClass.CONSTANT: Kind.CONSTANT, ConjunctClass.SINGLE: Kind.OWN}


def _conjuncts(query: BoundQuery, text: str) -> list[Part]:
    """The conditions; those on a negative component belong to it."""
    names = {each.index: each.variable for each in query.components}
    return [
        Part(
            _KINDS.get(each.kind, Kind.RELATION),
            n,
            _written(each, text) or condition_text(each.condition, names),
            each.references,
        )
        for n, each in enumerate(query.conjuncts)
        if each.kind is not ConjunctClass.NEGATIVE
    ]


def _written(conjunct: Conjunct, text: str) -> str:
    return " ".join(text[conjunct.span.start : conjunct.span.end].split())


def _window(window: BoundWindow | None, *, has_tests: bool) -> BoundWindow | None:
    if window is None or has_tests or window.kind is not WindowKind.PARTITION_EVENTS:
        return window
    return replace(window, kind=WindowKind.EVENTS)
