"""`sase compare`: the same pattern under each strategy, side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sase.cli.event_arguments import add_events, add_limits, add_report, limit_options, print_report
from sase.cli.output_files import add_page, check_page


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
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
    add_page(parser, "a picture of the matches that each strategy adds, along time")
    add_limits(parser, "each run")
    add_report(parser)


def run(arguments: Namespace) -> int:
    """Compare the strategies."""
    from sase.api.compare import compare

    check_page(arguments)
    return print_report(
        arguments,
        compare,
        outputs=tuple(dict.fromkeys(arguments.output or ("all",))),
        show=arguments.show,
        max_matches=arguments.max_matches,
        **limit_options(arguments),
    )
