"""Read the queries of a command: from files, `-q TEXT`, or standard input."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sase.base.files import read_all
from sase.cli.pandas_import import hide_pandas
from sase.source import Source

if TYPE_CHECKING:
    from sase.errors import Diagnostic

BOM = "\ufeff"
# The name of standard input in a list of files.
STANDARD_INPUT = "-"
# The suffixes of query files. Only for other suffixes are the formats of events looked up, because
# that loads Arrow.
QUERIES = ("", ".sase")


class ArgumentError(ValueError):
    """Invalid arguments of a command."""


class Terminated(BaseException):
    """The process received SIGTERM."""


def refuse_given(options: Mapping[str, bool], why: str) -> None:
    """Refuse the first given option, for this reason."""
    for option, is_given in options.items():
        if is_given:
            raise ArgumentError(f"{option} does not go with {why}: leave it out")


def named_value(option: str, text: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """The name and the value that an option gives."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentError(f"{option} {text}: give it as {form}")
    return name, value


class Text(NamedTuple):
    """The text of queries and its name in messages; `path` is None if it is not from a file."""

    content: str
    name: str
    path: str | None = None


def named_as_read(diagnostics: Iterable[Diagnostic], arguments: Namespace) -> Iterator[Diagnostic]:
    """Diagnostics with the name of the file of their text, or of its other origin."""
    texts: list[Text] = getattr(arguments, "texts", None) or []
    names = {text.content: text.name for text in texts}
    for each in diagnostics:
        text = each.source.text
        yield replace(each, source=Source(text, names[text])) if text in names else each


def add_queries(parser: ArgumentParser) -> None:
    """Add the arguments that give the queries."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="files with queries; - is stdin")
    parser.add_argument("-q", metavar="TEXT", dest="query", help="the query itself")


def read_queries(arguments: Namespace) -> list[Text]:
    """Read the texts that the arguments name, each once; an ArgumentError reports a problem."""
    texts: list[Text] | None = getattr(arguments, "texts", None)
    if texts is None:
        texts = arguments.texts = _texts(arguments)
    return texts


def _texts(arguments: Namespace) -> list[Text]:
    refuse_events(arguments.files)
    if arguments.query is not None and arguments.files:
        raise ArgumentError("give files or -q TEXT, not both")
    if arguments.query is not None:
        if os.path.exists(arguments.query):
            raise ArgumentError(
                f"-q {arguments.query}: this is the path of a file, and the text of a query should"
                " stand here: a file with a query is named without -q, and events with --events"
            )
        return [Text(arguments.query, "query")]
    if not arguments.files:
        raise ArgumentError("there is no query: name a file, give -q TEXT, or - for standard input")
    return [read_text(name) for name in arguments.files]


def check_events(arguments: Namespace) -> None:
    """Refuse a command without events, and name files of events among the queries."""
    if not getattr(arguments, "needs_events", False) or getattr(arguments, "input", None):
        return
    if arguments.events is None:
        refuse_events(getattr(arguments, "files", ()))
        raise ArgumentError("there are no events: name their files with  --events PATH")


def refuse_events(names: Iterable[str]) -> None:
    """Refuse files of events in place of files of queries."""
    for name in filter(_holds_events, names):
        raise ArgumentError(
            f"{name} is a file of events, and a file with queries should stand here: name it with "
            f" --events {name}"
        )


def _holds_events(name: str) -> bool:
    """Whether the suffix of a file is that of events."""
    if os.path.splitext(name)[1].lower() in QUERIES:
        return False
    hide_pandas()
    from sase.engine.sources.discover import named_format

    return named_format(name) is not None


def read_text(name: str) -> Text:
    """Read the text of a file or of standard input; an ArgumentError says why it is unreadable."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise ArgumentError("-: there is no standard input")
            content = read_all(sys.stdin.buffer)
        else:
            with open(name, "rb") as file:
                content = read_all(file)
        text = content.decode("utf-8").removeprefix(BOM)
    except OSError as problem:
        hint = "; a query itself is given with -q" if " " in name.strip() else ""
        raise ArgumentError(
            f"{name} cannot be read: {problem.strerror or problem}{hint}"
        ) from problem
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ArgumentError(
            f"{name} is not UTF-8: byte {problem.start}, in line {line}"
        ) from problem
    return Text(text, "standard input" if name == "-" else name, None if name == "-" else name)
