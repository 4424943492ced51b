"""Conditions on one event that several statements ask are evaluated once, and say the same."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.blocks import shared_conditions
from sase.engine.expressions import strings as text_dictionary
from sase.engine.scripts import admission, shared_reading
from sase.engine.scripts.pipeline import ScriptPipeline
from tests.drawing.script_examples import ScriptExample, drawn
from tests.drawing.script_statements import Statement
from tests.drawing.script_ways import KINDS, RECIPES, ScriptWay, check
from tests.engine.scripts.test_shared_reading import pushed, shown, table
from tests.seeds import draw_numbers, share, tries

PATTERNS = [
    "SEQ({A} a, {B} b) WHERE {a} AND {b} AND [k] WITHIN 6",
    "SEQ({A} a, {B} b, {C} c) WHERE [k] AND {b} AND {a} WITHIN 9",
    "SEQ({A} a, !({B} b), {C} c) WHERE {b} AND {a} WITHIN 7",
    "SEQ({A} a, !({B} b)) WHERE {a} AND {b} WITHIN 4",
    "SEQ({A} a, {B}+ b[]) WHERE {a} AND {b[i]} AND [k] WITHIN 4",
    "SEQ({A}+ a[], {B} b) WHERE skip_till_next_match { [k] AND {a[i]} AND {b} } WITHIN 9",
    "SEQ({A}+ a[], {B} b) WHERE {a[1]} AND {b} AND [k] WITHIN 5",
    "SEQ({A} a, {B}? b, {C} c) WHERE skip_till_next_match { {a} AND {b} } WITHIN 8",
    "SEQ(ANY({A}, {C}) a, ({B} b OR {C} c)) WHERE {a} AND {b} WITHIN 6",
    "SEQ(SET({A} a, {B} b), {C} c) WHERE {a} AND {b} WITHIN 5",
    "SEQ((SEQ({A} a, {B} b))+ g[], {C} c) WHERE skip_till_next_match { {g[i].a} AND {g[i].b} }"
    " WITHIN 5",
    "SEQ({A} a, !(SEQ({B} b, {C} c)), {A} d) WHERE {b} AND {a} WITHIN 7",
    "SEQ(ANY a, {B} b) WHERE {a} AND {b} WITHIN 3",
    "{A} a WHERE {a}",
]
CONDITIONS = [
    "@.s LIKE 'x%'", "@.s != 'y'", "lower(@.s) = 'x'", "@.n % 2 = 0", "@.n + @.k > 2",
    "@.n * @.big > 0", "@.f IS NULL", "(@.n > 1 OR @.s = 'x')", "@.n < @.k", "@.f > 1",
    "@.n NOT IN (1, 2)", "@.n = 1", "@.s >= 'x'", "abs(@.n) > 1",
]  # fmt: skip


def query(draw: Random) -> str:
    """One of few patterns over few types, so that several ask the same."""
    text = f"EVENT {draw.choice(PATTERNS)}"
    for letter, name in zip("ABC", draw.choice(["ABC", "BAC"]), strict=True):
        text = text.replace(f"{{{letter}}}", name)
    for place in ("a", "b", "a[i]", "b[i]", "a[1]", "g[i].a", "g[i].b"):
        text = text.replace(f"{{{place}}}", draw.choice(CONDITIONS).replace("@", place))
    return text


def events(draw: Random, rows: int) -> pa.Table:
    big = [draw.choice([1, 2**62, -(2**62)]) for _ in range(rows)]
    return table(draw, rows).append_column("big", pa.array(big, pa.int64()))


def warned(report: Any) -> list[str]:
    """The warnings but those of ties, which are of the events that a statement is given."""
    return [each for each in report.warnings if "share their time" not in each]


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(16)))
def test_each_statement_finds_what_it_finds_alone(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in tries(number):
        draw = Random(seed)
        monkeypatch.setattr(shared_reading, "STRETCH", draw.choice([5, 16, 1 << 20]))
        monkeypatch.setattr(admission, "FEW_ARE", draw.choice([0, 2, 16]))
        monkeypatch.setattr(shared_conditions, "ROOM", draw.choice([50, 1 << 27, 1 << 27]))
        monkeypatch.setattr(text_dictionary, "ROOM", draw.choice([1, 1 << 20]))
        given, queries = events(draw, draw.choice([1, 30, 60])), [query(draw) for _ in range(8)]
        alone = [sase.match(text, given, threads=1) for text in queries]
        script = sase.Script(";\n".join(queries), given.schema)
        expected = {f"query_{n}": shown(each) for n, each in enumerate(alone, 1)}
        together = script.run(given)
        assert {name: shown(each) for name, each in together.items()} == expected
        for text, each in zip(queries, together.values(), strict=True):
            (only,) = sase.Script(text, given.schema).run(given).values()
            assert shown(only) == shown(each)  # the warnings are known at the end
            assert {*warned(each.report)} == {*warned(only.report)}
        assert pushed(script, given, draw) == expected
        if sum(map(len, expected.values())) > 3:
            return


def doubled(example: ScriptExample) -> ScriptExample:
    """Each statement twice: each condition on an event has two statements."""
    again = list[Statement]()
    for each in example.statements:
        name = None if each.creates is None else each.creates.name
        text = each.text.replace(f"STREAM {name} ", f"STREAM {name}again ") if name else each.text
        again.append(replace(each, text=text))
    return replace(example, statements=(*example.statements, *again))


def doubled_case(number: int) -> tuple[ScriptExample, ScriptWay]:
    random = Random(number)
    way = ScriptWay(random.choice(KINDS), random.choice(RECIPES), number)
    return doubled(drawn(number)), way


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(12)))
def test_every_way_of_running_finds_what_the_naive_way_does(number: int) -> None:
    check(doubled_case, number)


# ---------------------------------------------------------------- how often


def rows(count: int) -> pa.Table:
    return pa.table({
        "ts": np.arange(count), "type": ["A", "B"] * (count // 2), "n": np.arange(count) % 7,
        "s": [f"{'xy'[i % 3 % 2]}{i % 5}" for i in range(count)], "big": [2**62] * count,
    })  # fmt: skip


def ran(text: str, events: pa.Table) -> dict[str, tuple[list[str], int, int]]:
    """The shared conditions: their statements, and the numbers of events."""
    script = sase.Script(text, events.schema)
    matcher = ScriptPipeline(script._compiled.plan)
    matcher.push(None, events)
    shared = matcher.conditions[None].shared
    assert not matcher.conditions[None].size
    return {str(each): ([*each.statements], each.evaluated, each.told) for each in shared}


def test_a_condition_is_evaluated_once_for_all_who_ask() -> None:
    text = ";".join(
        f"EVENT SEQ(A a{n}, B b) WHERE a{n}.s LIKE 'x%' AND b.n != {n % 2} WITHIN 5 LIMIT 99"
        for n in range(6)
    )
    every, even, odd = [f"query_{n}" for n in range(1, 7)], [1, 3, 5], [2, 4, 6]
    assert ran(text, rows(40)) == {
        "A e: e.s LIKE 'x%'": (every, 20, 240),
        "B e: e.n != 0": ([f"query_{n}" for n in even], 20, 120),
        "B e: e.n != 1": ([f"query_{n}" for n in odd], 20, 120),
    }


def test_what_leaves_int64_is_evaluated_and_told_by_each() -> None:
    text = "EVENT A a WHERE a.big + a.big > a.n; EVENT A b WHERE b.big + b.big > b.n"
    given = rows(40)
    assert ran(text, given) == {"A e: e.big + e.big > e.n": (["query_1", "query_2"], 0, 0)}
    for each in sase.Script(text, given.schema).run(given).values():
        (warning,) = each.report.warnings
        assert "big + " in warning


def test_what_is_asked_goes_with_who_asks_it() -> None:
    text = "EVENT A a WHERE a.s LIKE 'x%' LIMIT 90; EVENT A b WHERE b.s LIKE 'x%' LIMIT 99"
    given = rows(40)
    matcher = sase.Script(text, given.schema).open()
    assert len(matcher.push(None, given)) == 2
    conditions = matcher._pipeline.conditions[None]
    assert [[*each.statements] for each in conditions.shared] == [["query_1", "query_2"]]
    matcher.remove("query_2")
    assert not [*conditions.shared]
    matcher.add("EVENT A c WHERE c.s LIKE 'x%' LIMIT 99")
    assert [[*each.statements] for each in conditions.shared] == [["query_1", "query_3"]]
    again = matcher.script.restore(matcher.snapshot())
    later = rows(80).slice(40)
    assert {name: len(each) for name, each in again.push(None, later).items()} == {
        name: len(each) for name, each in matcher.push(None, later).items()
    }


def test_texts_that_never_repeat_are_forgotten() -> None:
    query = "EVENT SEQ(A a, B b) WHERE a.s LIKE '%7' AND b.n > a.n WITHIN {}"
    rows = [{"ts": ts, "type": "AB"[ts % 2], "n": ts, "s": f"{ts}"} for ts in range(12000)]
    given = pa.Table.from_pylist(rows)
    script = sase.Script(";".join([query.format(5), query.format("9 EVENTS")]), given.schema)
    matcher = script.open()
    for begin in range(0, len(rows), 300):
        matcher.push(None, given.slice(begin, 300))
    (conditions,) = matcher._pipeline.conditions.values()
    assert sum(each.evaluated for each in conditions.shared) == 6000
    assert 0 < len(conditions.coding.texts) < 6000
