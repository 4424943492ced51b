"""The objects that stay after opening a plan: those made once, and no others."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pyarrow as pa
import pytest

import sase
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.pipeline.pipeline import Pipeline

QUERIES = [
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9",
    "EVENT SEQ(A a, !(B x), A b) WHERE [id] AND x.v > a.v AND b.name != 'u' WITHIN 9",
    "EVENT SEQ(A a, B b) WHERE a.name < b.name OR b.name = 'v' WITHIN 9 RETURN upper(b.name) AS n",
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v > a[i-1].v } WITHIN 9",
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } WITHIN 9",
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { a[i].v >= a[1].v AND b.name != 'v' }"
    " WITHIN 9",
    "EVENT SEQ(A a, ANY(A, B)+ b[], B c) WHERE skip_till_any_match { b[i].name LIKE 'v%'"
    " AND c.v > avg(b[].v) } WITHIN 6 RETURN a.v, max(b[].name) AS most",
    "EVENT SEQ(A+ a[], !(B x), A c) WHERE partition_contiguity { [id] AND x.v > c.v }"
    " WITHIN 9 HAVING a.len < 3",
]  # fmt: skip


def stream(names: str) -> pa.Table:
    """Events with texts that come up in another order."""
    numbers = range(40)
    return pa.table({
        "ts": numbers, "type": ["AAB"[n % 3] for n in numbers], "id": [n % 2 for n in numbers],
        "v": [n * 7 % 5 for n in numbers], "name": [names[n % len(names)] for n in numbers],
    })  # fmt: skip


@pytest.fixture
def without_collection() -> Iterator[None]:
    """Only counts of references free memory: the collector of garbage is off."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_that_was_run_finds_what_a_new_one_does(text: str) -> None:
    """Programs, places and codes are the same ones, whichever texts came before."""
    plan = sase.compile(text, stream("uvw"))
    for names in ("uvw", "wxvu", "vz", "uvw"):
        events = stream(names)
        expected = sase.compile(text, events).run(events).to_arrow()
        assert plan.run(events).to_arrow() == expected
        matcher, found = plan.open(), list[Any]()
        for start in range(0, 40, 7):
            found += matcher.push(events.slice(start, 7)).to_pylist()
            matcher = plan.restore(matcher.snapshot())
        assert found + matcher.finish().to_pylist() == expected.to_pylist()
        assert len(expected)


@pytest.mark.parametrize("text", QUERIES)
def test_what_was_made_is_no_part_of_the_plan(text: str) -> None:
    plan = sase.compile(text, stream("uvw"))
    plan.run(stream("uvw")).rows  # noqa: B018 - the test is of reading it
    assert plan.engine.cache
    copied = pickle.loads(pickle.dumps(plan))
    assert copied == plan
    assert not copied.engine.cache
    assert copied.run(stream("uvw")).rows == plan.run(stream("uvw")).rows


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("text", QUERIES)
def test_a_matcher_goes_with_the_last_who_holds_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its stacks and tables with it: until garbage is collected there may be many runs."""
    opened = list[Any]()

    def note(kind: type) -> None:
        init = kind.__init__

        def noted(self: Any, *given: Any, **named: Any) -> None:
            opened.append(ref(self))
            init(self, *given, **named)

        monkeypatch.setattr(kind, "__init__", noted)

    note(Pipeline)
    note(PlanDictionary)
    plan, events = sase.compile(text, stream("uvw")), stream("uvw")
    rows = plan.run(events).rows
    matcher = plan.open()
    matcher.push(events.slice(0, 20))
    matcher.push(events.slice(20))
    matcher.finish()
    del matcher
    assert len(rows)
    assert len(opened) >= 4
    assert not [each() for each in opened if each() is not None]
