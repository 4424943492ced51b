"""Positions in the text of a query, and excerpts of a line with carets under a part of it."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from sase.cached_property import cached_property

# The most characters of a line in an excerpt.
EXCERPT_WIDTH = 120
# Padding by the width of the character above it, so that in the caret line both the number of
# characters *and* the number of terminal columns agree with the line above.
WIDE_PAD, ZERO_WIDTH_PAD = "\u3000", "\u200b"
# Left-to-right override and its end: a terminal must not reorder a line that has carets.
OVERRIDE, POP = "\u202d", "\u202c"


class Span(NamedTuple):
    """A range of characters, without its end."""

    start: int
    end: int


NOWHERE = Span(0, 0)


class Position(NamedTuple):
    """A line and a column, both counted from 1, and the offset in characters, counted from 0."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True)
class Source:
    """A text and its name in messages."""

    text: str
    name: str = "query"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, character in enumerate(self.text) if character == "\n")]

    def position(self, offset: int) -> Position:
        """The line and column of an offset."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1, offset)

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        start = self._line_starts[number - 1]
        last = number == len(self._line_starts)
        end = len(self.text) if last else self._line_starts[number] - 1
        return self.text[start:end].removesuffix("\r")

    def excerpt(self, span: Span) -> list[str]:
        """Return the first line of the span and carets below it, both with a gutter."""
        number, column, _ = self.position(span.start)
        line = self.line(number)
        start = min(column - 1, len(line))
        end = min(max(start + span.end - span.start, start + 1), max(len(line), start + 1))
        line, start, end = _clip(line, start, end)
        carets = "".join(map(_pad, line[:start])) + "^" * (end - start)
        before, after = (OVERRIDE, POP) if any(map(_is_right_to_left, line)) else ("", "")
        marked = "".join(map(_marked, line[start:end]))
        shown = "".join(map(_visible, line[:start])) + marked + "".join(map(_visible, line[end:]))
        gutter = f"{number} | "
        blank = f"{'|':>{len(gutter) - 1}} "
        return [gutter + before + shown + after, blank + before + carets + after]


def _clip(line: str, start: int, end: int) -> tuple[str, int, int]:
    """Cut a long line to the surroundings of a place."""
    if len(line) <= EXCERPT_WIDTH:
        return line, start, end
    left = max(0, start - EXCERPT_WIDTH // 2)
    right = min(len(line), left + EXCERPT_WIDTH)
    head, tail = ("…" if left else ""), ("…" if right < len(line) else "")
    shift = left - len(head)
    return head + line[left:right] + tail, start - shift, max(min(end, right), start + 1) - shift


def _visible(character: str) -> str:
    """Return a character as shown: as a picture if it would act on the terminal."""
    code = ord(character)
    if character == "\t":
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u2028\u2029"
        or (unicodedata.bidirectional(character) in _BIDI_CONTROLS)
    ):
        return "\ufffd"
    return character


def _marked(character: str) -> str:
    """Return a character above a caret as shown: invisible ones as a picture, too."""
    shown = _visible(character)
    return shown if shown == " " else _UNSEEN.get(unicodedata.category(shown), shown)


# By category: spaces, and characters without width, such as joiners and direction marks.
_UNSEEN = {"Zs": "\u2423", "Cf": "\ufffd"}
_BIDI_CONTROLS = frozenset(("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def _pad(character: str) -> str:
    if character == "\t":
        return character
    if _visible(character) != character:
        return " "
    if unicodedata.east_asian_width(character) in "WF":
        return WIDE_PAD
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ZERO_WIDTH_PAD
    return " "


def _is_right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL", "AN")
