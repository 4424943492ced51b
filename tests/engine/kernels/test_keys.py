"""Codes of keys: equal where the keys of live events are, however codes are used again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.blocks import key_dictionary
from sase.engine.blocks.key_dictionary import ROOM, WIDEST, KeyDictionary
from sase.engine.expressions import TextDictionary
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.hashing import FACTOR, HASH_BITS
from sase.engine.kernels.scan.key_hash import (
    KEY,
    PART_SHIFT,
    SLOT_BITS,
    KeyTable,
    compose,
    encode,
    recycle,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SnapshotError

EARLIEST, LATEST = -(2**63), 2**63 - 1
Key = tuple[int, ...]


# ---------------------------------------------------------------- digits

DIGITS = np.array([[-3, 3, 4], [0, 4, 0]], np.int64)  # 8 numbers from −3 on, 16 from 0 on
NEAR = st.one_of(st.integers(-5, 18), st.sampled_from([EARLIEST, LATEST, EARLIEST + 4]))


@given(st.lists(st.tuples(NEAR, NEAR), max_size=6))
def test_codes_made_of_keys(keys: list[Key]) -> None:
    codes = np.full(len(keys), 77, np.int64)
    fits = compose(np.array(keys, np.int64).reshape(-1, 2).T.copy(), DIGITS, codes)
    assert fits == all(-3 <= first < 5 and 0 <= second < 16 for first, second in keys)
    expected = [16 * (first + 3) + second for first, second in keys]
    assert codes.tolist() == (expected if fits else [0] * len(keys))


# ---------------------------------------------------------------- the table


class Table:
    """Codes by a dictionary: the results of `encode` and `recycle`, by definition."""

    def __init__(self) -> None:
        self.codes: dict[Key, int] = {}
        self.used: dict[Key, int] = {}

    def note(self, key: Key, code: int, number: int) -> None:
        if key in self.codes:
            assert code == self.codes[key]
        else:
            assert code not in self.codes.values()
        self.codes[key], self.used[key] = code, number

    def recycle(self, horizon: int) -> None:
        gone = [key for key, used in self.used.items() if used < horizon]
        for key in gone:
            del self.codes[key], self.used[key]


def empty(rows: int, room: int, slots: int) -> KeyTable:
    return KeyTable(
        np.full(slots, NOTHING, np.int32), np.zeros((room, KEY + rows), np.int64),
        np.zeros(room, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


# Few, so that they come again; words of which the upper halves differ; the ends of int64.
WORDS = st.sampled_from([0, 1, 2, -1, 2**32, 2**33, EARLIEST, LATEST])
BATCHES = st.lists(
    st.tuples(st.lists(st.tuples(WORDS, WORDS, st.booleans()), max_size=6), st.integers(0, 8)),
    max_size=8,
)


@given(BATCHES, st.integers(1, 2))
def test_a_table_that_is_rebuilt(batches: list[Any], rows: int) -> None:
    """It is full to the brim or nearly; half of the batches stop for want of room."""
    room, twin, number = 2, Table(), 0
    table = empty(rows, room, 4)
    for batch, keep in batches:
        keys = np.array([key[:rows] for key in batch], np.int64).reshape(-1, rows).T.copy()
        numbers = np.arange(number, number + len(batch))
        codes = np.array([0 if key[2] else NOTHING for key in batch], np.int64)
        start = 0
        while (start := encode(frozen(keys), numbers, table, start, codes)) < len(batch):
            room *= 2
            larger = empty(rows, room, 2 * room)
            recycle(table, 0, larger)
            table = larger
        for place, key in enumerate(batch):
            if key[2]:
                twin.note(key[:rows], int(codes[place]), number + place)
            else:
                assert codes[place] == NOTHING
        number += len(batch)
        horizon = max(number - keep, 0)
        twin.recycle(horizon)
        fresh = empty(rows, room, 2 * room)
        recycle(table, horizon, fresh)
        table = fresh
        check(table, twin)


def check(table: KeyTable, twin: Table) -> None:
    """The table holds the live keys, and knows which codes are free."""
    given_out, free = table.sizes.tolist()
    assert given_out - free == len(twin.codes)
    live = {code: key for key, code in twin.codes.items()}
    assert sorted([*live, *table.free[:free].tolist()]) == list(range(given_out))
    for code, key in live.items():
        assert table.entries[code].tolist() == [twin.used[key], *key]
    taken = table.slots[table.slots != NOTHING] & (len(table.slots) - 1)
    assert sorted(taken.tolist()) == sorted(live)


def test_keys_whose_slots_look_alike() -> None:
    """The part of their hashes that is in a slot is the same, and they are looked for at one."""
    table = empty(1, 2, 4)
    words = np.unique(np.random.default_rng(1).integers(0, 2**32, 1 << 19)).astype(np.uint64)
    mixed = words * np.uint64(FACTOR) & np.uint64(HASH_BITS)
    mixed ^= mixed >> np.uint64(29)
    marks = mixed >> np.uint64(PART_SHIFT) << np.uint64(2) | mixed & np.uint64(3)
    marks &= np.uint64((SLOT_BITS ^ 1) << 2 | 3)  # the part, and below it the slot
    order = np.argsort(marks)
    place = np.flatnonzero(np.diff(marks[order]) == 0)[0]
    one, other = words[order[place : place + 2]].tolist()
    keys, codes = np.array([[one, other, one]]), np.zeros(3, np.int64)
    assert encode(frozen(keys), np.arange(3), table, 0, codes) == 3
    assert codes.tolist() == [0, 1, 0]
    taken = table.slots[table.slots != NOTHING]
    assert len({*taken.tolist()}) == 2
    (part,) = {*(taken & ~3).tolist()}  # but for the code they are one
    assert part != 0


# ---------------------------------------------------------------- codes through a stream


class Live:
    """The codes that live events have: equal where their keys are equal."""

    def __init__(self) -> None:
        self.events: list[tuple[int, object, int]] = []
        self.most = 0

    def add(self, numbers: Sequence[int], keys: Sequence[object], codes: Sequence[int]) -> None:
        for number, key, code in zip(numbers, keys, codes, strict=True):
            if key is None:
                assert code == NOTHING
            else:
                assert code >= 0
                self.events.append((number, key, code))
        pairs = {(key, code) for _, key, code in self.events}
        assert len(pairs) == len({key for key, _ in pairs}) == len({code for _, code in pairs})

    def forget(self, horizon: int) -> None:
        self.events = [event for event in self.events if event[0] >= horizon]


def coded(
    codes: KeyDictionary, keys: Sequence[Key | None], numbers: Sequence[int], rows: int
) -> Any:
    """The codes of keys; None is one of which a part is NULL."""
    known = np.array([key is not None for key in keys], np.bool_)
    table = np.array([key or (0,) * rows for key in keys], np.int64).reshape(-1, rows).T.copy()
    mask = None if known.all() else known
    found = codes.codes(table, mask, np.array(numbers, np.int64))
    assert all(code < codes.size for code in found)
    return found.tolist()


def keys_of(rows: int, words: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    key = st.tuples(*[words] * rows)
    return st.lists(st.lists(st.one_of(key, key, key, st.none()), max_size=6), max_size=10)


# A stream of small numbers, which at some time has one that is too large, or less than the least.
SMALL = st.integers(3, 40)
GROWING = st.one_of(SMALL, SMALL, SMALL, st.integers(0, WIDEST + 5))
WIDE = st.one_of(SMALL, SMALL, st.sampled_from([-1, 2, WIDEST, 2**40, EARLIEST, LATEST]))


@pytest.mark.parametrize("words", [SMALL, GROWING, WIDE], ids=["small", "growing", "wide"])
@given(st.integers(1, 3), st.data())
def test_codes_are_equal_where_keys_are(words: Any, rows: int, data: st.DataObject) -> None:
    codes, live, number = KeyDictionary(), Live(), 0
    for keys in data.draw(keys_of(rows, words)):
        numbers = range(number, number + len(keys))
        live.add(numbers, keys, coded(codes, keys, numbers, rows))
        number += len(keys)
        if data.draw(st.booleans()):
            horizon = number - data.draw(st.integers(0, 8))
            live.forget(horizon)
            codes.recycle(horizon)


def test_going_over_to_the_table_keeps_the_codes() -> None:
    """Those of before are unchanged; the new ones are others."""
    codes = KeyDictionary()
    before = coded(codes, [(5,), (7,), (6,)], [0, 1, 2], 1)
    assert codes.size == 8
    after = coded(codes, [(7,), (2**40,), (5,), None, (6,), (8,)], range(3, 9), 1)
    assert [after[2], after[0], after[4]] == before
    assert after[3] == NOTHING
    assert len({after[1], after[5], *before}) == 5
    assert max(after) < codes.size


def test_the_keys_in_the_middle_of_a_block_may_be_the_first_wide_ones() -> None:
    """A batch of 3,000 keys is more than a new table has room for."""
    keys = [(key,) for key in range(2000)] + [(key * 2**40,) for key in range(2, 1002)]
    codes, live = KeyDictionary(), Live()
    live.add(range(3000), keys, coded(codes, keys, range(3000), 1))
    live.add(range(3000, 6000), keys, coded(codes, keys, range(3000, 6000), 1))


@pytest.mark.parametrize("least", [0, 1000, -1000, EARLIEST, LATEST - WIDEST + 1])
def test_keys_close_together_need_no_table(least: int) -> None:
    """Wherever they are; where the least come first, or the first is near to zero."""
    codes, live = KeyDictionary(), Live()
    for begin in range(0, WIDEST, WIDEST // 4):
        keys = [(least + begin + step,) for step in range(0, WIDEST // 4, 997)]
        numbers = range(begin, begin + len(keys))
        live.add(numbers, keys, coded(codes, keys, numbers, 1))
    assert codes.size <= 2 * WIDEST
    assert coded(codes, [(least,)], [WIDEST], 1)[0] == live.events[0][2]


def test_a_block_without_keys() -> None:
    codes = KeyDictionary()
    assert coded(codes, [None, None], [0, 1], 1) == [NOTHING, NOTHING]
    assert coded(codes, [], [], 1) == []
    assert codes.size == 1
    assert coded(codes, [None, (2**50,), None], [2, 3, 4], 1)[1] >= 0


@pytest.mark.parametrize("large", [key_dictionary.LARGE, 8 * ROOM])
def test_a_table_grows_and_shrinks(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come and go, and are restored; a large table is filled to three quarters."""
    monkeypatch.setattr(key_dictionary, "LARGE", large)
    codes, live, rng, sizes = KeyDictionary(), Live(), np.random.default_rng(1), list[int]()
    count = 10_000
    for phase, keep in enumerate((count, count, 5_000, *[100] * 9)):
        keys = [(scattered(key),) for key in rng.integers(0, 8_000 * (phase + 1), count).tolist()]
        numbers = range(phase * count, (phase + 1) * count)
        live.add(numbers, keys, coded(codes, keys, numbers, 1))
        sizes.append(codes.size)
        live.forget(numbers.stop - keep)
        codes.recycle(numbers.stop - keep)
        restored = KeyDictionary()
        restored.restore(Saved(codes.checkpoint()))
        codes = restored
    most = 24 * ROOM if large == 8 * ROOM else 32 * ROOM
    assert (max(sizes), sizes[-1]) == (most, most // 2)


ENTRIES = np.array([[7, 1], [NOTHING, 2], [9, 2**40]], np.int64)


@pytest.mark.parametrize(
    ("entries", "slots"),
    [
        (ENTRIES, 2 * ROOM - 1),
        (ENTRIES, 2 * ROOM + 2),
        (ENTRIES, 4),
        (ENTRIES, 2**40),
        (ENTRIES[:2], 2 * ROOM),
        (ENTRIES - 2, 2 * ROOM),
        (ENTRIES[:, :1], 2 * ROOM),
        (ENTRIES.ravel(), 2 * ROOM),
        (ENTRIES, None),
    ],
)
def test_tables_that_were_changed_are_refused(entries: Any, slots: Any) -> None:
    state: dict[str, Any] = {"tags": [1], "digits": None, "size": ROOM, "most": ROOM}
    codes = KeyDictionary()
    codes.restore(Saved({**state, "table": {"entries": ENTRIES, "slots": 2 * ROOM}}))
    assert coded(codes, [(2**40,), (1,), (2,)], [10, 10, 10], 1) == [2, 0, 1]
    codes.restore(Saved(codes.checkpoint()))
    with pytest.raises(SnapshotError):
        codes.restore(Saved({**state, "table": {"entries": entries, "slots": slots}}))


# ---------------------------------------------------------------- keys that never repeat

EVENTS, BLOCK = 200_000, 500
SCATTER = 0x5851F42D4C957F2D


def scattered(number: int) -> int:
    """Ever new keys all over int64."""
    return (number * SCATTER + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize(
    ("make", "room"),
    [
        (lambda number: (scattered(number),), 4 * ROOM),
        (lambda number: (number % 7, scattered(number)), 4 * ROOM),
        (lambda number: (number % 500, 1, -number), 4 * ROOM),
        (lambda number: (number,), 2 * WIDEST),
        (lambda number: (4 * number,), 2 * WIDEST),
    ],
    ids=["scattered", "scattered in part", "several", "in order", "in order with gaps"],
)
def test_the_codes_stay_few(make: Callable[[int], Key], room: int) -> None:
    """An event is live for a block: all arrays soon have their size.

    Where codes are made of keys at first they are many until these are given up.
    """
    codes, sizes = KeyDictionary(), list[int]()
    before: dict[Key, int] = {}
    for begin in range(0, EVENTS, BLOCK):
        keys = [make(number) for number in range(begin, begin + BLOCK)]
        # One key in the middle comes once more, and one of the block before.
        keys += [keys[BLOCK // 2], *list(before)[-1:]]
        numbers = np.minimum(np.arange(begin, begin + len(keys)), begin + BLOCK - 1)
        found = coded(codes, keys, numbers.tolist(), len(keys[0]))
        now = dict(zip(keys, found, strict=True))
        assert found[BLOCK] == found[BLOCK // 2]
        assert all(before[key] == now[key] for key in before.keys() & now.keys())
        both = before | now
        assert len(set(both.values())) == len(both)
        codes.recycle(begin)
        before, sizes = now, [*sizes, codes.size]
    assert max(sizes) <= room
    assert sizes[-1] <= 4 * ROOM
    assert set(sizes[len(sizes) * 3 // 4 :]) == {sizes[-1]}


def test_the_codes_of_texts_stay_few() -> None:
    codes, before, most = TextDictionary(), dict[str, int](), 0
    for begin in range(0, EVENTS, BLOCK):
        texts = [f"text {number}" for number in range(begin, begin + BLOCK)]
        texts += list(before)[-3:]
        now = dict(zip(texts, codes.codes(texts, begin + BLOCK - 1).tolist(), strict=True))
        assert all(before[text] == now[text] for text in before.keys() & now.keys())
        both = before | now
        assert len(set(both.values())) == len(both)
        codes.recycle(begin)
        before, most = now, max(most, *now.values())
    assert most < 4 * ROOM


TEXTS = st.sampled_from(["", "a", "b", "ab", "ä", "a\0", "0"])


@given(st.lists(st.tuples(st.sets(TEXTS), st.integers(0, 3)), max_size=12))
def test_texts_have_equal_codes_where_they_are_equal(blocks: list[tuple[set[str], int]]) -> None:
    codes, live = TextDictionary(), Live()
    for number, (texts, keep) in enumerate(blocks):
        found = codes.codes(sorted(texts), number).tolist()
        live.add([number] * len(texts), sorted(texts), found)
        live.forget(number - keep)
        codes.recycle(number - keep)
