"""`sase explain`: the plan of a query, its reasons, estimates and measurements."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from sase.base.files import write_whole
from sase.cli.event_arguments import (
    add_events,
    add_inputs,
    add_limits,
    add_schema,
    limit_options,
    one_query,
    options_without_events,
    query_options,
    refuse_limits_unless,
    schema_in,
)
from sase.cli.messages import warnings_as_messages
from sase.cli.output_files import Target, check_unread
from sase.cli.queries import ArgumentError, refuse_given
from sase.cli.script_arguments import (
    GivenProgram,
    add_statement,
    add_strict,
    events_of_script,
    is_script,
)
from sase.cli.spark import SparkRequest, add_spark, session

if TYPE_CHECKING:
    from sase.engine.sources.discovered import Discovered
    from sase.planning.explain import Explanation


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser, required=False)
    add_inputs(parser)
    add_schema(parser, "the schema, in place of events")
    add_statement(parser)
    add_strict(parser)
    parser.add_argument(
        "--analyze",
        action="store_true",
        help="run the query, and show the figures of each operator",
    )
    parser.add_argument(
        "--pushed",
        metavar="ROWS",
        type=int,
        help="with --analyze: push the events as a stream, in batches of ROWS rows",
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="every rewrite, and the alternatives with their costs",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "dot", "html", "automaton", "automaton-dot"),
        default="text",
        help="text, JSON, a graph for Graphviz, a page for a browser, or the automaton of the"
        " pattern, as text or as a graph (default: text)",
    )
    parser.add_argument(
        "--off",
        metavar="REWRITE",
        action="append",
        default=[],
        help="switch off a rewrite; may be given several times",
    )
    parser.add_argument(
        "--output",
        choices=("all", "non_overlap", "compressed", "count"),
        default="all",
        help="the form of the result: how it is computed, and the cost of a list (default: all)",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="as if the query had this LIMIT")
    add_limits(parser, "the run of --analyze")
    parser.add_argument("--save-stats", metavar="FILE", help="write the statistics to a file")
    parser.add_argument("-o", "--out", metavar="FILE", help="write to a file")
    parser.add_argument(
        "--spark", action="store_true", help="as `sase replay` would run it: text or JSON"
    )
    add_spark(parser)


def run(arguments: Namespace) -> int:
    """Explain."""
    for option, path in ("-o", arguments.out), ("--save-stats", arguments.save_stats):
        if path is not None:
            check_unread(Target(option, path), arguments)
    refuse_limits_unless(arguments.analyze, "--analyze", arguments)
    if is_script(arguments):
        _check_script(arguments)
        _write(_of_script(arguments), arguments.out)
        return 0
    if arguments.spark:
        return _run_on_spark(arguments)
    refuse_given({"--statement": arguments.statement is not None}, "a single query")
    for option in ("table", "master", "conf", "strategy", "slices"):
        if getattr(arguments, option):
            raise ArgumentError(f"--{option} is for --spark: give that as well")
    explanation = _of_query(arguments)
    if arguments.save_stats is not None:
        _save(explanation, arguments.save_stats)
    _write(_formatted(explanation, arguments), arguments.out)
    return 0


def _formatted(explanation: Explanation, arguments: Namespace) -> str:
    return {
        "text": lambda: explanation.to_text(verbose=arguments.verbose),
        "json": explanation.to_json,
        "dot": explanation.to_dot,
        "html": explanation.to_html,
        "automaton": explanation.to_automaton,
        "automaton-dot": explanation.to_automaton_dot,
    }[arguments.format]()


def _check_script(arguments: Namespace) -> None:
    """Refuse options for queries only, unknown statements, and graphs of several statements."""
    from sase.binding.script.script import StatementGraph

    refused = {
        "--spark": arguments.spark,
        f"--output {arguments.output}": arguments.output != "all",
        "--limit": arguments.limit is not None,
        "--pushed": arguments.pushed is not None,
        "--stats": arguments.stats is not None,
        "--save-stats": arguments.save_stats is not None,
    }
    refuse_given(refused, "a script")
    graph = StatementGraph.of(one_query(arguments))
    if arguments.statement is not None:
        graph.chosen(arguments.statement)
    elif arguments.format not in ("text", "json"):
        names = ", ".join(each.name for each in graph.statements)
        raise ArgumentError(
            f"--format {arguments.format} draws one statement: name it with  --statement ; "
            f"there are {names}"
        )


def _of_script(arguments: Namespace) -> str:
    """The plan of each statement under its name, or of the named statement."""
    from sase.api.script import Script

    unnamed, streams = _events(arguments, "script")
    options = {**query_options(arguments), "strict": arguments.strict}
    script = Script(one_query(arguments), schema_in(arguments), **options)
    run = {name: getattr(arguments, name) for name in ("analyze", "off")}
    explanation = script.explain(unnamed, streams=streams, **run, **limit_options(arguments))
    if arguments.statement is None:
        if arguments.format == "json":
            return explanation.to_json()
        return explanation.to_text(verbose=arguments.verbose)
    why = explanation.set_aside.get(arguments.statement)
    if why is not None:
        raise ArgumentError(f"--statement {arguments.statement}: it is set aside: {why}")
    return _formatted(explanation[arguments.statement], arguments)


def _of_query(arguments: Namespace) -> Explanation:
    from sase.api.explain import explain

    events, _ = _events(arguments, "query")
    names = ("limit", "output", "stats", "off", "analyze", "pushed")
    options = {name: getattr(arguments, name) for name in names}
    options |= query_options(arguments) | limit_options(arguments)
    if events is None:
        options |= vars(options_without_events(arguments))
    return explain(one_query(arguments), events, schema=schema_in(arguments), **options)


def _events(
    arguments: Namespace, what: str
) -> tuple[Discovered | None, dict[str, Discovered] | None]:
    """The events of the input without a name, and of the inputs with names."""
    if arguments.events is None and not arguments.input:
        if arguments.analyze:
            raise ArgumentError(
                f"--analyze runs the {what}: give it --events" + " or --input" * (what == "script")
            )
        return None, None
    if arguments.schema is not None:
        raise ArgumentError("--schema and --events both give a schema: leave one of them out")
    return events_of_script(arguments)


def _write(text: str, path: str | None) -> None:
    if path is None:
        print(text.rstrip("\n"))
    else:
        write_whole(path, text.encode())


def _run_on_spark(arguments: Namespace) -> int:
    refused = {
        f"--format {arguments.format}": arguments.format not in ("text", "json"),
        "--schema": arguments.schema is not None,
        "--off": bool(arguments.off),
        "--save-stats": arguments.save_stats is not None,
        "--verbose": arguments.verbose,
        "--pushed": arguments.pushed is not None,
    }
    refuse_given(refused, "--spark")
    given = SparkRequest(GivenProgram.of(arguments))
    with warnings_as_messages(), session(arguments) as spark:
        from sase.spark.explain import explained

        replay = given.replay(spark)
        found = explained(replay, analyze=arguments.analyze)
    _write(str(found) if arguments.format == "text" else found.to_json(), arguments.out)
    return 0


def _save(explanation: Explanation, path: str) -> None:
    from sase.planning.serialisation import statistics_to_json

    if explanation.statistics is None:
        raise ArgumentError("--save-stats: nothing was measured: give --events")
    write_whole(path, f"{statistics_to_json(explanation.statistics)}\n".encode())
