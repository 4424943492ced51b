"""The chains of negative sequences that bound walks: their steps and cuts by the bits of states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.chains import FIELDS, NegativeChains
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Context
from sase.planning.plan.negatives import NegativeSequence


def chains_of(sequences: Sequence[NegativeSequence], context: Context) -> NegativeChains:
    """The chains of some sequences, for one partition without events."""
    if not sequences:
        return NO_CHAINS
    steps: list[tuple[int, bool, int]] = []
    cuts: list[tuple[int, int]] = []
    for sequence in sequences:
        begin, (own, absences) = len(steps), sequence.chain
        assert sequence.before is not None, "nothing after a match bounds its walk"
        for number, each in enumerate(own):
            gap = sequence.before if number == len(own) - 1 else NOTHING
            steps.append((context.bit_of(each.index), number == 0, gap))
        cuts += [(context.bit_of(each.index), begin + step) for each, step in absences]
    return _chains(steps, cuts)


def _chains(steps: list[tuple[int, bool, int]], cuts: list[tuple[int, int]]) -> NegativeChains:
    return NegativeChains(
        frozen(np.array(steps, np.int64).reshape(-1, 3)),
        frozen(np.array(cuts, np.int64).reshape(-1, 2)),
        np.full((1, len(steps), FIELDS), EARLIEST, np.int64),
    )


NO_CHAINS = _chains([], [])
