"""JSON lines: an object a line; only the columns that are asked for are parsed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sase.engine.columns.strings import is_unicode
from sase.engine.sources.formats.base import Scan
from sase.engine.sources.formats.text import NO_UNICODE, DecodedRow, TextFormat, decompressed


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
            except (ValueError, RecursionError) as problem:
                why, stream = f"this is no JSON: {problem}", f"this line is no JSON: {problem}"
            if isinstance(row, dict) and all(map(is_unicode, row)):
                yield DecodedRow(number, text, row)
            elif isinstance(row, dict):
                yield DecodedRow(number, text, None, f"a name in this line {NO_UNICODE}")
            else:
                why = why or f"every line is an object, and this is {row!r}"
                yield DecodedRow(number, text, None, why, stream)

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of the first block, or of all good lines where it has bad ones."""
        from pyarrow import json as arrow_json

        try:
            with decompressed(path) as file:
                schema = arrow_json.open_json(file).schema
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
        """Read the columns by Arrow, block by block."""
        from pyarrow import json as arrow_json

        options = arrow_json.ParseOptions(
            explicit_schema=own, unexpected_field_behavior="error" if scan.is_whole else "ignore"
        )
        with decompressed(scan.path) as file:
            for batch in arrow_json.open_json(file, parse_options=options):
                batch.validate(full=True)  # Arrow takes any bytes for text
                yield batch


def _plain_text(kind: pa.DataType) -> pa.DataType:
    """Return text for what Arrow takes for moments, whether or not they have a zone."""
    return pa.string() if pa.types.is_timestamp(kind) else kind
