"""Spell names in the text of a query, in backquotes where they need them."""

from __future__ import annotations

import re

from sase.lang.ast import StrategyName

# Words that some place of the grammar takes for a keyword where a name could stand as well. A name
# after a dot or a colon is never among them, so that `x.limit` needs no backquotes.
_KEYWORDS = (
    "and any as between false having in is like limit not null or return true where with within"
)
RESERVED = frozenset([*_KEYWORDS.split(), *(strategy.value for strategy in StrategyName)])

_PLAIN = re.compile(r"[^\W\d]\w*")
_HYPHENATED = re.compile(r"[^\W\d]\w*(-\w+)*")


def spelled(name: str) -> str:
    """A name as it stands in a condition or a clause."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def spelled_field(name: str) -> str:
    """A name after a dot or a colon."""
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def spelled_type(name: str) -> str:
    """A type name in the EVENT clause, where hyphens are part of it."""
    return name if _HYPHENATED.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))
