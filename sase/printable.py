"""Escape text for terminals: control characters are shown and have no effect.

All output for people passes here: tables, reports, explanations, messages and `repr`s. Values,
columns, types, file names and queries may contain any character.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import islice
from typing import Any

# The password of an address, which may have any sign but blanks; a port is none.
_PASSWORD = re.compile(r"(?<=://)([^\s/:@]{0,500}):(?!\d+(?:/|\s|$))(\S{0,500})@")
# A token in the place of the user; other schemes have names of users and containers there.
_TOKEN = re.compile(r"(https?://)([^\s/:@]+)@", re.IGNORECASE)
# The part behind a `?`, `#` or `;` of an address, and a value in it, which may be a token. Signs of
# the sentence may follow the address, and blanks be in its path. Without a `=` a question mark
# matches a character of a path, except of a web server: there the part is a value by itself.
_END = r"(?=[]:;,.)'\"`]*(?:&|$))"
_QUERY_STRING = re.compile(r"(?<=://)([^\s?#;]{0,500}[?#;]|[^\n?]{0,500}\?)([^\s=]{0,500}=\S*)")
_WEB_QUERY_STRING = re.compile(r"(https?://[^\s?]{0,500}\?)(\S+)", re.IGNORECASE)
_QUERY_VALUE = re.compile(rf"=[^&]*?{_END}")
_QUERY_WORD = re.compile(rf"(^|&)\w[^&=]*?{_END}")
# The most addresses of a message with secrets that are looked for in the rest of it.
MOST_REPEATED = 10
# Invisible characters that shape the letters around them in some scripts.
JOINERS = "\u200c\u200d"
# The longest line of a message, and the lengths of the beginning and the end kept of a longer one.
MOST_OF_MESSAGE, BEGINNING, ENDING = 1000, 500, 300


def printable(text: str) -> str:
    """Return one line: control characters, line ends and direction marks are escaped."""
    return text if text.isprintable() else "".join(map(_seen, text))


def on_one_line(text: str, most: int) -> str:
    """Return the text on one line with single spaces, cut to at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def printable_lines(text: str) -> str:
    """Escape each line of a text; line ends and tabs stay."""
    return text if text.isprintable() else "".join(map(_seen_in_lines, text.replace("\r\n", "\n")))


def printable_message(text: str) -> str:
    """Escape a message; secrets of addresses and the middle of long lines are left out."""
    return _without_middles(printable_lines(_without_middles(_without_secrets(text))))


def _without_secrets(text: str) -> str:
    """Leave out passwords and tokens of addresses, and the values of their query strings.

    A library may repeat a part of an address without its scheme: passwords are left out there too.
    """
    if "://" not in text:
        return text
    passwords = list(islice(_PASSWORD.finditer(text), MOST_REPEATED))
    tokens = list(islice(_TOKEN.finditer(text), MOST_REPEATED))
    text = _TOKEN.sub(r"\1…@", _PASSWORD.sub(r"\1:…@", text))
    for user, password in (found.groups() for found in passwords):
        text = text.replace(f"{user}:{password}@", f"{user}:…@")
        text = text.replace(f"'{password.partition('/')[0]}'", "'…'")
    for token in (found[2] for found in tokens):
        text = text.replace(f"{token}@", "…@")
    text = _WEB_QUERY_STRING.sub(_without_words, text)
    return _QUERY_STRING.sub(_without_values, text)


def _without_values(found: re.Match[str]) -> str:
    return found[1] + _QUERY_VALUE.sub("=…", found[2])


def _without_words(found: re.Match[str]) -> str:
    return found[1] + _QUERY_WORD.sub(r"\1…", _QUERY_VALUE.sub("=…", found[2]))


def _without_middles(text: str) -> str:
    if len(text) <= MOST_OF_MESSAGE:
        return text
    return "\n".join(
        line if len(line) <= MOST_OF_MESSAGE else f"{line[:BEGINNING]} … {line[-ENDING:]}"
        for line in text.split("\n")
    )


def printable_json(value: Any, *, default: Callable[[Any], Any] | None = None, **form: Any) -> str:
    """Return a value as JSON with these characters as JSON escapes; it reads back unchanged."""
    import json

    text = json.dumps(value, default=default, ensure_ascii=False, **form)
    return text if text.isprintable() else "".join(map(_seen_in_json, text))


class Documented(ABC):
    """A value with a form as plain data, and so as JSON text."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return printable_json(self.to_dict(), indent=2)


def is_shown(character: str) -> bool:
    """Whether a character has no effect but its own picture."""
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
