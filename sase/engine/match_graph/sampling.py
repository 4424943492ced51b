"""Uniform samples: random ranks, and the matches of these ranks."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from sase.engine.match_graph.binding import Binding
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.ranks import matches_of
from sase.engine.match_graph.small_ranks import Wanted
from sase.engine.match_graph.totals import totals


def drawn(graph: Graph, total: int, number: int, random: Random) -> list[Binding]:
    """So many independent matches, each of the `total` ones equally likely.

    The counts by final event are made anew rather than kept: they may be large.
    """
    ranks = [random.randrange(total) for _ in range(number)]
    found: dict[int, Binding] = {}
    for frame, draws in _by_frame(graph, ranks).items():
        matches = matches_of(graph, frame, [wanted for _, wanted in draws])
        found |= {draw: match for (draw, _), match in zip(draws, matches, strict=True)}
    return [found[draw] for draw in range(number)]


def _by_frame(graph: Graph, ranks: list[int]) -> dict[int, list[tuple[int, Wanted]]]:
    """The draws by frame, with their ranks among the matches of their final event."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
    frames: dict[int, list[tuple[int, Wanted]]] = defaultdict(list)
    passed = 0
    for end, count, _ in totals(graph):
        if ranks[order[-1]] < passed + count:
            draws = frames[graph.frame_of(end)]
            while order and ranks[order[-1]] < passed + count:
                draw = order.pop()
                draws.append((draw, Wanted(end, ranks[draw] - passed)))
            if not order:
                break
        passed += count
    return frames
