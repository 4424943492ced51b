"""What the codes of keys and of texts take: whether a table gives them out, and how far it lies."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, isfinite, log2, prod
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest
from sase.planning.statistics import AttributeStatistics, Statistics

Tests: TypeAlias = tuple[EquivalenceTest, ...]
# The bits of the widest dense codes: always, and where all events are there, by as many more as
# their number has up to some bits, and that many above.
FEWEST_BITS, SOME_BITS, MOST_BITS, MORE_BITS = 16, 19, 23, 4
# What is known of fewer keys stays in the cache.
MANY_KEYS = 1 << 14


def dense_bits(events: int) -> int:
    """The bits of the widest dense codes of the keys of so many events, which are all there."""
    bits = events.bit_length()
    return min(max(FEWEST_BITS, min(bits + MORE_BITS, SOME_BITS), bits), MOST_BITS)


def work_of_codes(
    keys: Collection[Tests], events: float, statistics: Statistics
) -> dict[str, float]:
    """The work that the number of keys makes, and how far they lie apart, of so many events.

    Plain texts are coded once for all events.
    """
    known = [(_is_tabled(key, statistics), _is_far(key, statistics)) for key in keys]
    return {
        "tabled": events * sum(is_tabled for is_tabled, _ in known),
        "far": events * sum(is_far for _, is_far in known),
        "tabled_far": events * sum(map(all, known)),
        **_work_of_texts(statistics),
    }


def _work_of_texts(statistics: Statistics) -> dict[str, float]:
    # Types have the same values of an attribute, mostly: it is a key.
    attributes = (each for known in statistics.types for each in known.attributes if each.plain)
    values: dict[str, int] = {}
    for each in attributes:
        values[each.name] = max(values.get(each.name, 0), each.distinct or 1)
    far = sum(count > MANY_KEYS for count in values.values())
    return {
        "plain": float(statistics.rows * len(values)),
        "plain_far": float(statistics.rows * far),
        "plain_new": float(sum(values.values())),
    }


def _is_tabled(key: Tests, statistics: Statistics) -> bool:
    """Whether the values of a key lie so far apart that a table gives out its codes."""
    known = (statistics.attributes(test.attribute) for test in key)
    widths = (max(map(_width, each), default=1.0) for each in known)
    bits = sum(ceil(log2(max(width, 1.0))) for width in widths)
    return bits > dense_bits(int(statistics.rows))


def _is_far(key: Tests, statistics: Statistics) -> bool:
    """Whether a key has so many values that what is known of each does not stay in the cache."""
    known = (statistics.attributes(test.attribute) for test in key)
    values = prod(max((each.distinct or 1 for each in found), default=1) for found in known)
    return values > MANY_KEYS


def _width(attribute: AttributeStatistics) -> float:
    """The codes of its values: of numbers all between the least and the greatest."""
    if attribute.quantiles:
        width = attribute.quantiles[-1] - attribute.quantiles[0] + 1
        return width if isfinite(width) else 2.0**64
    return float(attribute.distinct or 1)
