"""`sase funnel` prints the funnel of its page."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from sase.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "funnel.md").read_text(encoding="utf-8")
    lines = page.split("```console\n$ sase ")[1].partition("```")[0]
    return lines.replace("\\\n", " ").splitlines()


def test_the_table(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command[0])) == 0
    assert capsys.readouterr().out.splitlines() == command[1:]


def test_other_forms(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*shlex.split(command[0]), "--format", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["keys"] for step in steps] == [30, 28, 28]
    assert main([*shlex.split(command[0]), "--format", "html"]) == 0
    assert capsys.readouterr().out.startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "case_id", "--steps", "a,b"], "name their files with  --events"),
        (["--by", "case", "--steps", "a,b", "--events", "examples/logs/process.csv"], "`case_id`"),
    ],
)
def test_errors(
    command: list[str], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command and main(["funnel", *arguments]) in (1, 2)
    assert said in capsys.readouterr().err
