"""Scripts: statements that read the matches of others, run over events and pushed to."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.api.compiled_query import CompiledQuery
from sase.api.execution import LEAST_SAMPLE
from sase.binding.script.script import StatementGraph
from sase.planning.statistics import Statistics

Rows = list[dict[str, Any]]
PAIRS = """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WITHIN 2 RETURN Pair(a.ts AS at, b.v AS v);
           FROM pairs EVENT SEQ(Pair p, Pair q) WHERE p.v < q.v;
           EVENT C c"""


def events(text: str) -> Rows:
    """`A1 B2x` is a row of type A at time 1 and one of type B at time 2 with `v` "x"."""
    return [{"type": word[0], "ts": int(word[1]), "v": word[2:] or None} for word in text.split()]


def rows(found: dict[str, sase.Matches]) -> dict[str, list[list[int]]]:
    return {
        name: [list(each.values()) for each in matches.rows.to_pylist()]
        for name, matches in found.items()
    }


def pushed(script: sase.Script, *batches: Rows) -> dict[str, list[list[int]]]:
    """The rows of all matches of a script with one input, to which batches are pushed."""
    matcher, found = script.open(), dict[str, list[list[int]]]()
    parts = [*(matcher.push(None, batch) for batch in batches), matcher.finish()]
    for name, each in [item for part in parts for item in rows(part).items()]:
        found.setdefault(name, []).extend(each)
    return found


def test_statements_read_what_others_find() -> None:
    found = sase.Script(PAIRS).run(events("A1 B2x C3 A4 B5y"))
    assert rows(found) == {"pairs": [[0, 1], [3, 4]], "query_2": [[0, 1]], "query_3": [[2]]}
    assert found["query_2"].to_pylist()[0]["q"] == {"at": 4, "v": "y", "ts": 5}
    assert found["pairs"].type_name == "Pair"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pushes_find_what_a_run_finds(size: int) -> None:
    every = events("A1 B2x C3 A4 B5y")
    script = sase.Script(PAIRS, every)
    batches = [every[at : at + size] for at in range(0, len(every), size)]
    assert pushed(script, *batches) == rows(script.run(every))


def test_statements_are_in_the_order_of_the_text() -> None:
    script = sase.Script("FROM s EVENT s x; CREATE STREAM s AS EVENT A a")
    assert list(script.run(events("A1"))) == ["query_1", "s"] == list(script.statements)


def test_an_error_is_shown_in_the_script() -> None:
    text = "CREATE STREAM s AS EVENT A a RETURN a.v AS w;\nFROM s EVENT s x WHERE x.v = 'y'"
    with pytest.raises(sase.BindingError) as caught:
        sase.Script(text).run(events("A1"))
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.line, problem.column) == ("unknown-attribute", 2, 26)
    assert "2 | FROM s EVENT s x WHERE x.v = 'y'" in str(problem)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("CREATE STREAM a AS FROM b EVENT b x; CREATE STREAM b AS FROM a EVENT a x", "cycle",
         "a reads b reads a"),
        ("CREATE STREAM a AS FROM a EVENT a x", "cycle", "a reads a"),
        ("EVENT A x; FROM query_1 EVENT A x", "unknown-stream", "names results"),
        ("EVENT A x; FROM pears EVENT A x; CREATE STREAM pairs AS EVENT A x", "unknown-stream",
         "did you mean `pairs`"),
        ("CREATE STREAM a AS EVENT A x; CREATE STREAM a AS EVENT B x", "stream-named-twice", "a"),
        ("EVENT A x; CREATE STREAM query_1 AS EVENT A x", "stream-named-twice", "statement 1"),
        ("CREATE STREAM a AS EVENT A x; FROM a, a EVENT a x", "read-twice", "`a` is read twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_names(text: str, code: str, words: str) -> None:
    with pytest.raises(sase.BindingError) as caught:
        sase.Script(text, events("A1"), strict=True)
    assert [each.code for each in caught.value.diagnostics] == [code]
    assert words in str(caught.value)


def test_a_matcher_knows_its_inputs() -> None:
    matcher = sase.Script("FROM logins EVENT A a").open()
    with pytest.raises(sase.PlanError, match="did you mean `logins`"):
        matcher.push("login", events("A1"))
    assert rows(matcher.push("logins", events("A1"))) == {"query_1": [[0]]}


@pytest.mark.parametrize(
    ("text", "given", "found"),
    [
        ("CREATE STREAM s AS EVENT SEQ(A a, B b); FROM s EVENT s x LIMIT 1", {}, 1),
        ("EVENT A a;", {}, 2),
        ("FROM p EVENT A a", {"streams": {"p": events("A1 A2 B3")}}, 2),
        ("EVENT A a", {"streams": {"p": events("A1 A2 B3")}}, 2),
        ("FROM p EVENT A a", {"streams": {"p": events("A1 A2")}, "limit": 1}, 1),
        ("CREATE STREAM s AS EVENT A a; FROM s EVENT SEQ(s x, s y)", {"output": "non_overlap"}, 1),
    ],
)
def test_match_takes_a_script_of_one_result(text: str, given: Any, found: int) -> None:
    given = given if "streams" in given else {"events": events("A1 A2 B3"), **given}
    assert len(sase.match(text, **given)) == found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("FROM p EVENT SEQ(A a, B b)", "p"),
        ("EVENT SEQ(A a, B b)", "p"),
        ("-- a pair\nCREATE STREAM s AS EVENT SEQ(A a, B b)", None),
    ],
)
def test_a_statement_alone_over_one_input_is_matched_as_a_query(
    text: str, name: str | None
) -> None:
    rows_of = events("A1 A2 B3 B4")
    given: Any = {"events": rows_of} if name is None else {"streams": {name: rows_of}}
    expected = sase.match("EVENT SEQ(A a, B b)", rows_of).to_pylist()
    assert sase.match(text, **given, threads=2).to_pylist() == expected
    assert sase.match(text, **given, stats=Statistics(4)).to_pylist() == expected
    assert sase.match(text, **given, output="count") == len(expected) == 4
    found = sase.match(text, **given, output="compressed")
    assert (found.count(), found.where("b.ts > 3").count()) == (4, 2)


def test_a_statement_is_planned_as_explain_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lone one by statistics, as a query is; one of several by none but those of EXPLAIN."""
    measured = list[int]()
    of_query = CompiledQuery.measured

    def counted(known: CompiledQuery, found: Any, sample: int) -> Statistics:
        measured.append(sample)
        return of_query(known, found, sample)

    monkeypatch.setattr(CompiledQuery, "measured", counted)
    many = [{"type": "AB"[ts % 2], "ts": ts} for ts in range(2_000)]
    query = "EVENT SEQ(A a, B b) WITHIN 2"
    for text, streams in (
        (query, None),
        (query, {"p": many}),
        (f"FROM p {query}", {"p": many}),
        (f"CREATE STREAM s AS {query}", None),
    ):
        measured.clear()
        given: Any = {"events": many} if streams is None else {"streams": streams}
        assert len(sase.match(text, **given)) == 1_000
        (found,) = sase.Script(text).run(**given).values()
        assert len(found) == 1_000
        explained = sase.explain(text, **given)
        assert measured == [LEAST_SAMPLE] * 3
        (statement,) = sase.Script(text).explain(**given).values()
        assert str(statement).splitlines()[1:] == str(explained).splitlines()[1:]
    measured.clear()
    assert len(sase.Script(f"{query}; EVENT A a").run(many)["query_1"]) == 1_000
    assert not measured


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("EVENT A a; EVENT B b", {}, "several results, query_1, query_2"),
        ("FROM p EVENT A a", {}, "the events have no name"),
        ("EVENT A a; EVENT B b", {"output": "count"}, "is of one query"),
        ("CREATE STREAM s AS EVENT A a; FROM s EVENT s x", {"max_matches": 1}, "max_matches"),
        ("CREATE STREAM s AS EVENT A a; FROM s EVENT s x", {"timeout": 1e-9}, "timeout"),
    ],
)
def test_what_match_refuses_of_scripts(text: str, given: Any, words: str) -> None:
    with pytest.raises(sase.SaseError, match=words):
        sase.match(text, events("A1 A2 B3"), **given)
    with pytest.raises(sase.PlanError, match="there are no events"):
        sase.match("EVENT A a")


def test_a_run_of_a_script_is_limited() -> None:
    script = sase.Script("EVENT A a; EVENT B b")
    with pytest.raises(sase.BudgetError, match="`query_1` has more than 1 match"):
        script.run(events("A1 A2 B3"), max_matches=1)
    with pytest.raises(sase.TimeLimitError):
        script.run(events("A1 A2 B3"), timeout=1e-9)


def test_a_name_after_from_in_a_query_by_itself_is_an_error() -> None:
    with pytest.raises(sase.BindingError, match="there is no stream `p`: a query by itself"):
        sase.compile("FROM p EVENT A a", events("A1"))
    with pytest.raises(sase.QuerySyntaxError, match="one query is expected here"):
        sase.compile("CREATE STREAM s AS EVENT A a", events("A1"))


def test_long_chains_have_an_order() -> None:
    count = 1200
    links = (f"CREATE STREAM s{n} AS FROM s{n + 1} EVENT s{n + 1} x" for n in range(count))
    text = ";".join([*links, f"CREATE STREAM s{count} AS EVENT A x"])
    order = [each.name for each in StatementGraph.of(text).order]
    assert order == [f"s{n}" for n in range(count, -1, -1)]


def test_what_an_input_lacks_is_said_with_its_name() -> None:
    text = "FROM a EVENT A x; FROM b EVENT A x"
    streams = {"a": [{"ts": 1, "type": "A"}], "b": [{"when": 1, "type": "A"}]}
    with pytest.raises(sase.SchemaError, match="input `b`: there is no time column `ts`"):
        sase.Script(text, streams=streams)
