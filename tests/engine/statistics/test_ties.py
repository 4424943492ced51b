"""The share of events that tie is that of counting by hand, however they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

import sase
from sase.engine.columns import Events
from sase.engine.statistics import ties
from sase.engine.statistics.ties import TieShare
from tests.seeds import draw_numbers

TYPES = ("A", "B", "C")
SEEN = frozenset("AC")
SOME = "EVENT SEQ(A a, C c) WITHIN 3"


def events_of(times: Sequence[int], types: Sequence[str]) -> Events:
    """Sorted events."""
    ts = np.array(times, np.int64)
    tie = np.unique(ts, return_inverse=True)[1].astype(np.int64)
    codes = np.array([TYPES.index(each) for each in types], np.int16)
    has_ties = len(set(times)) < len(times)
    return Events(ts, None, codes, TYPES, {}, tie=tie if has_ties else None)


def by_hand(times: Sequence[int], types: Sequence[str], seen: frozenset[str]) -> tuple[int, int]:
    """How many events are seen, and how many of them have the time of another of them."""
    found = [time for time, name in zip(times, types, strict=True) if name in seen]
    return len(found), sum(count for count in Counter(found).values() if count > 1)


@pytest.mark.random
@pytest.mark.parametrize("seen", [SEEN, frozenset("B"), None])
def test_pieces_of_a_stream_count_as_the_whole(seen: frozenset[str] | None) -> None:
    shares = 0
    for number in draw_numbers(60):
        random = Random(number)
        size = random.randrange(1, 40)
        times = sorted(random.randrange(random.choice((4, 60))) for _ in range(size))
        types = [random.choice(TYPES) for _ in range(size)]
        expected = by_hand(times, types, frozenset(TYPES) if seen is None else seen)
        whole, pieces = TieShare(seen), TieShare(seen)
        events = events_of(times, types)
        whole.measure(events)
        # Without a tie nothing is counted of events that are all there are.
        assert (whole.events, whole.tied) == (expected if events.tie is not None else (0, 0))
        begin = 0
        while begin < size:
            end = min(begin + random.choice((1, 1, 2, 7)), size)
            piece = events_of(times[begin:end], types[begin:end])
            follows = begin > 0 and times[begin] == times[begin - 1]
            if piece.tie is None and not follows and random.random() < 0.5:
                admitted = by_hand(times[begin:end], types[begin:end], seen or frozenset(TYPES))[0]
                pieces.pass_by(end - begin, admitted, lambda piece=piece: piece)  # type: ignore[misc]
            else:
                pieces.add(piece, follows=follows)
            begin = end
        assert (pieces.events, pieces.tied) == expected
        shares += 0 < expected[1] < expected[0]
    assert shares > 10


@pytest.mark.parametrize("seen", [SEEN, frozenset("B"), frozenset("X"), None])
def test_many_events_of_a_stream_that_do_not_tie(seen: frozenset[str] | None) -> None:
    """They are counted by comparing types, and not by looking each up."""
    random, size = Random(1), ties.SLICE + 3
    types = [random.choice(TYPES) for _ in range(size)]
    share = TieShare(seen)
    share.add(events_of(range(size), types), follows=False)
    expected = by_hand(range(size), types, frozenset(TYPES) if seen is None else seen)
    assert (share.events, share.tied) == expected
    last = int(seen is None or types[-1] in seen)
    assert share.checkpoint() == [*expected, last]


def test_many_events_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "MANY", 1 << 12)
    monkeypatch.setattr(ties, "SLICE", 1 << 8)
    times = [n // 4 if n % 10 < 3 else 10**6 + n for n in range(40_000)]
    times.sort()
    share = TieShare(None)
    share.measure(events_of(times, ["A"] * len(times)))
    assert share.is_sample and share.events == 1 << 12
    exact = by_hand(times, ["A"] * len(times), frozenset("A"))
    assert share.tied / share.events == pytest.approx(exact[1] / exact[0], abs=0.05)
    assert "% of a sample of 4,096 events" in share.warning(None)


def test_where_a_sample_sees_few_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "MANY", 1 << 12)
    monkeypatch.setattr(ties, "SLICE", 1 << 8)
    types = ["A" if n % 1000 < 2 else "B" for n in range(40_000)]
    share = TieShare(SEEN)
    share.measure(events_of([n // 2 for n in range(40_000)], types))
    assert (share.events, share.tied, share.is_sample) == (80, 80, False)


@pytest.mark.parametrize(
    ("query", "options", "matters"),
    [
        (SOME, {}, True),
        ("EVENT A a", {}, False),
        ("EVENT A+ a[]", {}, True),
        ("EVENT SEQ(A a, !(B b)) WITHIN 3", {}, True),
        (SOME, {"seq": "#row"}, False),
        (SOME, {"seq": "n"}, True),
    ],
)
def test_where_the_order_matters(query: str, options: dict[str, str], *, matters: bool) -> None:
    table = [{"ts": 1, "type": "A", "n": 1}]
    plan = sase.compile(query, table, **options).engine
    assert (TieShare.of(plan) is not None) == matters


def test_a_twentieth_is_not_more_than_one() -> None:
    share = TieShare(None)
    share.measure(events_of([0, 0, *range(1, 39)], ["A"] * 40))
    assert (share.events, share.tied, share.is_large) == (40, 2, False)
    share = TieShare(None)
    share.measure(events_of([0, 0, *range(1, 38)], ["A"] * 39))
    assert share.is_large
