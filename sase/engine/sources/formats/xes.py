"""XES, in which process mining keeps its logs: the events of each case, with typed attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from sase.engine.sources.formats.base import KnownKinds
from sase.engine.sources.formats.text import DecodedRow, DocumentFormat, Row

_READERS: dict[str, Callable[[str], Any]] = {
    "int": lambda text: text if "_" in text else int(text),
    "float": lambda text: text if "_" in text else float(text),
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}.get(
        text.lower(), text
    ),
}


class XesFormat(DocumentFormat):
    """Events with their attributes, and those of their case with `case:` in front."""

    name = "xes"
    title = "XES (.xes)"
    suffixes = (".xes",)

    def is_begun(self, first: str) -> bool:
        """Whether the document is a log."""
        return first.lstrip().startswith("<") and "<log" in first

    def rows(self, path: str, kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode each event, numbered from 1."""
        from xml.etree.ElementTree import ParseError, XMLPullParser

        case, number, depth = Row(), 0, list[str]()
        parser: Any = XMLPullParser(("start", "end"))
        try:
            with self.text(path) as text:
                while piece := text.read(1 << 16):
                    parser.feed(piece)
                    for step, node in parser.read_events():
                        tag = node.tag.rpartition("}")[2]
                        if step == "start":
                            depth.append(tag)
                            continue
                        depth.pop()
                        if tag == "event":
                            number += 1
                            yield DecodedRow(number, "", case | _values(node))
                            node.clear()
                        elif tag == "trace":
                            case = Row()
                            node.clear()
                        elif depth[-1:] == ["trace"]:
                            case |= {f"case:{n}": v for n, v in _values([node]).items()}
                parser.close()
        except ParseError as problem:
            raise pa.ArrowInvalid(str(problem)) from problem


def _values(nodes: Iterable[Any]) -> Row:
    found = Row()
    for node in nodes:
        name, text = node.get("key"), node.get("value")
        if name is not None and text is not None:
            read = _READERS.get(node.tag.rpartition("}")[2], str)
            try:
                found[name] = read(text)
            except ValueError:
                found[name] = text
    return found
