"""All bindings of small inputs, by trying every choice of events and every way to cut it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np

from sase.engine.match_graph import Binding, CandidateEvents, Levels


def bindings(levels: Levels, partitions: list[CandidateEvents], span: int | None) -> list[Binding]:
    """The matches in the defined order."""
    found = [
        Binding(number, places, lengths)
        for number, candidates in enumerate(partitions)
        for size in range(1, len(candidates) + 1)
        for places in combinations(range(len(candidates)), size)
        if is_series(candidates, places, span)
        for lengths in cuts(levels, size)
        if is_match(candidates, Binding(number, places, lengths))
    ]
    return sorted(found, key=lambda binding: order(partitions, binding))


def order(partitions: list[CandidateEvents], binding: Binding):
    positions = partitions[binding.partition].positions[list(binding.places)].tolist()
    return positions[-1], [-each for each in positions[-2::-1]], binding.lengths[::-1]


def is_series(candidates: CandidateEvents, places: tuple[int, ...], span: int | None) -> bool:
    ties = candidates.ties[list(places)].tolist()
    measures = candidates.measures[list(places)].tolist()
    within = span is None or measures[-1] - measures[0] <= span
    return within and all(one < other for one, other in pairwise(ties))


def cuts(levels: Levels, size: int) -> Iterator[tuple[int, ...]]:
    ranges = [
        range(least, (size if most is None else most) + 1)
        for least, most in zip(levels.minimum, levels.maximum, strict=True)
    ]
    return (lengths for lengths in product(*ranges) if sum(lengths) == size)


def is_match(candidates: CandidateEvents, binding: Binding) -> bool:
    nodes = []
    for level in range(len(binding.lengths)):
        for rank, place in enumerate(binding.of(level)):
            bits = candidates.takes if rank else candidates.begins
            if not bits[place] >> level & 1:
                return False
            nodes.append((place, level))
    return candidates.edge is None or all(
        candidates.edge(np.array([i]), one, np.array([j]), other)[0]
        for (i, one), (j, other) in pairwise(nodes)
    )
