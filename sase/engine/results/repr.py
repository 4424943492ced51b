"""Matches as a person likes to look at them: in a terminal and in a notebook."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any
from unicodedata import category

import pyarrow as pa

from sase.planning.nodes import chain

if TYPE_CHECKING:
    from sase.engine.plan import EnginePlan
    from sase.engine.results.matches import Matches

ROWS, WIDTH = 10, 100
# So many events of a series are shown, and how many more there are.
SHOWN = 3
# What is no character to look at, and shapes the letters around it in some scripts.
JOINERS = "\u200c\u200d"


def as_text(matches: Matches) -> str:
    """A heading, and the first matches as a table."""
    table = table_of(matches, ROWS) if len(matches) else []
    return "\n".join([_heading(matches), *table, *map(printable, _footing(matches))])


def printable(text: str) -> str:
    """Text on one line that tells a terminal nothing: what cannot be seen is escaped."""
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or character in JOINERS or category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def table_of(matches: Matches, count: int) -> list[str]:
    """The first matches as lines."""
    return lines_of(*_cells(matches, count))


def table_of_rows(table: pa.Table, type_column: str | None) -> list[str]:
    """Results as lines: of an event all attributes but its type."""
    return lines_of(*_cells_of(table, type_column))


def lines_of(header: list[str], cells: list[list[str]]) -> list[str]:
    """Cells as lines, each column as wide as it must be."""
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
    notes = "".join(f"<p>{escape(printable(line))}</p>" for line in _footing(matches))
    return (
        f"<div><p><b>{escape(_heading(matches))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
    )


def matcher_line(plan: EnginePlan, rows: int, facts: list[str]) -> str:
    """A matcher on one line: what it looks for, how far it has come, and its operators."""
    names = ", ".join(component.variable for component in plan.positives)
    told = ", ".join(["1 row" if rows == 1 else f"{rows:,} rows", *facts])
    operators = " → ".join(type(node).__name__ for node in reversed(chain(plan.operators)))
    return f"<matcher of {names}: {told}; {operators}>"


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
    return _cells_of(matches.head(count).to_arrow(), matches.schema.type)


def _cells_of(table: pa.Table, type_column: str | None) -> tuple[list[str], list[list[str]]]:
    if not isinstance(table.schema.field(0).type, pa.StructType):
        table = table.drop_columns(["ts_start", "ts_end"])
    return list(map(printable, table.column_names)), [
        [printable(_cell(value, type_column)) for value in row.values()]
        for row in table.to_pylist()
    ]


def _cell(value: Any, type_column: str | None) -> str:
    match value:
        case None:
            return "NULL"
        case dict():
            shown = {name: v for name, v in value.items() if name != type_column}
            return " ".join(f"{name}={_cell(v, type_column)}" for name, v in shown.items())
        case list():
            shown_here = [_cell(each, type_column) for each in value[:SHOWN]]
            more = [f"… {len(value) - SHOWN:,} more"] if len(value) > SHOWN else []
            return f"[{', '.join([*shown_here, *more])}]"
        case datetime():
            precision = "milliseconds" if value.microsecond else "seconds"
            return value.isoformat(" ", precision).replace("+00:00", "Z")
    return str(value)
