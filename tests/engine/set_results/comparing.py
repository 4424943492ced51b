"""Compare the answers of a compressed set with the list of its matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

import sase


def unlike(
    compressed: sase.CompressedMatches, rows: list[dict[str, Any]], keys: Sequence[Any]
) -> Iterator[str]:
    """The answers about the set that differ from its matches, given as rows by variable.

    By the `keys` of rows the stream is ordered.
    """
    if compressed.count() != len(rows):
        yield f"count: expected {len(rows)}, got {compressed.count()}"
    if compressed.first(3).rows.to_pylist() != rows[:3]:
        yield "the first ones are not those of the list"
    if rows and not all(each in rows for each in compressed.sample(5).rows.to_pylist()):
        yield "a sample is not in the list"
    in_order = sorted(range(len(keys)), key=keys.__getitem__)
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
    """The rows of a variable, or of a group."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [row for each in value for row in _events(each)]
    return [] if value is None else [value]
