"""`sase plans`: list the recipes, or compare their plans of a query."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from sase.cli.event_arguments import (
    add_events,
    add_limits,
    discovered,
    limit_options,
    one_query,
    options_without_events,
    query_options,
    refuse_limits_unless,
)
from sase.cli.queries import ArgumentError
from sase.printable import printable

if TYPE_CHECKING:
    from sase.planning.explain import Explanation


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser, required=False)
    parser.add_argument(
        "--run", action="store_true", help="run every plan, and show its time and its matches"
    )
    add_limits(parser, "all that --run runs")
    parser.add_argument("--rewrites", action="store_true", help="list the rewrites instead")


def run(arguments: Namespace) -> int:
    """List the recipes, or compare their plans."""
    from sase.planning.recipes import read_recipe, recipe_names
    from sase.planning.rewrites import REWRITES

    refuse_limits_unless(arguments.run, "--run", arguments)
    if arguments.rewrites:
        _print_aligned([(rule.name, rule.summary) for rule in REWRITES.values()])
    elif not arguments.files and arguments.query is None:
        if arguments.events is not None or arguments.run:
            raise ArgumentError("there is no query to compare plans of: give FILE or -q TEXT")
        _print_aligned([(name, read_recipe(name).summary) for name in recipe_names()])
    else:
        if arguments.run and arguments.events is None:
            raise ArgumentError("--run runs the query: give it --events")
        own = [] if arguments.plan in recipe_names() else [arguments.plan]
        _compare(arguments, [*recipe_names(), *own])
    return 0


def _compare(arguments: Namespace, recipes: list[str]) -> None:
    """Print the plan of each recipe, equal ones once, and a table of their costs."""
    from sase.planning.explain.text import tree

    found: dict[str, tuple[Explanation, list[str]]] = {}
    for explanation in _explanations(arguments, recipes):
        shape = "\n".join(tree(explanation, facts=False))
        found.setdefault(shape, (explanation, []))[1].append(explanation.recipe)
    for shape, (_, names) in found.items():
        print(f"{printable(', '.join(names))}:\n{shape}\n")
    if all(each.expected_results is None for each, _ in found.values()):
        return
    rows = [("plan", "expected time", "results", *(("time", "results") if arguments.run else ()))]
    rows += [_row(explanation, names) for explanation, names in found.values()]
    _print_aligned(rows)


def _explanations(arguments: Namespace, recipes: list[str]) -> list[Explanation]:
    from sase.api.explain import explain_by

    text, options = one_query(arguments), query_options(arguments)
    del options["plan"]
    if arguments.events is None:
        options |= vars(options_without_events(arguments)) | {"stats": arguments.stats}
        return explain_by(recipes, text, **options)
    options |= {"stats": arguments.stats, "analyze": arguments.run}
    options |= limit_options(arguments)
    return explain_by(recipes, text, discovered(arguments), **options)


def _row(explanation: Explanation, names: list[str]) -> tuple[str, ...]:
    from sase.planning.quantities import counted, duration

    results = explanation.expected_results
    expected = sum(each.expected.nanoseconds for each in explanation.operators if each.expected)
    row = (", ".join(names), duration(expected), "" if results is None else counted(results))
    if explanation.nanoseconds is None or explanation.results is None:
        return row
    return (*row, duration(explanation.nanoseconds), f"{explanation.results:,}")


def _print_aligned(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(printable("  ".join(cells)).rstrip())
