"""The end of an unfinished query: the word begun there, and the words that it may become."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from lark.exceptions import UnexpectedInput

from sase.lang.outline import plain
from sase.lang.scene import KEYWORDS, accepted_after

WordKind: TypeAlias = Literal["type", "attribute", "value", "unit"]

_NAME = r"(?:[^\W\d]\w*|`[^`]+`)"
_BEGUN = [re.compile(f"{form}$") for form in ("`[^`]*", r"[^\W\d]\w*(?:-\w*)+", r"(?:[^\W\d]\w*)?")]
_HYPHENATED = _BEGUN[1]
_INDEX = re.compile(r"\[[^][]*\]")
# `x.user.`, `a[i].` or `x.(ts, `; and the beginning of an equivalence test.
_DOTTED = re.compile(rf"((?:{_NAME}(?:{_INDEX.pattern})*\.)+)(?:\((?:{_NAME},\s*)*\s*)?$")
_TEST = re.compile(r"(?<![\w`\]])\[\s*(?:[^][]*,\s*)?$")


@dataclass(frozen=True)
class WordPlace:
    """The word begun at the end of a text, the keywords that may come, and the kind of names.

    `path` are the names before the dot of an attribute, the variable first.
    """

    begun: str = ""
    kind: WordKind | None = None
    keywords: tuple[str, ...] = ()
    path: tuple[str, ...] = ()

    @classmethod
    def after(cls, text: str) -> WordPlace:
        """The place at the end of a text; in a string, or after an error, nothing may come."""
        for form in _BEGUN:
            if (found := form.search(text)) is None:
                continue
            before = text[: found.start()]
            try:
                accepted = accepted_after(before, "script")
            except UnexpectedInput:
                continue
            if form is _HYPHENATED and "HYPHENATED_NAME" not in accepted:
                continue  # names with minus signs in between
            if dotted := _DOTTED.search(before):
                path = re.findall(_NAME, _INDEX.sub("", dotted[1]))
                return cls(found[0], "attribute", (), tuple(map(plain, path)))
            if _TEST.search(before):
                return cls(found[0], "attribute")
            words = chain.from_iterable(KEYWORDS[name] for name in KEYWORDS if name in accepted)
            return cls(found[0], _kind(accepted, before), tuple(words))
        return cls()


def _kind(accepted: Set[str], before: str) -> WordKind | None:
    if "HYPHENATED_NAME" in accepted:
        return "type"
    if "NAME" in accepted and before.rstrip()[-1:].isdigit():
        return "unit"
    return "value" if {"NAME", "STRING"} <= accepted else None
