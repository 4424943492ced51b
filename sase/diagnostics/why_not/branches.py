"""Explain patterns with choices and repeated groups: each branch, and where an iteration fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import BoundComponent, Condition, IterationBranch
from sase.binding.conditions.absent import conjuncts_of, of_iterations, references_in
from sase.diagnostics.attributes import Attributes, of_types
from sase.diagnostics.why_not.ablation import greatest_least
from sase.diagnostics.why_not.budget import Budget, Count
from sase.diagnostics.why_not.event_sample import EventSample, sample_events
from sase.diagnostics.why_not.query_parts import bare, shown
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.why_not import WhyNot
from sase.engine.columns.arrow.input import Inputs
from sase.engine.operators.bindings.bindings import as_bindings
from sase.engine.operators.contract import span_of
from sase.engine.sources import Files
from sase.lang import ast
from sase.lang.ast import IndexKind
from sase.lang.parser import parse_query
from sase.lang.printer import to_text
from sase.planning.branches import may_share_matches
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.basic import basic_plan
from sase.planning.recipes import Recipe

# ---------------------------------------------------------------- one iteration


def of_one_iteration(text: str) -> tuple[str, str]:
    """The text of a query with each repeated group once, and a list of the parts left out."""
    tree = parse_query(text)
    groups = {each.variable.text for each in _repeated(tree.pattern) if each.variable}
    asked, left = _parted(tree.where, groups)
    having, more = _parted(tree.having, groups)
    strategy = None if tree.strategy is None else replace(tree.strategy, variables=())
    once = replace(
        tree,
        pattern=_once(tree.pattern),
        where=_joined([_at_hand(each, groups) for each in asked]),
        having=_joined(having),
        strategy=strategy,
        output=None,
    )
    return to_text(once), "".join(_words(tree.pattern, [*left, *more]))


def _repeated(pattern: Any) -> Iterator[ast.Group]:
    match pattern:
        case ast.Group(negated=False, quantifier=ast.Quantifier(symbol=symbol)) if symbol != "?":
            yield pattern
        case ast.Group(pattern=inner):
            yield from _repeated(inner)
        case ast.Sequence(parts=parts) | ast.Alternatives(patterns=parts):
            for part in parts:
                yield from _repeated(part)


def _once(pattern: Any) -> Any:
    """Replace repeated groups by single ones, optional if they may be empty."""
    match pattern:
        case ast.Group(negated=False, quantifier=ast.Quantifier(symbol=symbol) as quantifier) if (
            symbol != "?"
        ):
            maybe = ast.Quantifier("?", 0, 1) if quantifier.minimum == 0 else None
            return replace(pattern, variable=None, quantifier=maybe)
        case ast.Group(pattern=inner):
            return replace(pattern, pattern=_once(inner))
        case ast.Sequence(parts=parts):
            return replace(pattern, parts=tuple(map(_once, parts)))
        case ast.Alternatives(patterns=patterns):
            return replace(pattern, patterns=tuple(map(_once, patterns)))
    return pattern


def _parted(
    node: ast.Expression | None, groups: Set[str]
) -> tuple[list[ast.Expression], list[ast.Expression]]:
    """Split conjuncts: on at most one iteration; on several iterations or whole groups."""
    asked, left = list[ast.Expression](), list[ast.Expression]()
    for each in () if node is None else conjuncts_of(node):
        indexes = [found.index.kind for found in of_iterations(each) if found.group.text in groups]
        whole = any(r.variable and r.variable.text in groups for r in references_in(each))
        is_of_one = not whole and all(kind is IndexKind.CURRENT for kind in indexes)
        (asked if is_of_one else left).append(each)
    return asked, left


def _at_hand(node: Any, groups: Set[str]) -> Any:
    """Remove the index of the current iteration from a condition."""
    match node:
        case ast.InGroup(group=ast.Name(text), reference=reference) if text in groups:
            return reference
        case tuple():
            return tuple(_at_hand(each, groups) for each in node)
        case ast.Node():
            names = (each.name for each in fields(node) if each.name != "span")
            return replace(node, **{n: _at_hand(getattr(node, n), groups) for n in names})
    return node


def _joined(conjuncts: Sequence[ast.Expression]) -> ast.Expression | None:
    if len(conjuncts) < 2:
        return conjuncts[0] if conjuncts else None
    return ast.And(tuple(conjuncts))


def _words(pattern: ast.Pattern, left: Sequence[ast.Expression]) -> Iterator[str]:
    listed = ", ".join(
        f"`{each.variable.text}`" if each.variable else to_text(each) for each in _repeated(pattern)
    )
    yield f"this is about one iteration of {listed}"
    for each in _repeated(pattern):
        if each.quantifier and each.quantifier.minimum > 1:
            name = f" of `{each.variable.text}`" if each.variable else ""
            yield f", where at least {each.quantifier.minimum}{name} are needed"
    if left:
        yield f"; left aside: {', '.join(map(to_text, left))}"


# ---------------------------------------------------------------- iterations

# Matches after which the next iteration is examined.
LOOKED_AT = 50
ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    "tenth",
)


@dataclass(frozen=True)
class _Break:
    """Where an iteration fails: the number of elements found, and the missing element."""

    found: int
    after: int
    element: BoundComponent | None

    def text(self, which: str, row: int) -> str:
        """Describe the failure of an iteration after a row."""
        if self.element is None:
            return f"the events after row {row:,} make none that satisfies the conditions"
        lacking = shown(self.element)
        return f"the {which} breaks at {lacking}, of which there is none behind row {row:,}"


def too_few_iterations(
    query: BoundQuery,
    plan: EnginePlan,
    events: Inputs | Files,
    restrictions: Sequence[Condition],
    *,
    recipe: Recipe,
    budget: Budget,
) -> Iterator[str]:
    """Yield sentences about groups that must repeat more often for a match."""
    short = [each for each in query.positives if each.group is not None and each.minimum > 1]
    if not short:
        return
    query = bare(query)
    sample = sample_events(plan, query, events, restrictions)
    search = RelaxedSearch(query, (), sample.events, plan.schema, recipe, budget)
    if search.has(query) is not False:
        return
    for each in short:
        most = greatest_least(each.index, search)
        if most:
            yield _sentence(each, most, _Continuation(search, sample, each, most).furthest())


def _sentence(group: BoundComponent, most: int, broken: tuple[_Break, int] | None) -> str:
    named = f" of `{group.variable}`" if group.named else ""
    times = f"1 iteration{named} is" if most == 1 else f"{most:,} iterations{named} are"
    needed = f"where {group.minimum:,} are needed"
    told = f"with all other parts of the query at most {times} there, {needed}"
    if broken is None:
        return told
    which = ORDINALS[most] if most < len(ORDINALS) else f"{most + 1:,}th"
    found, row = broken
    return f"{told}: {found.text(which, row)}"


class _Continuation:
    """Searches, after the last iteration of matches, for the elements of another one."""

    def __init__(
        self, search: RelaxedSearch, sample: EventSample, group: BoundComponent, most: int
    ) -> None:
        query = search.query
        shorter = replace(group, minimum=most)
        components = [shorter if each == group else each for each in query.components]
        self._query = replace(query, components=tuple(components))
        self._level = self._query.positives.index(shorter)
        assert group.group is not None
        self._branches = group.group.branches
        self._search, self._sample = search, sample
        self._attributes = Attributes(sample.events, search.schema, query.components)
        self._reach: int | None = None
        if query.window is not None:
            self._measures = self._attributes.measures(query.window, query.equivalences)
            self._reach = span_of(query.window)

    def furthest(self) -> tuple[_Break, int] | None:
        """Where the iteration that gets furthest fails, and the row after which it does."""
        found: list[_Break] = []
        for first, last in self._ends():
            found += [self._broken(first, last, branch) for branch in self._branches]
        if not found:
            return None
        best = max(found, key=lambda each: each.found)
        (row,) = self._sample.history.rows(np.array([best.after])).tolist()
        return best, row

    def _ends(self) -> Iterator[tuple[int, int]]:
        """The first event of some matches, and the last event of their group."""
        left = LOOKED_AT
        for results in self._search.results(self._query):
            events, ends = as_bindings(results.positions).of_level(self._level)
            pairs = zip(results.first.tolist(), events[ends - 1].tolist(), strict=True)
            yield from list(pairs)[:left]
            left -= len(results)
            if left <= 0:
                return

    def _broken(self, first: int, last: int, branch: IterationBranch) -> _Break:
        """How many elements of a branch follow an event, taking the earliest event of each."""
        after, elements = last, [each for each in branch.elements if not each.is_absent]
        needed = [each for each in elements if each.minimum > 0]
        order, tests = self._attributes.order, self._query.equivalences
        for number, element in enumerate(needed):
            for _ in range(element.minimum):
                at = of_types(self._sample.events, element.types)
                at = at[order[at] > order[after]]
                at = at[self._attributes.agreeing(tests, at, (first, last))]
                if self._reach is not None:
                    at = at[self._measures[at] <= self._measures[first] + self._reach]
                if not len(at):
                    return _Break(number, after, element)
                after = int(at[0])
        return _Break(len(needed), last, None)


# ---------------------------------------------------------------- branches

# The greatest number of branches to describe.
MOST_TOLD = 10


def of_branches(query: BoundQuery, found: Sequence[WhyNot]) -> WhyNot:
    """Combine the explanations of a query's branches."""
    first = found[0]
    matches = _matches(query.branches, found)
    warnings = [each.sentence for each in query.warnings]
    return WhyNot(
        matches,
        first.rows,
        first.looked_at,
        (),
        (),
        (),
        None,
        first.near_misses.slice(0, 0),
        (*_verdict(matches, found), *warnings),
        all(each.is_complete for each in found),
        branches=tuple(found),
    )


def _matches(branches: Sequence[BoundQuery], found: Sequence[WhyNot]) -> Count:
    """The number of matches; equal matches of two branches count once."""
    pairs = zip(branches, found, strict=True)
    matching = [(branch, why.matches) for branch, why in pairs if not why.matches.is_none]
    plans = [basic_plan(branch) for branch, _ in matching]
    if any(may_share_matches(one, other) for one, other in combinations(plans, 2)):
        return Count(max(count.number for _, count in matching), is_exact=False)
    counts = [count for _, count in matching]
    return Count(sum(each.number for each in counts), all(each.is_exact for each in counts))


def _verdict(matches: Count, found: Sequence[WhyNot]) -> Iterator[str]:
    numbers = list(enumerate((each.matches for each in found), 1))
    none = [number for number, count in numbers if count.is_none]
    if len(none) == len(found):
        yield f"there is no match of any of the {len(found)} branches"
        yield from _broken(found)
        return
    of_each = ", ".join(f"{count} of branch {n}" for n, count in numbers if n not in none)
    verb = "is" if str(matches) == "1" else "are"
    yield f"there {verb} {matches} {'match' if matches.number == 1 else 'matches'}: {of_each}"
    if none:
        names = f"branch {none[0]}" if len(none) == 1 else "branches " + _listed(none)
        yield f"there is none of {names}"
        yield from _broken(found)


def _broken(found: Sequence[WhyNot]) -> Iterator[str]:
    """Describe how far branches without a match get, except those that only the end stops."""
    told = 0
    for number, each in enumerate(found, 1):
        needed = [level for level in each.levels if level.candidates.component.minimum > 0]
        at = next((level for level in needed if level.partial.is_none), None)
        if at is None or not each.matches.is_none or told == MOST_TOLD:
            continue
        told += 1
        is_first = at is needed[0]
        verb = "never begins: no event can be its" if is_first else "breaks at"
        yield f"branch {number} {verb} {at.candidates.text}"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
