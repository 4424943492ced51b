"""Draw uniform samples of matches by random ranks, and estimate from samples."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from random import Random

from sase.engine.match_graph.candidates import Binding
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.ranks import EndRank, matches_of
from sase.engine.match_graph.totals import totals

# The normal quantile of a 95 % interval.
QUANTILE = 1.96


@dataclass(frozen=True)
class Estimate:
    """The number of matches, by the share of accepted samples.

    `low` and `high` bound it with 95 % confidence (Wilson's interval), `most` with certainty.
    """

    count: int
    low: int
    high: int
    most: int
    samples: int
    accepted: int


def exactly(count: int) -> Estimate:
    """An estimate that is exact."""
    return Estimate(count, count, count, count, 0, 0)


def estimated(most: int, samples: int, accepted: int) -> Estimate:
    """The estimate from accepted samples of `most` matches."""
    low, high = (most * Fraction(bound) for bound in wilson(samples, accepted))
    return Estimate(most * accepted // samples, floor(low), ceil(high), most, samples, accepted)


def wilson(samples: int, accepted: int) -> tuple[float, float]:
    """Wilson's interval of a share, which contains the share despite rounding."""
    share, square = accepted / samples, QUANTILE**2
    middle = share + square / (2 * samples)
    radius = QUANTILE * sqrt(share * (1 - share) / samples + square / (4 * samples**2))
    scale = 1 + square / samples
    low, high = (middle - radius) / scale, (middle + radius) / scale
    return min(max(low, 0.0), share), max(min(high, 1.0), share)


def drawn(graph: Graph, total: int, number: int, random: Random) -> list[Binding]:
    """Draw independent matches, each of `total` equally likely, with recomputed counts."""
    ranks = [random.randrange(total) for _ in range(number)]
    found: dict[int, Binding] = {}
    for frame, draws in _by_frame(graph, ranks).items():
        matches = matches_of(graph, frame, [wanted for _, wanted in draws])
        found |= {draw: match for (draw, _), match in zip(draws, matches, strict=True)}
    return [found[draw] for draw in range(number)]


def _by_frame(graph: Graph, ranks: list[int]) -> dict[int, list[tuple[int, EndRank]]]:
    """The draws by frame, with ranks among the matches of their final event."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
    frames: dict[int, list[tuple[int, EndRank]]] = defaultdict(list)
    passed = 0
    for end, count, _ in totals(graph):
        if ranks[order[-1]] < passed + count:
            draws = frames[graph.frame_of(end)]
            while order and ranks[order[-1]] < passed + count:
                draw = order.pop()
                draws.append((draw, EndRank(end, ranks[draw] - passed)))
            if not order:
                break
        passed += count
    return frames
