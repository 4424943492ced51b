"""`sase compare`: the same pattern under each strategy, side by side."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sase.cli.event_arguments import (
    add_events,
    add_on_bad_row,
    add_report_format,
    discovered,
    given_of,
    one_query,
    query_options,
)
from sase.cli.exit_status import status_of


def configure(parser: ArgumentParser) -> None:
    """What the command takes."""
    add_events(parser)
    parser.add_argument(
        "--output",
        choices=("all", "non_overlap", "count"),
        action="append",
        help="a form of output to be counted; may be given several times (default: all)",
    )
    parser.add_argument(
        "--show",
        metavar="N",
        type=int,
        help="matches shown that each strategy adds (default: 10 where there are few events)",
    )
    parser.add_argument(
        "--max-matches",
        metavar="N",
        type=int,
        help="matches after which it is only said that there are more (default: 1,000,000)",
    )
    add_on_bad_row(parser)
    add_report_format(parser)


def run(arguments: Namespace) -> int:
    """Compare the strategies; 1 if that fails, 2 if the query or the arguments are wrong."""
    return status_of("compare", lambda: _run(arguments))


def _run(arguments: Namespace) -> int:
    from sase.api.compare import compare

    compared = compare(
        one_query(arguments),
        discovered(arguments),
        outputs=tuple(dict.fromkeys(arguments.output or ("all",))),
        **given_of(arguments, "show", "max_matches"),
        **query_options(arguments),
    )
    if arguments.format == "json":
        print(json.dumps(compared.to_dict(), ensure_ascii=False, indent=2))
    else:
        print(compared)
    return 0
