"""The stacks and walks of the paper's figures, and every sequence of random streams."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sase.engine.kernels.compiling import frozen
from sase.engine.kernels.stacks import ANY_SPAN, NOTHING, Arrivals, Stacks, evict, scan
from sase.engine.kernels.walk import FRESH, Walk, construct

CASES = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[2] / "data" / "paper_cases.json").read_text(encoding="utf-8")
    )["cases"]
}
Rows = list[tuple[int, ...]]


class Run:
    """Scan and construction over small stacks, block by block."""

    def __init__(self, levels: int, keys: int, capacity: int = 64, room: int = 64) -> None:
        def table() -> NDArray[np.int64]:
            return np.zeros((levels, capacity), np.int64)

        heads = np.full((levels, keys), NOTHING, np.int64)
        counts = (np.zeros(levels, np.int64), np.zeros(levels, np.int64))
        self.stacks = Stacks(*(table() for _ in range(7)), heads, *counts)
        self.walk = Walk(np.array([0, FRESH]), np.zeros(levels, np.int64))
        self.dropped = np.zeros(levels, np.int64)
        self.out = np.zeros((room, levels), np.int64)

    def push(self, events: list[dict[str, int]], span: int = ANY_SPAN) -> Rows:
        """The sequences that a block of events completes."""
        fields = ("row", "states", "key", "measure", "tie")
        columns = [frozen(np.array([e[f] for e in events], np.int64)) for f in fields]
        scan(Arrivals(*columns), self.stacks, span, self.dropped)
        found: Rows = []
        same = frozen(np.zeros((0, 0), np.int64))
        while True:
            written = construct(self.stacks, self.walk, span, same, self.out)
            found += [tuple(map(int, row)) for row in self.out[:written]]
            if self.walk.at[0] == self.stacks.counts[-1]:
                break
        if span != ANY_SPAN and events:
            evict(self.stacks, events[-1]["measure"] - span)
        return found

    def stack(self, level: int) -> list[tuple[int, int | None]]:
        """The instances of a level with the rows of their RIPs."""
        stacks = self.stacks
        mask = stacks.row.shape[1] - 1
        numbers = range(stacks.tails[level], stacks.counts[level])
        rip = [int(stacks.rip[level, n & mask]) for n in numbers]
        return [
            (
                int(stacks.row[level, n & mask]),
                int(stacks.row[level - 1, r & mask]) if r != NOTHING else None,
            )
            for n, r in zip(numbers, rip, strict=True)
        ]


def events_of(case: str, types: str, key: str | None = None) -> list[dict[str, int]]:
    """The events of a paper's figure whose types have a level, partitioned on an attribute."""
    found = []
    for event in CASES[case]["events"]:
        states = sum(1 << level for level, name in enumerate(types) if name == event["type"])
        if states:
            place = {"row": event["i"], "measure": event["ts"], "tie": event["ts"]}
            found.append({**place, "states": states, "key": event[key] if key else 0})
    return found


def test_figure_3_active_instance_stacks() -> None:
    """b3 remembers a1 and b6 remembers a4; three sequences are built for d9, seven in all."""
    run = Run(levels=3, keys=1)
    found = run.push(events_of("S005", "ABD"))
    assert run.stack(0) == [(0, None), (3, None)]
    assert run.stack(1) == [(2, 0), (5, 3)]
    assert len(found) == 7
    assert sorted(found) == sorted(map(tuple, CASES["S001"]["expected"]))
    assert sorted(row for row in found if row[2] == 8) == [(0, 2, 8), (0, 5, 8), (3, 5, 8)]


def test_figure_4_partitioned_stacks() -> None:
    """With a stack for each value of attr1 one sequence is built for d9."""
    run = Run(levels=3, keys=10)
    found = run.push(events_of("S006", "ABD", key="attr1"))
    assert run.stack(1) == [(2, 0), (5, 3)]
    assert [row for row in found if row[2] == 8] == [(3, 5, 8)]


def test_transition_filtering_drops_what_nothing_leads_to() -> None:
    """An event whose partition is empty at the level before is remembered nowhere."""
    run = Run(levels=2, keys=3)
    events = [(0, 1, 0), (1, 2, 1), (2, 2, 0)]
    run.push([{"row": r, "states": s, "key": k, "measure": r, "tie": r} for r, s, k in events])
    assert run.dropped.tolist() == [0, 1]


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, int]]:
    """Events of up to three levels at once in two partitions, with ties."""
    size = draw(st.integers(1, 14))
    ties = np.cumsum(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    return [
        {
            "row": row,
            "states": draw(st.sampled_from([1, 2, 4, 3, 6, 7])),
            "key": draw(st.sampled_from([0, 0, 1, NOTHING])),
            "measure": int(ties[row]),
            "tie": int(ties[row]),
        }
        for row in range(size)
    ]


def by_definition(events: list[dict[str, int]], levels: int, span: int) -> Rows:
    """Every sequence, in the order of results: what section 4 and 6 of the language say."""
    found = [
        chosen
        for chosen in product(events, repeat=levels)
        if all((e["states"] >> level) & 1 for level, e in enumerate(chosen))
        and all(a["tie"] < b["tie"] for a, b in zip(chosen, chosen[1:], strict=False))
        and len({e["key"] for e in chosen}) == 1
        and chosen[0]["key"] != NOTHING
        and (span == ANY_SPAN or chosen[-1]["measure"] - chosen[0]["measure"] <= span)
    ]
    rows = [tuple(e["row"] for e in chosen) for chosen in found]
    return sorted(rows, key=lambda row: (row[-1], *(-other for other in row[-2::-1])))


@pytest.mark.parametrize("levels", [1, 2, 3])
@given(
    events=streams(),
    span=st.sampled_from([ANY_SPAN, 0, 1, 3, 6]),
    cuts=st.lists(st.integers(0, 14), max_size=3),
    room=st.integers(1, 3),
)
def test_every_sequence_once_and_in_order(
    levels: int, events: list[Any], span: int, cuts: list[int], room: int
) -> None:
    """Whatever the window, the cuts into blocks, and the room for output."""
    run = Run(levels, keys=2, capacity=16, room=room)
    found: Rows = []
    edges = [0, *sorted(cuts), len(events)]
    for start, end in zip(edges, edges[1:], strict=False):
        found += run.push(events[start:end], span)
    assert found == by_definition(events, levels, span)
