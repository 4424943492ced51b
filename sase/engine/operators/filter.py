"""What the operators have in common that only let sequences pass or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Watermark
from sase.engine.operators.contract import Checkpoint, Counters, Sequences


class SequenceFilter:
    """Counts what goes in and comes out; `passes` says of each sequence whether it does."""

    def __init__(self) -> None:
        self._seen = self._passed = 0

    def passes(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether each sequence passes."""
        raise NotImplementedError

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """The sequences that pass."""
        return self._passing(below)

    def advance(self, clock: Watermark, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """The sequences that pass."""
        return self._passing(below)

    def _passing(self, below: Iterator[Sequences]) -> Iterator[Sequences]:
        for sequences in below:
            passing = sequences[:, self.passes(sequences)]
            self._seen += sequences.shape[1]
            self._passed += passing.shape[1]
            if passing.size:
                yield passing

    def horizon(self) -> int | None:
        """Nothing is kept from block to block."""
        return None

    def counters(self) -> Counters:
        """Sequences in and out."""
        return {"in": self._seen, "out": self._passed, **self.analysis()}

    def analysis(self) -> Counters:
        """What is counted for ANALYZE only."""
        return {}

    def checkpoint(self) -> Checkpoint:
        """The counts."""
        return {"seen": self._seen, "passed": self._passed}

    def restore(self, saved: Checkpoint) -> None:
        """Go on from them."""
        self._seen, self._passed = saved["seen"], saved["passed"]
