"""All bindings of small inputs, by trying every choice of events and every way to cut it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np

from sase.engine.match_graph import Binding, CandidateEvents, Neighbours, SlotAutomaton
from tests.engine.match_graph.automata import Bounds


def bindings(levels: Bounds, partitions: list[CandidateEvents], span: int | None) -> list[Binding]:
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


def paths(states: SlotAutomaton, partitions: list[CandidateEvents], span: int | None):
    """The matches of states in the defined order."""
    found = []

    def follow(partition: int, places: list[int], slots: list[int]) -> None:
        events = partitions[partition]
        if slots and states.all[slots[-1]].closes:
            lengths = [0] * len(states.levels)
            for slot in slots:
                lengths[states.all[slot].level] += 1
            found.append(Binding(partition, tuple(places), tuple(lengths), tuple(slots)))
        for place in range(places[-1] + 1 if places else 0, len(events)):
            for slot in following(events, places, slots, place):
                form = states.all[slot]
                bits = events.takes if form.further else events.begins
                start = events.measures[places[0]] if places else events.measures[place]
                if bits[place] >> form.bit & 1 and (
                    span is None or events.measures[place] - start <= span
                ):
                    follow(partition, [*places, place], [*slots, slot])

    def following(events: CandidateEvents, places: list[int], slots: list[int], place: int):
        if not places:
            return [slot for slot, form in enumerate(states.all) if form.opens]
        tied = events.ties[places[-1]] == events.ties[place]
        sources = states.tied if tied else states.sources
        return [slot for slot in range(len(states)) if slots[-1] in sources[slot]]

    for partition in range(len(partitions)):
        follow(partition, [], [])

    def key(binding: Binding):
        ends, earlier, _ = order(partitions, binding)
        return ends, earlier, [states.all[slot].rank for slot in reversed(binding.slots)]

    return sorted(found, key=key)


def order(partitions: list[CandidateEvents], binding: Binding):
    positions = partitions[binding.partition].positions[list(binding.places)].tolist()
    return positions[-1], [-each for each in positions[-2::-1]], binding.lengths[::-1]


def is_series(candidates: CandidateEvents, places: tuple[int, ...], span: int | None) -> bool:
    ties = candidates.ties[list(places)].tolist()
    measures = candidates.measures[list(places)].tolist()
    within = span is None or measures[-1] - measures[0] <= span
    return within and all(one < other for one, other in pairwise(ties))


def cuts(levels: Bounds, size: int) -> Iterator[tuple[int, ...]]:
    ranges = [range(least, (size if most is None else most) + 1) for least, most in levels]
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
        candidates.edge(np.array([i]), np.array([j]), Neighbours(one, other, one == other, False))[
            0
        ]
        for (i, one), (j, other) in pairwise(nodes)
    )
