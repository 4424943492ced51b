"""Write names in the text of a query, with backquotes where necessary."""

from __future__ import annotations

import re

from sase.lang.ast import StrategyName

# Keywords at places where the grammar also allows a name. Names after a dot or a colon are never
# keywords, so that `x.limit` needs no backquotes.
_KEYWORDS = (
    "and any as between false having in is like limit not null or return true where with within"
)
RESERVED = frozenset([*_KEYWORDS.split(), *(strategy.value for strategy in StrategyName)])

_PLAIN = re.compile(r"[^\W\d]\w*")
_HYPHENATED = re.compile(r"[^\W\d]\w*(-\w+)*")


def spelled(name: str) -> str:
    """A name in a condition or a clause."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def spelled_field(name: str) -> str:
    """A name after a dot or a colon."""
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def spelled_type(name: str) -> str:
    """A type name in the EVENT clause, where hyphens are allowed."""
    return name if _HYPHENATED.fullmatch(name) and name.lower() not in RESERVED else _quoted(name)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))
