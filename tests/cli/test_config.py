"""`sase.toml`: default options of `sase run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sase.cli import run as command
from sase.cli.config import OPTIONS
from sase.cli.main import main
from sase.cli.parser import CommandParser

QUERY = "EVENT SEQ(A a, B b) WITHIN 5 s RETURN b.v"
ROWS = "when,type,v\n1000,A,1\n2000,B,NA\n3000,B,7\n"
CONFIG = '[run]\nevents = "data/e.csv"\ntime = "when"\ntime-unit = "ms"\nnull = ["NA"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below that of the configuration."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "e.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "sase.toml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "work" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "deep")
    return tmp_path


def test_a_parent_has_the_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-v", "run", "-q", QUERY, "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert [line.split(",")[0] for line in out.splitlines()] == ['"b_v"', "", "7"]
    assert f"sase: options of {folder / 'sase.toml'}" in err


def test_the_command_line_wins(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", QUERY, "--time-unit", "s", "--output", "count"]) == 0
    assert capsys.readouterr().out == "0\n"
    (folder / "other.csv").write_text(ROWS.replace("NA", "9"), encoding="utf-8")
    other = ["--events=../../other.csv", "--null", "7"]
    assert main(["run", "-q", QUERY, *other, "--format", "csv"]) == 0
    out = capsys.readouterr().out
    assert [line.split(",")[0] for line in out.splitlines()] == ['"b_v"', "9", ""]


@pytest.mark.usefixtures("folder")
def test_it_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", QUERY, "--no-config"]) == 2
    assert "--events" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nevent = 'x'", "there is no option `event`: did you mean `events`?"),
        ("[run]\nout = 'x.csv'", "there is no option `out`"),
        ("[runs]\n", "there is no table `runs`: did you mean `run`?"),
        ("run = 7", "`run` is a table"),
        ("[run]\nwide = 'yes'", "`wide` is true or false"),
        ("[run]\ntime = ['a', 'b']", "`time` has one value, and here is a list"),
        ("[run]\ntime = true", "`time` is a text or a number"),
        ("[run", "the file cannot be read"),
        ("[run]\nthreads = 'many'", "invalid int value: 'many'"),
    ],
)
def test_mistakes(
    text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sase.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["run", "-q", QUERY])
    assert message in capsys.readouterr().err


def test_every_option_is_one_of_the_command() -> None:
    parser = CommandParser()
    command.configure(parser)
    known = {name for each in parser.arguments for name in each.option_strings}
    assert {f"--{name}" for name in OPTIONS} <= known


def test_a_recipe_keeps_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sase.toml").write_text(f'{CONFIG}plan = "basic"\nwide = true\n', encoding="utf-8")
    assert main(["-v", "run", "-q", QUERY]) == 0
    assert "plan basic: " in capsys.readouterr().err
