"""`sase funnel`: how many keys reach each of several steps."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sase.cli.event_arguments import (
    add_event_files,
    add_limits,
    add_on_bad_row,
    discovered,
    limit_options,
)
from sase.printable import printable_json


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_event_files(parser)
    parser.add_argument(
        "--steps", metavar="TYPE,TYPE…", required=True, help="the types of events, in order"
    )
    parser.add_argument(
        "--by", metavar="COLUMN[,COLUMN]", required=True, help="the column of the key, or several"
    )
    parser.add_argument(
        "--within", metavar="TIME", help="the time from the first step to the last, as in '1 hour'"
    )
    parser.add_argument(
        "--without", metavar="TYPE[,TYPE]", help="types of which no event may come between"
    )
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        action="append",
        help="which events may be skipped (default: skip_till_next_match); may be given several"
        " times, for counts side by side",
    )
    add_limits(parser, "the run")
    add_on_bad_row(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "html"),
        default="text",
        help="the form of the funnel: a table, numbers, or a picture (default: text)",
    )


def run(arguments: Namespace) -> int:
    """Print the funnel."""
    from sase.api.funnel import funnel
    from sase.binding.funnel_queries import NEXT

    found = funnel(
        discovered(arguments),
        _listed(arguments.steps),
        by=_listed(arguments.by),
        within=arguments.within,
        without=_listed(arguments.without or ""),
        strategies=arguments.strategy or NEXT,
        **limit_options(arguments),
    )
    if arguments.format == "json":
        print(printable_json(found.to_dict(), indent=2))
    else:
        print(found if arguments.format == "text" else found._repr_html_())
    return 0


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
