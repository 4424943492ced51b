"""The measures by which two commits are compared."""

from __future__ import annotations

import pytest

import sase
from experiments.compare import ALL, PUSHED, Work
from experiments.compare_worker import PUSHES, pushed, searched
from sase.generate import uniform_events


def test_each_cell_has_its_name() -> None:
    assert len({work.name for work in ALL}) == len(ALL)
    assert [work.pushed for work in ALL if work.name in {f"pushes/{n}" for n in PUSHED}] == [
        *PUSHED
    ]


@pytest.mark.parametrize(
    "work", [work for work in ALL if work.pushed is not None], ids=lambda work: work.name
)
def test_pushes_find_what_a_search_finds(work: Work) -> None:
    """All that is known before the end, which these queries do not wait for."""
    assert work.pushed is not None
    rows = min(work.pushed, 500)
    table = uniform_events(events=3_000, domains=work.arguments["domains"], seed=1)
    plan = sase.compile(work.query, table, plan=work.plan)
    table = table.slice(0, rows * PUSHES)
    count = searched(plan, table)()
    assert count > 0
    assert pushed(plan, table, rows)() == count
