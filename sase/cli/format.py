"""`sase format`: format queries, with their comments."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from sase.base.files import write_whole
from sase.cli.messages import print_diagnostics, print_text
from sase.cli.queries import ArgumentError, Text, add_queries, read_queries
from sase.errors import QueryError
from sase.printable import printable


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_queries(parser)
    parser.add_argument("-w", "--write", action="store_true", help="change the files in place")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 if a text is not laid out well",
    )


def run(arguments: Namespace) -> int:
    """Format every text: to standard output, or with -w in place."""
    texts = read_queries(arguments)
    if arguments.write and arguments.check:
        raise ArgumentError("-w changes files and --check never does: leave one of them out")
    if arguments.write and any(text.path is None for text in texts):
        raise ArgumentError("-w changes files in place, and this text is in none")
    formatted = [(text, _formatted(text)) for text in texts]
    if arguments.check:
        status = _check(formatted)
    elif arguments.write:
        status = _write(formatted)
    else:
        print_text("\n".join(new for _, new in formatted if new is not None))
        status = 0
    return 2 if any(new is None for _, new in formatted) else status


def _formatted(text: Text) -> str | None:
    """The formatted text; None, after a message, if it cannot be parsed."""
    from sase.lang.layout import format_text

    try:
        return format_text(text.content, text.name)
    except QueryError as problem:
        print_diagnostics(problem.diagnostics, sys.stderr)
        return None


def _check(formatted: list[tuple[Text, str | None]]) -> int:
    changed = [text.name for text, new in formatted if new not in (None, text.content)]
    for name in changed:
        print(f"{printable(name)} would change")
    return 1 if changed else 0


def _write(formatted: list[tuple[Text, str | None]]) -> int:
    for text, new in formatted:
        if new is not None and new != text.content:
            write_whole(text.path or "", new.encode())
            print(f"{printable(text.name)} changed", file=sys.stderr)
    return 0
