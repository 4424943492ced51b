"""Modifiers that make other texts of a text: dashes of Windows, encodings, and address ranges."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network
from itertools import product

# The dashes of an option: a hyphen, a slash, and longer ones.
DASHES = ("-", "/", "\u2013", "\u2014", "\u2015")
_DASH = re.compile(r"\B[-/]\b")
# Up to this number of options in a text, the dashes are combined; else all are the same.
MOST_OPTIONS = 2
# Where the letters that depend on bytes before and behind end, by the number of bytes before.
_FIRST, _BEHIND = (0, 2, 3), (None, -3, -2)


def with_dashes(text: str) -> list[str]:
    """A text with every dash of its options."""
    parts, dashes = _DASH.split(text), _DASH.findall(text)
    if not dashes:
        return [text]
    several = len(dashes) <= MOST_OPTIONS
    chosen = (
        product(DASHES, repeat=len(dashes)) if several else ((d,) * len(dashes) for d in DASHES)
    )
    return ["".join(map("".join, zip(parts, (*each, ""), strict=True))) for each in chosen]


def in_base64(data: bytes) -> list[str]:
    """Bytes as base64."""
    return [base64.b64encode(data).decode()]


def within_base64(data: bytes) -> list[str]:
    """The letters of base64 that bytes have at any place of others."""
    return [
        base64.b64encode(before * b" " + data).decode()[first : _BEHIND[(len(data) + before) % 3]]
        for before, first in enumerate(_FIRST)
    ]


# Of a modifier the encoding of texts, or the texts that it makes of bytes.
WIDE = {"wide": "utf-16-le", "utf16le": "utf-16-le", "utf16be": "utf-16-be", "utf16": "utf-16"}
BASE64: dict[str, Callable[[bytes], list[str]]] = {
    "base64": in_base64,
    "base64offset": within_base64,
}


def encoded(text: str, modifiers: Sequence[str]) -> list[str]:
    """The texts that modifiers of encodings make of a text, in their order."""
    data = text.encode(next((WIDE[each] for each in modifiers if each in WIDE), "utf-8"))
    return next(BASE64[each](data) for each in modifiers if each in BASE64)


def addresses_of(network: str) -> list[str]:
    """Texts with wildcards that the addresses of a range of IPv4 have, or a whole address.

    A `ValueError` says why a text is none.
    """
    found = IPv4Network(network)
    count = -(-found.prefixlen // 8)
    subnets = (str(each.network_address) for each in found.subnets(new_prefix=8 * count))
    behind = ["*"] if count < 4 else []
    return [".".join(address.split(".")[:count] + behind) for address in subnets]
