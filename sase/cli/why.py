"""`sase why`: what stops a query from finding a match, or more of them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_report,
    limit_options,
    one_query,
    print_report,
    query_options,
    show_report,
)
from sase.cli.queries import ArgumentError, refuse_given
from sase.cli.script_arguments import add_statement, events_of_script, is_script

if TYPE_CHECKING:
    from sase.diagnostics.why_not.why_not import WhyNot


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
        "--seconds", metavar="S", type=float, help="what the counting may take (default: 10)"
    )
    add_limits(parser, "all of it")
    add_report(parser)


def run(arguments: Namespace) -> int:
    """Explain the query."""
    from sase.api.why_not import why

    options = {
        "where": arguments.where,
        "from_": arguments.first,
        "to": arguments.last,
        "near": arguments.near,
        "most": arguments.most,
        "seconds": arguments.seconds,
        **limit_options(arguments),
    }
    if not is_script(arguments):
        refuse_given({"--statement": arguments.statement is not None}, "a single query")
        return print_report(arguments, why, **options)
    given = {name: value for name, value in options.items() if value is not None}
    show_report(arguments, _of_statement(arguments, given))
    return 0


def _of_statement(arguments: Namespace, options: dict[str, Any]) -> WhyNot:
    """Explain a statement of a script: the one that is named, or the only one no other reads."""
    from sase.api.script import Script
    from sase.binding.script import StatementGraph

    text = one_query(arguments)
    script = Script(text, **query_options(arguments))
    name = arguments.statement
    if name is None:
        graph = StatementGraph.of(text)
        results = [each.name for each in graph.statements if not graph.readers(each.name)]
        if len(results) > 1:
            raise ArgumentError(
                "which statement is to be explained? name it with  --statement ; there are"
                f" {', '.join(script.statements)}"
            )
        (name,) = results
    unnamed, streams = events_of_script(arguments)
    return script.why(name, unnamed, streams=streams, **options)
