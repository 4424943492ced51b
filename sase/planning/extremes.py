"""What a condition on the greatest or least value of a series says of its single events.

An extreme is the value of some event. So `max(a[].p) > 5` is false of every part of the candidates
of a series if `a[i].p > 5` is false of each of them, and true of every part if that is true of
each. And as `max(a[].p) < 5` can only turn false, an event with more is in no match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sase.binding.bound import (
    Aggregate,
    Any,
    Between,
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    ConjunctClass,
    Expression,
    NullTest,
    Part,
    Quantified,
    Reference,
    When,
)
from sase.binding.parts import references, with_values
from sase.lang.ast import TURNED
from sase.planning.consistency import Classified, Consistency, classified

# The event of a range that stands for it.
_ONE_OF = {
    Part.ALL: Part.CURRENT,
    Part.UP_TO_CURRENT: Part.CURRENT,
    Part.BEFORE_CURRENT: Part.PREVIOUS,
}
# The operators with which `extreme operator value` says the same of every value of the range.
_OF_ALL = {"max": ("<", "<="), "min": (">", ">=")}


def class_of(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Classified:
    """The class of a condition but for NULL, which whoever asks must look for."""
    return classified(conjunct, components, lambda _: False)


# ---------------------------------------------------------------- the same by single events


def unfolded(conjunct: Conjunct) -> tuple[Conjunct, ...]:
    """Conditions on single events and neighbours that decide as it does at every event; or none."""
    match conjunct.condition:
        case Comparison(operator=operator, left=Aggregate() as extreme, right=value):
            return tuple(_unfolded(conjunct, extreme, operator, value))
        case Comparison(operator=operator, left=value, right=Aggregate() as extreme):
            return tuple(_unfolded(conjunct, extreme, TURNED[operator], value))
    return ()


def _unfolded(
    conjunct: Conjunct, extreme: Aggregate, operator: str, value: Expression
) -> Iterator[Conjunct]:
    if operator not in _OF_ALL.get(extreme.function, ()) or extreme.undeclared_by != frozenset():
        return
    if extreme.part is Part.BEFORE_CURRENT and value == event_of(extreme, Part.CURRENT):
        # The values before rise, or fall: the last of them is the greatest, or the least.
        yield replace(conjunct, condition=of_one(conjunct.condition))
    elif extreme.part is Part.UP_TO_CURRENT and _is_known(value, extreme.component):
        # The first has a value, and each other one no greater one, or none.
        first, each = event_of(extreme, Part.FIRST), event_of(extreme, Part.CURRENT)
        is_single = conjunct.references == (extreme.component,)
        kind = ConjunctClass.SINGLE if is_single else ConjunctClass.SEVERAL
        new = replace(conjunct, kind=kind, quantified=())
        yield replace(new, condition=_with(conjunct.condition, first), when=When.FIRST)
        yield replace(new, condition=_or_null(conjunct.condition, each), when=When.EVERY)


def _is_known(value: Expression, component: int) -> bool:
    """Whether a value is of constants and of events before a component."""
    return all(each.part is Part.EVENT and each.component < component for each in references(value))


# ---------------------------------------------------------------- what follows from it


def implied(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Conjunct | None:
    """What a true-value consistent condition says of each event that is part of a match."""
    extreme = _extreme_of(conjunct)
    if extreme is None or extreme.undeclared_by != frozenset():
        return None
    if class_of(conjunct, components).consistency is not Consistency.TRUE:
        return None
    event = event_of(extreme, _ONE_OF[extreme.part])
    new = replace(conjunct, condition=_or_null(conjunct.condition, event), derived=True)
    if extreme.part is not Part.ALL:
        return new
    if conjunct.component != extreme.component:
        return replace(new, quantified=(Quantified(extreme.component, False),))
    is_single = conjunct.references == (extreme.component,)
    kind = ConjunctClass.SINGLE if is_single else ConjunctClass.SEVERAL
    return replace(new, kind=kind, when=When.EVERY)


def decided_by_candidates(conjunct: Conjunct, components: Sequence[BoundComponent]) -> bool:
    """Whether a condition can be asked of all candidates of a series before any is chosen.

    Beside the extreme it may read the last event of a match.
    """
    extreme, last = _extreme_of(conjunct), components[-1]
    if extreme is None or extreme.part not in (Part.ALL, Part.UP_TO_CURRENT):
        return False
    others = [each for each in references(conjunct.condition) if each is not extreme]
    if not all(each.component == last.index and each.part is Part.EVENT for each in others):
        return False
    own = next(each for each in components if each.index == extreme.component)
    return own.minimum > 0 and (not others or last.is_single)


def decided_by_earlier(conjunct: Conjunct) -> bool:
    """Whether a condition on each event of a series can be asked of it and all candidates before.

    Where it is false with each of these the event is in no match, or in none as a further event.
    """
    extreme = _extreme_of(conjunct)
    if extreme is None or conjunct.component != extreme.component:
        return False
    others = [each for each in references(conjunct.condition) if each is not extreme]
    if extreme.part is Part.UP_TO_CURRENT:
        return not others and conjunct.when is When.EVERY
    is_before = extreme.part is Part.BEFORE_CURRENT and conjunct.when is When.FURTHER
    return is_before and all(each.component == extreme.component for each in others)


def series_of(conjunct: Conjunct) -> int:
    """The component whose extreme a condition is on."""
    extreme = _extreme_of(conjunct)
    assert extreme is not None, "it is on no extreme"
    return extreme.component


def of_one(condition: Condition) -> Condition:
    """The same condition on one event of the range in place of the extreme."""
    return with_values(condition, _one_of)


def _one_of(value: Reference | Aggregate) -> Reference:
    return value if isinstance(value, Reference) else event_of(value, _ONE_OF[value.part])


def _extreme_of(conjunct: Conjunct) -> Aggregate | None:
    """The only thing that a condition reads of its series, if that is an extreme."""
    if not isinstance(conjunct.condition, Comparison | Between):
        return None
    found = list(references(conjunct.condition))
    extremes = [each for each in found if isinstance(each, Aggregate)]
    if len(extremes) != 1 or extremes[0].function not in _OF_ALL:
        return None
    (extreme,) = extremes
    others = [each for each in found if each is not extreme]
    # What may be named beside a range that ends at `i`: the event of `i` itself.
    is_at = extreme.part is not Part.ALL
    return extreme if all(_is_beside(each, extreme, is_at=is_at) for each in others) else None


def _is_beside(reference: Reference | Aggregate, extreme: Aggregate, *, is_at: bool) -> bool:
    if reference.component == extreme.component:
        return is_at and reference.part is Part.CURRENT
    return reference.part is Part.EVENT


def event_of(extreme: Aggregate, part: Part) -> Reference:
    """The attribute of an extreme of one event of its series."""
    assert extreme.attribute is not None
    return Reference(
        extreme.type, extreme.component, part, extreme.attribute, extreme.undeclared_by
    )


def _with(condition: Condition, event: Reference) -> Condition:
    """A condition on an event in place of the extreme."""
    return with_values(condition, lambda each: event if isinstance(each, Aggregate) else each)


def _or_null(condition: Condition, event: Reference) -> Condition:
    """The same, or that the event has no value, which no extreme is of."""
    return Any((_with(condition, event), NullTest(event, negated=False)))
