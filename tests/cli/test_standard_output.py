"""Results on standard output as a stream that other programs read, and compressed files."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main

QUERY = "EVENT SEQ(A a, B+ b[]) WHERE [id] WITHIN 5"
EVENTS = pa.table(
    {"ts": range(40), "type": ["A", "B", "B", "C"] * 10, "id": [n // 4 for n in range(40)]}
)
Program = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def events(tmp_path: Path) -> str:
    pa.csv.write_csv(EVENTS, tmp_path / "events.csv")
    return str(tmp_path / "events.csv")


@pytest.fixture
def run(events: str, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    def ran(*arguments: str, query: str = QUERY) -> tuple[int, bytes, str]:
        try:
            status = main(["run", "-q", query, "--events", events, *arguments])
        except SystemExit as end:
            status = int(str(end.code))
        out, err = capfdbinary.readouterr()
        return status, out, err.decode()

    return ran


READERS: dict[str, Callable[[bytes], Any]] = {
    "arrow": lambda data: pa.ipc.open_stream(data).read_all().to_pylist(),
    "parquet": lambda data: pa.parquet.read_table(pa.BufferReader(data)).to_pylist(),
    "json": json.loads,
    "jsonl": lambda data: list(map(json.loads, data.splitlines())),
}


@pytest.mark.parametrize("to", [["-o", "-"], []])
@pytest.mark.parametrize("format", READERS)
def test_another_program_reads_all_matches(format: str, to: list[str], run: Program) -> None:
    status, out, err = run(*to, "--format", format)
    expected = sase.match(QUERY, EVENTS).to_pylist()
    assert (status, len(expected)) == (0, 30)
    assert READERS[format](out) == expected
    assert "30 matches in 40 rows" in err
    status, out, _ = run(*to, "--format", format, query="EVENT SEQ(A a, X x)")
    assert (status, READERS[format](out)) == (0, [])


def test_csv_and_a_count(run: Program) -> None:
    assert len(run("-o", "-", "--format", "csv")[1].splitlines()) == 31
    assert json.loads(run("--output", "count", "--format", "json")[1]) == {"count": 30}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "-"], "-o -: say the form, such as  --format arrow"),
        (["--follow", "--format", "arrow"], "--format arrow does not go with --follow"),
        (["--output", "count", "--format", "parquet"], "does not go with --output count"),
        (["-o", "x.parquet.gz"], "only CSV and JSON are written compressed, such as .csv.gz"),
    ],
)
def test_what_cannot_be_written(arguments: list[str], message: str, run: Program) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, b"")
    assert message in err


def test_a_script_has_no_single_table(run: Program) -> None:
    script = "a: EVENT A a; EVENT B b".removeprefix("a: ")
    status, _, err = run("--format", "arrow", query=script)
    assert status == 2
    assert "write a file for each with  -o FOLDER" in err


def test_a_terminal_gets_no_bytes(run: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    status, out, err = run("--format", "arrow")
    assert (status, out) == (2, b"")
    assert "a terminal cannot show this" in err


def test_a_reader_that_closes_is_no_traceback(events: str) -> None:
    query = "EVENT SEQ(A a, B b, B c, C d)"
    command = [sys.executable, "-m", "sase", "run", "-q", query, "--events", events]
    with subprocess.Popen(
        [*command, "-o", "-", "--format", "arrow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        program.stdout.close()
        assert program.stderr is not None
        assert "Traceback" not in program.stderr.read().decode()


@pytest.mark.parametrize(
    "suffix", ["csv.gz", "csv.zst", "jsonl.gz", "jsonl.zst", "json", "json.gz"]
)
def test_files_by_suffix(suffix: str, run: Program, tmp_path: Path) -> None:
    path = tmp_path / f"found.{suffix}"
    assert run("-o", str(path))[0] == 0
    with pa.input_stream(str(path), compression="detect") as stream:
        data = stream.read()
    if suffix.startswith("csv"):
        found = pa.csv.read_csv(io.BytesIO(data))
        assert found["a_ts"].to_pylist() == [row["a"]["ts"] for row in sase.match(QUERY, EVENTS)]
    else:
        read = READERS["json" if suffix.startswith("json.") or suffix == "json" else "jsonl"]
        assert read(data) == sase.match(QUERY, EVENTS).to_pylist()
    assert not list(tmp_path.glob("*.partial"))
    if suffix == "csv.gz":
        run("-o", str(path), "--csv-safe")
        assert gzip.decompress(path.read_bytes()) == data


def test_an_interrupted_compressed_file_is_valid(run: Program, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl.gz"
    status, _, err = run("-o", str(path), "--max-matches", "7")
    assert status == 1
    assert "the rows written so far are in" in err
    assert len(gzip.decompress(Path(f"{path}.partial").read_bytes()).splitlines()) == 7
    path = tmp_path / "found.json"
    run("-o", str(path), "--max-matches", "7")
    assert len(json.loads(Path(f"{path}.partial").read_text(encoding="utf-8"))) == 7


@pytest.mark.parametrize("width", [40, 200])
def test_a_table_is_as_wide_as_the_terminal(
    width: int, run: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "EVENT SEQ(A a, B b, B c, C d) WHERE [id]"
    assert max(map(len, run("--limit", "1", query=query)[1].decode().splitlines())) <= 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("--limit", "1", query=query)[1].decode().splitlines()
    whole = run("--limit", "1", "--wide", query=query)[1].decode().splitlines()
    assert max(map(len, whole)) > 60
    assert lines == [line if len(line) <= width else f"{line[: width - 1]}…" for line in whole]


def test_the_page_on_results_shows_what_works(tmp_path: Path) -> None:
    """The first command of its section on the command line runs, with a query of the page."""
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    command = page.split("```console\n$ sase ")[1].partition("$ ")[0]
    query = page.split('QUERY = """')[1].partition('"""')[0].replace("... ", "")
    (tmp_path / "bought.sase").write_text(query, encoding="utf-8")
    (tmp_path / "log.csv").write_text(
        "ts,type,customer,product,price\n2024-05-01 09:00:00,View,ann,lamp,40.5\n"
        "2024-05-01 09:02:00,Buy,ann,lamp,40.5\n",
        encoding="utf-8",
    )
    folder = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["/bin/sh", "-c", f"sase {command}"],
        cwd=tmp_path,
        env={"PATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ann" in done.stdout, done.stderr
