"""Random queries with negative groups in the iterations of repeated ones, drawn by a seed."""

from __future__ import annotations

from random import Random

from tests.engine.groups.beside import BesideWriter
from tests.engine.groups.queries import Drawn, drawn_as_written

MOST_EVENTS = {1: 9, 2: 8, 3: 6}


class InsideWriter(BesideWriter):
    """Writes queries with negative groups in iterations, of which there may be more around."""

    def branch(self, group: str) -> str:
        if self.chance(15):
            return super().branch(group)
        parts = [self.component(group, self.one("", "", "", "+")), self.negative()]
        if self.chance(15):
            parts.append(self.one(self.negative, lambda: self.absence(group))())
        parts.append(self.component(group, self.one("", "", "", "+", "{1,2}")))
        if self.chance(30):
            at = self.random.choice((0, len(parts)))
            parts.insert(at, self.component(group, self.one("", "?", "*")))
        return f"SEQ({', '.join(parts)})"

    def absence(self, group: str) -> str:
        return self.component(group, "", negated=True)

    def pattern(self) -> str:
        parts = [self.repeated()]
        if self.chance(25) or parts[0].split(")")[-1].startswith(("*", "{0")):
            parts.insert(0, self.component(form=self.one("", "", "+")))
        if self.chance(25):
            parts.append(self.component(form=self.one("", "", "+", "?")))
        if self.chance(10):
            parts.insert(self.random.randrange(len(parts) + 1), self.negative())
            self.may_end = True
        return f"SEQ({', '.join(parts)})"

    def other(self) -> str:
        """Mostly of the iteration at hand, or of the group as a whole."""
        for _ in range(3):
            found = self.value()
            if not any(f"g{number}[{at}" in found for number in (1, 2) for at in ("1", "i-", "g")):
                break
        return found

    def atom(self) -> str:
        """Sometimes with the iteration before what is in it."""
        found = super().atom()
        name = found.split(".")[0].split("[")[0]
        is_inside = any(each.name == name for each in self.inside)
        return f"g1[i].{found}" if is_inside and self.chance(8) else found


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed, in which types mostly follow one another as it is written."""
    random = Random(seed)
    writer = InsideWriter(random)
    return drawn_as_written(writer, random, MOST_EVENTS)
