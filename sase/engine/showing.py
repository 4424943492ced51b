"""Matches as a person likes to look at them: in a terminal and in a notebook."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from sase.engine.matches import Matches

ROWS, WIDTH = 10, 100


def as_text(matches: Matches) -> str:
    """A heading, and the first matches as a table."""
    table = table_of(matches, ROWS) if len(matches) else []
    return "\n".join([_heading(matches), *table, *_footing(matches)])


def table_of(matches: Matches, count: int) -> list[str]:
    """The first matches as lines."""
    header, cells = _cells(matches, count)
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    rule = ["-" * width for width in widths]
    lines = []
    for row in (header, rule, *cells):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        line = "  ".join(padded).rstrip()
        lines.append(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")
    return lines


def as_html(matches: Matches) -> str:
    """The same as a table of HTML."""
    header, cells = _cells(matches, ROWS) if len(matches) else ([], [])
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    notes = "".join(f"<p>{escape(line)}</p>" for line in _footing(matches))
    return (
        f"<div><p><b>{escape(_heading(matches))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
    )


def _heading(matches: Matches) -> str:
    count = len(matches)
    found = "no match" if not count else "1 match" if count == 1 else f"{count:,} matches"
    return f"{found} in {matches.report.rows:,} rows"


def _footing(matches: Matches) -> list[str]:
    lines = [f"… and {len(matches) - ROWS:,} more"] if len(matches) > ROWS else []
    if not matches.report.is_complete:
        lines.append("LIMIT was reached before the end of the events")
    return lines + [f"warning: {warning}" for warning in matches.report.warnings]


def _cells(matches: Matches, count: int) -> tuple[list[str], list[list[str]]]:
    """The first matches as text: of an event all attributes but its type."""
    table = matches.head(count).to_arrow()
    if not isinstance(table.schema.field(0).type, pa.StructType):
        table = table.drop_columns(["ts_start", "ts_end"])
    return table.column_names, [
        [_cell(value, matches) for value in row.values()] for row in table.to_pylist()
    ]


def _cell(value: Any, matches: Matches) -> str:
    match value:
        case None:
            return "NULL"
        case dict():
            shown = {name: v for name, v in value.items() if name != matches.schema.type}
            return " ".join(f"{name}={_cell(v, matches)}" for name, v in shown.items())
        case datetime():
            precision = "milliseconds" if value.microsecond else "seconds"
            return value.isoformat(" ", precision).replace("+00:00", "Z")
    return str(value)
