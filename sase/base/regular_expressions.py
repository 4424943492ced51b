"""Regular expressions in the language of RE2, which needs linear time; Arrow has RE2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# The last group that a replacement can name, behind the group of the whole match.
MOST_GROUP = 8
LONGEST_REASON = 100


def problem(pattern: str, group: int = 0) -> str | None:
    """The reason why a pattern is no regular expression, or why it has no such group."""
    try:
        extracts([""], pattern)
    except ValueError as error:
        reason = str(error).partition("Invalid regular expression: ")[2] or str(error)
        return f"this is no regular expression of RE2: {reason[:LONGEST_REASON]}"
    try:
        extracts([""], pattern, group)
    except ValueError:
        return f"this pattern has no group {group}"
    return None


def matches(texts: Sequence[str], pattern: str) -> list[bool]:
    """Whether a pattern matches a part of each text."""
    import pyarrow.compute as pc

    found: list[bool] = pc.match_substring_regex(_array(texts), pattern).to_pylist()
    return found


def extracts(texts: Sequence[str], pattern: str, group: int = 0) -> list[str | None]:
    """The part of each text that a pattern matches first, or a group of it; None without a match.

    A group that takes no part in the match is empty.
    """
    import pyarrow.compute as pc

    is_match = matches(texts, pattern)
    try:
        parts = pc.replace_substring_regex(
            _array(texts), pattern=_whole(pattern), replacement=f"\\{group + 1}"
        )
    except ValueError:  # a quotation `\Q` reaches to the end of the pattern
        parts = pc.replace_substring_regex(
            _array(texts), pattern=_whole(pattern + "\\E"), replacement=f"\\{group + 1}"
        )
    return [
        each if found else None for each, found in zip(parts.to_pylist(), is_match, strict=True)
    ]


def _whole(pattern: str) -> str:
    """A pattern for the whole text around the first match, which is group 1."""
    return rf"\A(?s:.*?)({pattern})(?s:.*)\z"


def _array(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair is no character
        return pa.array([each.encode("utf-8", "replace").decode() for each in texts])
