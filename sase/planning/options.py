"""How large the pieces are in which the engine works, and how it reads text."""

from __future__ import annotations

from dataclasses import dataclass, field

from sase.planning.cost_values import BLOCK


@dataclass(frozen=True, slots=True)
class Options:
    """Events in a block, sequences in a chunk of output, and the places a stack begins with.

    A block and what it touches should stay in the cache; below and above this size all is slower.
    No result depends on that, but on `null`, the texts of CSV that stand for a missing value, and
    on `text`, the columns of CSV that somebody asked to be text.
    Where not `fused` every event goes through the operators one by one: see `pipeline/fused`.
    Where not in `lines` also runs that never fork share their beginnings with others. With
    `analyze` operators count more; plans that differ in it are equal, and what is counted for it
    alone is in no checkpoint.
    """

    block: int = BLOCK
    chunk: int = 1 << 16
    stack: int = 1 << 10
    fused: bool = True
    lines: bool = True
    null: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    analyze: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if min(self.block, self.chunk, self.stack) < 1:
            raise ValueError("a block, a chunk and a stack hold at least one")
        if self.stack & (self.stack - 1):
            raise ValueError("the places of a stack are a power of two")
