"""Explanations of statements of scripts: plans, figures of the run, and why there is no match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.planning.explain.driven import GIVEN_NONE, NOT_TOLD, PhysicalPath
from sase.planning.physical.drive import NOT_FUSED, Feed, Need
from sase.planning.physical.line_drives import COUNTED

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


def test_what_statements_share_of_an_input_is_told() -> None:
    text = """FROM raw EVENT SEQ(A a, B b) WHERE a.v = 1 WITHIN 5; FROM raw EVENT A a WHERE a.v = 1;
              FROM raw EVENT SEQ(B b, C c) WHERE b.u = 'x' WITHIN 3; FROM raw EVENT B b;
              FROM raw EVENT SEQ(A a, C c) WITHIN 3 EVENTS; FROM other EVENT A a"""
    columns = [("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("u", pa.string())]
    schema = pa.schema(columns)
    explained = sase.Script(text, streams={"raw": schema, "other": schema}).explain()
    assert str(explained).split("\n\n")[-1].splitlines() == [
        "shared reading of raw: one pass for 5 statements",
        "  A v = 1 → query_1, query_2",
        "  B → query_1, query_4",
        "  2 kinds of events → a single statement each",
        "  every event → query_5",
    ]
    (shared,) = explained.to_dict()["shared"]
    assert (shared["input"], shared["of_all"], len(shared["statements"])) == ("raw", ["query_5"], 5)
    assert {"type": "B", "attribute": "u", "value": "x", "statements": ["query_3"]} in shared[
        "admitted"
    ]


def test_a_value_of_several_is_shared_with_who_asks_for_it_alone() -> None:
    text = """FROM raw EVENT SEQ(A a, B b) WHERE a.v IN (1, 2) AND b.v BETWEEN 3 AND 4 WITHIN 5;
              FROM raw EVENT A a WHERE a.v = 2; FROM raw EVENT B b WHERE b.v IN (4, 9)"""
    explained = sase.Script(text, streams={"raw": RAW}).explain()
    assert str(explained).split("\n\n")[-1].splitlines() == [
        "shared reading of raw: one pass for 3 statements",
        "  A v = 2 → query_1, query_2",
        "  B v = 4 → query_1, query_3",
        "  3 kinds of events → a single statement each",
    ]
    for each in explained.values():  # though each tests conditions, if events come to it alone
        taken = [path for path in each.physical if path.declined is None]
        assert [(path.name, path.feed) for path in taken] == [(OF_ADMITTED, Feed.SHARED)]


OF_ADMITTED = "fused scan of admitted events"


def shared_paths(explained: sase.Explanation) -> dict[str, PhysicalPath]:
    """The paths that execute, or do not, the events that a shared reading passes on."""
    return {path.name: path for path in explained.physical if path.feed is Feed.SHARED}


def test_conditions_that_are_left_to_test_are_not_fused() -> None:
    text = (
        "FROM raw EVENT SEQ(A a, B b) WHERE a.v != 1 WITHIN 5; FROM raw EVENT A a WHERE a.v = 1;"
        "FROM raw EVENT SEQ(A a, A b) WITHIN 5"
    )
    explained = sase.Script(text, streams={"raw": RAW}).explain()
    conditions, told, twice = map(shared_paths, explained.values())
    assert conditions[OF_ADMITTED].declined == twice[OF_ADMITTED].declined == NOT_TOLD
    assert told[OF_ADMITTED].declined is None
    # A statement with more conditions on its events scans them as by itself, if it may.
    assert [*conditions, *told] == [OF_ADMITTED, OF_ADMITTED]
    assert twice["fused scan"].declined is None
    assert "shared reading by the fused scan of admitted events" in explained["query_2"].to_text()


def test_what_executed_a_shared_reading_is_counted() -> None:
    rows = [{"type": "AB"[ts % 2], "ts": ts, "v": ts % 100} for ts in range(2_000)]
    texts = [f"EVENT SEQ(A a, B b) WHERE a.v = {v} AND b.v = {v + 1} WITHIN 5" for v in (2, 4)]
    script = sase.Script("; ".join([*texts, "EVENT SEQ(A a, B b) WITHIN 2"]), rows)
    *some, every = script.explain(rows, analyze=True).values()
    for each in some:
        (path,) = shared_paths(each).values()
        assert (path.events, path.matches, path.declined) == (40, 20, None)
        assert (
            "shared reading by the fused scan of admitted events, which took 40 events and found 20"
            in (" ".join(each.to_text().split()))
        )
    # Most events are given as they came, with those that its scan does not admit.
    counted, none = (shared_paths(every)[name] for name in ("fused scan", OF_ADMITTED))
    assert (counted.events, counted.matches) == (2_000, 1_000)
    assert (none.events, none.declined) == (None, GIVEN_NONE)


def test_who_took_over_in_a_shared_reading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared lines leave too many events to the fused lines; each is counted."""
    monkeypatch.setattr("sase.engine.pipeline.fused.lines.MOST_NUMBERS", 600)
    rows = [{"type": "ABC"[n % 3], "ts": n // 2, "id": n % 2} for n in range(600)]
    text = "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [id] } WITHIN 9"
    script = sase.Script(f"{text}; EVENT SEQ(A a, C c) WHERE [id] WITHIN 9", rows)
    explained = script.explain(rows, analyze=True)["query_1"]
    (use, *_), paths = script.run(rows)["query_1"].report.fused[::-1], shared_paths(explained)
    assert (use.path, use.events) == ("fused lines", 600)
    assert (paths["fused lines"].events, paths["fused lines"].matches) == (600, use.matches)
    assert paths["shared lines"].refused == Need.FEW_EVENTS.value
    said = " ".join(explained.to_text().split())
    assert (
        f"shared reading by the fused lines, which took 600 events and found {use.matches:,}"
        in said
    )
    # By itself, with ANALYZE, it is counted run by run.
    assert f"declined shared lines of loaded events: {COUNTED}" in said


def test_what_declines_is_told_of_a_run_too() -> None:
    text = "EVENT SEQ(A a, B b) WHERE a.v != 1 WITHIN 5; EVENT A a WHERE a.v = 1"
    explained = sase.Script(text, RAW).explain(RAW, analyze=True)["query_1"]
    assert [*shared_paths(explained).values()] == [
        path for path in explained.physical if path.name == OF_ADMITTED
    ]
    assert shared_paths(explained)[OF_ADMITTED].declined == NOT_TOLD


def test_nothing_is_fused_of_a_shared_reading_where_that_is_switched_off() -> None:
    text = "FROM raw EVENT A a WHERE a.v = 1; FROM raw EVENT A a WHERE a.v = 2"
    explained = sase.Script(text, streams={"raw": RAW}, plan="unfused").explain()
    for each in explained.values():
        assert {path.declined for path in each.physical} == {NOT_FUSED.reason}
        assert "driven: block by block\n" in each.to_text()


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
    assert f"none of the {pairs} Pair x passes x.v > 7: v ranges from 0 to 1" in why.words
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


TWO = TEXT.partition("FROM pairs, raw")[0] + "FROM pairs EVENT Pair x WHERE x.v > 7"


def test_explain_takes_a_script_and_tells_of_one_statement() -> None:
    streams, script = {"raw": RAW}, sase.Script(TWO)
    of_all = script.explain(streams=streams)
    assert str(sase.explain(TWO, streams=streams)) == str(of_all["query_2"])
    assert str(sase.explain(TWO, statement="pairs", streams=streams)) == str(of_all["pairs"])
    assert str(sase.explain(TWO, RAW)) == str(of_all["query_2"])
    assert str(sase.explain(TWO)) == str(script.explain()["query_2"])
    schema = sase.Schema(time="ts")
    by_schema = sase.Script(TWO, schema).explain()["query_2"]
    assert str(sase.explain(TWO, schema=schema)) == str(by_schema)
    assert str(sase.explain(TWO, streams={"raw": schema})) == str(by_schema)
    ran = sase.explain(TWO, streams=streams, statement="pairs", analyze=True, limit=2)
    assert ran.results == 2 < of_all["pairs"].expected_results


def test_why_takes_a_script_and_tells_of_one_statement() -> None:
    streams, script = {"raw": RAW}, sase.Script(TWO)
    assert str(sase.why(TWO, RAW)) == str(script.why("query_2", streams=streams))
    by_name = sase.why(TWO, statement="pairs", streams=streams, near=2)
    assert str(by_name) == str(script.why("pairs", streams=streams, near=2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"events": RAW}, "several results, query_2, query_3, query_4, .* with  statement=…"),
        ({"events": RAW, "statement": "pear"}, "no statement `pear`: did you mean `pairs`"),
    ],
)
def test_a_statement_must_be_chosen_of_several(given: Any, words: str) -> None:
    text = TEXT.replace("FROM pairs, raw", "FROM pairs").replace("C c) WHERE x.v = c.v", "Pair c)")
    with pytest.raises(sase.PlanError, match=words):
        sase.explain(text, **given)
    with pytest.raises(sase.PlanError, match=words):
        sase.why(text, **given)


def test_why_of_a_script_needs_events() -> None:
    with pytest.raises(sase.PlanError, match="there are no events: give them"):
        sase.why(TWO)
    with pytest.raises(sase.PlanError, match="a schema has no events"):
        sase.why(TWO, sase.Schema())
    with pytest.raises(sase.PlanError, match="there is no statement `x`: query_1"):
        sase.why("EVENT A a", RAW, statement="x")


def test_ranges_are_shown_with_who_asks_for_them() -> None:
    text = """FROM raw EVENT SEQ(A a, B b) WHERE a.v > 1 AND a.v <= 90 AND b.f >= 1.5 WITHIN 5;
              FROM raw EVENT A a WHERE a.v BETWEEN 2 AND 90; FROM raw EVENT B b WHERE b.f >= 1.5;
              FROM raw EVENT C c WHERE c.v < 5; FROM raw EVENT C d WHERE 5 > d.v"""
    columns = [("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("f", pa.float64())]
    explained = sase.Script(text, streams={"raw": pa.schema(columns)}).explain()
    assert str(explained).split("\n\n")[-1].splitlines()[1:] == [
        "  A v 2 to 90 → query_1, query_2",
        "  B f >= 1.5 → query_1, query_3",
        "  C v <= 4 → query_4, query_5",
    ]
    assert all(shared_paths(each)[OF_ADMITTED].declined is None for each in explained.values())
    (shared,) = explained.to_dict()["shared"]
    assert shared["admitted"][0]["value"] == {"from": 2, "below": 91}
    assert '"below": 5' in explained.to_json()


def test_how_many_events_each_statement_was_given_is_told_of_a_run() -> None:
    rows = [{"type": "A" if ts % 50 else "B", "ts": ts, "v": ts} for ts in range(1, 1001)]
    text = "EVENT SEQ(B b, A a) WHERE a.v = 501; EVENT A a WHERE a.v > 990; EVENT A a"
    script = sase.Script(text)
    explained = script.explain(rows, analyze=True)
    line = "  given of 1,000 events: 21 to query_1, 9 to query_2, 1,000 to query_3"
    assert str(explained).splitlines()[-1] == line
    (shared,) = explained.to_dict()["shared"]
    assert (shared["events"], shared["given"]["query_2"]) == (1000, 9)
    (expected,) = script.explain(rows).to_dict()["shared"]
    assert (expected["events"], expected["given"]) == (None, {})


def test_the_keys_whose_texts_are_looked_up_once_are_told() -> None:
    rows = [{"type": "A", "ts": 1, "k": "x", "n": 3, "m": "y"}]
    text = (
        "EVENT SEQ(A a, B b) WHERE [k] AND [n]; EVENT SEQ(A a, B b) WHERE [k] AND [m] WITHIN 4;"
        " EVENT SEQ(B a, A b) WHERE a.k = 'x'"
    )
    explained = sase.Script(text, rows).explain()
    assert "  texts of k, pushed, coded once for query_1, query_2" in str(explained).splitlines()
    (shared,) = explained.to_dict()["shared"]
    assert shared["texts"] == {"k": ["query_1", "query_2"]}


def test_the_conditions_that_are_evaluated_once_are_told() -> None:
    rows = [{"type": "AB"[ts % 2], "ts": ts, "s": "xyz"[ts % 3], "big": 2**62} for ts in range(60)]
    text = (
        "EVENT SEQ(A a, B b) WHERE a.s LIKE 'x%' AND b.s != 'z' WITHIN 4;"
        " EVENT SEQ(B a, A b) WHERE b.s LIKE 'x%' WITHIN 4;"
        " EVENT SEQ(A c, !(B d)) WHERE c.s LIKE 'x%' AND d.s != 'z' WITHIN 4;"
        " EVENT A a WHERE a.big + a.big > 0; EVENT A b WHERE b.big + b.big > 0;"
        " EVENT A a WHERE a.ts = 4; EVENT A a WHERE a.ts = 4"
    )
    script = sase.Script(text, rows)
    lines = [line for line in str(script.explain()).splitlines() if "tested by" in line]
    assert lines == [
        "  A e: e.s LIKE 'x%', tested by 3, evaluated at most once",
        "  B e: e.s != 'z', tested by 2, evaluated at most once",
        "  A e: e.big + e.big > 0, tested by 2, evaluated at most once",
    ]
    ran = script.explain(rows, analyze=True)
    assert [line for line in str(ran).splitlines() if "tested by" in line] == [
        "  A e: e.s LIKE 'x%', tested by 3, evaluated once, of 30 events",
        "  B e: e.s != 'z', tested by 2, evaluated once, of 30 events",
        "  A e: e.big + e.big > 0, tested by 2, evaluated by each",
    ]
    (shared,) = ran.to_dict()["shared"]
    first, *_, last = shared["conditions"]
    assert first == {
        "condition": "A e: e.s LIKE 'x%'", "statements": ["query_1", "query_2", "query_3"],
        "evaluated": 30,
    }  # fmt: skip
    assert last["evaluated"] == 0


def test_what_is_matched_together_is_told() -> None:
    rows = [{"type": "AB"[ts % 2], "ts": ts, "k": ts % 3} for ts in range(40)]
    pattern = "EVENT SEQ(A a, B b) WHERE [k] WITHIN"
    texts = [f"{pattern} {window} RETURN a.k AS k, '{window}' AS rule" for window in (5, 9, 5)]
    texts += [f"{pattern} 20", f"{pattern} 30 LIMIT 1", f"{pattern} 20"]
    negated = "EVENT SEQ(A a, !(B b)) WHERE [k] WITHIN"
    script = sase.Script(";".join([*texts, f"{negated} 5", f"{negated} 6"]), rows)

    def lines(**given: Any) -> list[str]:
        text = str(script.explain(**given))
        return [each for each in text.splitlines() if "matching for" in each or "apart" in each]

    apart = [
        "  query_5 matched apart, though alike: LIMIT takes the first results",
        "  query_7, query_8 matched apart, though alike: a negated start or end reaches as far"
        " as the window",
    ]
    assert lines() == [
        "  one matching for query_2 (9), query_1 (5), query_3 (5)",
        "  one matching for query_4 (20), query_6 (20)",
        *apart,
    ]
    assert lines(events=rows, analyze=True) == [
        "  one matching for query_2 (9), query_1 (5), query_3 (5): 19 found",
        "  one matching for query_4 (20), query_6 (20): 48 found",
        *apart,
    ]
    (shared,) = script.explain(rows, analyze=True).to_dict()["shared"]
    assert shared["matchings"][1] == {
        "windows": {"query_4": "20", "query_6": "20"},
        "last": {"query_4": ["B"], "query_6": ["B"]},
        "asked": {"query_4": "", "query_6": ""},
        "found": 48,
    }
    assert list(shared["apart"]) == ["query_5", "query_7", "query_8"]
    assert len(script.run(rows)["query_2"]) == 19
