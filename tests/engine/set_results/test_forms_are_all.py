"""Every question to a compressed set has the answer that the listed matches give.

The number of examples depends on the Hypothesis profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

import sase
from tests.drawing.comparing import differences, found
from tests.drawing.examples import Example
from tests.engine.set_results.comparing import unlike
from tests.engine.set_results.examples import (
    any_example,
    countable,
    countable_with_branches,
    countable_with_sets,
    example_with_sets,
)
from tests.seeds import draw_numbers, tries

COUNT = settings().max_examples


def opened(example: Example, output: str) -> Any:
    return sase.match(example.query.text, example.table, **example.given_keywords, output=output)


def faults(example: Example) -> Iterator[str]:
    """The differences from the result of the naive matcher."""
    compressed, number = opened(example, "compressed"), len(example.expected)
    listed = compressed.expand()
    yield from differences(example, found(listed))
    if compressed.count() != number or opened(example, "count") != number:
        yield f"count: expected {number}, got {compressed.count()}"
    keys = [example.setting.key(row) for row in example.rows]
    yield from unlike(compressed, listed.rows.to_pylist(), keys)


@pytest.mark.random
@pytest.mark.parametrize(
    "made",
    [countable, countable_with_branches, countable_with_sets, any_example, example_with_sets],
)
def test_a_compressed_set_is_what_is_listed(made: Any) -> None:
    """Many of them are to be counted, or to be listed."""
    seen: Counter[bool] = Counter()
    # The plan of each branch takes its time.
    some = COUNT // 3 if made is countable_with_branches else COUNT
    for first in tries(draw_numbers(some)[0]):
        for number in range(first, first + some):
            example = made(number)
            if example.is_refused:
                continue
            assert next(faults(example), None) is None, f"{number}: {example}"
            seen[opened(example, "compressed").counts_paths] += 1
        if seen[made not in (any_example, example_with_sets)] > some / 3:
            return


@pytest.mark.parametrize(
    ("pattern", "number"), [("A{1} a[]", 5), ("A? a", 8), ("A{2,3} a[]", 6), ("A a", 5)]
)
def test_a_full_series_waits_in_every_form(pattern: str, number: int) -> None:
    """Under skip till next match: the B that follows it ends its run."""
    events = [{"ts": ts, "type": kind} for ts, kind in enumerate("AAABAABB")]
    query = f"EVENT SEQ({pattern}, B b) WHERE skip_till_next_match"
    listed = sase.match(query, events).rows.to_pylist()
    compressed = sase.match(query, events, output="compressed")
    assert len(listed) == compressed.count() == sase.match(query, events, output="count") == number
    assert compressed.expand().rows.to_pylist() == listed
    assert compressed.first(3).rows.to_pylist() == listed[:3]
