"""Files that commands write: whole under their names, whenever the end comes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sase.cli.output_files import abandon, discard, write_file
from sase.cli.queries import Terminated
from sase.cli.standard_input import Ending
from sase.engine.results import sinks

ROWS = pa.table({"n": [1, 2, 3]})
ENDS = pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ended_after(number: int, work: Callable[..., Any]) -> Callable[..., Any]:
    """Work after which the process gets a signal to end."""

    def ends(*given: Any, **more: Any) -> Any:
        result = work(*given, **more)
        os.kill(os.getpid(), number)
        return result

    return ends


@ENDS
@pytest.mark.parametrize("give_up", [abandon, discard])
@pytest.mark.parametrize("step", ["open", "write", "close"])
def test_an_end_leaves_what_is_whole(
    step: str, give_up: Any, number: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    match step:
        case "open":
            made = ended_after(number, os.fdopen)
            monkeypatch.setattr(os, "fdopen", made)
        case "write":
            made = ended_after(number, sinks.FileSink.write_batch)
            monkeypatch.setattr(sinks.FileSink, "write_batch", made)
        case "close":
            monkeypatch.setattr(os, "replace", ended_after(number, os.replace))
    with Ending() as ending, pytest.raises(kind):
        write_file(ROWS.schema, ROWS.to_batches(1), "n.csv", ending, give_up=give_up)
    left = {path.name: path.read_text().splitlines() for path in Path().iterdir()}
    if step == "close":
        assert left == {"n.csv": ['"n"', "1", "2", "3"]}
    elif give_up is discard:
        assert left == {}
    else:
        assert left == {"n.csv.partial": ['"n"', "1"][: 1 if step == "open" else 2]}


@ENDS
def test_an_end_while_a_file_is_given_up_waits(
    number: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(sink: sinks.FileSink, batch: pa.RecordBatch) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(sinks.FileSink, "write_batch", fails)
    monkeypatch.setattr(sinks.FileSink, "discard", ended_after(number, sinks.FileSink.discard))
    with Ending() as ending, pytest.raises(kind):
        write_file(ROWS.schema, ROWS.to_batches(), "n.csv", ending, give_up=discard)
    assert os.listdir() == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".jsonl"])
def test_a_file_that_fails_and_can_be_closed_all_the_same(
    suffix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is valid, or said not to be whole: here the end of it gets lost."""
    path = f"n{suffix}"
    sink = sinks.FileSink(path, ROWS.schema)
    sink.write_batch(ROWS.to_batches()[0])
    close, file = sink._writer.close, sink._output.file

    def fails_without_a_word() -> None:
        close()
        if sink._is_text:
            file.write(b'{"half')
        else:
            file.truncate(file.tell() - 4)

    monkeypatch.setattr(sink._writer, "close", fails_without_a_word)
    sink._has_failed = True
    abandon(sink)
    err = capsys.readouterr().err
    if suffix in (".csv", ".jsonl"):
        assert f"the rows written so far are in {path}.partial" in err
        assert Path(f"{path}.partial").read_text().splitlines()[-1] in ("3", '{"n": 3}')
    else:
        assert f"the written file is not whole: {path}.partial" in err


def test_whole_lines() -> None:
    for text, quotes, whole in (
        (b"", True, 0),
        (b"a", True, 0),
        (b"a\nb", False, 2),
        (b'a\n"b\n', True, 2),
        (b'a\n"b\n"\n', True, 7),
        (b'a\n"b\n', False, 5),
    ):
        assert sinks.whole_lines(text.splitlines(keepends=True), quotes=quotes) == whole


def test_what_fails_is_said_as_it_is() -> None:
    with Ending() as ending, pytest.raises(sinks.DataError, match="the suffix names the format"):
        write_file(ROWS.schema, ROWS.to_batches(), "n.txt", ending)
    assert os.listdir() == []


def test_rows_are_told_once_they_are_written() -> None:
    told: list[int] = []
    with Ending() as ending:
        write_file(ROWS.schema, ROWS.to_batches(2), "n.jsonl", ending, wrote=told.append)
    assert (told, Path("n.jsonl").read_text()) == ([2, 1], '{"n": 1}\n{"n": 2}\n{"n": 3}\n')
