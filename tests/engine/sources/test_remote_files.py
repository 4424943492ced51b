"""Files of an object store and of web servers: the matches of local files, with few bytes."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.engine.pipeline.batch import run
from tests.engine.sources.servers import Traffic, google_store, object_store, web_server

ROWS = [
    {"ts": 1, "type": "A", "id": 7, "note": "x"},
    {"ts": 2, "type": "B", "id": 7, "note": None},
    {"ts": 2, "type": "C", "id": 8, "note": "y"},
    {"ts": 5, "type": "C", "id": 7, "note": ""},
]
QUERY = "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 10"
FOUND = [{"a": 0, "b": 1, "c": 3}]
TABLE = pa.Table.from_pylist(ROWS)
# Many row groups, of which few have an A or a Z, and a wide column that no query names.
MANY = pa.table(
    {
        "ts": range(200_000),
        "type": ["A" if n < 10 else "Z" if n > 199_990 else "M" for n in range(200_000)],
        "id": [n % 7 for n in range(200_000)],
        "wide": [f"{n * 7919:x}" * 4 for n in range(200_000)],
    }
)


def write(path: Path) -> Path:
    """Write the events in the format of a suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(TABLE, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
    elif ".jsonl" in path.name:
        with pa.output_stream(path, compression="detect") as file:
            file.write("".join(json.dumps(row) + "\n" for row in ROWS).encode())
    elif path.suffix == ".zip":
        write(path.parent / "e.csv")
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(path.parent / "e.csv", "e.csv")
        (path.parent / "e.csv").unlink()
    else:
        with pa.output_stream(path, compression="detect") as file:
            pyarrow.csv.write_csv(TABLE, file)
    return path


@pytest.fixture(scope="module")
def started() -> Iterator[Traffic]:
    pytest.importorskip("moto", reason="the object store of these tests is not installed")
    with object_store() as traffic:
        yield traffic


@pytest.fixture
def store(started: Traffic, monkeypatch: pytest.MonkeyPatch) -> Traffic:
    """The store, named by the environment; its bucket `events` is empty."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", started.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    system = writing_to(started)
    system.create_dir("events")
    system.delete_dir_contents("events")
    started.clear()
    return started


def writing_to(store: Traffic) -> pa.fs.S3FileSystem:
    return pa.fs.S3FileSystem(
        endpoint_override=store.url, allow_bucket_creation=True, region="us-east-1"
    )


def put(store: Traffic, path: Path, key: str) -> str:
    with writing_to(store).open_output_stream(f"events/{key}", compression=None) as file:
        file.write(path.read_bytes())
    store.clear()
    return f"s3://events/{key}"


NAMES = [
    "e.parquet", "e.arrow", "e.csv", "e.csv.gz", "e.csv.zst", "e.jsonl", "e.jsonl.bz2", "e.zip",
    "e",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_object_store_has_the_matches_of_local_files(
    name: str, store: Traffic, tmp_path: Path
) -> None:
    local = write(tmp_path / "day=7" / name)
    address = put(store, local, f"top/day=7/{name}")
    expected = sase.match(QUERY, local)
    found = sase.match(QUERY, address)
    assert found.rows.to_pylist() == FOUND
    assert found.to_pylist() == expected.to_pylist()
    assert found.to_pylist()[0]["a"]["day"] == 7
    if name in ("e.parquet", "e.csv.gz"):
        for pattern in ("s3://events/top", "s3://events/**/e*", "s3://events/top/*/e*"):
            assert sase.match(QUERY, pattern).to_pylist() == expected.to_pylist()
    plan = sase.compile(QUERY, address)
    in_pieces = run(plan.engine, address, held=0)
    assert in_pieces.rows.to_pylist() == FOUND


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_so_has_a_web_server(name: str, ranges: bool, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    local = write(tmp_path / name)
    with web_server(tmp_path, ranges=ranges) as server:
        found = sase.match(QUERY, f"{server.url}/{name}")
        assert found.rows.to_pylist() == FOUND
        assert found.to_pylist() == sase.match(QUERY, local).to_pylist()
        signed = f"{server.url}/{name}?signature=a/b.c"
        in_pieces = run(sase.compile(QUERY, signed).engine, signed, held=0)
        assert in_pieces.rows.to_pylist() == FOUND


def test_row_groups_and_columns_that_no_query_needs_are_not_sent(
    store: Traffic, tmp_path: Path
) -> None:
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    path = tmp_path / "many.parquet"
    pyarrow.parquet.write_table(MANY, path, row_group_size=10_000, use_dictionary=["type"])
    size = path.stat().st_size
    query = "EVENT SEQ(A a, Z z) WHERE [id] RETURN a.ts AS t, z.ts AS u"
    expected = sase.match(query, path)
    assert len(expected) > 0
    address = put(store, path, "many.parquet")
    found = sase.match(query, address)
    assert found.to_pylist() == expected.to_pylist()
    assert "180,000 rows were not read" in " ".join(found.report.notes)
    assert store.sent < size / 5, (store.sent, size)
    with web_server(tmp_path, ranges=True) as server:
        assert sase.match(query, f"{server.url}/many.parquet").to_pylist() == expected.to_pylist()
        assert server.sent < size, (server.sent, size)


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.csv.gz"])
def test_a_store_of_google(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = write(tmp_path / "events" / "day=7" / name)
    with google_store(tmp_path) as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        expected = sase.match(QUERY, local).to_pylist()
        for path in (f"events/day=7/{name}", "events", "events/*/e*"):
            assert sase.match(QUERY, f"gs://{path}").to_pylist() == expected
        assert "there is no bucket `none`: check its name, STORAGE" in fault("gs://none/e.csv")
        assert "there is no such file or folder" in fault("gs://events/f.csv")
        assert "access is denied: set GOOGLE_APPLICATION" in fault("gs://events/denied.csv")


@pytest.mark.parametrize("name", NAMES)
def test_other_schemes_are_those_of_fsspec(name: str, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    system = fsspec.filesystem("memory")
    local = write(tmp_path / "day=7" / name)
    system.pipe(f"/top/day=7/{name}", local.read_bytes())
    expected = sase.match(QUERY, local).to_pylist()
    for path in (f"top/day=7/{name}", "top", "top/*/e*", "top/**/e*"):
        address = f"memory://{path}"
        assert sase.match(QUERY, address).to_pylist() == expected
    plan = sase.compile(QUERY, address)
    assert run(plan.engine, address, held=0).rows.to_pylist() == FOUND
    system.rm("/top", recursive=True)
    assert "there is no such file or folder" in fault(f"memory://top/day=7/{name}")


def test_text_is_sent_once_and_again_only_if_it_was_changed(store: Traffic, tmp_path: Path) -> None:
    address = put(store, write(tmp_path / "e.csv"), "e.csv")
    for _ in range(2):
        assert len(sase.match(QUERY, address)) == 1
    assert store.requests.count("GET /events/e.csv") == 1
    with open(tmp_path / "e.csv", "a", encoding="utf-8") as file:
        file.write('6,"C",7,"z"\n')
    put(store, tmp_path / "e.csv", "e.csv")
    assert len(sase.match(QUERY, address)) == 2


def test_a_file_that_changes_while_it_is_read(store: Traffic, tmp_path: Path) -> None:
    address = put(store, write(tmp_path / "e.parquet"), "e.parquet")
    files = sase.engine.sources.open_files(address)  # type: ignore[attr-defined]
    put(store, write(tmp_path / "e.csv"), "e.parquet")
    with pytest.raises(sase.DataError, match="was changed while it was read: run it again"):
        files.table(["ts"])


def test_folders_leave_out_what_jobs_leave_there(store: Traffic, tmp_path: Path) -> None:
    for name in ("a/e.csv", "a/_tmp/e.csv", "a/e.csv.partial", "a/.e.csv", "_x/e.csv"):
        put(store, write(tmp_path / name.replace("/", "-") / "e.csv"), name)
    assert len(sase.match(QUERY, "s3://events/")) == 1
    assert len(sase.match(QUERY, "s3://events/*/*.csv")) == 1
    assert len(sase.match(QUERY, "s3://events/a/_tmp/*.csv")) == 1


# ---------------------------------------------------------------- errors


def fault(address: str) -> str:
    with pytest.raises(sase.DataError) as problem:
        sase.match(QUERY, address)
    assert "\n" not in str(problem.value)
    return str(problem.value)


def test_errors_of_an_object_store(
    store: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, write(tmp_path / "e.csv"), "e.csv")
    assert fault("s3://no-such-bucket/e.csv") == (
        "s3://no-such-bucket/e.csv: there is no bucket `no-such-bucket`: check its name,"
        " AWS_ENDPOINT_URL"
    )
    assert "there is no bucket" in fault("s3://no-such-bucket/*.csv")
    assert "there is no such file or folder: check the address" in fault("s3://events/f.csv")
    assert "no file matches this pattern" in fault("s3://events/*.parquet")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "the server does not answer" in (said := fault("s3://events/e.csv"))
    assert said.endswith("check the address, AWS_ENDPOINT_URL and the network")


def test_errors_of_a_web_server(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    write(tmp_path / "e.csv")
    with web_server(tmp_path, ranges=False) as server:
        assert "access is denied: name an address" in fault(f"{server.url}/secret.csv")
        assert "there is no such file" in fault(f"{server.url}/f.csv")
        assert "the server answers 500" in fault(f"{server.url}/broken.parquet")
        assert "a web server lists no files" in fault(f"{server.url}/*.csv")
    assert "the server does not answer" in fault("http://127.0.0.1:9/e.csv")
    assert "the server does not answer" in fault("https://no-such-host.invalid/e.parquet")
    said = fault("https://me:a b@127.0.0.1:9/e f.csv")
    assert said.startswith("https://…@127.0.0.1:9/e f.csv: a web address has no blanks")


def test_a_scheme_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fsspec knows no scheme nix://: it reads, for example" in fault("nix://a/b.csv")
    monkeypatch.setitem(sys.modules, "adlfs", None)
    assert "abfs:// needs another library" in fault("abfs://a/b.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    said = "hdfs:// is read by the library fsspec: install it, as with  pip install 'sase[remote]'"
    assert said in fault("hdfs://host/events.csv")


def test_the_command_line(
    store: Traffic, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = put(store, write(tmp_path / "e.csv"), "e.csv")
    out = tmp_path / "found.csv"
    query = f"{QUERY} RETURN a.id"
    assert main(["run", "-q", query, "--events", address, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").splitlines()[1].startswith("7,")
    assert main(["run", "-q", query, "--events", "s3://events/*", "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out)["a_id"] == 7
    assert main(["check", "-q", query, "--events", address]) == 0
    for command in ("explain", "why", "compare"):
        assert main([command, "-q", QUERY, "--events", address]) == 0
    assert main(["run", "-q", query, "--events", address, "--follow"]) == 2
    assert "only files of this machine are followed" in capfd.readouterr().err
    assert main(["run", "-q", query, "--events", address, "-o", "s3://events/f.csv"]) == 2
    assert "only files of this machine are written" in capfd.readouterr().err
    assert main(["run", "-q", query, "--events", "s3://no-such-bucket/e.csv"]) == 1
    assert "there is no bucket" in capfd.readouterr().err
