"""Split WHERE into conjuncts, classify them, and find the component where each is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from sase.binding.absent import variables_in
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    MemberCheck,
    Part,
    Quantified,
    Reference,
    Truth,
    When,
)
from sase.binding.conditions import OPPOSITES, bind_condition
from sase.binding.iterations import PlacedConjunct, bind_on_iterations
from sase.binding.parts import conjoined, references
from sase.binding.scope import Scope
from sase.binding.sets import member_checks
from sase.lang import ast
from sase.lang.printer import to_text

# The parts that are single events, of a series too.
_SINGLE = (Part.EVENT, Part.FIRST, Part.CURRENT)


def top_level(node: ast.Expression | None) -> Iterator[ast.Expression]:
    """The operands of the conjunction, through all brackets."""
    if isinstance(node, ast.And):
        for operand in node.operands:
            yield from top_level(operand)
    elif node is not None:
        yield node


def bind_conjuncts(
    nodes: Iterable[ast.Expression], scope: Scope
) -> tuple[tuple[Conjunct, ...], list[PlacedConjunct]]:
    """Bind the conjuncts of WHERE except equivalence tests; separately those inside iterations."""
    conjuncts: list[Conjunct] = []
    placed: list[PlacedConjunct] = []
    for node in nodes:
        if any(each.names & variables_in(node) for each in scope.groups):
            for each in bind_on_iterations(node, scope):
                if isinstance(each, PlacedConjunct):
                    placed.append(each)
                else:
                    conjuncts.append(each)
            continue
        condition = bind_condition(node, scope)
        parts = conjoined(condition)
        is_never_true = any(isinstance(part, Truth) and not part.value for part in parts)
        if is_never_true and not scope.problems.found:
            scope.never_true.append(node.span)
        conjuncts += [c for part in parts if (c := _classified(part, node, scope)) is not None]
    return tuple(conjuncts), placed


def _classified(condition: Condition, node: ast.Expression, scope: Scope) -> Conjunct | None:
    if isinstance(condition, Truth) and condition.value:
        return None
    found = list(references(condition))
    used = sorted({reference.component for reference in found})
    components = [scope.components[index] for index in used]
    negatives = [component for component in components if component.negated]
    absent = [component for component in components if component.is_absent]
    inside = [component for component in negatives if component.inside is not None]
    if len(set(map(scope.element_of, absent))) > 1 or len(inside) > 1:
        _refuse_two_negatives(node, inside if len(inside) > 1 else absent, scope)
        return None
    # A single event: one component, and one part of it.
    ways = {(reference.component, reference.part) for reference in found}
    single = len(ways) == 1 and not isinstance(found[0], Aggregate) and found[0].part in _SINGLE
    kind = ConjunctClass.SINGLE if single else ConjunctClass.SEVERAL
    if negatives or not used:
        kind = ConjunctClass.NEGATIVE if negatives else ConjunctClass.CONSTANT
    last = negatives[0] if negatives else components[-1] if components else None

    def when_of(component: BoundComponent) -> When:
        return When.of(_parts(component, found))

    def ranges(component: BoundComponent, when: When) -> Iterator[Quantified]:
        return _quantified(components, found, component, when)

    checks: tuple[MemberCheck, ...] = ()
    if last is not None and not negatives:
        last, checks = member_checks(last, components, when_of, ranges)
    when = when_of(last) if last else When.EVENT
    return Conjunct(
        condition,
        kind,
        tuple(used),
        last.index if last else None,
        when,
        tuple(_quantified(components, found, last, when)),
        checks=checks,
        span=condition.span,
    )


def _parts(component: BoundComponent, found: list[Reference | Aggregate]) -> list[Part]:
    return [reference.part for reference in found if reference.component == component.index]


def _quantified(
    components: list[BoundComponent],
    found: list[Reference | Aggregate],
    last: BoundComponent | None,
    when: When,
) -> Iterator[Quantified]:
    """The series over whose events a condition ranges, except the event being added."""
    for component in components:
        parts = _parts(component, found)
        ranges = any(part.rank == Part.CURRENT.rank for part in parts)
        if ranges and not (component is last and when in (When.EVERY, When.FURTHER)):
            yield Quantified(component.index, any(part.is_earlier for part in parts))


def _refuse_two_negatives(
    node: ast.Expression, negatives: list[BoundComponent], scope: Scope
) -> None:
    by_element = {scope.element_of(each): each.variable for each in reversed(negatives)}
    names = list(by_element.values())[::-1]
    if len(names) < 2:  # both in one group
        names = [component.variable for component in negatives]
    has_groups = any(each.inside is not None and not each.negated for each in negatives)
    what = "elements" if has_groups else "components"
    scope.problems.error(
        "two-negatives",
        f"this condition mentions two negative {what}, {' and '.join(names)}:"
        " each absence is checked by itself",
        node.span,
        _rewrite(node, names, scope),
    )


def _rewrite(node: ast.Expression, names: list[str], scope: Scope) -> str:
    """A suggestion for a condition on two negative components."""
    atoms = list(_atoms(node))
    if all(len(_attributes(atom).keys() & set(names)) == 1 for atom in atoms):
        joined = " AND ".join(to_text(atom) for atom in atoms)
        return f"write a condition for each, joined by AND:  {joined}"
    single = (c for c in scope.inner_components if c.named and not (c.is_absent or c.is_series))
    anchor = next((each.variable for each in single), "") or next(iter(scope.positives), "")
    advice = "relate each of them to an event of the match"
    if not anchor:
        taken = {component.variable for component in scope.components}
        anchor = next(name for number in count(1) if (name := f"e{number}") not in taken)
        advice = f"give an event of the match a name, say {anchor}, and relate each of them to it"
    attributes = _attributes(node)
    own = [(name, attributes.get(name, "a")) for name in names]
    parts = [f"{name}.{attribute} = {anchor}.{attribute}" for name, attribute in own]
    return f"{advice}, such as  {' AND '.join(parts)}"


def _atoms(node: ast.Expression, negated: bool = False) -> Iterator[ast.Expression]:
    """The atomic conditions, with NOT pushed down to each."""
    match node:
        case ast.And(operands=operands) | ast.Or(operands=operands):
            for operand in operands:
                yield from _atoms(operand, negated)
        case ast.Not(operand=operand):
            yield from _atoms(operand, not negated)
        case ast.Comparison(operator=operator) if negated:
            yield replace(node, operator=OPPOSITES[operator])
        case _:
            yield ast.Not(node) if negated else node


def _attributes(node: ast.Expression) -> dict[str, str]:
    """The first attribute used with each variable."""
    found: dict[str, str] = {}
    for reference in _written(node):
        if reference.variable is not None:
            found.setdefault(reference.variable.text, reference.name.text)
    return found


def _written(node: object) -> Iterator[ast.Attribute]:
    if isinstance(node, ast.Attribute):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _written(item)
    elif isinstance(node, ast.Node):
        for name in node.__dataclass_fields__:
            yield from _written(getattr(node, name))
