"""`sase why`: explain why a query finds no match, or few matches."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_report,
    limit_options,
    one_query,
    query_options,
    show_report,
)
from sase.cli.output_files import add_page, check_page
from sase.cli.queries import refuse_given
from sase.cli.script_arguments import add_statement, events_of_script, is_script


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser)
    add_inputs(parser)
    add_statement(parser)
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        help="look only at events that satisfy a condition, such as 'tag_id = 17'",
    )
    parser.add_argument(
        "--from",
        metavar="TIME",
        dest="first",
        help="look only at events from a time on, as the time column has it; itself included",
    )
    parser.add_argument(
        "--to", metavar="TIME", dest="last", help="and only up to a time, itself included"
    )
    parser.add_argument("--near", metavar="N", type=int, help="near misses shown (default: 10)")
    parser.add_argument(
        "--most", metavar="N", type=int, help="partial matches counted (default: 5,000,000)"
    )
    parser.add_argument(
        "--seconds", metavar="S", type=float, help="the time that counting may take (default: 10)"
    )
    add_page(
        parser,
        "a picture of the near misses along time; without a near miss, of a partial match and the"
        " component that it lacks",
    )
    add_limits(parser, "all of it")
    add_report(parser)


def run(arguments: Namespace) -> int:
    """Explain the query, or a statement of a script: the named one, or the only result."""
    from sase.api.why_not import why
    from sase.binding.script.script import StatementGraph

    text, statement = one_query(arguments), arguments.statement
    refuse_given({"--statement": bool(statement) and not is_script(arguments)}, "a single query")
    if statement is None:
        statement = StatementGraph.of(text).only_result("name it with  --statement").name
    given = {
        "where": arguments.where,
        "from_": arguments.first,
        "to": arguments.last,
        "near": arguments.near,
        "most": arguments.most,
        "seconds": arguments.seconds,
        **limit_options(arguments),
    }
    options = {name: value for name, value in given.items() if value is not None}
    options |= {"statement": statement, **query_options(arguments)}
    check_page(arguments)
    events, streams = events_of_script(arguments)
    found = why(text, events, streams=streams, **options)
    show_report(arguments, found)
    return 0
