"""`sase check`: report every error of queries."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("-q", metavar="TEXT", dest="query", required=True, help="the query itself")


def run(arguments: Namespace) -> int:
    """Check the query."""
    from sase.lang.parser import parse_query

    parse_query(arguments.query)
    return 0
