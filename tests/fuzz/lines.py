"""Lines of text as events, by every way in: of a file, in pieces, explained, pushed, followed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import sase
from sase.cli.main import main
from sase.engine.pipeline.batch import run
from sase.engine.sources import tail as followed_file
from tests.fuzz import changes
from tests.fuzz.files import shown

# A window has a unit where times are more than whole numbers.
QUERIES = (
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10{unit}",
    "EVENT SEQ(A a, B b) WITHIN 10{unit} RETURN a.id, b.s, b.v",
    "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 5{unit} RETURN a.s, b.day, a.when",
    "EVENT SEQ(A a, !(C c), B b) WHERE a.id = b.id AND a.s LIKE '%e%' WITHIN 100{unit}",
    "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match {{ b[i].v > a.v }} RETURN sum(b[].v)",
    "EVENT A a WHERE a.when > TIMESTAMP '2026-01-01' RETURN a.v + 1, a.s, a.flag",
    "EVENT SEQ(A a, B b)",
)
# Which forms of times there are, and those of whole numbers.
KINDS, WHOLE = range(5), (0, 1)
NAMES = ("ts", "type", "id", "v", "s", "when", "day", "flag")
# The formats with texts that mean missing values.
TEXTS = (".csv", ".tsv")
WAYS = (
    "match", "match", "quarantine", "compile", "pieces", "explain", "why", "follow", "salvaged",
    "schema",
)  # fmt: skip
# The types that a schema may give a column, right or wrong.
TYPES = ("integer", "float", "string", "string", "timestamp(us)", "boolean", "decimal", "date")
# Texts of values that are hardly ones, and bytes that are not UTF-8 or command terminals.
ODD = (
    "", " ", "N/A", "NaN", "nan", "inf", "-inf", "1e999", "-0", "+5", "0x10", "1_000", "1,5", "007",
    "true", "TRUE", "yes", "null", "NULL", "None", "\\N", "-", "12:00", "2026-13-45", "2026-02-30",
    "0000-00-00", "9999-12-31T23:59:60Z", "2026-01-01T00:00:00.123456789+05:45", "1677-01-01",
    "292277026597-01-01T00:00:00", "١٢٣", "１２", "½", "é", "=1+1", "<script>", "\x1b[31m", "\x00",
    "\u2028", "\ufeff", "\u202e", "a" * 300, "9" * 30, "0." + "0" * 30 + "1", "'", "`", "\\",
    "\x85",
)  # fmt: skip
BYTES = (b"\xff", b"\xed\xa0\x80", b"\xc3", b"\0", b"\r", b"\n", b"\r\n", b'"', b"\xef\xbb\xbf")


# ---------------------------------------------------------------- documents


def document(suffix: str, query: str, data: bytes, random: Random) -> bytes:
    """How lines are searched, and the lines; some bytes of a few are changed."""
    null = ([], [], ["N/A"], ["", "-"], ["nan", "x" * 50]) if suffix in TEXTS else ([],)
    text = ([], [], ["id"], ["v", "when"], ["day", "s"], [*NAMES]) if suffix in TEXTS else ([],)
    given = {
        "suffix": suffix,
        "query": query,
        "way": random.choice(WAYS),
        "null": random.choice(null) if random.random() < 0.95 else ["x"],
        "text": random.choice(text) if random.random() < 0.95 else [random.choice((*ODD, *NAMES))],
        "seq": random.choice((None, None, None, None, "#row", "#row", "id")),
        "types": {name: random.choice(TYPES) for name in NAMES if random.random() < 0.9},
        "size": random.choice((50, 400, 400, 4000, 1 << 20)),
    }
    if random.random() < 0.25:
        at = random.randrange(len(data) + 1)
        data = data[:at] + random.choice(BYTES) + data[at + random.randrange(3) :]
    return json.dumps(given).encode() + b"\n" + data


def query(columns: Collection[str], kind: int, random: Random) -> str:
    """A query of attributes that there are, most often."""
    unit = "" if kind in WHOLE else " SECONDS"
    named = (set(re.findall(r"\.(\w+)|\[(id)\]", each)) for each in QUERIES)
    fitting = [
        each
        for each, names in zip(QUERIES, named, strict=True)
        if {name for pair in names for name in pair if name} <= set(columns)
    ]
    return random.choice(fitting if random.random() < 0.95 else QUERIES).format(unit=unit)


def numbers(random: Random) -> str:
    """A number at some edge."""
    return str(random.choice(random.choice((changes.EDGES, changes.EXTREMES, (0.5, 1e300, 1e-9)))))


def times(kind: int, number: int, random: Random) -> str:
    """The time of an event, in the form that a document has."""
    fraction = random.choice(("", "", "", ".5", ".123456", ".123456789"))
    clock = f"12:{number // 60 % 60:02}:{number % 60:02}"
    match kind:
        case 0:
            return str(number)
        case 1:
            return str(1_769_860_800_000 + 1000 * number)
        case 2:
            return f"2026-01-31 {clock}{fraction}"
        case 3:
            return f"2026-01-31T{clock}{fraction}Z"
        case _:
            return f"{number}{fraction or '.0'}"


# ---------------------------------------------------------------- ways in


@cache
def _folder() -> Any:
    """A folder of this process, emptied with it."""
    return tempfile.TemporaryDirectory()


def judge(document: bytes) -> str:
    """Search lines in the way that the document says."""
    head, _, data = document.partition(b"\n")
    how = {"text": [], **json.loads(head)}  # documents of the corpus may be older than an option
    path = Path(_folder().name) / f"events{how['suffix']}"
    path.write_bytes(data)
    query, options = how["query"], {name: how[name] for name in ("null", "seq", "text")}
    match how["way"]:
        case "quarantine":
            found = sase.match(query, path, on_bad_row="quarantine", **options)
            shown(found), repr(found.report.quarantined)
        case "compile":
            shown(sase.compile(query, path, **options).run(path))
        case "pieces":
            shown(run(sase.compile(query, path, **options).engine, path, held=-1))
        case "explain":
            str(sase.explain(query, path, analyze=True, **options))
        case "why":
            str(sase.why(query, path, on_bad_row="quarantine", **options))
        case "schema":
            return _by_schema(query, path, how)
        case "follow":
            return _followed(query, path, how, [])
        case "salvaged":
            return _followed(query, path, how, ["--on-bad-row", "quarantine"])
        case _:
            shown(sase.match(query, path, **options))
    return "opened"


def _followed(query: str, path: Path, how: dict[str, Any], more: list[str]) -> str:
    """The outcome of lines that come by a few bytes, as the command has them."""
    arguments = ["run", "--follow", "--events", "-", "-q", query, *more]
    arguments += [f"--{name}={text}" for name in ("null", "text") for text in how[name]]
    arguments += ["--seq", how["seq"]] if how["seq"] else []
    with path.open(encoding="utf-8") as lines, _streams(lines), _pieces(how["size"]):
        status = main(arguments)
    return "refused" if status else "opened"


def _by_schema(query: str, path: Path, how: dict[str, Any]) -> str:
    """The outcome of lines with columns of the types of a schema, as the command has them."""
    said = {"time": "ts", "type": "type", "columns": how["types"]}
    schema = path.with_suffix(".json")
    schema.write_text(json.dumps(said), encoding="utf-8")
    arguments = ["run", "--events", str(path), "-q", query, "--schema", str(schema)]
    arguments += [f"--null={text}" for text in how["null"]]
    with _streams(io.TextIOWrapper(io.BytesIO())):
        status = main(arguments)
    return "refused" if status else "opened"


@contextlib.contextmanager
def _streams(lines: io.TextIOWrapper) -> Iterator[None]:
    """Have lines on standard input, and keep the output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        before, sys.stdin = sys.stdin, lines
        try:
            yield
        finally:
            sys.stdin = before


@contextlib.contextmanager
def _pieces(size: int) -> Iterator[None]:
    """Have this number of bytes come at once."""
    before, followed_file.SIZE = followed_file.SIZE, size
    try:
        yield
    finally:
        followed_file.SIZE = before


def warm(make: Callable[[int], bytes]) -> None:
    """Load the modules that the first documents would load."""
    for number in range(40):
        with contextlib.suppress(Exception):  # which documents are judged for
            judge(make(number))
