"""Names of the variables of random queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count


def names(letters: str) -> Iterator[str]:
    """The letters first, then others: no query draws more names than there are."""
    return chain(letters, (f"n{number}" for number in count()))
