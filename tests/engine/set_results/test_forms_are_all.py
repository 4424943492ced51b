"""Every question to a compressed set has the answer that the listed matches give.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

import sase
from tests.engine.matching.ways import keywords_of
from tests.engine.series.comparing import differences, found
from tests.engine.series.examples import SeriesExample
from tests.engine.series.routes import is_there
from tests.engine.set_results.examples import any_example, countable, example_with_sets
from tests.seeds import draw_numbers, tries

pytestmark = pytest.mark.skipif(not is_there(), reason="the engine cannot run level 2 yet")
COUNT = settings().max_examples


def opened(example: SeriesExample, output: str) -> Any:
    return sase.match(example.query.text, example.table, **keywords_of(example), output=output)


def faults(example: SeriesExample) -> Iterator[str]:
    """What is not as the naive matcher has it."""
    compressed, number = opened(example, "compressed"), len(example.expected)
    listed = compressed.expand()
    yield from differences(example, found(listed))
    if compressed.count() != number or opened(example, "count") != number:
        yield f"count: expected {number}, got {compressed.count()}"
    rows = listed.rows.to_pylist()
    if compressed.first(3).rows.to_pylist() != rows[:3]:
        yield "the first ones are not those of the list"
    if number and not all(each in rows for each in compressed.sample(5).rows.to_pylist()):
        yield "a sample is not in the list"
    rows_by_key = [example.setting.key(row) for row in example.rows]
    in_order = sorted(range(len(rows_by_key)), key=rows_by_key.__getitem__)
    places = {row: place for place, row in enumerate(in_order)}
    yield from _collapsed(compressed.to_arrow().to_pylist(), rows, places)
    yield from _by_first(compressed.to_arrow(by="first"), rows, places)


def _by_first(table: pa.Table, rows: list[dict[str, Any]], places: dict[int, int]) -> Iterator[str]:
    """First and final events, and who takes part in the matches from the one to the other."""
    expected: dict[tuple[int, int], dict[str, set[int]]] = {}
    counts: Counter[tuple[int, int]] = Counter()
    for match in rows:
        events = {name: _events(value) for name, value in match.items()}
        all_of_it = [row for each in events.values() for row in each]
        pair = min(all_of_it, key=places.__getitem__), max(all_of_it, key=places.__getitem__)
        counts[pair] += 1
        held = expected.setdefault(pair, {name: set() for name in events})
        for name, each in events.items():
            held[name].update(each)
    got = [
        (row["count"], {name: set(each) for name, each in row["rows"].items()})
        for row in table.to_pylist()
    ]
    wanted = [(counts[pair], expected[pair]) for pair in expected]
    if len(got) != len(wanted) or not all(each in got for each in wanted):
        yield "the collapsed form by first events is another"
    ends = table["ts_end"].to_pylist()
    times = list(zip(ends, table["ts_start"].to_pylist(), strict=True))
    finals = {last for _, last in expected}
    # Of simultaneous final events the rows of one come before those of the next.
    is_told_by_time = len(finals) == len(set(ends))
    if ends != sorted(ends) or (is_told_by_time and times != sorted(times)):
        yield "the collapsed form by first events is in another order"


def _collapsed(
    table: list[dict[str, Any]], rows: list[dict[str, Any]], places: dict[int, int]
) -> Iterator[str]:
    """Final events, and who takes part in the matches that end there."""
    expected: dict[int, dict[str, set[int]]] = {}
    counts: Counter[int] = Counter()
    for match in rows:
        events = {name: _events(value) for name, value in match.items()}
        last = max((row for each in events.values() for row in each), key=places.__getitem__)
        counts[last] += 1
        held = expected.setdefault(last, {name: set() for name in events})
        for name, each in events.items():
            held[name].update(each)
    if Counter(row["count"] for row in table) != Counter(counts.values()):
        yield "the counts by final event are others"
    got = [{name: set(each) for name, each in row["rows"].items()} for row in table]
    if len(got) != len(expected) or not all(each in got for each in expected.values()):
        yield f"collapsed: expected {expected}, got {got}"


def _events(value: Any) -> list[int]:
    return value if isinstance(value, list) else [] if value is None else [value]


@pytest.mark.random
@pytest.mark.parametrize("made", [countable, any_example, example_with_sets])
def test_a_compressed_set_is_what_is_listed(made: Any) -> None:
    """Many of them are to be counted, or to be listed."""
    seen: Counter[bool] = Counter()
    for first in tries(draw_numbers(COUNT)[0]):
        for number in range(first, first + COUNT):
            example = made(number)
            if example.is_refused:
                continue
            assert next(faults(example), None) is None, f"{number}: {example}"
            seen[opened(example, "compressed").counts_paths] += 1
        if seen[made is countable] > COUNT / 3:
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
