"""ZStream's questions: trees by the rates of components, and negation pushed down, by the walk."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, between, every, near
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size
from experiments.core.ways import Make, by_statistics
from experiments.rare_streams import PLACES, pattern, rare_stream

WALK, CHOSEN, BUSHY, ABOVE = "walk", "chosen", "bushy tree", "tree, negation above"
DEEP = {"left deep": "tree_left_deep", "right deep": "tree_right_deep"}
LENGTH, RARE_AT = 5, 10_000
NEGATED, LENGTHS = "negated behind the first, rare last", "{} of 4 and of 6 components"


def points(size: Size) -> Iterator[Point]:
    """By how rare a component is, in each place, and by the number of components."""
    events = size.of(10_000_000, 1_000_000, 5_000)
    for one_in in size.of((100, 1_000, RARE_AT), (100, RARE_AT), (100,)):
        data = rare_stream(events, one_in)
        for place in PLACES:
            query = pattern(LENGTH, place)
            trees = {name: by_statistics(query, plan) for name, plan in DEEP.items()}
            yield Point(one_in, _ways(query) | trees, data, events, place)
    data, query = rare_stream(events, RARE_AT), pattern(LENGTH, "last", negated=True)
    ways = _ways(query) | {ABOVE: by_statistics(query, "tree_negation_above")}
    yield Point(RARE_AT, ways, data, events, NEGATED)
    for length in size.of((4, 6), (4, 6), (4,)):
        for place in PLACES[1:]:
            ways = _ways(pattern(length, place))
            yield Point(length, ways, data, events, LENGTHS.format(place))


def _ways(query: str) -> dict[str, Make]:
    return {
        WALK: by_statistics(query, "negation_in_construction"),
        BUSHY: by_statistics(query, "tree_bushy"),
        CHOSEN: by_statistics(query, "optimized"),
    }


def _everywhere(one: str, other: str, factor: float) -> Check:
    panels = (*PLACES, NEGATED, *(LENGTHS.format(place) for place in PLACES[1:]))
    return every(*(ahead(one, other, factor, y=CPU_RATE, panel=panel) for panel in panels))


def is_rare(x: float) -> bool:
    """Where the component is rarest."""
    return x == RARE_AT


def _where_rare(one: str, other: str, factor: float, *panels: str) -> Check:
    return every(
        *(ahead(one, other, factor, y=CPU_RATE, panel=panel, when=is_rare) for panel in panels)
    )


EXPERIMENT = Experiment(
    "trees",
    "Trees of joins: by the rates of components, and negation pushed down",
    "ZStream, SIGMOD 2009",
    "A plan that joins a rare component first is ahead of others, and of an automaton; negation"
    " pushed into joins is ahead of negation above them.",
    points,
    (
        Plot(CPU_RATE, "events / s of the processor", "one event in … is of the rare component",
             log_x=True, log_y=True),
    ),
    (
        Finding(
            "one event in 10,000 is of a component in the middle or at the end of 4 to 6: the plan"
            " that the optimizer chooses is at least 2.5 times as fast as the walk",
            every(
                _where_rare(CHOSEN, WALK, 2.5, *PLACES[1:]),
                *(
                    ahead(CHOSEN, WALK, 2.5, y=CPU_RATE, panel=LENGTHS.format(place))
                    for place in PLACES[1:]
                ),
            ),
        ),
        Finding(
            "where one in 10,000 is rare, the tree that joins it first is ahead of the one that"
            " joins it last",
            every(
                _where_rare(*DEEP, 1.0, "first"),
                _where_rare(*reversed(DEEP), 1.0, "last"),
            ),
            (
                Reason(
                    "No tree has much to join: each visits at most 2,000 of ten million events, and"
                    " both are within 1.1 of each other.",
                    every(
                        *(
                            check
                            for place in ("first", "last")
                            for check in (
                                near(*DEEP, 1.1, y=CPU_RATE, panel=place, when=is_rare),
                                *(
                                    between(tree, 0, 2_000, y="visited", panel=place, when=is_rare)
                                    for tree in DEEP
                                ),
                            )
                        )
                    ),
                ),
            ),
        ),
        Finding(
            "the chosen plan is nowhere more than 1.1 times as slow as the walk",
            _everywhere(CHOSEN, WALK, 1 / 1.1),
        ),
        Finding(
            "where one in 10,000 is rare the bushy tree is ahead of the walk, in each place",
            _where_rare(BUSHY, WALK, 1.0, *PLACES),
        ),
        Finding(
            "where one in 100 is of that component the walk is ahead of the bushy tree",
            every(
                *(
                    ahead(WALK, BUSHY, y=CPU_RATE, panel=place, when=lambda x: x == 100)
                    for place in PLACES
                )
            ),
        ),
        Finding(
            "negation pushed into the joins is not behind negation above them (within 1.1)",
            ahead(BUSHY, ABOVE, 1 / 1.1, y=CPU_RATE, panel=NEGATED),
        ),
    ),
    ("sequences", "visited", "joined"),
)  # fmt: skip
