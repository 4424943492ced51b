"""The dialect of a file of CSV, by its first lines: delimiter, quote and decimal sign."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

DELIMITERS = (",", ";", "\t", "|")
# The share of rows with as many columns as the header.
MOST_ROWS = 0.9
# A number with a comma that does not divide thousands, and one with such a point.
_COMMA = re.compile(r"\s*[+-]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+)\s*")
_POINT = re.compile(r"\s*[+-]?(?:\d*\.(?:\d{1,2}|\d{4,})|0?\.\d+|\d{4,}\.\d+)\s*")


def lines_in(text: str) -> list[str]:
    """The lines of a text, not divided at the other signs that end a line in Unicode."""
    return [f"{line}\n" for line in re.split(r"\r\n?|\n", text) if line]


class Dialect(NamedTuple):
    """How values are divided, quoted and written."""

    delimiter: str
    quote: str
    decimal: str


def dialect_of(
    lines: Sequence[str],
    usual: str,
    delimiter: str | None = None,
    quote: str | None = None,
    decimal: str | None = None,
) -> Dialect:
    """The dialect of the first lines, as far as it is not given.

    The delimiter is the one that makes most columns, of those that the header and the rows agree
    on; of equal ones the usual one.
    """
    if delimiter is None:
        counts = {each: _columns(lines, each) for each in dict.fromkeys((usual, *DELIMITERS))}
        delimiter = max(counts, key=lambda each: counts[each])
    if quote is None:
        names = next(csv.reader(lines[:1], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
        is_other = bool(names) and all(len(n) > 1 and n[0] == n[-1] == "'" for n in names)
        quote = "'" if is_other else '"'
    if decimal is None:
        rows = _rows(lines, delimiter, quote)
        values = [value for row in rows[1:] for value in row]
        has_comma = any(map(_COMMA.fullmatch, values)) and delimiter != ","
        decimal = "," if has_comma and not any(map(_POINT.fullmatch, values)) else "."
    return Dialect(delimiter, quote, decimal)


def may_be_table(lines: Sequence[str]) -> bool:
    """Whether some delimiter divides the first lines into as many columns each."""
    return len(lines) > 1 and any(_columns(lines, each) > 1 for each in DELIMITERS)


def _rows(lines: Sequence[str], delimiter: str, quote: str = '"') -> list[list[str]]:
    """The rows of lines; the last may be cut off. Lines that are no CSV have none."""
    csv.field_size_limit(2**31 - 1)  # a quote may never be closed
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter, quotechar=quote) if row]
    except csv.Error:
        return []


def _columns(lines: Sequence[str], delimiter: str) -> int:
    """The number of columns; 1 if the rows have another number than the header."""
    header, *rows = _rows(lines, delimiter) or [[""]]
    rows = rows[:-1] if len(rows) > 1 else rows
    alike = sum(len(row) == len(header) for row in rows)
    return len(header) if alike >= MOST_ROWS * len(rows) else 1
