"""Uniform samples: random ranks, and the matches of these ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from sase.engine.compressed.binding import Binding
from sase.engine.compressed.graph import Graph
from sase.engine.compressed.ranks import matches_of
from sase.engine.compressed.small_ranks import Wanted
from sase.engine.compressed.totals import totals


def drawn(graphs: Sequence[Graph], total: int, number: int, random: Random) -> list[Binding]:
    """So many independent matches, each of the `total` ones equally likely.

    The counts by final event are made anew rather than kept: they may be large.
    """
    ranks = [random.randrange(total) for _ in range(number)]
    found: list[Binding | None] = [None] * number
    for graph, frame, draws in _by_frame(graphs, ranks):
        matches = matches_of(graph, frame, [wanted for _, wanted in draws])
        for (draw, _), match in zip(draws, matches, strict=True):
            found[draw] = match
    return [match for match in found if match is not None]


_Draws = list[tuple[int, Wanted]]


def _by_frame(graphs: Sequence[Graph], ranks: list[int]) -> Iterator[tuple[Graph, int, _Draws]]:
    """The draws by frame, with their ranks among the matches of their final event."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
    passed = 0
    for graph in graphs:
        frames: dict[int, _Draws] = defaultdict(list)
        for end, count, _ in totals(graph):
            if order and ranks[order[-1]] < passed + count:
                draws = frames[graph.frame_of(end)]
            while order and ranks[order[-1]] < passed + count:
                draw = order.pop()
                draws.append((draw, Wanted(end, ranks[draw] - passed)))
            passed += count
        for frame, draws in frames.items():
            yield graph, frame, draws
        if not order:
            return
