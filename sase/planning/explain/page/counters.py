"""The counters of an operator: a table by pattern level, and a list of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sase.planning.explain.page.markup import Markup, element, joined


def counters(counted: Iterable[tuple[str, Any]]) -> Markup:
    """All counters that are not zero."""
    tables: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    alone: dict[str, Any] = {}
    for name, count in counted:
        if isinstance(count, Mapping) and any(count.values()):
            tables.setdefault(tuple(count), {})[name] = count
        elif not isinstance(count, Mapping) and _is_something(count):
            alone[name] = count
    for keys, rows in list(tables.items()):
        if len(rows) == 1:  # a single row becomes a list
            alone |= tables.pop(keys)
    return joined([*(_table(keys, rows) for keys, rows in tables.items()), _list(alone)])


def _is_something(count: Any) -> bool:
    return any(count) if isinstance(count, list | tuple) else bool(count)


def _table(keys: tuple[str, ...], rows: Mapping[str, Mapping[str, Any]]) -> Markup:
    heads = [element("th", key, scope="col") for key in keys]
    lines = [
        element(
            "tr",
            element("th", _words(name), scope="row"),
            *[element("td", _shown(count[key])) for key in keys],
        )
        for name, count in rows.items()
    ]
    head = element("thead", element("tr", element("td"), *heads))
    table = element("table", head, element("tbody", *lines))
    return element("div", table, class_="figures")


def _list(counts: Mapping[str, Any]) -> Markup:
    """A list of names and counts; nested ones are indented."""
    entries = [
        joined([element("dt", _words(name)), element("dd", _shown(count))])
        for name, count in counts.items()
    ]
    return element("dl", *entries, class_="counters") if entries else Markup()


def _shown(count: Any) -> str:
    if isinstance(count, Mapping):
        return _list(count)
    if isinstance(count, list | tuple):
        return Markup(", ".join(joined([_shown(each)]) for each in count))
    return f"{count:,}" if isinstance(count, int) else str(count)


def _words(name: str) -> str:
    return name.replace("_", " ")
