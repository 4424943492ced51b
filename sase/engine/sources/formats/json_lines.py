"""JSON lines: an object in each line; only the requested columns are parsed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sase.engine.columns.decode.strings import is_unicode
from sase.engine.resources import Check, no_check
from sase.engine.sources.formats.base import Scan
from sase.engine.sources.formats.opening import beginning, opened
from sase.engine.sources.formats.text import DecodedRow, TextFormat, no_unicode

# Bytes searched at once; bytes of an Arrow block.
PIECE, HEAD = 1 << 22, 1 << 20
# Lines that begin with `null`, after either of Arrow's line ends, each as a prefix for a fast
# search; blanks and a byte order mark may come between. And the beginning of such a line.
_NULL_LINES = tuple(re.compile(end + rb"[ \t\xef\xbb\xbf]*null") for end in (b"\n", b"\r"))
# Signs between two objects of a list.
_BETWEEN = re.compile(r"[\s,\[\]\ufeff]*")
_BEGUN = re.compile(rb"[\r\n][ \t\xef\xbb\xbf]*n?u?l?")


class JsonLinesFormat(TextFormat):
    """JSON lines, read by Arrow if values have the types of the first block."""

    name = "json"
    title = "JSON lines (.jsonl, .ndjson, .json)"
    suffixes = (".json", ".jsonl", ".ndjson")

    def is_begun(self, first: str) -> bool:
        """Whether the first sign opens an object, or a list of objects."""
        return first.lstrip().removeprefix("[").lstrip().startswith("{")

    def opened(self, path: str) -> pa.NativeFile:
        """Open a file as lines; lists and objects of several lines are rewritten."""
        is_other = not begins_with_lines(beginning(path))
        return opened(path, self.reading.encoding, lines_of_values if is_other else None)

    def decode_rows(
        self, lines: Iterable[str], kinds: Mapping[str, pa.DataType]
    ) -> Iterator[DecodedRow]:
        """Decode each line; JSON states the types of values."""
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            text, row, why, stream = line.rstrip("\r\n"), None, "", "this line is no object"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                why, stream = f"this is no JSON: {problem}", f"this line is no JSON: {problem}"
            if isinstance(row, dict) and all(map(is_unicode, row)):
                yield DecodedRow(number, text, row)
            elif isinstance(row, dict):
                yield DecodedRow(number, text, None, f"a name in this line {no_unicode()}")
            else:
                why = why or f"every line is an object, and this is {json.dumps(row)}"
                yield DecodedRow(number, text, None, why, stream)

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of the first block, or of all good lines if that has bad ones."""
        from pyarrow import json as arrow_json

        try:
            with self.opened(path) as file:
                head = _first_lines(file)
            _refuse_null_lines(io.BytesIO(head))
            # No file of Python: a thread of Arrow that reads ahead could abort the process.
            schema = arrow_json.open_json(pa.BufferReader(head)).schema
            schema.names  # noqa: B018 - are decoded now
        except UnicodeDecodeError as problem:
            if not judges:
                raise self._explained(path, {}, str(problem)) from problem
        except pa.ArrowException:
            with suppress(pa.ArrowException):
                return super().infer_schema(path)
            raise
        else:
            return pa.schema([each.with_type(_plain_text(each.type)) for each in schema])
        return super().infer_schema(path)

    def _read_own(self, scan: Scan, own: pa.Schema, size: int) -> Iterator[Any]:
        from pyarrow import json as arrow_json

        options = arrow_json.ParseOptions(
            explicit_schema=own, unexpected_field_behavior="error" if scan.is_whole else "ignore"
        )
        with self.opened(scan.path) as file:
            _refuse_null_lines(file, scan.between)
        with self.opened(scan.path) as file:
            for batch in arrow_json.open_json(file, parse_options=options):
                batch.validate(full=True)  # Arrow does not check UTF-8
                yield batch


def begins_with_lines(first: str) -> bool:
    """Whether a file has a value in each line, and is no list or object of several lines."""
    text = first.lstrip()
    if text.startswith("["):
        return not text[1:].lstrip().startswith("{")
    if text.partition("\n")[0].strip() == "{":
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return "\n" not in text[:end]


def lines_of_values(text: io.TextIOBase) -> Iterator[str]:
    """Yield a line for each object of a text: of a list, or one after another."""
    decode, left = json.JSONDecoder().raw_decode, ""
    while piece := text.read(max(PIECE, len(left))):
        left += piece
        at = 0
        try:
            while (begin := _after_signs(left, at)) < len(left):
                _, at = decode(left, begin)
                # Ends of lines are no part of a text in JSON.
                yield _on_one_line(left[begin:at])
        except (ValueError, RecursionError):  # the rest of a value may come
            pass
        left = left[at:]
    if rest := left[_after_signs(left, 0) :]:
        yield _on_one_line(rest)


def _on_one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ") + "\n"


def _after_signs(text: str, at: int) -> int:
    """The place behind blanks and the signs between the objects of a list."""
    signs = _BETWEEN.match(text, at)
    return at if signs is None else signs.end()


def _first_lines(file: Any) -> bytes:
    """Read the lines of the block that defines Arrow's columns; Arrow reads beyond it."""
    found = b""
    while piece := file.read(HEAD):
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        if end:
            return found + bytes(piece[:end])
        found += piece
    return found


def _refuse_null_lines(file: Any, between: Check = no_check) -> None:
    """Refuse files with `null` lines: Arrow crashes on a block that begins with one."""
    before = b"\n"
    while piece := file.read(PIECE):
        between(0)
        data = before + piece
        if b"null" in data and any(each.search(data) for each in _NULL_LINES):
            raise pa.ArrowInvalid("a line is null, and every line is an object")
        last = data[max(data.rfind(b"\n"), data.rfind(b"\r"), 0) :]
        before = last if _BEGUN.fullmatch(last) else b""


def _plain_text(kind: pa.DataType) -> pa.DataType:
    """Return text for the moments that Arrow infers."""
    return pa.string() if pa.types.is_timestamp(kind) else kind
