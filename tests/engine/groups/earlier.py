"""Random queries that ask of other iterations in an OR of which an iteration may lack a part."""

from __future__ import annotations

from random import Random

from tests.engine.groups.alternatives import MOST_EVENTS, BranchWriter
from tests.engine.groups.queries import Drawn, Writer, drawn_as_written


class EarlierWriter(BranchWriter):
    """Writes patterns of one or several branches, and such conditions alone."""

    earlier_in_or = 100

    def pattern(self) -> str:
        return super().pattern() if self.chance(50) else Writer.pattern(self)


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed, in which types mostly follow one another as it is written."""
    random = Random(seed)
    return drawn_as_written(EarlierWriter(random), random, MOST_EVENTS)
