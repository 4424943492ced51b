"""What a run does with an event: binds it, and asks whether it may."""

from __future__ import annotations

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene.predicates import decide_at, learn_at
from sase.engine.kernels.kleene.run_nodes import (
    CHANGES,
    CHANGES_OF,
    COUNT,
    DEPTH,
    EVENT,
    FINISH,
    FIRST,
    HEAD,
    LAST_EVENT,
    LENGTH,
    LEVEL,
    MOMENTS,
    MOMENTS_AT,
    NO_EVENT,
    PREVIOUS,
    ROOT,
    TESTS,
    Machine,
    Pattern,
    entry,
    tests_of,
)
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- binding


@inlined
def fits(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event agrees with all that are bound, on the tests that are decided here."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        if code == NOTHING:
            return False
        known = cells[node, HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and code != known:
            return False
    return True


@linked
def differs(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event is of another partition than all that are bound."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        known = cells[node, HEAD + test]
        if code in (NOTHING, UNDECLARED) or (known != UNDECLARED and code != known):
            return True
    return False


@inlined
def bind(
    machine: Machine, cells: OutIntRows, node: int, before: int, level: int, event: int
) -> None:
    """Make a node of an event that comes after another node, or let that one be the new node.

    Its order and place are not set.
    """
    known, new = cells[before], cells[node]
    for word in range(HEAD, cells.shape[1]):
        new[word] = known[word]
    new[LENGTH] = known[LENGTH] + 1 if known[LEVEL] == level else 1
    new[EVENT], new[PREVIOUS], new[LEVEL] = event, before, level
    new[DEPTH] = known[DEPTH] + 1
    new[FIRST] = known[FIRST] if before != ROOT else event
    place = event & machine.mask
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), place]
        if code != UNDECLARED:
            new[HEAD + test] = code
    for number in range(
        entry(machine, CHANGES_OF, level, 0), entry(machine, CHANGES_OF, level + 1, 0)
    ):
        change(machine, number, cells, node, place)


@inlined
def change(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of its own event."""
    words, at = cells[node], machine.tables[0, CHANGES] + number
    kind, word = machine.tables[at, 0], HEAD + machine.tables[at, 1]
    if kind > COUNT:
        learn_at(machine.learn, machine.judge, number, cells, node, place)
    elif kind == COUNT:
        words[word] = words[LENGTH]
    elif kind == LAST_EVENT or words[LENGTH] == 1:
        words[word] = words[EVENT]


# ---------------------------------------------------------------- conditions


@inlined
def hold(machine: Machine, cells: OutIntRows, moment: int, node: int, judged: int) -> bool:
    """Whether all conditions of a moment hold at a node, for each event that they range over."""
    for condition in range(
        entry(machine, MOMENTS_AT, moment, 0), entry(machine, MOMENTS_AT, moment + 1, 0)
    ):
        if not decide_at(machine.decide, machine.judge, cells, condition, node, judged):
            return False
    return True


# ---------------------------------------------------------------- where a run may go


@inlined
def may_pass(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int, level: int) -> bool:
    """Whether a level may stay empty after a node."""
    return bool(pattern.least[level] == 0) and hold(
        machine, cells, MOMENTS * level + FINISH, node, NO_EVENT
    )


@inlined
def may_proceed(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int) -> bool:
    """Whether the level of a node may be left."""
    level = cells[node, LEVEL]
    return bool(cells[node, LENGTH] >= pattern.least[level]) and hold(
        machine, cells, MOMENTS * level + FINISH, node, NO_EVENT
    )


@inlined
def is_match(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int) -> bool:
    """Whether all that is bound up to a node is a match."""
    if not may_proceed(machine, pattern, cells, node):
        return False
    for level in range(cells[node, LEVEL] + 1, pattern.least.shape[0]):
        if not may_pass(machine, pattern, cells, node, level):
            return False
    return True
