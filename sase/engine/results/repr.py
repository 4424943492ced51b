"""Matches as text for a terminal and HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any

import pyarrow as pa

from sase.engine.report import Report
from sase.engine.results.arrow_columns import python_values, structs
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import chain
from sase.printable import printable

# Matches shown; the width of a line; events of a series shown.
ROWS, WIDTH, SHOWN = 10, 100, 3


def as_text(head: pa.Table, count: int, report: Report, type_column: str | None) -> str:
    """Format matches as a heading and a table of the first."""
    table = table_of(head, type_column) if count else []
    return "\n".join([_heading(count, report), *table, *map(printable, _footing(count, report))])


def table_of(table: pa.Table, type_column: str | None, width: int | None = WIDTH) -> list[str]:
    """Format results as lines; an event has all attributes but its type."""
    return lines_of(*cells_of(table, type_column), width)


def lines_of(header: list[str], cells: list[list[str]], width: int | None = WIDTH) -> list[str]:
    """Format cells as lines of aligned columns, cut after `width` characters."""
    lines = text_table([header, *cells], texts=len(header))
    return [
        line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines
    ]


def text_table(rows: Sequence[Sequence[str]], texts: int = 1) -> Iterator[str]:
    """Align rows, header first: the first `texts` columns left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    header, *cells = rows
    for row in (header, ["-" * width for width in widths], *cells):
        aligned = [
            cell.rjust(width) if place >= texts else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()


def as_html(head: pa.Table, count: int, report: Report, type_column: str | None) -> str:
    """Format matches as a heading and a table of the first, in HTML."""
    header, cells = cells_of(head, type_column) if count else ([], [])
    names = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    notes = "".join(f"<p>{escape(printable(line))}</p>" for line in _footing(count, report))
    return (
        f"<div><p><b>{escape(_heading(count, report))}</b></p>"
        f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
    )


def matcher_line(plan: EnginePlan, rows: int, facts: list[str]) -> str:
    """Describe a matcher on one line: variables, progress, operators."""
    names = printable(", ".join(component.variable for component in plan.positives))
    progress = ", ".join(["1 row" if rows == 1 else f"{rows:,} rows", *facts])
    operators = " → ".join(type(node).__name__ for node in reversed(chain(plan.operators)))
    return f"<matcher of {names}: {progress}; {operators}>"


def _heading(count: int, report: Report) -> str:
    found = "no match" if not count else "1 match" if count == 1 else f"{count:,} matches"
    # A choice from compressed matches reads no rows.
    return f"{found} in {report.rows:,} rows" if report.rows or not count else found


def _footing(count: int, report: Report) -> list[str]:
    lines = [f"… and {count - ROWS:,} more"] if count > ROWS else []
    if not report.is_complete:
        lines.append("LIMIT was reached before the end of the events")
    return lines + [f"warning: {warning}" for warning in report.warnings]


def cells_of(table: pa.Table, type_column: str | None) -> tuple[list[str], list[list[str]]]:
    """The names of result columns, and the cells as text."""
    if not isinstance(table.schema.field(0).type, pa.StructType):
        table = table.drop_columns(["ts_start", "ts_end"])
    return list(map(printable, table.column_names)), [
        [printable(cell_text(value, type_column)) for value in row.values()]
        for row in python_values(structs(table))
    ]


def cell_text(value: Any, type_column: str | None = None) -> str:
    """Format a value of a result; events are without their type."""
    match value:
        case None:
            return "NULL"
        case dict():
            shown = {name: v for name, v in value.items() if name != type_column}
            cells = {name: cell_text(v, type_column) for name, v in shown.items()}
            # The variables of an iteration, in brackets.
            inner = {name: f"({cells[name]})" for name, v in shown.items() if isinstance(v, dict)}
            return " ".join(f"{name}={cell}" for name, cell in {**cells, **inner}.items())
        case list():
            shown_here = [cell_text(each, type_column) for each in value[:SHOWN]]
            more = [f"… {len(value) - SHOWN:,} more"] if len(value) > SHOWN else []
            return f"[{', '.join([*shown_here, *more])}]"
        case datetime():
            precision = "milliseconds" if value.microsecond else "seconds"
            return value.isoformat(" ", precision).replace("+00:00", "Z")
    return str(value)
