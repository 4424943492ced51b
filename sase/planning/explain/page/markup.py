"""Compose HTML elements; text is escaped unless it is markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sase.printable import printable_lines


def escaped(text: str) -> str:
    """Escape text for HTML, and control characters for terminals that display the page."""
    return escape(printable_lines(text))


class Markup(str):
    """HTML text that is not escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element; `class_` becomes class, `data_x` data-x; None omits an attribute."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Concatenate elements and text."""
    return Markup("".join(each if isinstance(each, Markup) else escaped(each) for each in children))


def breaking(name: str) -> Markup:
    """A name that may wrap after each underscore."""
    return Markup(escaped(name).replace("_", "_<wbr>"))


def listed(name: str, items: Iterable[str], **attributes: str | float | None) -> Markup:
    """A list of items; nothing without items."""
    entries = [element("li", item) for item in items]
    return element(name, *entries, **attributes) if entries else Markup()
