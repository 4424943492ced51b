"""JSON lines: an object a line; only the columns that are asked for are parsed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sase.engine.sources.formats.base import FileFormat, Scan
from sase.engine.sources.formats.text import DecodedRow, TextFormat


class JsonLinesFormat(TextFormat):
    """Lines of JSON, which Arrow reads as long as values are of the types of the first block."""

    name = "json"
    title = "JSON lines (.jsonl, .ndjson, .json)"
    suffixes = (".json", ".jsonl", ".ndjson")

    def decode_rows(
        self, lines: Iterable[str], kinds: Mapping[str, pa.DataType]
    ) -> Iterator[DecodedRow]:
        """Decode each line; JSON says itself what values are."""
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            text, row, why, stream = line.rstrip("\r\n"), None, "", "this line is no object"
            try:
                row = json.loads(line)
            except ValueError as problem:
                why, stream = f"this is no JSON: {problem}", f"this line is no JSON: {problem}"
            if isinstance(row, dict):
                yield DecodedRow(number, text, row)
            else:
                why = why or f"every line is an object, and this is {row!r}"
                yield DecodedRow(number, text, None, why, stream)

    def infer_schema(self, path: str, base: str | None, *, judges: bool = False) -> pa.Schema:
        """Return the columns of the first block, or of all good lines where it has bad ones."""
        try:
            return FileFormat.infer_schema(self, path, base)
        except pa.ArrowException:
            with suppress(pa.ArrowException):
                return super().infer_schema(path, base)
            raise

    def _read_own(self, scan: Scan, own: pa.Schema, size: int) -> Iterator[Any]:
        """Read the columns by Arrow, block by block."""
        from pyarrow import json as arrow_json

        options = arrow_json.ParseOptions(
            explicit_schema=own, unexpected_field_behavior="error" if scan.is_whole else "ignore"
        )
        with pa.input_stream(scan.path) as file:
            for batch in arrow_json.open_json(file, parse_options=options):
                batch.validate(full=True)  # Arrow takes any bytes for text
                yield batch
