"""Random queries with repeated groups beside negative ones, drawn by a seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.engine.groups.queries import Drawn, Variable, Writer, drawn_by

# The naive matcher writes iterations out, and looks into each gap of each match.
MOST_EVENTS = 7


class BesideWriter(Writer):
    """Writes queries with negative groups."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.inside: list[Variable] = []

    def pattern(self) -> str:
        parts = [self.repeated()]
        if self.chance(50) or parts[0].split(")")[-1].startswith(("*", "{0")):
            parts.insert(0, self.component(form=self.one("", "", "+")))
        if self.chance(60):
            parts.append(self.component(form=self.one("", "", "", "+", "?", "*")))
        for _ in range(self.one(1, 1, 1, 2)):
            parts.insert(self.random.randrange(len(parts) + 1), self.negative())
        if self.chance(10):
            at = self.random.randrange(len(parts) + 1)
            parts.insert(at, self.component(form="", negated=True))
        self.may_end = True
        return f"SEQ({', '.join(parts)})"

    def negative(self) -> str:
        first = len(self.variables)
        several = self.chance(25)
        alternatives = [self.alternative(may_be_alone=several) for _ in range(1 + several)]
        self.inside += self.variables[first:]
        return f"!({' OR '.join(alternatives)})"

    def alternative(self, *, may_be_alone: bool) -> str:
        if may_be_alone and self.chance(25):
            return self.component(form="")
        parts = [self.component(form=self.one("", "", "+"))]
        if self.chance(25):
            parts.append(self.component(form="", negated=True))
        parts.append(self.component(form=self.one("", "", "+")))
        if self.chance(30):
            at = self.random.choice((0, len(parts)))
            parts.insert(at, self.component(form=self.one("", "*", "?", "{2}", "{1,2}")))
        return f"SEQ({', '.join(parts)})"

    def atom(self) -> str:
        """Mostly on what is in a negative group, and what is not."""
        if not self.inside or self.chance(30):
            return super().atom()
        every, own = self.variables, self.one(*self.inside)
        self.variables = [own]
        left = self.value()
        self.variables = [each for each in every if each not in self.inside] or every
        right = self.other() if self.chance(75) else str(self.random.randrange(4))
        self.variables = every
        return f"{left} {self.one('<', '<=', '=', '!=', '>', '>=')} {right}"

    def other(self) -> str:
        """What may be compared with what is in a negative group."""
        return self.value()


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed; it may be one that is refused."""
    random = Random(seed)
    drawn = drawn_by(BesideWriter(random), random)
    return replace(drawn, rows=drawn.rows[:MOST_EVENTS])
