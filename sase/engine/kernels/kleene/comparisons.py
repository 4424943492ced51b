"""Plain comparisons of a new event with what a run knows: decided before the event is bound."""

from __future__ import annotations

from sase.engine.kernels.expressions.operations import NULL, Value
from sase.engine.kernels.expressions.slow_paths import side_of
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene.predicates import decide_at
from sase.engine.kernels.kleene.run_nodes import (
    CHECKS,
    EVENT,
    EVENT_BEFORE,
    HEAD,
    KNOWN_VALUE,
    MOMENTS_AT,
    NO_EVENT,
    PLAIN,
    VALUE_BEFORE,
    Machine,
    entry,
)
from sase.engine.kernels.sentinels import NOTHING


@inlined
def hold_besides(machine: Machine, cells: OutIntRows, moment: int, node: int) -> bool:
    """Whether those conditions of a moment hold that are no plain comparisons."""
    for condition in range(
        entry(machine, MOMENTS_AT, moment, 0), entry(machine, MOMENTS_AT, moment + 1, 0)
    ):
        if entry(machine, CHECKS, condition, PLAIN) == 0 and not decide_at(
            machine.decide, machine.judge, cells, condition, node, NO_EVENT
        ):
            return False
    return True


@inlined
def may_bind(machine: Machine, cells: OutIntRows, moment: int, node: int, event: int) -> bool:
    """Whether the plain comparisons of a moment accept an event after a node."""
    for condition in range(
        entry(machine, MOMENTS_AT, moment, 0), entry(machine, MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, CHECKS] + condition, PLAIN:]
        if check[0] != 0 and not accepts(machine, cells, check, node, event & machine.mask):
            return False
    return True


@linked
def accepts(machine: Machine, cells: OutIntRows, check: Ints, node: int, place: int) -> bool:
    """Whether a plain comparison of a new event with what a node knows is as wanted."""
    value = int(machine.tags[check[1], place]), int(machine.columns[check[1], place])
    return is_accepted(check, value, met(machine, cells, check, node))


@inlined
def met(machine: Machine, cells: OutIntRows, check: Ints, node: int) -> Value:
    """What a plain comparison meets after a node: NULL of an event that there is not."""
    source, word = check[2], HEAD + check[3]
    if source in (VALUE_BEFORE, KNOWN_VALUE):
        return int(cells[node, word]), int(cells[node, word + 1])
    event = cells[node, EVENT] if source == EVENT_BEFORE else cells[node, word]
    if event == NOTHING:
        return NULL, 0
    at = event & machine.mask
    return int(machine.tags[check[4], at]), int(machine.columns[check[4], at])


@inlined
def is_accepted(check: Ints, value: Value, other: Value) -> bool:
    """Whether the order of two values is one that a plain comparison accepts."""
    return bool((check[0] >> (side_of(check[5], value, other) + 1)) & 1 == 1)
