"""`sase import sigma`: the script, or the parts without an equal; the page shows the output."""

import shlex
from pathlib import Path

import pytest

from sase.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sigma.md").read_text(encoding="utf-8")
BLOCKS = [block.split("```")[0] for block in PAGE.split("```console\n$ ")[1:]]
RULE = "title: A\nlogsource: {service: x}\ndetection: {s: {User: ann}, condition: s}\n"
SCRIPT = "-- A\nCREATE STREAM a AS\nFROM x\nEVENT ANY e\nWHERE lower(e.User) = 'ann'\n"


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_the_page_shows_what_is_printed(
    block: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command, _, output = block.partition("\n")
    status = main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert printed.out + printed.err == output
    assert status == (2 if printed.err else 0)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.yml"
    path.write_text(RULE, encoding="utf-8")
    return str(path)


def test_to_a_file(rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rules.sase"
    assert main(["import", "sigma", rules, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == SCRIPT
    assert capsys.readouterr() == ("", "")


def test_one_input_and_one_type(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "sigma", rules, "--one-input", "--type", "Log-On"]) == 0
    expected = SCRIPT.replace("FROM x\n", "").replace("ANY e", "Log-On e")
    assert capsys.readouterr().out == expected


def test_rules_in_several_files_refer_to_each_other(
    rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yml"
    text = "title: B\ncorrelation: {type: temporal, rules: [a], group-by: [User], timespan: 2s}\n"
    other.write_text(text, encoding="utf-8")
    assert main(["import", "sigma", str(other), rules]) == 0
    script = capsys.readouterr().out
    assert "FROM a\nEVENT a e1\nWHERE e1.User IS NOT NULL\nWITHIN 2 seconds" in script
    assert main(["import", "sigma", str(other)]) == 2
    assert "there is no rule a" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "problem"), [(None, "there are no rules"), ("", "no rule in")])
def test_nothing(
    text: str | None, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.yml"
    path.write_text(text or "", encoding="utf-8")
    assert main(["import", "sigma", *([] if text is None else [str(path)])]) == 2
    assert problem in capsys.readouterr().err


def test_without_the_reader_of_yaml(
    rules: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    assert main(["import", "sigma", rules]) == 2
    assert "pip install 'sase[sigma]'" in capsys.readouterr().err
