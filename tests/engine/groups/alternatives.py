"""Random queries of several branches with repeated groups, drawn by a seed."""

from __future__ import annotations

from random import Random

from tests.engine.groups.queries import Drawn, Writer, drawn_as_written

# There are as many ways to write a match out as branches and iterations of groups together.
MOST_EVENTS = {1: 7, 2: 5, 3: 4}


class BranchWriter(Writer):
    """Writes patterns of several branches, of which some share a group or a part of a sequence."""

    def pattern(self) -> str:
        one = super().pattern()
        inner = one[4:-1] if one.startswith("SEQ(") else one
        if self.chance(40):
            form, event = self.one("({} OR {})", "({})?", "(SEQ({}, {}))?"), self.component
            forms = (self.one("", "", "+"), "")[: form.count("{}")]
            choice = form.format(*(event(form=each) for each in forms))
            return f"SEQ({choice}, {inner})" if self.chance(40) else f"SEQ({inner}, {choice})"
        if self.chance(50):
            event = self.component(form="")
            return self.one(f"{one} OR SEQ({inner}, {event})", f"SEQ({event}, {inner}) OR {one}")
        return f"{one} OR {self.component(form='')}"


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed, in which types mostly follow one another as it is written."""
    random = Random(seed)
    return drawn_as_written(BranchWriter(random), random, MOST_EVENTS)
