"""Files of every format with some bytes changed: searched, or refused with a word of ours."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import sase
from sase.engine.pipeline.batch import run
from tests.fuzz import driver

QUERIES = (
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10",
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.id, b.s",
    "EVENT SEQ(A a, B b) WHERE a.f > 0 AND b.when > a.when WITHIN 20 RETURN a.s, b.f",
)
TEXTS = ("some text", "é", 'with "quotes"', "", None)
MOMENTS = ("2026-01-31 12:00:00", "2026-01-31T12:00:01.5", None)


WAYS = ("match", "match", "quarantine", "compile", "pieces", "explain")


# ---------------------------------------------------------------- files


def _rows(random: Random) -> list[dict[str, Any]]:
    return [
        {
            "ts": number,
            "type": random.choice("ABC"),
            "id": random.randrange(4),
            "s": random.choice(TEXTS),
            "f": random.choice((1.5, -2.0, 3.25)),
            "when": random.choice(MOMENTS),
        }
        for number in range(random.choice((1, 10, 60, 300)))
    ]


def _table(random: Random) -> pa.Table:
    """Rows as columns, some of them dictionaries."""
    table = pa.Table.from_pylist(_rows(random))
    for name in ("s", "when"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(pa.string()))
    for name in ("type", "s"):
        if random.random() < 0.5:
            at = table.column_names.index(name)
            table = table.set_column(at, name, table[name].dictionary_encode())
    if random.random() < 0.3:
        times = table["ts"].cast(pa.timestamp("ms", random.choice((None, "UTC"))))
        table = table.set_column(0, "ts", times)
    return table


def _parquet(random: Random) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(
        _table(random),
        sink,
        row_group_size=random.choice((5, 1000)),
        compression=random.choice(("none", "snappy", "zstd", "gzip")),
        use_dictionary=random.random() < 0.7,
        data_page_version=random.choice(("1.0", "2.0")),
        data_page_size=random.choice((100, 1 << 20)),
    )
    return sink.getvalue()


def _arrow(random: Random) -> bytes:
    sink = io.BytesIO()
    table = _table(random).combine_chunks()
    options = pa.ipc.IpcWriteOptions(compression=random.choice((None, None, "lz4", "zstd")))
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=random.choice((7, 1000)))
    return sink.getvalue()


def _json(random: Random) -> bytes:
    is_ascii = random.random() < 0.5
    return b"".join(json.dumps(r, ensure_ascii=is_ascii).encode() + b"\n" for r in _rows(random))


def _csv(random: Random) -> bytes:
    sink = io.BytesIO()
    table = _table(random)
    texts = (f.with_type(pa.string()) if f.name in ("type", "s") else f for f in table.schema)
    pa.csv.write_csv(table.cast(pa.schema(texts)), sink)
    return sink.getvalue()


def _semicolons(random: Random) -> bytes:
    """CSV with another delimiter, decimal commas and times with the day first."""
    rows = ["ts;type;id;s;f;when"]
    for n, row in enumerate(_rows(random)):
        time = f"{n % 28 + 1}/02/2024 09:{n % 60:02}"
        number = str(row["f"]).replace(".", ",")
        rows.append(f"{time};{row['type']};{row['id']};{row['s'] or ''};{number};{time}")
    return "\n".join(rows).encode(random.choice(("utf-8", "utf-8", "utf-16", "cp1252")), "replace")


def _list(random: Random) -> bytes:
    return json.dumps(_rows(random), indent=random.choice((None, 2))).encode()


def _xes(random: Random) -> bytes:
    events = "".join(
        f'<event><string key="type" value="{row["type"]}"/><int key="ts" value="{row["ts"]}"/>'
        f'<int key="id" value="{row["id"]}"/><float key="f" value="{row["f"]}"/>'
        '<string key="s" value="x"/><date key="when" value="2026-01-31T12:00:00"/></event>'
        for row in _rows(random)
    )
    return f'<log><trace><string key="n" value="1"/>{events}</trace></log>'.encode()


def _syslog(random: Random) -> bytes:
    lines = (
        f"Feb 13 09:00:{n % 60:02} host {r['type']}[{n}]: x" for n, r in enumerate(_rows(random))
    )
    return "\n".join(lines).encode()


def _zip(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("events.csv", data)
    return sink.getvalue()


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


WRITERS: dict[str, Callable[[Random], bytes]] = {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".jsonl": _json,
    ".csv": _csv,
    ".csv.gz": lambda random: gzip.compress(_csv(random)),
    ".jsonl.gz": lambda random: gzip.compress(_json(random)),
    ".csv.zst": lambda random: _zstd(_csv(random)),
    ".jsonl.zst": lambda random: _zstd(_json(random)),
    ".csv.bz2": lambda random: bz2.compress(_csv(random)),
    ".jsonl.bz2": lambda random: bz2.compress(_json(random)),
    ".csv.xz": lambda random: lzma.compress(_csv(random)),
    ".csv.zip": lambda random: _zip(_csv(random)),
    ".txt": _semicolons,
    ".json": _list,
    ".xes": _xes,
    ".log": _syslog,
}


# ---------------------------------------------------------------- documents


def make(number: int) -> bytes:
    """The format of a file, the way to search it, and its bytes, of which some were changed."""
    random = Random(number)
    suffix = random.choice([*WRITERS, ".parquet", ".arrow", ".feather"])
    head = {"suffix": suffix, "query": random.randrange(len(QUERIES)), "way": random.choice(WAYS)}
    data = bytearray(WRITERS[suffix](random))
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 3))):
        _change(data, random)
    return json.dumps(head).encode() + b"\n" + bytes(data)


def _change(data: bytearray, random: Random) -> None:
    """Change a byte, or zero, drop, repeat or cut some; half of the time near the end."""
    if not data:
        return
    least = 0 if random.random() < 0.5 else len(data) * 3 // 4
    at = random.randrange(least, len(data))
    size = random.choice((1, 2, 4, 8, 40))
    match random.randrange(10):
        case 0:
            data[at : at + size] = bytes(len(data[at : at + size]))
        case 1:
            del data[at : at + size]
        case 2:
            data[at:at] = data[at : at + size]
        case 3:
            del data[at:]
        case 4:
            data[at:at] = random.choice((b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\0", b'"', b"\n"))
        case 5 | 6:
            data[at] ^= 1 << random.randrange(8)
        case _:
            data[at] = random.choice((0, 1, 2, 127, 128, 255, random.randrange(256)))


# ---------------------------------------------------------------- ways in


def shown(matches: Any) -> None:
    """Read all that there is of matches."""
    matches.rows, matches.report, matches.to_arrow().validate()
    with suppress(OverflowError):  # Python has no times as far as Arrow's
        repr(matches), matches.to_pylist()


def judge(document: bytes) -> str:
    """Search a file with the bytes of a document."""
    head, _, data = document.partition(b"\n")
    how = json.loads(head)
    query = QUERIES[how["query"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"events{how['suffix']}"
        path.write_bytes(data)
        match how["way"]:
            case "quarantine":
                shown(sase.match(query, path, on_bad_row="quarantine"))
            case "compile":
                shown(sase.compile(query, path).run(path))
            case "pieces":
                shown(run(sase.compile(query, path).engine, path, held=-1))
            case "explain":
                str(sase.explain(query, path, analyze=True))
            case _:
                shown(sase.match(query, path))
    return "opened"


def warm() -> None:
    """Load the modules that the first documents would load."""
    for number in range(12):
        try:
            judge(make(number))
        except Exception:  # which documents are judged for
            continue


TARGET = driver.Target(make, judge, ".file", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.files"]))
