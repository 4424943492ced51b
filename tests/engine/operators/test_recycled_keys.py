"""Keys and texts that never come again: others get their codes, and no state of theirs is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from sase.engine.blocks import key_dictionary
from sase.engine.expressions import TextDictionary
from sase.planning import cost_values as dense_codes
from sase.planning.engine_plan import Options
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import told

QUERIES = {
    "a sequence": "EVENT SEQ(A a, B b, A c) WHERE [id] WITHIN {}",
    "two keys": "EVENT SEQ(A a, B b) WHERE [id, s] WITHIN {}",
    "positions": "EVENT SEQ(A a, B b) WHERE [id] WITHIN {} EVENTS",
    "a start": "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN {}",
    "a start in positions": "EVENT SEQ(!(N n), A a) WHERE [s] WITHIN {} EVENTS INCLUSIVE",
    "a middle": "EVENT SEQ(A a, !(N n), B b) WHERE [id] WITHIN {}",
    "an end": "EVENT SEQ(A a, !(N n)) WHERE [id, s] WITHIN {}",
    "a series": "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {{ [id] }} WITHIN {}",
    "any series": "EVENT SEQ(A a, B+ b[]) WHERE skip_till_any_match {{ [id] }} WITHIN {}",
    "a series without": "EVENT SEQ(A+ a[], !(N n), B b) WHERE [id] WITHIN {}",
    "next of a key": "EVENT SEQ(A a, B+ b[]) WHERE partition_contiguity {{ [id] }} WITHIN {}",
    "ranks": "EVENT SEQ(A a, B b) WHERE [id] WITHIN {} EVENTS PER PARTITION",
    "equal texts": "EVENT SEQ(A a, B b) WHERE a.t = b.u WITHIN {}",
    "texts in order": "EVENT SEQ(A a, N n, B b) WHERE a.t < b.t AND lower(n.u) >= b.t WITHIN {}",
    "absent texts": "EVENT SEQ(A a, !(N n), B b) WHERE [id] AND n.t != a.t WITHIN {}",
    "rising texts": (
        "EVENT SEQ(A a, ANY+ b[]) WHERE skip_till_next_match"
        " {{ [id] AND b[i].t >= b[i-1].t AND upper(b[i].u) != upper(a.t) }} WITHIN {}"
    ),
    "greatest texts": (
        "EVENT SEQ(A a, ANY+ b[]) WHERE skip_till_any_match"
        " {{ [id] AND max(b[..i-1].t) <= b[i].t AND a.u LIKE '%1%' }} WITHIN {}"
    ),
}
ONE, REPEATABLE = settings().max_examples, settings().derandomize
SOME = settings(
    max_examples=max(ONE // (3 if REPEATABLE else 2), 1),
    suppress_health_check=[HealthCheck.too_slow],
)
KINDS = {"integers": lambda key: key * 2**40, "near": lambda key: key, "texts": "key {}".format}


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Types and keys: a key is new, or one of the last few; some begin with a negative event."""
    last = draw(st.sampled_from([0, 0, 3, 6]))
    found = [("N", number) for number in range(last)]
    for _ in range(draw(st.sampled_from([3, 10, 30, 90]))):
        back = draw(st.sampled_from([0, 0, 1, 1, 1, 2, 5]))
        last += back == 0
        found.append((draw(st.sampled_from("AABBN")), max(last - max(back - 1, 0), 0)))
    return found


def table(stream: list[tuple[str, int]], kind: str) -> pa.Table:
    key = KINDS[kind]
    rows = [
        {
            "ts": ts, "type": name, "id": key(number), "s": f"{number % 3}",
            "t": f"{'Tt'[number % 2]} {number}", "u": f"{'tT'[ts % 3 // 2]} {number + ts % 2}",
        }
        for ts, (name, number) in enumerate(stream)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("query", QUERIES)
@SOME
@given(
    streams(), st.sampled_from([2, 5, 12, 40]), st.sampled_from([*KINDS]),
    st.sampled_from(recipe_names()), st.integers(1, 3), st.integers(0, 2),
)  # fmt: skip
def test_codes_that_are_used_again(
    query: str, stream: list[tuple[str, int]], length: int, kind: str, recipe: str, size: int,
    bits: int,
) -> None:  # fmt: skip
    """As small as tables can be, they are full at once, and codes given up as soon as possible."""
    text, events = QUERIES[query].format(length), table(stream, kind)
    expected = told(sase.compile(text, events, plan="basic").run(events))
    plan = replace(sase.compile(text, events, plan=recipe), options=Options(size, 2, 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_dictionary, "ROOM", 1)
        patched.setattr(TextDictionary, "is_full", True)
        patched.setattr(dense_codes, "MOST_BITS", bits)
        patched.setattr(dense_codes, "FEWEST_BITS", bits)
        patched.setattr(key_dictionary, "WIDEST", 1 << bits)
        found, matcher = list[Any](), plan.open()
        for start in range(0, len(events), size):
            found += told(matcher.push(events.slice(start, size)))
        found += told(matcher.finish())
    assert found == expected


@pytest.mark.parametrize("size", [7, 25])
@pytest.mark.parametrize("query", [each for each in QUERIES if "texts" in each])
def test_codes_of_texts_that_are_used_again(
    query: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by pushes that give up codes at many, as by a run, which gives up none."""
    random = Random(5)
    monkeypatch.setattr(TextDictionary, "is_full", property(lambda _: random.random() < 0.3))
    text, events = QUERIES[query].format(12), long_stream()
    plan = replace(sase.compile(text, events), options=Options(7, 2, 1))
    expected, matcher, found = told(plan.run(events)), plan.open(), list[Any]()
    known = list[int]()
    for batch in batches(events, size):
        found += told(matcher.push(batch))
        known.append(len(matcher.pipeline.dictionary.texts))
    assert [*found, *told(matcher.finish())] == expected
    assert len(expected) > 25
    assert min(known[len(known) // 2 :]) < 60


def batches(events: pa.Table, size: int) -> Iterator[pa.Table]:
    """Of forty events those share the dictionaries of their texts."""
    texts = events.schema.get_field_index("t")
    for begin in range(0, len(events), 40):
        part = events.slice(begin, 40)
        for at in (texts, texts + 1):
            encoded = part.column(at).combine_chunks().dictionary_encode()
            part = part.set_column(at, part.field(at).name, encoded)
        yield from (part.slice(first, size) for first in range(0, 40, size))


def test_a_text_of_a_dictionary_lasts_as_long_as_its_last_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The dictionary came long before, and is gone when codes are given up."""
    rows = [(0, "A", "a"), (100, "A", "m"), (101, "A", "x"), (102, "A", "z"), (103, "B", "p")]
    ts, types, texts = (pa.array(column) for column in zip(*rows, strict=True))
    first = pa.table({"ts": ts, "type": types, "t": texts.dictionary_encode()})
    others = pa.table({"ts": ts, "type": types, "t": texts})
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE a.t < b.t WITHIN 50", first)
    matcher, found = replace(plan, options=Options(1, 2, 1)).open(), list[Any]()
    for place in range(5):
        monkeypatch.setattr(TextDictionary, "is_full", place > 1)
        found += told(matcher.push((others if place > 1 else first.slice(0, 2)).slice(place, 1)))
    assert [each[:2] for each in found] == [(1, 4)]


@pytest.mark.parametrize("saves", [False, True])
def test_results_keep_their_texts(saves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches are read when the codes of their texts are those of others."""
    monkeypatch.setattr(TextDictionary, "is_full", True)
    text = (
        "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] } WITHIN 5"
        " RETURN a.t, upper(a.u) AS u, max(b[].u) AS m, greatest(a.t, b[1].u, 'T') AS g"
    )
    events = long_stream()
    plan = replace(sase.compile(text, events), options=Options(7, 2, 1))
    found, matcher = list[sase.Matches](), plan.open()
    for start in range(0, len(events), 7):
        found.append(matcher.push(events.slice(start, 7)))
        matcher = plan.restore(matcher.snapshot()) if saves else matcher
    found.append(matcher.finish())
    rows = [row for each in found for row in each.to_arrow().to_pylist()]
    assert rows == plan.run(events).to_arrow().to_pylist()
    assert len(rows) > 20


def long_stream() -> pa.Table:
    """Of 200 events; a key has some ten of them, near each other."""
    random = Random(3)
    keys = [(place + random.randrange(6)) // 10 for place in range(200)]
    return table([(random.choice("AABBN"), key) for key in keys], "texts")


@pytest.mark.parametrize("recipe", recipe_names())
def test_a_start_is_forbidden_by_its_own_key_alone(recipe: str) -> None:
    """Thousands of keys come in a window, each once, and then one that was not among them."""
    count = 3000
    many = {"ts": range(count), "type": ["N"] * count, "id": [2**32 * n for n in range(count)]}
    few = {"ts": [count, count + 1], "type": ["A", "B"], "id": [5, 5]}
    plan = sase.compile(
        "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN 10000", pa.table(many), plan=recipe
    )
    matcher, events = plan.open(), pa.table(many)
    for start in range(0, count, 100):
        assert len(matcher.push(events.slice(start, 100))) == 0
    assert told(matcher.push(pa.table(few)))[0][:2] == (count, count + 1)
