"""Statements in several threads: dealt in groups, with the matches and reports of one thread."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.engine.scripts.plan import ScriptPlan
from sase.engine.scripts.threads import dealt_to, together

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
    assert all(part.statements for part in parts)
    assert sorted(each.name for part in parts for each in part.statements) == NAMES
    for part in parts:
        own = [each.name for each in part.statements]
        assert own == sorted(own, key=NAMES.index)
    if threads == 2:
        sizes = [len(together(part)) for part in parts]
        assert max(sizes) - min(sizes) <= 1


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


def test_inputs_with_names_are_read_by_the_threads_that_need_them() -> None:
    text = "FROM x EVENT SEQ(A a, B b) WITHIN 5; FROM y EVENT SEQ(B a, C b) WITHIN 5"
    parts = dealt_to(sase.Script(text, streams={"x": ROWS, "y": ROWS})._compiled.plan, 2)
    assert [[each.name for each in part.inputs] for part in parts] == [["x"], ["y"]]
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
