"""Compile the functions of user-defined aggregates, once in each process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from sase.binding.values.aggregates import UserAggregate, kind_of
from sase.engine.kernels.jit.compiler import compiling_for_users
from sase.engine.kernels.jit.user_code import Address, UserCodeError, compiled
from sase.engine.kernels.kleene.user_aggregates import State, step_of, value_of
from sase.errors import PlanError

Kind: TypeAlias = str | Sequence[str]
Kinds: TypeAlias = Sequence[Kind]


class CompiledAggregate(NamedTuple):
    """The compiled functions of an aggregate: step and value."""

    step: Address
    value: Address


# By identity. Spark tasks receive it with the functions, so that each is compiled once.
_COMPILED: dict[str, CompiledAggregate] = {}


def compiled_aggregate(user: UserAggregate) -> CompiledAggregate:
    """The compiled functions of an aggregate; raises a `PlanError` that names it."""
    with compiling_for_users():
        if user.identity not in _COMPILED:
            _COMPILED[user.identity] = _compile(user)
        return _COMPILED[user.identity]


def _compile(user: UserAggregate) -> CompiledAggregate:
    kinds = [kind_of(part) for part in user.start]
    whole = kinds[0] if user.is_single else kinds
    over, kind = [each.kind.value for each in user.over], user.type.kind.value
    state = State(user.start, kinds, user.is_single)
    step, value = _compiled(user, "step", user.step, [whole, *over], whole), user.value
    if value is not None:
        value = _compiled(user, "result", value, [whole], kind)
    found = CompiledAggregate(
        step_of(step, state, over).address, value_of(value, state, kind).address
    )
    _ = found.step.value, found.value.value  # compiles them
    return found


def _compiled(
    user: UserAggregate, role: str, function: Callable[..., Any], arguments: Kinds, result: Kind
) -> Callable[..., Any]:
    try:
        return compiled(function, arguments, result)
    except UserCodeError as problem:
        raise PlanError(f"aggregate `{user.name}`: its {role} {problem}") from problem
