"""Statements in several threads, and keys of which a table makes codes for the fused scan."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.blocks import key_dictionary
from sase.engine.expressions import strings as text_dictionary
from sase.engine.scripts import shared_reading
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.engine.scripts.plan import ScriptPlan
from sase.engine.scripts.shared_reading import SharedReading
from sase.engine.scripts.threads import dealt_to, together
from sase.planning.physical.drive import Need
from tests.engine.scripts.test_key_texts import told

ROWS = [{"ts": n, "type": "ABCD"[n * 7 % 4], "id": n * 5 % 3, "v": n * 11 % 7} for n in range(240)]
SCRIPT = """
CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN Pair(a.id AS id, b.v AS v);
EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 20;
FROM pairs EVENT SEQ(Pair p, Pair q) WHERE p.v < q.v WITHIN 12;
EVENT SEQ(C a, D b) WHERE a.v < b.v WITHIN 8;
EVENT SEQ(C a, D b) WHERE a.v < b.v WITHIN 5;
EVENT SEQ(A a, !(D b), C c) WHERE [id] WITHIN 15;
EVENT SEQ(B a, C+ c[]) WHERE skip_till_next_match { [id] } WITHIN 15
"""
NAMES = ["pairs", *(f"query_{number}" for number in range(2, 8))]


def plan(text: str = SCRIPT) -> ScriptPlan:
    return sase.Script(text, ROWS)._compiled.plan


def names(parts: list[Any]) -> list[list[str]]:
    return [[each.name for each in part] for part in parts]


def test_what_reads_another_or_shares_a_matching_stays_together() -> None:
    assert names(together(plan())) == [
        ["pairs", "query_3"], ["query_2"], ["query_4", "query_5"], ["query_6"], ["query_7"],
    ]  # fmt: skip
    chain = "CREATE STREAM p AS EVENT A a; CREATE STREAM q AS FROM p EVENT p x; FROM q EVENT q y"
    assert len(together(plan(chain))) == 1


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_each_statement_is_dealt_to_one_thread(threads: int) -> None:
    parts = dealt_to(plan(), threads)
    assert len(parts) == min(threads, 5)
    assert all(parts)
    assert sorted(name for part in parts for name in part) == NAMES
    assert all(part == sorted(part, key=NAMES.index) for part in parts)
    if threads == 2:
        whole = names(together(plan()))
        sizes = [sum(group[0] in part for group in whole) for part in parts]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_reading_and_the_conditions(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are loaded and dealt out once; a condition of several statements is evaluated once."""
    monkeypatch.setattr(shared_reading, "STRETCH", 50)
    loads, dealt, opened = [], [], list[ScriptPipeline]()

    def noting(cls: type, name: str, note: Callable[..., object]) -> None:
        before = getattr(cls, name)

        def noted(self: Any, *given: Any, **rest: Any) -> Any:
            note(self, *given)
            return before(self, *given, **rest)

        monkeypatch.setattr(cls, name, noted)

    noting(SharedReading, "stretches", lambda _, pieces: loads.append(len(pieces)))
    noting(SharedReading, "dealt", lambda _, some: dealt.extend(each.begin for each in some))
    noting(ScriptPipeline, "search", lambda self, _: opened.append(self))
    alike = "EVENT SEQ(A a, {} b) WHERE a.v + a.v * 2 < 12 AND a.id < b.id WITHIN {}"
    text = ";".join(alike.format(last, 40) for last in "BCD")
    found = sase.Script(text, ROWS).run(ROWS, threads=threads)
    assert all(map(len, found.values()))
    assert loads == [1]
    assert dealt == [0, 50, 100, 150, 200]
    (pipeline,) = opened
    (condition,) = pipeline.conditions[None].shared
    assert condition.evaluated == sum(row["type"] == "A" for row in ROWS)
    assert condition.told >= 3 * condition.evaluated


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_the_matches_are_those_of_one_thread(threads: int) -> None:
    script = sase.Script(SCRIPT)
    one, several = (script.run(ROWS, threads=n) for n in (1, threads))
    assert list(several) == NAMES
    for name in NAMES:
        assert len(one[name])
        assert several[name].to_arrow().equals(one[name].to_arrow()), name
        assert several[name].rows.equals(one[name].rows), name
        assert several[name].report.rows == one[name].report.rows


@pytest.mark.parametrize("threads", [1, 3])
def test_bad_rows_are_put_aside_once(threads: int) -> None:
    given = [*ROWS[:50], {"ts": None, "type": "A", "id": 1, "v": 1}, *ROWS[50:]]
    given[20] = {**given[20], "v": "no number"}
    script = sase.Script(SCRIPT, ROWS, on_bad_row="quarantine")
    found = script.run(given, threads=threads)
    expected = script.run(given, threads=1)
    for name in NAMES:
        assert found[name].to_arrow().equals(expected[name].to_arrow())
        ours, theirs = found[name].report, expected[name].report
        assert ours.bad == theirs.bad
        if name != "query_3":  # its events are matches
            assert ours.bad >= 1
            assert ours.quarantined.equals(theirs.quarantined)


def test_inputs_with_names_in_threads() -> None:
    text = "FROM x EVENT SEQ(A a, B b) WITHIN 5; FROM y EVENT SEQ(B a, C b) WITHIN 5"
    streams = {"x": ROWS, "y": ROWS[50:]}
    one, two = (sase.Script(text).run(streams=streams, threads=n) for n in (1, 2))
    assert {n: m.to_pylist() for n, m in two.items()} == {n: m.to_pylist() for n, m in one.items()}


def test_an_error_of_one_thread_ends_the_run() -> None:
    text = "EVENT SEQ(A a, B b); EVENT SEQ(C c, D d) WITHIN 3"
    with pytest.raises(sase.BudgetError, match="`query_1` has more than 9 matches"):
        sase.Script(text).run(ROWS, max_matches=9, threads=2)
    many = [{"ts": n, "type": "ABCD"[n % 4], "v": n} for n in range(4000)]
    endless = "EVENT SEQ(A a, B+ b[], C c); EVENT SEQ(D d, A e) WITHIN 3"
    with pytest.raises(sase.TimeLimitError):
        sase.Script(endless).run(many, timeout=0.2, threads=2)


def test_a_query_of_several_statements_takes_threads_too() -> None:
    text = "CREATE STREAM p AS EVENT SEQ(A a, B b) WITHIN 9 RETURN P(b.v AS v); FROM p EVENT P x"
    one, two = (sase.match(text, ROWS, threads=n) for n in (1, 2))
    assert len(one)
    assert one.to_pylist() == two.to_pylist()


# ---------------------------------------------------------------- coded keys

# Keys that are texts, or far apart: the fused scan takes codes that a table has made of them.


RULES = (
    "EVENT SEQ(A a, B b) WHERE [k] AND a.v = 1 AND b.v = 2 WITHIN 60",
    "EVENT SEQ(A a, B b, C c) WHERE [k] AND [m] AND a.v = 3 AND b.v = 0 AND c.v = 2 WITHIN 90",
    "EVENT SEQ(A a, !(B b), A c) WHERE [k] AND a.v = 3 AND b.v = 1 AND c.v = 0 WITHIN 80",
    "EVENT SEQ(B a, A b) WHERE [m] AND [k] AND a.v = 2 AND b.v = 2 WITHIN 40 EVENTS",
    "EVENT SEQ(C a, C b) WHERE [k] AND a.v = 2 AND b.v = 2",
    "EVENT SEQ(A a, B b) WHERE [k] AND a.v = 0 AND b.v = 3 WITHIN 700",
)
FAR = 0x9E3779B97
KINDS: dict[str, Callable[[int], Any]] = {
    "far apart": lambda key: key * FAR,
    "texts": lambda key: f"key {key}",
    "decimals": lambda key: Decimal(key * FAR) / 10,
    "floats": lambda key: key / 2,
    "near": lambda key: key,
    "some far": lambda key: key if key < 60 else key * FAR,
}


def table_of(random: Random, rows: int, kind: str, nulls: float) -> pa.Table:
    """Keys that come, stay for a while, and mostly never come again."""
    keys = [KINDS[kind](row // 16 + random.randrange(4)) for row in range(rows)]
    types = {"decimals": pa.decimal128(36, 1), "texts": pa.string(), "floats": pa.float64()}
    found = [None if random.random() < nulls else key for key in keys]
    return pa.table({
        "ts": [row // 2 for row in range(rows)],
        "type": random.choices("ABC", k=rows),
        "k": pa.array(found, types.get(kind, pa.int64())),
        "m": random.choices(["x", "y"], k=rows),
        "v": [random.randrange(4) for _ in range(rows)],
    })  # fmt: skip


@pytest.fixture(autouse=True)
def few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recycle at once."""
    monkeypatch.setattr(text_dictionary, "ROOM", 4)
    monkeypatch.setattr(key_dictionary, "ROOM", 8)


@pytest.mark.parametrize("nulls", [0, 0.02])
@pytest.mark.parametrize("kind", KINDS)
def test_statements_find_what_each_finds_alone(kind: str, nulls: float) -> None:
    random = Random(f"{kind} {nulls}")
    table = table_of(random, 700, kind, nulls)
    wanted = {f"query_{n}": sase.match(text, table).rows for n, text in enumerate(RULES, 1)}
    script = sase.Script(";\n".join(RULES), table.schema)
    matcher, parts, begin = script.open(), [], 0
    while begin < len(table):
        count = random.choice([1, 7, 40, 200])
        parts.append(matcher.push(None, table.slice(begin, count)))
        begin += count
        if random.random() < 0.1:
            matcher = script.restore(matcher.snapshot())
    parts.append(matcher.finish())
    found = told(parts)
    assert found == told([script.run(table)])
    assert found == {name: rows.to_pylist() for name, rows in wanted.items() if len(rows)}
    assert len(found) >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_dealt_out_is_scanned_by_one_kernel(kind: str) -> None:
    table = table_of(Random(kind), 1_200, kind, 0)
    matcher = sase.Script(";\n".join(RULES), table.schema).open()
    for begin in range(0, len(table), 100):
        matcher.push(None, table.slice(begin, 100))
    statements = matcher._pipeline.statements
    for name in ("query_1", "query_2", "query_6"):  # of which no type is of two components
        (use,) = statements[name].matcher.pipeline.fused
        assert use.events > 100  # of some batches it is given all
        # Where the first are near, one batch changes from codes to a table.
        assert use.refused is None or (use.refused, kind) == (Need.CODES_FIT.value, "some far")


def test_nothing_is_fused_where_that_is_switched_off() -> None:
    table = table_of(Random(3), 400, "near", 0)
    matcher = sase.Script(";\n".join(RULES), table.schema, plan="unfused").open()
    matcher.push(None, table)
    statements = matcher._pipeline.statements
    assert [each.matcher.pipeline.fused for each in statements.values()] == [()] * len(RULES)
    assert all(each.matcher.pipeline.admitted_path is None for each in statements.values())


def test_codes_are_recycled() -> None:
    random = Random(7)
    table = table_of(random, 30_000, "far apart", 0)
    matcher = sase.Script(";\n".join(RULES[:3]), table.schema).open()
    for begin in range(0, len(table), 500):
        matcher.push(None, table.slice(begin, 500))
    sizes = [
        size
        for each in matcher._pipeline.statements.values()
        for size in each.matcher.pipeline.dictionary.sizes.values()
    ]
    assert max(sizes) <= 1_024 < len(set(table["k"].to_pylist()))
