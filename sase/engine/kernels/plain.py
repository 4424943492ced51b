"""Plain comparisons of a new event with what a run knows: decided before the event is bound."""

from __future__ import annotations

from sase.engine.kernels.compiling import Ints, OutIntRows, part, spliced
from sase.engine.kernels.judging import decide_at
from sase.engine.kernels.nodes import (
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
from sase.engine.kernels.seldom import side_of
from sase.engine.kernels.stacks import NOTHING


@spliced
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


@spliced
def may_bind(machine: Machine, cells: OutIntRows, moment: int, node: int, event: int) -> bool:
    """Whether the plain comparisons of a moment accept an event after a node."""
    for condition in range(
        entry(machine, MOMENTS_AT, moment, 0), entry(machine, MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, CHECKS] + condition, PLAIN:]
        if check[0] != 0 and not accepts(machine, cells, check, node, event & machine.mask):
            return False
    return True


@part
def accepts(machine: Machine, cells: OutIntRows, check: Ints, node: int, place: int) -> bool:
    """Whether a plain comparison of a new event with what a node knows is as wanted."""
    columns, tags = machine.columns, machine.tags
    source, word, address = check[2], HEAD + check[3], check[5]
    if source in (VALUE_BEFORE, KNOWN_VALUE):
        other = int(cells[node, word]), int(cells[node, word + 1])
    else:
        event = cells[node, EVENT] if source == EVENT_BEFORE else cells[node, word]
        if event == NOTHING:
            return False
        at = event & machine.mask
        other = int(tags[check[4], at]), int(columns[check[4], at])
    value = int(tags[check[1], place]), int(columns[check[1], place])
    return bool((check[0] >> (side_of(address, value, other) + 1)) & 1 == 1)
