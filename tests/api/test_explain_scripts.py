"""What scripts say of their statements: plans, what happened in them, and why there is no match."""

from __future__ import annotations

from typing import Any

import pytest

import sase

TEXT = """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WITHIN 5 RETURN Pair(a.v AS v);
          FROM pairs, raw EVENT SEQ(Pair x, C c) WHERE x.v = c.v WITHIN 9;
          EVENT C c WHERE c.v = 9;
          FROM pairs EVENT Pair x WHERE x.v > 7"""
RAW: list[dict[str, Any]] = [
    {"type": letter, "ts": ts, "v": ts % 3} for ts, letter in enumerate("ABCABCAABBCC" * 4)
]


def test_plans_bear_the_names_of_their_statements() -> None:
    explained = sase.Script(TEXT).explain()
    assert list(explained) == ["pairs", "query_2", "query_3", "query_4"] and len(explained) == 4
    lines = str(explained).splitlines()
    assert [line for line in lines if line.startswith("statement")] == [
        "statement pairs, which reads raw as query_3 does",
        "statement query_2, which reads pairs, raw",
        "statement query_3, which reads raw as pairs does",
        "statement query_4, which reads pairs",
    ]
    assert "equal by the conditions: v" in explained["query_2"].to_text()
    assert "rewrites" in explained.to_text(verbose=True)


def test_what_happened_in_each_statement_is_told() -> None:
    script, streams = sase.Script(TEXT), {"raw": RAW}
    found = script.run(streams=streams)
    told = script.explain(streams=streams, analyze=True).to_dict()["statements"]
    assert {each["name"]: each["results"]["actual"] for each in told} == {
        name: len(matches) for name, matches in found.items()
    }
    assert [each["sources"] for each in told] == [["raw"], ["pairs", "raw"], ["raw"], ["pairs"]]
    compiled = sase.Script(TEXT, streams=streams)
    assert compiled.explain(streams=streams, analyze=True)["query_4"].results == 0


def test_why_is_told_of_one_statement() -> None:
    script, streams = sase.Script(TEXT), {"raw": RAW}
    pairs = len(script.run(streams=streams)["pairs"])
    why = script.why("query_4", streams=streams)
    assert f"none of the {pairs} Pair x passes x.v > 7: v goes from 0 to 1" in why.words
    mixed = script.why("query_2", streams=streams)
    assert mixed.rows == pairs + len(RAW)
    with pytest.raises(sase.PlanError, match="did you mean `pairs`"):
        script.why("pair", streams=streams)
    with pytest.raises(sase.PlanError, match="there are no events"):
        script.why("pairs")


def test_a_stream_in_which_nothing_was_found_is_explained() -> None:
    text = "CREATE STREAM s AS EVENT D d; FROM s EVENT s x; FROM s, raw EVENT SEQ(s x, A a)"
    script, streams = sase.Script(text), {"raw": RAW}
    assert script.why("query_2", streams=streams).rows == 0
    assert script.explain(streams=streams, analyze=True)["query_3"].results == 0
