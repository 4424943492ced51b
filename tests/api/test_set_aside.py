"""Statements that name types that the events lack are set aside by name; others run."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import sase
from sase.errors import BindingError, QuerySyntaxError, StatementError, StatementWarning

EVENTS = pa.table({"ts": [1, 2, 3], "type": ["A", "B", "C"], "k": [1, 1, 1], "s": ["x", "y", "z"]})
GOOD = "EVENT SEQ(A a, B b) WHERE [k]"
LACKING = "EVENT SEQ(A a, B b) WHERE a.user = b.user"
TEXT = f"""
{GOOD};
CREATE STREAM pairs AS {LACKING} RETURN Pair(a.k AS k);
CREATE STREAM more AS FROM pairs EVENT Pair p RETURN More(p.k AS k);
FROM more EVENT More m;
EVENT C c WHERE c.s > 3;
EVENT C c
"""
ASIDE = {
    "pairs": "the events have no column `user`",
    "more": "this reads `pairs`, which is set aside",
    "query_4": "this reads `more`, which is set aside",
    "query_5": "they cannot be compared",
}


def warned() -> pytest.WarningsRecorder:
    return pytest.warns(StatementWarning, match="pairs is set aside: `user` .*: the events have no")


def assert_aside(found: object) -> None:
    assert isinstance(found, dict)
    assert [*found] == [*ASIDE]
    assert all(ASIDE[name] in reason for name, reason in found.items())


def test_the_others_run() -> None:
    with warned():
        found = sase.Script(TEXT).run(EVENTS)
    assert {name: len(each) for name, each in found.items()} == {"query_1": 1, "query_6": 1}
    with warned():
        script = sase.Script(TEXT, EVENTS.schema)
    assert script.statements == ("query_1", "query_6")
    assert_aside(script.set_aside)
    matcher = script.open()
    assert_aside(matcher.set_aside)
    pushed = matcher.push(None, EVENTS)
    assert {name: len(each) for name, each in pushed.items()} == {"query_1": 1, "query_6": 1}


def test_to_look_up_one_says_that_it_is_set_aside_and_why() -> None:
    with warned():
        script = sase.Script(TEXT, EVENTS)
    matcher = script.open()
    results = {
        "run": script.run(EVENTS),
        "explain": script.explain(EVENTS),
        "push": matcher.push(None, EVENTS),
        "finish": matcher.finish(),
        "reports": matcher.reports,
        "copy": pickle.loads(pickle.dumps(script.run(EVENTS))),
    }
    for way, found in results.items():
        for name, reason in ASIDE.items():
            assert name not in found, way
            assert found.get(name) is None, way
            with pytest.raises(StatementError) as told:
                found[name]
            assert isinstance(told.value, KeyError)
            assert str(told.value).startswith(f"{name} is set aside: `"), way
            assert reason in str(told.value)
        with pytest.raises(KeyError, match="'query_9'"):
            found["query_9"]


def test_a_running_script_goes_on_without_them() -> None:
    with warned():
        script = sase.Script(TEXT, EVENTS)
    matcher = script.open()
    assert matcher.add("EVENT A a") == ("query_7",)
    with pytest.raises(BindingError, match="no column `user`"):
        matcher.add(LACKING)
    matcher.remove("query_1")
    restored = matcher.script.restore(matcher.snapshot())
    assert {*restored.push(None, EVENTS)} == {"query_6", "query_7"}


def test_explanations_name_them() -> None:
    explained = sase.Script(TEXT).explain(EVENTS)
    assert [*explained] == ["query_1", "query_6"]
    assert_aside(explained.to_dict()["set_aside"])
    assert "\nset aside: pairs: `user`" in explained.to_text()
    assert "set aside: more: " in str(explained)
    script = sase.Script(TEXT)
    assert script.why("query_6", EVENTS).matches.number == 1
    with pytest.raises(BindingError, match="no column `user`"):
        script.why("pairs", EVENTS)
    with pytest.raises(BindingError, match="which is set aside"):
        sase.explain(TEXT, EVENTS, statement="more")
    assert "plan" in str(sase.explain(TEXT, EVENTS, statement="query_6"))


OF_TWO = """
FROM logins EVENT A a;
CREATE STREAM done AS FROM payments EVENT A a RETURN Pay(a.k AS k);
FROM logins, done EVENT Pay p;
FROM logins, payments EVENT A a;
FROM login EVENT A a
"""


def test_what_reads_an_input_that_is_not_given_is_set_aside() -> None:
    logins = {"logins": EVENTS}
    with pytest.warns(
        StatementWarning, match=r"done is set aside: `payments` \(script:3:28\): there"
    ):
        found = sase.Script(OF_TWO).run(streams=logins)
    assert [*found] == ["query_1"]
    reasons = {
        "done": "there is no stream `payments`; there are done, logins; an input of that name",
        "query_3": "this reads `done`, which is set aside",
        "query_4": "there is no stream `payments`",
        "query_5": "there is no stream `login`; did you mean `logins`?",
    }
    for name, reason in reasons.items():
        with pytest.raises(StatementError) as told:
            found[name]
        assert reason in str(told.value)
    with pytest.warns(StatementWarning):
        script = sase.Script(OF_TWO, streams=logins)
    assert script.statements == ("query_1",)
    assert script.inputs == ("logins",)
    assert [*script.set_aside] == [*reasons]
    matcher = script.open()
    assert [*matcher.push("logins", EVENTS)] == ["query_1"]
    with pytest.raises(BindingError, match="there is no stream `payments`"):
        matcher.add("FROM payments EVENT A a")
    assert [*script.restore(matcher.snapshot()).set_aside] == [*reasons]
    assert [*sase.Script(OF_TWO).explain(streams=logins).set_aside] == [*reasons]
    assert (
        len(
            sase.Script(OF_TWO).run(
                streams={each: EVENTS for each in ("logins", "payments", "login")}
            )
        )
        == 5
    )


def test_an_input_that_is_not_given_is_an_error_of_a_strict_script_or_of_all() -> None:
    for text, strict in ((OF_TWO, True), ("FROM payments EVENT A a; FROM x EVENT A a", False)):
        with pytest.raises(BindingError, match="there is no stream `payments`"):
            sase.Script(text, strict=strict).run(streams={"logins": EVENTS})
    with pytest.raises(BindingError, match="there is no stream `payments`"):
        sase.match("FROM payments EVENT A a", streams={"logins": EVENTS})
    wrong = "FROM payments EVENT A a; FROM query_1 EVENT A a; FROM logins EVENT A a"
    with pytest.raises(BindingError) as told:
        sase.Script(wrong, streams={"logins": EVENTS})
    assert [each.span.start for each in told.value.diagnostics] == [5, 30]


def test_what_is_asked_for_one_result_is_refused() -> None:
    """A match of the only result cannot be of another statement than it is of other events."""
    text = f"CREATE STREAM pairs AS {LACKING} RETURN Pair(a.k AS k); FROM pairs EVENT Pair p"
    for tell in (sase.match, sase.explain, sase.why):
        with pytest.raises(BindingError, match="no column `user`"):
            tell(text, EVENTS)


def test_a_strict_script_is_refused() -> None:
    with pytest.raises(BindingError, match="no column `user`"):
        sase.Script(TEXT, EVENTS, strict=True)
    for call in (sase.Script(TEXT, strict=True).run, sase.Script(TEXT, strict=True).explain):
        with pytest.raises(BindingError, match="no column `user`"):
            call(EVENTS)


@pytest.mark.parametrize(
    "wrong",
    [
        "EVENT SEQ(A a, B b) WHERE a.k = c.k",  # of any events
        "EVENT SEQ(A a, B b) WHERE a.user = c.k",
        "EVENT SEQ(A a, B b) WHERE a.k = :k",
        "EVENT SEQ(A a, B b) WITHIN 5 minutes",  # an argument gives the unit of times
    ],
)
def test_what_is_wrong_of_any_events_is_refused(wrong: str) -> None:
    with pytest.raises(BindingError):
        sase.Script(f"{GOOD}; {wrong}").run(EVENTS)


def test_syntax_errors_are_refused() -> None:
    with pytest.raises(QuerySyntaxError):
        sase.Script(f"{GOOD}; EVENT SEQ(A a,, B b)")


def test_a_script_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(BindingError) as told:
        sase.Script(f"{LACKING}; EVENT A a WHERE a.who = 3").run(EVENTS)
    assert [each.message for each in told.value.diagnostics if "no column" in each.message] == [
        "the events have no column `user`",
        "the events have no column `user`",
        "the events have no column `who`",
    ]
