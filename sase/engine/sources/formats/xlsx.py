"""Sheets of XLSX: the first sheet of a workbook, with the names of columns in its first row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from typing import Any
from zipfile import BadZipFile

import pyarrow as pa

from sase.engine.columns.arrow.gate import prove_distinct
from sase.engine.sources.formats.base import KnownKinds
from sase.engine.sources.formats.text import DecodedRow, DocumentFormat
from sase.engine.sources.local_copies import local
from sase.errors import DataError

NO_LIBRARY = "files of XLSX are read by the library openpyxl: install it, as with  sase[excel]"


class XlsxFormat(DocumentFormat):
    """Rows of a sheet, with the values that its cells show; empty rows are left out."""

    name = "xlsx"
    title = "XLSX (.xlsx)"
    suffixes = (".xlsx",)
    has_header = True

    def rows(self, path: str, kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode each row below the first; `line` is its number in the sheet."""
        rows = _cells(path)
        names = [str(name) for name in next(rows, ()) if name is not None]
        prove_distinct(names, f"{path}, row 1: ")
        for number, cells in enumerate(rows, 2):
            if any(cell is not None for cell in cells):
                values = map(_shown, cells)
                yield DecodedRow(number, "", dict(zip(names, values, strict=False)))


def _shown(cell: object) -> object:
    """A value of a cell; times are texts, as in other files without types."""
    return cell.isoformat() if isinstance(cell, date | time) else cell


def _cells(path: str) -> Iterator[tuple[Any, ...]]:
    """The values of the first sheet of a workbook, row by row."""
    try:
        import openpyxl  # type: ignore[import-untyped, unused-ignore]
    except ImportError as problem:
        raise DataError(f"{path}: {NO_LIBRARY}") from problem
    with open(local(path), "rb") as file:
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except (BadZipFile, KeyError, ValueError) as problem:
            raise pa.ArrowInvalid(f"this is no workbook: {problem}") from problem
        yield from book.worksheets[0].iter_rows(values_only=True)
