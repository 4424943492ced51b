"""Places in the text of a query, and the excerpt of a line with a caret under a place."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from sase.cached_property import cached_property

# An excerpt shows at most this many characters of a line, around the place.
EXCERPT_WIDTH = 120
# The widths of the pads that stand under a character in the caret line: the number of characters
# *and* the number of terminal columns agree with the line above, whatever script it is in.
WIDE_PAD, ZERO_WIDTH_PAD = "\u3000", "\u200b"
# Left-to-right override and its end: a terminal must not reorder a line that carries a caret.
OVERRIDE, POP = "\u202d", "\u202c"


class Span(NamedTuple):
    """A range of characters, the end not included."""

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
    """A text and the name under which messages refer to it."""

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
        """The first line of the span and, under it, carets: both with the line number's gutter."""
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
    """Cut a long line down to the surroundings of a place."""
    if len(line) <= EXCERPT_WIDTH:
        return line, start, end
    left = max(0, start - EXCERPT_WIDTH // 2)
    right = min(len(line), left + EXCERPT_WIDTH)
    head, tail = ("…" if left else ""), ("…" if right < len(line) else "")
    shift = left - len(head)
    return head + line[left:right] + tail, start - shift, max(min(end, right), start + 1) - shift


def _visible(character: str) -> str:
    """What is shown for a character: a picture of it where it would act on the terminal."""
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
    """What is shown above a caret: a picture also of what nobody would see."""
    shown = _visible(character)
    return shown if shown == " " else _UNSEEN.get(unicodedata.category(shown), shown)


# By category: spaces, and what has no width, such as joiners and marks of direction.
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
