"""Evaluate HAVING and RETURN of candidates of imprecise time, with their confidence."""

from __future__ import annotations

from sase.engine.kernels.expressions.operations import FLOAT
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutFlags, OutIntCubes, OutIntRows
from sase.engine.kernels.kleene.predicates import condition_at
from sase.engine.kernels.kleene.residual_checks import MatchArrays, rebuilt
from sase.engine.kernels.kleene.run_nodes import NO_EVENT, ROOT, Machine
from sase.engine.kernels.kleene.transitions import programs_hold
from sase.engine.kernels.sentinels import NOTHING


@linked
def known(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, word: int, bits: int, number: int
) -> int:
    """Write a match and its confidence, at a word of the root, into nodes; return the last node."""
    if word != NOTHING:
        cells[ROOT, word], cells[ROOT, word + 1] = FLOAT, bits
    return int(rebuilt(machine, cells, matches, number))


@kernel
def select_candidates(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, word: int, bits: Ints,
    keep: OutFlags,
) -> None:  # fmt: skip
    """Write for each match whether all conditions hold."""
    for number in range(keep.shape[0]):
        node = known(machine, cells, matches, word, bits[number], number)
        keep[number] = programs_hold(machine, cells, 0, node, NO_EVENT)


@kernel
def evaluate_candidates(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, word: int, bits: Ints,
    found: OutIntRows, out: OutIntCubes,
) -> None:  # fmt: skip
    """Write tag and bits of each value of each match; programs leave them in `found`."""
    for number in range(out.shape[1]):
        node = known(machine, cells, matches, word, bits[number], number)
        for value in range(out.shape[0]):
            condition_at(machine.condition, machine.arrays, cells, value, node, NO_EVENT)
            out[value, number, 0], out[value, number, 1] = found[0, 0], found[0, 1]
