"""Text that a terminal shows and does not obey: what would act on it is escaped.

Whatever this package writes for people passes here: tables, reports, explanations, messages and
`repr`s. Values, columns, types, names of files and queries may hold any character.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

# Invisible characters that shape the letters around them in some scripts.
JOINERS = "\u200c\u200d"
# Characters of a line of a message, and those that begin and end what is left of a longer one.
MOST_OF_MESSAGE, BEGINNING, ENDING = 1000, 500, 300


def printable(text: str) -> str:
    """One line: control characters, line ends and marks of direction are escaped as in Python."""
    return text if text.isprintable() else "".join(map(_seen, text))


def on_one_line(text: str, most: int) -> str:
    """A text with single spaces, of which at most so many characters are shown."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def printable_lines(text: str) -> str:
    """The same of several lines, whose ends and tabs stay."""
    return text if text.isprintable() else "".join(map(_seen_in_lines, text.replace("\r\n", "\n")))


def printable_message(text: str) -> str:
    """The same of a message: a line that values make long lacks its middle."""
    return _without_middles(printable_lines(_without_middles(text)))


def _without_middles(text: str) -> str:
    if len(text) <= MOST_OF_MESSAGE:
        return text
    return "\n".join(
        line if len(line) <= MOST_OF_MESSAGE else f"{line[:BEGINNING]} … {line[-ENDING:]}"
        for line in text.split("\n")
    )


def printable_json(value: Any, *, default: Callable[[Any], Any] | None = None, **form: Any) -> str:
    """A value as JSON, in which such characters are escaped as JSON has it: it reads as it was."""
    import json

    text = json.dumps(value, default=default, ensure_ascii=False, **form)
    return text if text.isprintable() else "".join(map(_seen_in_json, text))


class Documented(ABC):
    """What has a form as plain data of JSON, and so one as text."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data of JSON."""

    def to_json(self) -> str:
        """The same as text."""
        return printable_json(self.to_dict(), indent=2)


def is_shown(character: str) -> bool:
    """Whether a character only shows itself."""
    from unicodedata import category

    return character.isprintable() or character in JOINERS or category(character) == "Zs"


def _seen(character: str) -> str:
    return character if is_shown(character) else character.encode("unicode_escape").decode()


def _seen_in_lines(character: str) -> str:
    return character if character in "\n\t" else _seen(character)


def _seen_in_json(character: str) -> str:
    import json

    is_kept = character == "\n" or is_shown(character)
    return character if is_kept else json.dumps(character)[1:-1]
