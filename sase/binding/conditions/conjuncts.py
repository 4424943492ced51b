"""Split WHERE into conjuncts and equivalence tests, and classify them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from sase.base.paths import path_of
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    Constant,
    EquivalenceTest,
    MemberCheck,
    NullTest,
    Part,
    Placeholder,
    Quantified,
    Reference,
    Truth,
    When,
)
from sase.binding.conditions.absent import variables_in
from sase.binding.conditions.conditions import OPPOSITES, bind_condition
from sase.binding.conditions.iterations import PlacedConjunct, bind_on_iterations
from sase.binding.conditions.parts import conjoined, ranged_over, references
from sase.binding.names.references import declared
from sase.binding.names.scope import Scope
from sase.binding.pattern.sets import member_checks
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.binding.values.literals import beside
from sase.binding.values.time_zones import warn_of_zones
from sase.binding.values.values import bind_operand, on_raw_time
from sase.lang import ast
from sase.lang.printer import to_text

# ---------------------------------------------------------------- equivalence


def bind_equivalences(nodes: list[ast.Equivalence], scope: Scope) -> tuple[EquivalenceTest, ...]:
    """The tests in order, one for each attribute."""
    return tuple(_bound(test, scope) for node in nodes for test in node.tests)


def known_keys(
    tests: Sequence[EquivalenceTest], component: BoundComponent, scope: Scope
) -> Iterator[Conjunct]:
    """For a branch of one component: conjuncts that the tested attributes are not NULL.

    A single event agrees with itself, but in longer patterns an event without a key is in no match.
    """
    if component.is_series or component.negated:
        return
    for test in tests:
        found = scope.declarations(component, test.attribute).values()
        if all(data_type is None for data_type in found):
            continue
        name = ast.Name(test.attribute, span=test.span)
        data_type, undeclared_by = declared(component, name, scope)
        read = Reference(
            data_type, component.index, Part.EVENT, test.attribute, undeclared_by, span=test.span
        )
        condition = NullTest(read, True, span=test.span)
        yield Conjunct(
            condition,
            ConjunctClass.SINGLE,
            (component.index,),
            component.index,
            When.EVENT,
            span=test.span,
        )


def _bound(test: ast.EqualAttribute, scope: Scope) -> EquivalenceTest:
    types: list[DataType] = []
    declared: list[bool | None] = []
    for component in scope.components:
        found = scope.declarations(component, test.attribute.text).values()
        types += [data_type for data_type in found if data_type is not None]
        is_known = UNKNOWN not in found and not (
            component.types is None and scope.schema.admits_unknown_types(test.attribute.text)
        )
        declared.append(None not in found if is_known else None)
    if not types and scope.whole is not None:
        return replace(_bound(test, scope.whole), declared=tuple(declared))
    if not types:
        _refuse_undeclared(test, scope)
    data_type = _common(test, types, scope)
    value = bind_operand(test.value, scope) if test.value is not None else None
    if value is not None:
        value = beside(value, data_type)
        value = on_raw_time(Placeholder(data_type, test.attribute.text), value, scope)[1]
    if value is not None and not value.type.compares_with(data_type):
        scope.problems.error(
            "incompatible-types",
            f"`{test.attribute.text}` is {data_type.described()},"
            f" and this is {value.type.described()}",
            value.span,
            "fix it to a value of its own kind",
        )
    if isinstance(value, Constant):
        warn_of_zones((Placeholder(data_type, test.attribute.text), value), scope)
    constant = value if isinstance(value, Constant | Placeholder) else None
    return EquivalenceTest(
        test.attribute.text, constant, data_type, tuple(declared), span=test.span
    )


def _refuse_undeclared(test: ast.EqualAttribute, scope: Scope) -> None:
    path, own = path_of(test.attribute.text), scope.names
    if path is not None and path.column in own:
        other = next((name for name in own if name != path.column), "y")
        attribute = str(test.attribute.text).removeprefix(f"{path.column}.")
        scope.problems.error(
            "unknown-attribute",
            "an equivalence test names an attribute alone, since all events are meant",
            test.attribute.span,
            f"write  [{attribute}] , or for two of them  {path.column}.{attribute}"
            f" = {other}.{attribute}",
        )
        return
    names = list(dict.fromkeys(n for c in scope.components for n in scope.attribute_names(c)))
    scope.problems.error(
        "unknown-attribute",
        f"no component of the pattern has an attribute `{test.attribute.text}`",
        test.attribute.span,
        *scope.attribute_hints(test.attribute.text, names),
    )


def _test_hint(name: str, types: list[DataType]) -> str:
    nested = next((each for each in types if each.parts), None)
    if nested is None:
        return "compare values of one kind, attribute by attribute:  x.a = y.b"
    return nested.named_inside(name, "[{}]")


def _common(test: ast.EqualAttribute, types: list[DataType], scope: Scope) -> DataType:
    first = merged(types[:1])
    kinds = list(dict.fromkeys(str(data_type) for data_type in types))
    unusable = [data_type for data_type in types if data_type.kind is Kind.OTHER]
    if unusable or not all(first.compares_with(data_type) for data_type in types):
        scope.problems.error(
            "incompatible-types",
            f"the values of `{test.attribute.text}` cannot all be compared:"
            f" the types have it as {' and as '.join(kinds)}",
            test.attribute.span,
            _test_hint(test.attribute.text, types),
        )
        return UNKNOWN
    return merged(types)


# ---------------------------------------------------------------- conjuncts

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
        if _is_between(node) and _may_be_left_out(condition, scope):
            parts = (condition,)  # though its bounds are compared one by one
        is_never_true = any(isinstance(part, Truth) and not part.value for part in parts)
        if is_never_true and not scope.problems.found:
            scope.never_true.append(node.span)
        conjuncts += [c for part in parts if (c := _classified(part, node, scope)) is not None]
    return tuple(conjuncts), placed


def _is_between(node: ast.Expression) -> bool:
    return _is_between(node.operand) if isinstance(node, ast.Not) else isinstance(node, ast.Between)


def _may_be_left_out(condition: Condition, scope: Scope) -> bool:
    """Whether it does not apply without an absent event, or to the first event of a series."""
    return any(
        scope.components[each.component].negated or each.part.is_earlier
        for each in references(condition)
    )


def _classified(condition: Condition, node: ast.Expression, scope: Scope) -> Conjunct | None:
    if isinstance(condition, Truth) and condition.value:
        return None
    found = list(references(condition))
    used = sorted({reference.component for reference in found})
    components = [scope.components[index] for index in used]
    negatives = [component for component in components if component.negated]
    # Simplified for one alternative, a condition may mention the variables of the match alone.
    own = None if scope.forbidding is None else scope.components[scope.forbidding]
    if own is not None and own.inside is None and not negatives:
        negatives, used = [own], sorted({*used, own.index})
    elif own is not None and not any(each.inside == own.inside for each in components):
        ranges_over = tuple(_quantified(found, None, When.EVENT))
        return Conjunct(
            condition, ConjunctClass.CONSTANT, quantified=ranges_over, span=condition.span
        )
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
        return _quantified(found, component, when)

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
        tuple(_quantified(found, last, when)),
        checks=checks,
        span=condition.span,
    )


def _parts(component: BoundComponent, found: list[Reference | Aggregate]) -> list[Part]:
    return [reference.part for reference in found if reference.component == component.index]


def _quantified(
    found: list[Reference | Aggregate], last: BoundComponent | None, when: When
) -> Iterator[Quantified]:
    """The series that a condition ranges over, except the event being added."""
    added = last.index if last and when in (When.EVERY, When.FURTHER) else None
    for index, but_first in sorted(ranged_over(found).items()):
        if index != added:
            yield Quantified(index, but_first)


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
