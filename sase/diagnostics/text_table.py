"""Tables as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def text_table(rows: Sequence[Sequence[str]], texts: int = 1) -> Iterator[str]:
    """Align rows, of which the first is the header: the first columns as texts, then numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    header, *cells = rows
    for row in (header, ["-" * width for width in widths], *cells):
        aligned = [
            cell.rjust(width) if place >= texts else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()
