"""How large the pieces are in which the engine works; no result depends on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Events in a block, sequences in a chunk of output, and the places a stack begins with.

    A block and what it touches should stay in the cache; below and above this size all is slower.
    """

    block: int = 1 << 17
    chunk: int = 1 << 16
    stack: int = 1 << 10

    def __post_init__(self) -> None:
        if min(self.block, self.chunk, self.stack) < 1:
            raise ValueError("a block, a chunk and a stack hold at least one")
        if self.stack & (self.stack - 1):
            raise ValueError("the places of a stack are a power of two")
