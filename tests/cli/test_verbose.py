"""The logger "sase", and `sase -v`."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from tests.faults.processes import Programs

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
EVENTS = pa.table({"ts": [1, 2], "type": ["A", "B"], "id": [1, 1]})


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(EVENTS, "events.parquet")


def test_records_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sase")
    matches = sase.match(QUERY, "events.parquet")
    texts = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert texts[0] == "opened events.parquet: 1 of the format parquet, with 3 columns"
    assert texts[1] == "plan optimized: Transformation <- SequenceConstruction <- SequenceScan"
    assert texts[2].startswith("read and planned in 0.")
    assert len(texts) == 3, "nothing is searched yet"
    assert len(matches) == 1
    assert caplog.records[-1].getMessage().startswith("searched 2 rows in 0.")
    details = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert "rewrite partition_stacks: applied" in details
    assert any(text.startswith("rewrite push_limit: ") for text in details)


@pytest.mark.parametrize(("option", "has_details"), [("-v", False), ("--debug", True)])
def test_the_program_prints_them(
    option: str, has_details: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "-q", QUERY, "--events", "events.parquet", "--format", "csv"]
    assert main(command) == 0
    silent = capsys.readouterr()
    assert "plan optimized" not in silent.err
    assert main([option, *command]) == 0
    verbose = capsys.readouterr()
    assert verbose.out == silent.out
    assert "sase: opened events.parquet" in verbose.err
    assert ("sase: rewrite partition_stacks: applied" in verbose.err) == has_details
    assert main(command) == 0
    assert "plan optimized" not in capsys.readouterr().err


def test_a_program_without_a_handler_prints_nothing(forked: Programs) -> None:
    code = f"import sase; print(len(sase.match({QUERY!r}, 'events.parquet')))"
    assert forked.script(code) == (0, "1\n", "")


def test_the_option_alone_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["-v"])
    assert "COMMAND" in capsys.readouterr().err
