"""The grid of default plans beside recipes: its queries, and the output of a cell."""

from __future__ import annotations

from math import inf

import pytest

import sase
from experiments import regret_grid
from experiments.regret_grid import CHOSEN, PLAIN, Cell, grid, measured

FOUND = Cell(regret_grid.PATTERNS[0], 100, 100, 2, 20_000)


def test_cells_are_drawn_by_the_seed() -> None:
    assert grid(1) == grid(1) != grid(2)
    assert len(grid(1)) == (20 * 7 - 2) * 6 * 4 * 4


def test_every_cell_is_a_query() -> None:
    cells = [cell for cell in grid(1, (10,)) if cell.keys == 10 and cell.types in (2, 50)]
    for cell in cells:
        sase.compile(cell.text, cell.table())


def test_a_plan_that_is_broken_off_is_never_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all are but the chosen one, which the plan without statistics is, too."""
    monkeypatch.setattr(regret_grid, "SLOW", 1e-9)
    monkeypatch.setattr(regret_grid, "LEAST", 1e-9)
    found = measured(FOUND)
    assert found is not None
    assert found.seconds["ais"] == found.seconds["basic"] == inf
    assert found.seconds[found.best] < inf
    assert found.seconds[CHOSEN] == found.seconds[PLAIN]
    assert found.matches > 0
