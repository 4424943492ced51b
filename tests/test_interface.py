"""Messages spell options for the interface in use: Python, the command line, or the shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sase
from sase.base.interface import Interface, option, parameter, spelled, stream, written_for
from sase.cli.main import main
from sase.engine.pipeline.limits import Limits, RunGuard
from sase.engine.results.arrow_columns import list_offsets
from sase.engine.sources.formats.base import given_option
from sase.errors import BudgetError, MemoryLimitError

ROWS = [{"ts": 1, "type": "A", "id": 7}]
PYTHON, COMMAND_LINE, SHELL = Interface


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "e.csv"
    path.write_text("Logged at,type,id\n2026-03-02 09:00,A,7\n", encoding="utf-8")
    return str(path)


SPELLINGS = {
    "time_unit ms": ('time_unit="ms"', "--time-unit ms", "sase shell --time-unit ms"),
    "time it's": ('time="it\'s"', "--time 'it'\"'\"'s'", "sase shell --time 'it'\"'\"'s'"),
    "time lo hi": ('time=("lo", "hi")', "--time lo,hi", "sase shell --time lo,hi"),
    "type": ("type=…", "--type", "sase shell --type"),
    "output count": ('output="count"', "--output count", "sase run --output count"),
}


def spellings(text: Callable[[], str]) -> tuple[str, ...]:
    """The text of each interface."""
    found = []
    for interface in Interface:
        with written_for(interface):
            found.append(text())
    assert text() == found[0], "of Python"
    return tuple(found)


@pytest.mark.parametrize(("words", "said"), SPELLINGS.items())
def test_options(words: str, said: tuple[str, ...]) -> None:
    assert spellings(lambda: option(*words.split())) == said


def test_values_are_as_python_writes_them() -> None:
    assert spellings(lambda: option("table_version", 3))[:2] == (
        "table_version=3",
        "--table-version 3",
    )
    assert option("quote", '"') == "quote='\"'"
    assert option("delimiter", "\x01") == r"delimiter='\x01'"
    assert given_option("delimiter", "\t") == 'delimiter="tab"'
    assert given_option("null", ("", "NA")) == 'null=("", "NA")'


def test_parameters_and_streams() -> None:
    said = 'params={"n": …}', "--param n=VALUE", ".param n=VALUE"
    assert spellings(lambda: parameter("n")) == said
    said = "streams={'my q': …}", "--input 'my q=PATH'", ".open 'my q=PATH'"
    assert spellings(lambda: stream("my q")) == said
    assert spellings(lambda: spelled("p", "c")) == ("p", "c", "c")


def test_the_innermost_interface_counts() -> None:
    with written_for(COMMAND_LINE):
        with pytest.raises(ValueError), written_for(SHELL):
            raise ValueError(parameter("n"))
        assert parameter("n") == "--param n=VALUE"


def test_a_missing_parameter(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT A a WHERE a.id = :n"
    with pytest.raises(sase.BindingError, match=r'give it with  params=\{"n": …\}'):
        sase.match(query, ROWS)
    assert main(["run", "-q", query, "--events", file, "--time", "Logged at"]) == 2
    assert "= give it with  --param n=VALUE\n" in capsys.readouterr().err
    with pytest.raises(sase.BindingError, match="params="):
        sase.match(query, ROWS)


def test_a_command_that_a_message_shows_can_be_run(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = ["-q", "EVENT A a", "--events", file]
    assert main(["run", *query]) == 2
    assert "`Logged at` holds times: say  --time 'Logged at'\n" in capsys.readouterr().err
    assert main(["run", *query, "--time", "Logged at"]) == 0
    with pytest.raises(sase.SchemaError, match='`Logged at` holds times: say  time="Logged at"'):
        sase.match("EVENT A a", file)


def test_a_format_that_does_not_exist(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = ["-q", "EVENT A a", "--events", file]
    assert main(["run", *query, "--input-format", "cvs"]) == 2
    assert "error: --input-format cvs: there is no such format" in capsys.readouterr().err
    with pytest.raises(sase.SchemaError, match='^input_format="cvs": there is no such format'):
        sase.match("EVENT A a", file, input_format="cvs")


def test_an_option_that_a_format_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "e.jsonl")
    Path(path).write_text('{"ts": 1, "type": "A"}\n', encoding="utf-8")
    assert main(["run", "-q", "EVENT A a", "--events", path, "--null", "N/A,-"]) == 2
    assert "error: --null N/A,-: only CSV" in capsys.readouterr().err
    with pytest.raises(sase.SchemaError, match='^null="-": only CSV'):
        sase.match("EVENT A a", path, null="-")


def test_the_command_line_has_no_reader_for_a_list_that_is_too_long() -> None:
    messages = []
    for interface in (PYTHON, COMMAND_LINE):
        with written_for(interface), pytest.raises(BudgetError) as raised:
            list_offsets(np.array([2**31]), 2**31)
        messages.append(str(raised.value))
    assert "for: read them one batch after the other with to_reader(), or name" in messages[0]
    assert "for: write them into a file with -o FILE, or name" in messages[1]


def test_the_command_line_has_no_reader_for_a_run_without_memory() -> None:
    guard = RunGuard(Limits(memory=1), clock=lambda: 0)
    with pytest.raises(MemoryLimitError, match=r"WITHIN, read the matches with to_reader\(\)"):
        guard.check_memory(10**12)
    with (
        written_for(Interface.COMMAND_LINE),
        pytest.raises(MemoryLimitError, match="give it a smaller WITHIN, or allow it more"),
    ):
        guard.check_memory(10**12)
