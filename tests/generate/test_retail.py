"""The shop: who stole is known, and is found by the query of the paper and by no other way."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sase.errors import SaseError
from sase.generate import GeneratorError, Shop, retail_events
from sase.lang.parser import parse_query
from tests import naive

SHOPLIFTING = Path(__file__).parents[2] / "examples" / "queries" / "shoplifting.sase"


def walks(shop: Shop) -> dict[str | int, list[str]]:
    """The places where each tag was read, by their first words, in order of time."""
    read = defaultdict(list)
    for row in shop.table.to_pylist():
        read[row["tag_id"]].append(row["type"].removesuffix("-READING"))
    return read


def test_thefts_skip_the_counter_and_nothing_else_does() -> None:
    shop = retail_events(items=500, thefts=20, shelved_again=100, seed=4)
    found = walks(shop)
    assert len(found) == 500
    assert len(shop.stolen) == 20
    for tag, places in found.items():
        middle = [] if tag in shop.stolen else ["COUNTER"]
        assert places in (["SHELF", *middle, "EXIT"], ["SHELF", "SHELF", *middle, "EXIT"])
    assert sum(places.count("SHELF") == 2 for places in found.values()) == 100


def test_the_query_of_the_paper_finds_the_thefts() -> None:
    """One match for each time that a stolen item was read at a shelf."""
    shop = retail_events(items=30, thefts=6, shelved_again=10, seed=2)
    rows = shop.table.to_pylist()
    matches = naive.match(parse_query(SHOPLIFTING.read_text(encoding="utf-8")), rows)
    tags = [rows[match.events[0][0]]["tag_id"] for match in matches]
    assert set(tags) == shop.stolen
    assert len(tags) == sum(walks(shop)[tag].count("SHELF") for tag in shop.stolen) > 6


@pytest.mark.parametrize(("thefts", "shelved_again"), [(0, 0), (5, 5), (5, 0), (0, 5)])
def test_the_counts_are_exact_also_at_their_ends(thefts: int, shelved_again: int) -> None:
    shop = retail_events(items=5, thefts=thefts, shelved_again=shelved_again)
    types = shop.table["type"].to_pylist()
    assert types.count("SHELF-READING") == 5 + shelved_again
    assert types.count("COUNTER-READING") == 5 - thefts
    assert types.count("EXIT-READING") == 5
    assert len(shop.stolen) == thefts


def test_an_empty_shop() -> None:
    shop = retail_events(items=0, thefts=0)
    assert len(shop.table) == 0
    assert shop.stolen == frozenset()
    assert shop.table.schema == retail_events(items=1, thefts=0).table.schema
    assert shop.answers().schema == pa.schema([("tag_id", pa.string())])


def test_time_goes_forward_and_every_item_leaves_within_three_hours() -> None:
    start = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    shop = retail_events(items=400, thefts=40, shelved_again=400, hours=2, start=start)
    assert shop.table.schema.field("ts").type == pa.timestamp("us", "UTC")
    times = shop.table["ts"].to_pylist()
    assert times == sorted(times)
    seen = defaultdict(list)
    for time, tag in zip(times, shop.table["tag_id"].to_pylist(), strict=True):
        seen[tag].append(time)
    for first, *others in seen.values():
        assert start <= first < start + timedelta(hours=2)
        assert first < others[0]  # strictly: no two readings of an item at one time
        assert len({first, *others}) == 1 + len(others)
        assert others[-1] < first + timedelta(hours=3)


def test_tags_are_strings_or_integers() -> None:
    named, numbered = (retail_events(items=9, thefts=3, seed=1, tags=tags) for tags in TAGS)
    assert named.table.schema.field("tag_id").type == pa.string()
    assert numbered.table.schema.field("tag_id").type == pa.int64()
    tags = numbered.table["tag_id"].to_pylist()
    assert named.table["tag_id"].to_pylist() == [f"T{tag:06}" for tag in tags]
    assert named.stolen == {f"T{tag:06}" for tag in numbered.stolen}
    for shop in named, numbered:
        assert shop.answers().to_pydict() == {"tag_id": sorted(shop.stolen)}


TAGS = ("string", "integer")


def test_the_type_column_has_the_layout_asked_for() -> None:
    plain = retail_events(items=9, thefts=3, type_layout="string").table["type"]
    coded = retail_events(items=9, thefts=3).table["type"]
    assert plain.type == pa.string()
    assert coded.type == pa.dictionary(pa.int8(), pa.string())
    assert plain.to_pylist() == coded.to_pylist()


def test_a_seed_gives_one_stream_and_another_seed_another() -> None:
    first, same, other = (retail_events(items=50, thefts=5, seed=seed) for seed in (1, 1, 2))
    assert (first.table.equals(same.table), first.stolen == same.stolen) == (True, True)
    assert not first.table.equals(other.table)
    assert first.stolen != other.stolen


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"items": -1}, "items is -1, and should be at least 0"),
        ({"thefts": -1}, "thefts is -1, and should be at least 0 and at most 10"),
        ({"thefts": 11}, "thefts is 11, and should be at least 0 and at most 10"),
        ({"shelved_again": 11}, "shelved_again is 11, and should be at least 0 and at most 10"),
        ({"hours": 0}, "hours is 0, and should be at least 1"),
        ({"start": datetime(2026, 1, 1)}, "and should be a datetime with a time zone"),  # noqa: DTZ001 - without a zone
        ({"start": "2026-01-01"}, "start is '2026-01-01', and should be a datetime"),
        ({"tags": "text"}, "tags is 'text', and should be one of 'string', 'integer'"),
        ({"seed": -1}, "seed is -1, and should be at least 0"),
        ({"type_layout": "int64"}, "type_layout is 'int64', and should be one of"),
    ],
)
def test_what_makes_no_stream_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=re.escape(message)):
        retail_events(**{"items": 10, "thefts": 1, **wrong})


def test_the_error_is_one_of_the_package() -> None:
    assert issubclass(GeneratorError, SaseError)
