"""Random queries of repeated groups beside sets, drawn by a seed."""

from __future__ import annotations

from itertools import chain, count
from random import Random

from tests.engine.groups.queries import Drawn, Writer, drawn_as_written

# A set may be bound in many orders.
MOST_EVENTS = {1: 8, 2: 7, 3: 6}


class SetWriter(Writer):
    """Writes patterns in which a set stands before or behind repeated groups, or in a choice."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.names = chain(self.names, (f"n{number}" for number in count()))

    def pattern(self) -> str:
        is_first = self.chance(50)
        before = self.set() if is_first else ""
        one = super().pattern() if self.chance(35) else self.repeated()
        inner = one[4:-1] if one.startswith("SEQ(") else one
        if self.chance(8) and before:
            return f"SEQ({before}, {inner}, {self.set()})"
        members = before or self.set()
        if self.chance(12):
            members = self.one(f"({members} OR {self.component(form='')})", f"({members})?")
        if self.chance(8):
            return f"{one} OR SEQ({inner}, {members})"
        return f"SEQ({members}, {inner})" if is_first else f"SEQ({inner}, {members})"

    def set(self) -> str:
        """A set of a few members, one of which cannot be empty."""
        forms = [self.one("", "", "", "+", "+", "{2}", "{1,2}")]
        forms += [
            self.one("", "", "", "+", "*", "?", "{2}", "{1,2}") for _ in range(self.one(1, 1, 1, 2))
        ]
        self.random.shuffle(forms)
        return f"SET({', '.join(self.component(form=form) for form in forms)})"


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed, in which types mostly follow one another as it is written."""
    random = Random(seed)
    writer = SetWriter(random)
    return drawn_as_written(writer, random, MOST_EVENTS)
