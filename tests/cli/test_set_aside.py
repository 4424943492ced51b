"""Commands over scripts: statements on types that the events lack are set aside."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sase.cli.main import main

RULES = """EVENT SEQ(A a, B b) WHERE [k];
CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE a.user = b.user RETURN Pair(a.k AS k);
FROM pairs EVENT Pair p
"""
TOLD = [
    "sase: warning: pairs is set aside: `user` (script:2:52): the events have no column `user`",
    "sase: warning: query_3 is set aside: `pairs` (script:3:6): this reads `pairs`, which is set",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("ts,type,k\n1,A,7\n2,B,7\n", encoding="utf-8")
    Path("rules.sase").write_text(RULES, encoding="utf-8")


def assert_told(text: str) -> None:
    told = [line for line in text.splitlines() if "is set aside" in line]
    assert [line.startswith(start) for line, start in zip(told, TOLD, strict=True)] == [True] * 2


def test_the_others_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "rules.sase", "--events", "events.csv", "-o", "found"]) == 0
    told = capsys.readouterr().err
    assert_told(told)
    assert "1 match of 1 statement (2 set aside) in 2 rows" in told
    assert pq.read_table("found/query_1.parquet").num_rows == 1
    assert [each.name for each in Path("found").iterdir()] == ["query_1.parquet"]


def test_the_others_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, Path("events.csv").read_bytes())
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["run", "rules.sase", "--events", "-", "--follow"]) == 0
    told = capsys.readouterr()
    assert_told(told.err)
    assert [json.loads(each)["query"] for each in told.out.splitlines()] == ["query_1"]


def test_the_others_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rules.sase", "--events", "events.csv"]) == 0
    told = capsys.readouterr().out
    assert told.count("statement query") == 1
    assert "\nset aside: pairs: `user` (script:2:52): the events have no column `user`" in told
    assert "\nset aside: query_3: " in told
    words = ["explain", "rules.sase", "--events", "events.csv", "--statement", "pairs"]
    assert main(words) == 2
    assert "--statement pairs: it is set aside: `user`" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run"], ["run", "--follow"], ["explain"], ["replay"]])
def test_strict_refuses(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "rules.sase", "--events", "events.csv", "--strict"]) == 2
    told = capsys.readouterr()
    assert "the events have no column `user`" in told.err
    assert (told.out, "set aside" in told.err) == ("", False)


def test_a_check_tells_every_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "rules.sase", "--events", "events.csv"]) == 2
    assert "the events have no column `user`" in capsys.readouterr().out


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_rules_of_an_input_that_is_not_given_are_set_aside(
    follow: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rules.sase").write_text(
        "FROM logins EVENT A a;\nFROM payments EVENT Pay p;\nFROM payments EVENT Pay p\n", "utf-8"
    )

    def run(*words: str) -> int:
        source = "-" if follow else "events.csv"
        with Path("events.csv").open(encoding="utf-8") as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            return main(["run", "rules.sase", "--input", f"logins={source}", *follow, *words])

    assert run() == 0
    told = capsys.readouterr()
    assert (
        "query_2 is set aside: `payments` (script:2:6): there is no stream `payments`" in told.err
    )
    assert run("--strict") == 2
    assert "error[unknown-stream]: there is no stream `payments`" in capsys.readouterr().err
    assert main(["check", "rules.sase", "--input", "logins=events.csv"]) == 2
    assert capsys.readouterr().out.count("error[unknown-stream]") == 2


def test_an_imported_rule_whose_field_is_lacking_is_set_aside(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rule = "title: {0}\nlogsource: {{product: x}}\ndetection:\n  s:\n    {0}: 7\n  condition: s\n"
    Path("rules.yml").write_text("---\n".join(map(rule.format, ["k", "user"])), encoding="utf-8")
    assert main(["import", "sigma", "rules.yml", "-o", "sigma.sase"]) == 0
    capsys.readouterr()
    assert main(["run", "sigma.sase", "--input", "x=events.csv"]) == 0
    told = capsys.readouterr()
    assert "the events have no column `user`" in told.err
    assert "(1 set aside)" in told.err
    assert "2 matches" in told.out
