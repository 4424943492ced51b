"""Texts of the command line: files without an end, pipes, and bytes that are not UTF-8."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sase.base.files import MOST
from sase.cli.main import main
from sase.errors import QuerySyntaxError
from sase.lang.parser import parse_query

EVENTS = "ts,type,v\n1,A,2\n2,B,3\n"
ENDLESS = "/dev/zero cannot be read: it has more than 16 MiB, and no text is so long\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(EVENTS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "/dev/zero"],
        ["format", "/dev/zero"],
        ["explain", "/dev/zero"],
        ["plans", "/dev/zero"],
        ["run", "/dev/zero", "--events", "a.csv"],
        ["why", "/dev/zero", "--events", "a.csv"],
        ["compare", "/dev/zero", "--events", "a.csv"],
        ["import", "sigma", "/dev/zero"],
        ["check", "-q", "EVENT A a", "--schema", "/dev/zero"],
    ],
    ids=" ".join,
)
def test_a_text_without_an_end(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is read so far, and refused: every command did read on until memory ended."""
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(ENDLESS)


@pytest.mark.parametrize(
    ("option", "name"), [("--stats", "statistics"), ("--plan", "recipe"), ("--types", "")]
)
def test_other_files_without_an_end(
    option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.symlink("/dev/zero", "endless.toml")
    assert main(["explain", "-q", "EVENT A a", option, "endless.toml"]) == 2
    said = capsys.readouterr().err
    assert name in said
    assert "it has more than 16 MiB" in said


def test_standard_input_without_an_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
        assert main(["format", "-"]) == 2
    assert "it has more than 16 MiB" in capsys.readouterr().err


def test_the_longest_query() -> None:
    """One character more is refused, by whatever way it comes; spaces are read fast."""
    query = "EVENT A a"
    assert parse_query(query.ljust(MOST))
    with pytest.raises(QuerySyntaxError) as refused:
        parse_query(query.ljust(MOST + 1))
    (said,) = refused.value.diagnostics
    assert said.code == "too-long"
    assert said.message == "this has 16,777,217 characters, and no query is longer than 16,777,216"


def test_events_of_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as that of <(zcat …); it was empty, or no format of files."""
    os.mkfifo("pipe.csv")
    for name in ("pipe.csv", "/dev/null"):
        assert main(["run", "-q", "EVENT A a", "--events", name]) == 1
        said = capsys.readouterr().err
        assert f"{name} is a pipe or a device, and events are read from files" in said
        assert "zcat … | sase run … --events -" in said


@pytest.mark.parametrize(
    "option",
    ["-q", "--text", "--null", "--time", "--type", "--seq", "--time-unit", "--longest", "--plan",
     "--param", "--timeout", "--max-memory", "--lateness"],
)  # fmt: skip
def test_what_is_not_utf8(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The option is named: some blamed the file of events, or were tracebacks."""
    given = os.fsdecode(b"x=\xff")
    query = [] if option == "-q" else ["-q", "EVENT A a"]
    with pytest.raises(SystemExit) as ended:
        main(["run", *query, "--events", "a.csv", option, given])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith(f"sase run: error: {option} x=\\udcff: this is not UTF-8\n")


def test_paths_are_of_any_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """A file's name is shown, and need not be UTF-8, but where Arrow opens it."""
    events, query, out = (os.fsdecode(b"\xff." + each) for each in (b"csv", b"sase", b"jsonl"))
    os.link("a.csv", events)
    Path(query).write_text("EVENT A a RETURN a.v")
    assert main(["run", query, "--events", events]) == 1
    said = "\\udcff.csv: Arrow opens no file with a name that is not UTF-8: rename it"
    assert said in capsys.readouterr().err
    assert main(["run", query, "--events", "a.csv", "-o", out]) == 0
    assert "\\udcff.jsonl" in capsys.readouterr().err
    assert '"a_v": 2' in Path(out).read_text()
