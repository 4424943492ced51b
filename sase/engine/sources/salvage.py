"""Decode text that Arrow cannot read: all rows, with every readable value.

A value that does not fit its column stays text. A line that is no row is put into the time column
with the reason, so that the loader finds it bad.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from sase.engine.columns.arrow.python_rows import Unreadable, fits
from sase.engine.columns.decode.quarantine import as_text
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.columns.decode.timestamps import why_none
from sase.engine.resources import Check
from sase.engine.sources.dataset import Files
from sase.engine.sources.formats.text import DecodedRow, Row, TextFormat, no_unicode, text_reader

_Row = TypeVar("_Row", DecodedRow, Row)
# Rows between checks.
ROWS = 1 << 10


def salvaged(files: Files, time: str, named: Collection[str]) -> list[Row]:
    """Decode all rows of text files with the time column `time`.

    Columns that are not `named` are only shown, as text if their values have no common type.
    """
    assert isinstance(files.format, TextFormat)
    kinds = {field.name: files.moments.get(field.name, field.type) for field in files.schema}
    read_as = kinds | dict.fromkeys(files.forms, pa.string())
    rows = list[Row]()
    for path, given in zip(files.paths, files.values_given(), strict=True):
        with files.format.watched(path):
            found = _checked(files.format.rows(path, read_as), files.between)
            rows += [_values(row, kinds, time) | given for row in found]
    for name, kind in kinds.items():
        if pa.types.is_timestamp(kind):
            _parse_moments(rows, files, name, kind)
    for name in kinds.keys() - set(named):
        if not fits([row.get(name) for row in rows]):
            for row in _checked(rows, files.between):
                row[name] = _shown(row.get(name))
    return rows


def _checked(rows: Iterable[_Row], check: Check) -> Iterator[_Row]:
    """Yield rows, with a check at intervals."""
    for number, row in enumerate(rows):
        if not number % ROWS:
            check(0)
        yield row


def _shown(value: object) -> str | None:
    is_written = value is None or isinstance(value, str | Unreadable | pa.Scalar)
    return as_text(value) if is_written else json.dumps(value, ensure_ascii=False)


def _values(row: DecodedRow, kinds: dict[str, pa.DataType], time: str) -> Row:
    """Return the values of a row; unreadable ones with the reason."""
    if row.values is None:
        return dict.fromkeys(kinds) | {time: Unreadable(row.text, row.why)}
    for name, value in row.values.items():
        if isinstance(value, str) and not is_unicode(value):
            row.values[name] = Unreadable(value, f"this {no_unicode()}")
    return row.values


def _parse_moments(rows: Sequence[Row], files: Files, name: str, kind: pa.DataType) -> None:
    """Parse the text moments of a column, each distinct text once."""
    read, form = text_reader(kind), files.forms.get(name)
    known: dict[str, Any] = {}
    texts = (row.get(name) for row in _checked(rows, files.between))
    iso_of = {} if form is None else form.iso_of(texts)
    for row in _checked(rows, files.between):
        text = row.get(name)
        if isinstance(text, str):
            if text not in known:
                iso = iso_of.get(text, text)
                why = why_none(iso, kind)
                known[text] = read(iso) if why is None else Unreadable(text, why)
            row[name] = known[text]
