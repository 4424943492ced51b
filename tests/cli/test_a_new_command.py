"""The command that docs/adding-a-command.md adds as an example works without changes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet
import pytest

from sase.cli import completion, main
from sase.cli.main import Command

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-command.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The only block of the page in a language."""
    (found,) = [part.split("```")[0] for part in PAGE.split(f"```{language}\n")[1:]]
    return found


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command of the page, listed by the line that the page has for it."""
    command: Command = eval(block("text").strip().rstrip(","), vars(main))
    module = ModuleType(command.module)
    exec(block("python"), vars(module))
    monkeypatch.setitem(sys.modules, command.module, module)
    monkeypatch.setattr(main, "COMMANDS", (*main.COMMANDS, command))
    monkeypatch.chdir(tmp_path)
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "price": [1.5, 2.0]})
    pyarrow.parquet.write_table(events, "ticks.parquet")


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit status, and the output."""
    try:
        status = main.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, *capsys.readouterr()


def test_it_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    asked, said = block("console").split("\n", 1)
    _, _, *arguments = asked.split()
    assert asked.startswith("$ sase columns ")
    assert ran(capsys, *arguments) == (0, said, "")


def test_what_it_raises_is_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capsys, "columns", "--events", "tocks.parquet")
    assert (status, out) == (1, "")
    assert err.startswith("sase columns: error: ")
    assert "tocks.parquet" in err


def test_the_rest_comes_of_these_two(capsys: pytest.CaptureFixture[str]) -> None:
    """The help, hints for misspelt words, and completion."""
    summary = "Show the columns of files of events."
    status, out, _ = ran(capsys, "--help")
    assert (status, summary in out) == (0, True)
    status, out, _ = ran(capsys, "columns", "--help")
    assert (status, summary in out, "--events PATH" in out) == (0, True, True)
    status, _, err = ran(capsys, "colums", "--events", "ticks.parquet")
    assert (status, "did you mean columns?" in err) == (2, True)
    status, _, err = ran(capsys, "columns", "--event", "ticks.parquet")
    assert (status, "did you mean --events?" in err) == (2, True)
    assert ("columns",) in [place.words for place in completion.places()]
