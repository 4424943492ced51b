"""The selectivity of SASE 2006, 5.1, for a window that slides: generator, windows and engine."""

from math import comb

import pyarrow as pa
import pytest

import sase
from experiments.figures.sequences import TYPES, stream, template

EVENTS = 150_000


def expected(window: int, length: int, domain: int) -> float:
    """Sequences for each event: those possible before a last one, by chances.

    The paper's (1) is an L-th of it: that counts a choice of L of W events once in W windows.
    """
    chance = TYPES**length * domain ** (length - 1)
    return comb(window - 1, length - 1) / chance


@pytest.mark.parametrize(
    ("length", "window", "domain"),
    [(2, 2_000, 100), (2, 10_000, 1_000), (3, 10_000, 100), (3, 4_000, 50)],
)
def test_the_engine_finds_as_many_sequences_as_chance_has_it(
    length: int, window: int, domain: int
) -> None:
    table: pa.Table = stream(EVENTS, domain)()
    found = sase.match(template(length, "[attr1]", window), table)
    last = found.rows.column(length - 1).to_numpy()
    # Of the first events fewer come before.
    share = (last >= window).sum() / (EVENTS - window)
    assert share == pytest.approx(expected(window, length, domain), rel=0.03)


def test_the_formula_is_that_of_the_paper_but_for_the_length() -> None:
    """Its example is V1 = 1,000, L = 3, W = 10,000 and T = 20: 2.083e-3."""
    paper = comb(10_000, 3) / (20**3 * 1_000**2 * 10_000)
    assert paper == pytest.approx(2.083e-3, rel=1e-3)
    assert expected(10_000, 3, 1_000) / 3 == pytest.approx(paper, rel=1e-3)
