"""What a run does with an event: binds it, and asks whether it may.

Conditions are decided in two ways. A comparison of the new event with what a node knows is decided
here, before the event is bound: most conditions are such, and a node for an event that fails costs
more than the comparison. Any other is a program (`predicates`), which reads a bound event.
"""

from __future__ import annotations

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.operations import NULL, Value
from sase.engine.kernels.expressions.slow_paths import side_of
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import aggregate_at, condition_at
from sase.engine.kernels.kleene.run_nodes import Machine, entry, least_of, levels_of, tests_of
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- binding


@inlined
def fits(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event agrees with all that are bound, on the tests that are decided here."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), event & machine.mask]
        if code == NOTHING:
            return False
        known = cells[node, nodes.HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and code != known:
            return False
    return True


@linked
def differs(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event is of another partition than all that are bound."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), event & machine.mask]
        known = cells[node, nodes.HEAD + test]
        if code in (NOTHING, UNDECLARED) or (known != UNDECLARED and code != known):
            return True
    return False


@inlined
def bind(
    machine: Machine, cells: OutIntRows, node: int, before: int, level: int, event: int
) -> None:
    """Bind an event in a node after another one, or the same; order and place are not set."""
    known = cells[before]
    cells[node, nodes.LENGTH] = known[nodes.LENGTH] + 1 if known[nodes.LEVEL] == level else 1
    place_event(cells, node, before, level, event)
    note_event(machine, cells, node, level, event & machine.mask)


@inlined
def place_event(cells: OutIntRows, node: int, before: int, level: int, event: int) -> None:
    """Put an event into a node, with what the node before it knows."""
    known, new = cells[before], cells[node]
    for word in range(nodes.HEAD, cells.shape[1]):
        new[word] = known[word]
    new[nodes.EVENT], new[nodes.PREVIOUS], new[nodes.LEVEL] = event, before, level
    new[nodes.DEPTH] = known[nodes.DEPTH] + 1
    new[nodes.FIRST] = known[nodes.FIRST] if before != nodes.ROOT else event


@inlined
def note_codes(machine: Machine, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of the partition of its own event."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), place]
        if code != UNDECLARED:
            cells[node, nodes.HEAD + test] = code


@inlined
def note_event(machine: Machine, cells: OutIntRows, node: int, level: int, place: int) -> None:
    """Let a new node know of its own event all that is asked later."""
    note_codes(machine, cells, node, place)
    for number in range(
        entry(machine, nodes.CHANGES_OF, level, 0), entry(machine, nodes.CHANGES_OF, level + 1, 0)
    ):
        change(machine, number, cells, node, place)


@inlined
def change(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of its own event."""
    words, at = cells[node], machine.tables[0, nodes.CHANGES] + number
    kind, word = machine.tables[at, 0], nodes.HEAD + machine.tables[at, 1]
    if kind > nodes.COUNT:
        aggregate_at(machine.aggregate, machine.arrays, number, cells, node, place)
    elif kind == nodes.COUNT:
        words[word] = words[nodes.LENGTH]
    elif kind == nodes.LAST_EVENT or words[nodes.LENGTH] == 1:
        words[word] = words[nodes.EVENT]


# ---------------------------------------------------------------- conditions


@inlined
def programs_hold(machine: Machine, cells: OutIntRows, moment: int, node: int, judged: int) -> bool:
    """Whether the conditions of a moment that are no comparisons hold at a node."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        if entry(machine, nodes.CHECKS, condition, nodes.PLAIN) == 0 and not condition_at(
            machine.condition, machine.arrays, cells, condition, node, judged
        ):
            return False
    return True


@inlined
def comparisons_hold(
    machine: Machine, cells: OutIntRows, moment: int, node: int, event: int
) -> bool:
    """Whether the comparisons of a moment accept an event after a node."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, nodes.CHECKS] + condition, nodes.PLAIN :]
        if check[0] > 0 and not comparison_holds(machine, cells, check, node, event & machine.mask):
            return False
    return True


@linked
def comparison_holds(
    machine: Machine, cells: OutIntRows, check: Ints, node: int, place: int
) -> bool:
    """Whether a comparison accepts the order of a new event and what a node knows."""
    value = int(machine.tags[check[1], place]), int(machine.columns[check[1], place])
    order = side_of(check[5], value, known_side(machine, cells, check, node))
    return bool((check[0] >> (order + 1)) & 1 == 1)


@inlined
def known_side(machine: Machine, cells: OutIntRows, check: Ints, node: int) -> Value:
    """Return what a new event is compared with after a node; NULL where there is no event."""
    source, word = check[2], nodes.HEAD + check[3]
    if source in (nodes.VALUE_BEFORE, nodes.KNOWN_VALUE):
        return int(cells[node, word]), int(cells[node, word + 1])
    event = cells[node, nodes.EVENT] if source == nodes.EVENT_BEFORE else cells[node, word]
    if event == NOTHING:
        return NULL, 0
    at = event & machine.mask
    return int(machine.tags[check[4], at]), int(machine.columns[check[4], at])


# ---------------------------------------------------------------- where a run may go


@inlined
def may_pass(machine: Machine, cells: OutIntRows, node: int, level: int) -> bool:
    """Whether a level may stay empty after a node."""
    return bool(least_of(machine, level) == 0) and programs_hold(
        machine, cells, nodes.MOMENTS * level + nodes.FINISH, node, nodes.NO_EVENT
    )


@inlined
def may_proceed(machine: Machine, cells: OutIntRows, node: int) -> bool:
    """Whether the level of a node may be left."""
    level = cells[node, nodes.LEVEL]
    return bool(cells[node, nodes.LENGTH] >= least_of(machine, level)) and programs_hold(
        machine, cells, nodes.MOMENTS * level + nodes.FINISH, node, nodes.NO_EVENT
    )


@inlined
def is_match(machine: Machine, cells: OutIntRows, node: int) -> bool:
    """Whether all that is bound up to a node is a match."""
    if not may_proceed(machine, cells, node):
        return False
    for level in range(cells[node, nodes.LEVEL] + 1, levels_of(machine)):
        if not may_pass(machine, cells, node, level):
            return False
    return True
