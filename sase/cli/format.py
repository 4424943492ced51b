"""`sase format`: lay queries out well."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="a file with queries")


def run(arguments: Namespace) -> int:
    """Lay the queries out."""
    return 0
