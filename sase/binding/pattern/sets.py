"""Sets: members are events and series; at least one must occur, and any may be bound last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from sase.binding.bound import BoundComponent, MemberCheck, Quantified, When
from sase.binding.names.scope import Scope
from sase.lang import ast


def members_of(written: ast.SetOf, scope: Scope) -> tuple[ast.Component, ...]:
    """The members of a set; empty after an error."""
    members = tuple(each for each in written.members if _is_member(each, scope))
    if written.negated:
        scope.problems.error(
            "negative-set",
            "a SET cannot be negative",
            written.span,
            "write the orders out:  !(SEQ(A a, B b) OR SEQ(B b, A a))",
        )
    elif len(members) == len(written.members) and not any(map(_must_occur, members)):
        scope.problems.error(
            "empty-set",
            "a SET needs a member that must occur, and here all are optional",
            written.span,
            "make one of its members take at least one event, or leave SET out, where the order is"
            " as written",
        )
    elif len(members) == len(written.members):
        return members
    return ()


def _must_occur(member: ast.Component) -> bool:
    return member.quantifier is None or member.quantifier.minimum > 0


def _is_member(part: ast.PatternPart, scope: Scope) -> TypeGuard[ast.Component]:
    """Whether a part can be a member of a set; else an error."""
    if isinstance(part, ast.Component) and not part.negated:
        return True
    what, hint = _what(part)
    scope.problems.error(
        "set-member",
        f"{what} cannot be a member of a SET: its members are single events and series",
        part.span,
        hint,
    )
    return False


def _what(part: ast.PatternPart) -> tuple[str, str]:
    """The name of a part that cannot be a member, and a replacement."""
    if part.negated:
        beside = "SEQ(!X x, SET(A a, B b), !Y y)"
        return "an absence", f"put the absence before or behind the SET:  {beside}"
    if isinstance(part, ast.SetOf):
        return "a SET", "leave the inner SET out: its members are members of the outer one"
    if isinstance(part, ast.Group) and part.quantifier is not None:
        return "a group", "repeat single components, such as  B+ b[] , or ask in two queries"
    each = "SET(A a, B b) OR SET(A a, C c)"
    return "a group", (
        "let a member take several types, such as  ANY(B, C) x , or write the SET out for each"
        f" choice:  {each}"
    )


def member_checks(
    last: BoundComponent,
    components: Sequence[BoundComponent],
    when_of: Callable[[BoundComponent], When],
    ranges: Callable[[BoundComponent, When], Iterable[Quantified]],
) -> tuple[BoundComponent, tuple[MemberCheck, ...]]:
    """Find where a condition on some components is decided if the last of them may be in a set.

    A condition on a whole series is decided at that member, others at whichever member is bound
    last: then there is a check for each.
    """
    members = [each for each in components if None is not each.set_of == last.set_of]
    whens = {each.index: when_of(each) for each in members}
    whole = [each for each in members if whens[each.index] is When.WHOLE]
    if whole or len(members) < 2:
        return (whole[-1] if whole else last), ()
    awaited = {index for index, when in whens.items() if when in (When.EVENT, When.FIRST)}
    checks = (
        MemberCheck(
            each.index,
            whens[each.index],
            tuple(ranges(each, whens[each.index])),
            tuple(sorted(awaited - {each.index})),
        )
        for each in members
    )
    return last, tuple(checks)
