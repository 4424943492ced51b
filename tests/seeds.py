"""The seed of a random run, and the numbers that tests draw examples by: the one place for both.

Hypothesis takes the same seed (`tests/conftest.py`). Without one, as in `make test`, every run has
the same examples.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import settings

# Seeds are below the first, and the numbers of one do not reach those of the next.
SEEDS, NUMBERS = 10**9, 10**6
# How often a test draws again that has not seen enough.
TRIES = 25
_first = 0


def begin(seed: int) -> None:
    """Draw by the numbers of this seed from now on."""
    global _first
    _first = seed * NUMBERS


def draw_numbers(count: int) -> range:
    """Return a number of numbers to draw examples by: from 0 on, or those of the seed."""
    assert count <= NUMBERS
    return range(_first, _first + count)


def has_turn(number: int, of: int = 6) -> bool:
    """Whether a run takes this one of many that are heavy: each, or a share of a fresh run.

    Which they are depends on the seed.
    """
    is_fresh = not settings().derandomize and settings().max_examples < 1000
    return not is_fresh or (number + _first // NUMBERS) % of == 0


def tries(number: int) -> Iterator[int]:
    """Yield this number and others that no test has, until the caller has seen enough and leaves.

    A single draw may show too little; that many in a row do not, unless something is wrong.
    """
    for each in range(TRIES):
        yield number + each * SEEDS * NUMBERS
    raise AssertionError(f"{TRIES} draws from {number} on have not shown enough")


def share(of_fifty: int) -> int:
    """Return the expected number of something, stated for the fifty examples of a fresh run.

    No more than ten times as many, since a test each would be too many tests; half as many where
    examples are the same in every run.
    """
    count = of_fifty * min(settings().max_examples, 500) // 50
    return max(1, count // 2 if settings().derandomize else count)
