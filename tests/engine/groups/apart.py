"""Random queries with repeated groups whose matches are not to overlap, drawn by a seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.engine.groups import alternatives, beside, inside, sets
from tests.engine.groups.queries import Drawn, Writer, drawn_as_written

OTHERS = (alternatives.draw, beside.draw, inside.draw, sets.draw)
MOST_EVENTS = {1: 9, 2: 8, 3: 6}


def draw(seed: int) -> Drawn:
    """A query, of any form, many under skip till any match, some with LIMIT."""
    random = Random(seed)
    if seed % 3:
        drawn = drawn_as_written(Writer(random), random, MOST_EVENTS)
    else:
        drawn = OTHERS[seed // 3 % len(OTHERS)](seed)
    text = drawn.text
    if random.randrange(2):
        text = text.replace("skip_till_next_match", "skip_till_any_match")
    if random.randrange(6) == 0:
        text += f" LIMIT {random.choice((1, 2, 3))}"
    return replace(drawn, text=text, output="non_overlap")
