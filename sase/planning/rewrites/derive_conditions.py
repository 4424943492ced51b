"""(Derive) Transfer conditions along equalities to other events, and detect contradictions.

`[id] AND x.id = 5` implies `id = 5` for every event, which the scan can check. If a value would
have to be two constants at once, no event can match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from sase.binding import bound
from sase.binding.conditions.parts import with_references
from sase.binding.types import Kind
from sase.binding.values.literals import is_written
from sase.binding.values.text import condition_text, value_text
from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator, Selection, SequenceScan, exchanged, find, require
from sase.planning.reasoning.value_ranges import first_exclusion
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.infer_equivalence_tests import Node, classes, equality, lacks, node_of


def derive_conditions(plan: Operator) -> Outcome:
    """A condition on an attribute holds for all attributes that must equal it."""
    scan, selection = require(plan, SequenceScan), find(plan, Selection)
    if selection is None or scan.nothing is not None:
        return Declined("there is no selection" if scan.nothing is None else scan.nothing)
    known = selection.conditions
    alone = [(each, about) for each in known if (about := subject(each)) is not None]
    groups = _groups(scan, known, [about for _, about in alone])
    derived = tuple(_derived(groups, alone))
    nothing = _contradiction(scan, known, groups, alone)
    if not derived and nothing is None:
        return Declined("nothing follows from its equalities")
    new = replace(selection, conditions=known + derived)
    return exchanged(plan, replace(scan, nothing=nothing), new)


def _groups(
    scan: SequenceScan, known: Iterable[bound.Conjunct], subjects: list[bound.Reference]
) -> list[dict[Node, bound.Reference]]:
    """The attributes with conditions, each with those that must equal it."""
    if not subjects:
        return []
    edges = [sides for each in known if (sides := equality(each)) is not None]
    edges += _edges_of_tests(scan, subjects)
    groups = classes(edges) if edges else []
    lone = {node_of(each): each for each in subjects}
    joined = {node for group in groups for node in group}
    return [*groups, *({node: each} for node, each in lone.items() if node not in joined)]


_Alone: TypeAlias = tuple[bound.Conjunct, bound.Reference]


def _by_group(
    groups: list[dict[Node, bound.Reference]], alone: list[_Alone]
) -> Iterator[tuple[dict[Node, bound.Reference], list[_Alone]]]:
    """Yield the groups, each with the conditions on its attributes."""
    own: dict[Node, list[_Alone]] = {}
    for group in groups:
        own |= dict.fromkeys(group, list[_Alone]())
    for each in alone:
        own[node_of(each[1])].append(each)
    for group in groups:
        yield group, own[next(iter(group))]


def _derived(
    groups: list[dict[Node, bound.Reference]], alone: list[_Alone]
) -> Iterator[bound.Conjunct]:
    """The conditions on one attribute, transferred to the others of its group."""
    if all(len(group) == 1 for group in groups):
        return
    found = {conjunct.condition for conjunct, _ in alone}
    for group, own in _by_group(groups, alone):
        for conjunct, reference in own:
            for other in group.values():
                condition = _about(conjunct.condition, other)
                if other.type == reference.type and condition not in found:
                    found.add(condition)
                    yield replace(
                        conjunct,
                        condition=condition,
                        references=(other.component,),
                        component=other.component,
                        derived=True,
                    )


def _edges_of_tests(
    scan: SequenceScan, subjects: list[bound.Reference]
) -> Iterator[tuple[bound.Reference, bound.Reference]]:
    """The equalities of written tests on attributes that have conditions."""
    attributes = {each.attribute for each in subjects}
    for test in scan.tests:
        if test.value is None and test.attribute in attributes:
            ends = [_read(test, c.index) for c in scan.components if test.declared[c.index]]
            yield from zip(ends, ends[1:], strict=False)


def _read(test: bound.EquivalenceTest, component: int) -> bound.Reference:
    return bound.Reference(test.type, component, bound.Part.EVENT, test.attribute)


def subject(conjunct: bound.Conjunct) -> bound.Reference | None:
    """The only attribute of a condition with constants, if all events have it."""
    if conjunct.kind is not bound.ConjunctClass.SINGLE:
        return None
    match conjunct.condition:
        case bound.Comparison(left=left, right=right):
            parts: tuple[bound.Expression, ...] = (left, right)
        case bound.Membership(operand=operand, values=values):
            parts = (operand, *values)
        case bound.Between(operand=bound.Reference() as operand, low=low, high=high):
            parts = (operand, low, high)
        case _:
            return None
    read = [part for part in parts if isinstance(part, bound.Reference)]
    is_plain = all(
        isinstance(part, bound.Reference | bound.Constant | bound.Placeholder) for part in parts
    )
    if not is_plain or len(read) != 1 or lacks(read[0]):
        return None
    # Equal attributes may be float and decimal, and constants differ beside these.
    is_exact = read[0].type.kind in (Kind.INTEGER, Kind.DECIMAL)
    return read[0] if is_exact or not any(map(is_written, parts)) else None


def _about(condition: bound.Condition, other: bound.Reference) -> bound.Condition:
    """The same condition on another attribute."""
    return with_references(condition, lambda _: other)


def _contradiction(
    scan: SequenceScan,
    known: Iterable[bound.Conjunct],
    groups: list[dict[Node, bound.Reference]],
    alone: list[_Alone],
) -> str | None:
    """Describe two contradictory conditions, or one that is never true."""
    if any(conjunct.condition == bound.Truth(False) for conjunct in known):
        return "a condition of the query is never true"
    names = {component.index: component.variable for component in scan.components}
    for _, own in _by_group(groups, alone):
        pair = first_exclusion([conjunct.condition for conjunct, _ in own])
        if pair is not None:
            (one, mine), (other, its) = (own[place] for place in pair)
            texts = [condition_text(each.condition, names) for each in (one, other)]
            equal = " and ".join(value_text(each, names) for each in (mine, its))
            why = "" if mine == its else f", since {equal} are equal"
            return f"{texts[0]} and {texts[1]} cannot both hold{why}"
    return None
