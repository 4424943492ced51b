"""Statements that differ in the conditions on the last event alone are matched together."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.planning.physical.drive import Feed
from tests.engine.scripts.test_added_statements import grown
from tests.engine.scripts.test_joint_matching import PATTERN, joint_of, opened, rows

ASKED = ["b.n = 1", "b.n IN (2, 4)", "b.s = 's4'", "b.f >= 0.25 AND b.f < 0.75", ""]
TEXTS = [f"{PATTERN}{' AND ' * bool(asked)}{asked} WITHIN {9 + n} RETURN a.n AS n, b.ts AS t"
         for n, asked in enumerate(ASKED)]  # fmt: skip


def check(found: dict[str, sase.Matches], texts: list[str], given: pa.Table) -> None:
    for text, each in zip(texts, found.values(), strict=True):
        wanted = sase.match(text, given)
        assert each.to_arrow().equals(wanted.to_arrow()) and each.rows.equals(wanted.rows)


@pytest.mark.parametrize("count", range(2, len(TEXTS) + 1))
def test_each_is_told_what_ends_with_an_event_that_it_asks_for(count: int) -> None:
    given, texts = rows(0, 400), TEXTS[:count]
    script = sase.Script(";".join(texts), given.schema)
    (names,) = joint_of(script.open())
    assert sorted(names) == [f"query_{number}" for number in range(1, count + 1)]
    found = script.run(given)
    check(found, texts, given)
    assert all(len(each) for each in found.values())
    whole = sase.Script(";".join([*texts, "EVENT A a WHERE a.n = 2"]), given.schema).run(given)
    check({name: whole[name] for name in found}, texts, given)


def test_what_no_one_asks_for_is_not_dealt_out() -> None:
    given = rows(0, 3_000)
    texts = [f"{PATTERN} AND b.n = {n} WITHIN 9" for n in (1, 3)]
    script = sase.Script(";".join(texts), given.schema)
    explained = script.explain(given, analyze=True)
    (shared,) = explained.to_dict()["shared"]
    assert shared["matchings"][0]["asked"] == {"query_1": "b.n = 1", "query_2": "b.n = 3"}
    shown = "  one matching for query_1 (b.n = 1, 9), query_2 (b.n = 3, 9): 1,000 found"
    assert shown in str(explained).splitlines()
    wanted = sum(row["type"] == "A" and row["n"] > 0 or row["type"] == "B" and row["n"] in (1, 3)
                 for row in given.to_pylist())  # fmt: skip
    assert shared["given"] == {"query_1": wanted, "query_2": wanted}
    for each in explained.values():  # of both together
        *_, path = each.physical
        assert (path.feed, path.events, path.matches) == (Feed.SHARED, wanted, 1_000)
    check(script.run(given), texts, given)


def test_they_come_and_go() -> None:
    matcher = grown(TEXTS[:2], TEXTS[2:], rows(0, 300), 90)
    assert joint_of(matcher) == [tuple(f"query_{number}" for number in range(1, 6))]
    matcher.remove("query_2")
    matcher.remove("query_5")
    again = matcher.script.restore(matcher.snapshot())
    found, wanted = (each.push(None, rows(300, 400)) for each in (matcher, again))
    assert found.keys() == wanted.keys() == {"query_1", "query_3", "query_4"}
    for name, each in found.items():
        assert each.to_arrow().equals(wanted[name].to_arrow())
    only = opened(TEXTS[0], *TEXTS[2:4])
    only.push(None, rows(0, 300))
    for name, each in only.push(None, rows(300, 400)).items():
        mine = {"query_1": "query_1", "query_2": "query_3", "query_3": "query_4"}[name]
        assert each.to_arrow().equals(found[mine].to_arrow())
    for name in ("query_1", "query_3"):
        matcher.remove(name)
    alone = matcher.script.restore(matcher.snapshot())
    (last,), (same,) = (e.push(None, rows(400, 450)).values() for e in (matcher, alone))
    assert last.to_arrow().equals(same.to_arrow()) and len(last)


def test_who_is_added_may_read_a_column_that_nobody_has_read() -> None:
    texts = [f"{PATTERN} AND b.{asked} WITHIN 9" for asked in ("n = 1", "n = 3", "s = 's4'")]
    matcher = grown(texts[:2], texts[2:], rows(0, 300), 90)
    assert joint_of(matcher) == [("query_1", "query_2", "query_3")]


def test_texts_that_are_compared_besides_stay_as_they_are() -> None:
    text = f"{PATTERN} AND a.s != 's5' AND {{}} AND (b.s < 's3' OR b.n > a.n) WITHIN 30"
    texts = [text.format(asked) for asked in ("b.s = 's1'", "b.s IN ('s2', 's6')", "b.s = 's0'")]
    matcher = grown(texts[:1], texts[1:], rows(0, 300), 90)
    assert joint_of(matcher) == [("query_1", "query_2", "query_3")]
