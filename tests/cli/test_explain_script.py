"""`sase explain` and `sase why` of scripts name the statement that they speak of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sase.cli.main import main

EVENTS = "ts,type,user\n1,Failure,ann\n2,Failure,ann\n5,Success,bob\n"
SCRIPT = """CREATE STREAM pairs AS EVENT SEQ(Failure a, Failure b) WHERE [user] WITHIN 60
RETURN Pair(a.user AS user);
FROM pairs, logins EVENT SEQ(Pair p, Success s) WHERE [user] WITHIN 600
"""
INPUT = ("--input", "logins=logins.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logins.csv").write_text(EVENTS, encoding="utf-8")
    Path("rules.sase").write_text(SCRIPT, encoding="utf-8")


def test_explain_has_the_plan_of_each_statement(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rules.sase"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("statement pairs, which reads logins\n")
    assert "\n\nstatement query_2, which reads pairs, logins\n" in printed


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("text", "plan "), ("json", '{\n  "version"'), ("dot", "digraph plan {"),
        ("html", "<!doctype html>"),
    ],
)  # fmt: skip
def test_one_statement_is_explained_in_every_format(
    form: str, begin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "FROM logins EVENT Failure f WHERE f.user = 'ann'; FROM logins EVENT Success s"
    text = f"{SCRIPT};{more} WHERE s.user = 'bob'"
    named = ["--statement", "query_3", "--analyze", "--format", form]
    assert main(["explain", "-q", text, *INPUT, *named]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(begin)
    assert "Failure" in printed
    assert "query_2" not in printed
    assert "fused scan of admitted events" in " ".join(printed.split())


def test_analyze_says_what_each_statement_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rules.sase", *INPUT, "--analyze", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["statements"]
    assert [each["name"] for each in found] == ["pairs", "query_2"]
    assert all("actual" in json.dumps(each) for each in found)


def test_why_is_of_the_statement_that_no_other_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "rules.sase", *INPUT]) == 0
    printed = capsys.readouterr().out
    assert "Pair p" in printed
    assert "[user]" in printed


def test_why_of_a_statement_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "rules.sase", *INPUT, "--statement", "pairs"]) == 0
    printed = capsys.readouterr().out
    assert "Failure a" in printed
    assert "There is 1 match." in printed


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["explain", "rules.sase", "--analyze"], "give it --events or --input"),
        (["explain", "rules.sase", "--format", "dot"],
         "--format dot draws one statement: name it with  --statement ; there are pairs, query_2"),
        (["explain", "rules.sase", "--statement", "pears"], "did you mean `pairs`?"),
        (["explain", "-q", "EVENT Failure a", "--statement", "query_1"],
         "--statement does not go with a single query"),
        (["explain", "rules.sase", "--spark"], "--spark does not go with a script"),
        (["why", "-q", "EVENT Failure a; EVENT Success b", "--events", "logins.csv"],
         "several results, query_1, query_2, and one is expected here: name it with  --statement"),
        (["why", "rules.sase", *INPUT, "--statement", "pears"], "there is no statement `pears`"),
        (["why", "-q", "EVENT Failure a", "--events", "logins.csv", "--statement", "a"],
         "--statement does not go with a single query"),
    ],
)  # fmt: skip
def test_what_does_not_go(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert problem in capsys.readouterr().err
