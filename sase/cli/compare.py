"""`sase compare`: the same pattern under each strategy, side by side."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sase.cli.failing import status_of
from sase.cli.given import add_events, keywords, one_query, opened


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
    parser.add_argument(
        "--on-bad-row",
        choices=("error", "quarantine"),
        default="error",
        help="stop at a row that cannot be used, or leave it out (default: error)",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how it is told (default: text)"
    )


def run(arguments: Namespace) -> int:
    """Compare the strategies; 1 if that fails, 2 if the query or the arguments are wrong."""
    return status_of("compare", lambda: _run(arguments))


def _run(arguments: Namespace) -> int:
    from sase.api.comparing import compare

    text = one_query(arguments)
    events, columns = opened(arguments, keeps_rows=arguments.on_bad_row == "quarantine")
    bounds = {name: getattr(arguments, name) for name in ("show", "max_matches")}
    compared = compare(
        text.content,
        events,
        outputs=tuple(dict.fromkeys(arguments.output or ("all",))),
        on_bad_row=arguments.on_bad_row,
        **{name: each for name, each in bounds.items() if each is not None},
        **keywords(arguments, columns),
    )
    if arguments.format == "json":
        print(json.dumps(compared.to_dict(), ensure_ascii=False, indent=2))
    else:
        print(compared)
    return 0
