"""(Infer) Find the equivalence tests that the equalities of the query imply.

`x.id = y.id AND y.id = z.tag` has the same meaning as `[id]`, if all attributes had one name.
Inferred tests are used by stacks, the index of negation and the split; the query's meaning (windows
PER PARTITION, `seq`) depends only on written tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import filterfalse
from typing import TypeAlias

from sase.binding.bound import (
    BoundComponent,
    Comparison,
    Conjunct,
    EquivalenceTest,
    Part,
    Reference,
)
from sase.planning.declined import Declined
from sase.planning.plan.negatives import NegativeComponent
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    Selection,
    SequenceScan,
    exchanged,
    find,
    require,
)
from sase.planning.rewrites.contract import Outcome
from sase.planning.split import negations_of

# An attribute of a component.
Node: TypeAlias = tuple[int, str]
_UNCOVERED: frozenset[int] = frozenset()


def infer_equivalence_tests(plan: Operator) -> Outcome:
    """A class of equal attributes with one of every positive component becomes a test."""
    scan, selection = require(plan, SequenceScan), find(plan, Selection)
    equalities = [] if selection is None else list(_equalities(selection.conditions))
    if scan.inferred or not equalities:
        why = "they are inferred already" if scan.inferred else "no two attributes must be equal"
        return Declined(why)
    negation = find(plan, Negation)
    negatives = () if negation is None else negation.negations
    every = [*scan.components, *(each for n in negations_of(plan) for each in n.components)]
    size = 1 + max(component.index for component in every)
    tests, reasons = [], []
    for members in classes(equalities):
        found = _Class(scan.components, negatives, members, size).test()
        if isinstance(found, Declined):
            reasons.append(found.reason)
        elif found not in scan.tests:
            tests.append(found)
    if not tests:
        return Declined("; ".join(reasons) or "they say no more than the tests that are written")
    new: list[Operator] = [replace(scan, inferred=tuple(tests))]
    if negation is not None:
        agreeing = tuple(_with_tests(negative, tests) for negative in negatives)
        new.append(replace(negation, negations=agreeing))
    return exchanged(plan, *new)


def classes(edges: Iterable[tuple[Reference, Reference]]) -> list[dict[Node, Reference]]:
    """The classes of attributes connected by equalities, in the order of first occurrence."""
    import networkx

    graph, found = networkx.Graph(), dict[Node, Reference]()
    for left, right in edges:
        graph.add_edge(node_of(left), node_of(right))
        for each in (left, right):
            found.setdefault(node_of(each), each)
    named = {node: place for place, node in enumerate(found)}
    joined = networkx.connected_components(graph)
    return [{node: found[node] for node in sorted(each, key=named.__getitem__)} for each in joined]


def equality(conjunct: Conjunct) -> tuple[Reference, Reference] | None:
    """The attributes of two events that a condition equates, for events of all types."""
    condition = conjunct.condition
    if not isinstance(condition, Comparison) or condition.operator != "=":
        return None
    left, right = condition.left, condition.right
    if not isinstance(left, Reference) or not isinstance(right, Reference):
        return None
    is_plain = all(each.part is Part.EVENT and not lacks(each) for each in (left, right))
    return (left, right) if is_plain and left.component != right.component else None


def lacks(reference: Reference) -> bool:
    """Whether an event that a component admits may lack the attribute."""
    return reference.undeclared_by is None or len(reference.undeclared_by) > 0


def implied_by(tests: Iterable[EquivalenceTest]) -> Callable[[Conjunct], bool]:
    """Return a predicate: whether events that agree on the tests satisfy a condition."""
    # The tests on an attribute that all events of the component have.
    covering: dict[Node, set[int]] = {}
    for number, test in enumerate(tests):
        for component, is_declared in enumerate(test.declared):
            attribute = test.attribute_of(component)
            if is_declared and attribute is not None:
                covering.setdefault((component, attribute), set()).add(number)

    def implied(conjunct: Conjunct) -> bool:
        sides = equality(conjunct)
        if sides is None:
            return False
        left, right = (covering.get(node_of(each), _UNCOVERED) for each in sides)
        return not left.isdisjoint(right)

    return implied


def node_of(reference: Reference) -> Node:
    """The component and attribute of a reference."""
    return reference.component, reference.attribute


def _equalities(conditions: Iterable[Conjunct]) -> Iterator[tuple[Reference, Reference]]:
    return (sides for each in conditions if (sides := equality(each)) is not None)


@dataclass(frozen=True)
class _Class:
    """A class of equal attributes, and the components of which it may become a test."""

    positives: tuple[BoundComponent, ...]
    negatives: tuple[NegativeComponent, ...]
    members: dict[Node, Reference]
    # Above the index of any component.
    size: int

    def test(self) -> EquivalenceTest | Declined:
        """The test: an attribute of each positive component, and of negatives that must agree."""
        chosen: dict[int, Reference] = {}
        for (component, _), reference in self.members.items():
            chosen.setdefault(component, reference)
        text = " = ".join(f"{self._name(c)}.{r.attribute}" for c, r in chosen.items())
        left_out = [each.variable for each in self.positives if each.index not in chosen]
        if left_out:
            return Declined(f"{text} says nothing of {', '.join(left_out)}")
        if len({reference.type for reference in chosen.values()}) > 1:
            return Declined(f"{text} are not of one type")
        if not self._has_one_key(chosen):
            return Declined(f"{text}: an event that two variables admit would have two keys")
        for negative in self.negatives:
            agreeing = self._agreeing(negative, chosen)
            if agreeing is not None:
                extended = {**chosen, negative.component.index: agreeing}
                chosen = extended if self._has_one_key(extended) else chosen
        return self._made(chosen, text)

    def _made(self, chosen: dict[int, Reference], text: str) -> EquivalenceTest:
        declared = tuple(component in chosen for component in range(self.size))
        data_type = next(iter(chosen.values())).type
        names = {reference.attribute for reference in chosen.values()}
        if len(names) == 1:
            return EquivalenceTest(names.pop(), None, data_type, declared)
        by_type = {
            name: reference.attribute
            for component, reference in chosen.items()
            for name in self._component(component).types or ()
        }
        attributes = tuple(chosen[c].attribute if c in chosen else None for c in range(self.size))
        return EquivalenceTest(text, None, data_type, declared, attributes, tuple(by_type.items()))

    def _agreeing(
        self, negative: NegativeComponent, chosen: dict[int, Reference]
    ) -> Reference | None:
        """The attribute in which a negative component must agree with the class, if any."""
        for sides in _equalities(negative.conditions):
            mine, other = sorted(sides, key=lambda r: r.component != negative.component.index)
            known = chosen.get(other.component)
            if known is not None and known.attribute == other.attribute and known.type == mine.type:
                return mine
        return None

    def _has_one_key(self, chosen: dict[int, Reference]) -> bool:
        """Whether an event that several components admit has the same attribute for all."""
        by_type: dict[str | None, set[str]] = {}
        for component, reference in chosen.items():
            for name in self._component(component).types or (None,):
                by_type.setdefault(name, set()).add(reference.attribute)
        names = set().union(*by_type.values())
        admits_all = None in by_type and len(names) > 1
        return not admits_all and all(len(each) == 1 for each in by_type.values())

    def _component(self, index: int) -> BoundComponent:
        every = (*self.positives, *(each.component for each in self.negatives))
        return next(each for each in every if each.index == index)

    def _name(self, component: int) -> str:
        return self._component(component).variable


def _with_tests(negative: NegativeComponent, tests: list[EquivalenceTest]) -> NegativeComponent:
    """A negative component with tests in place of the equalities that they imply."""
    own = tuple(test for test in tests if test.declared[negative.component.index])
    conditions = tuple(filterfalse(implied_by(own), negative.conditions))
    return replace(negative, conditions=conditions, equivalences=negative.equivalences + own)
