"""Compose HTML of elements; text is escaped unless it is markup already."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sase.printable import printable_lines


def escaped(text: str) -> str:
    """Text as HTML shows it, and as a terminal does in which somebody looks at the page."""
    return escape(printable_lines(text))


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element; `class_` is the attribute class, `data_x` data-x, and None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Elements and text one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else escaped(each) for each in children))


def breaking(name: str) -> Markup:
    """A name that may break after each underscore."""
    return Markup(escaped(name).replace("_", "_<wbr>"))


def listed(name: str, items: Iterable[str], **attributes: str | float | None) -> Markup:
    """A list of the items, if any."""
    entries = [element("li", item) for item in items]
    return element(name, *entries, **attributes) if entries else Markup()
