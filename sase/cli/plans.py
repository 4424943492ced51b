"""`sase plans`: list the recipes, or compare their plans of a query."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from sase.cli.event_arguments import (
    add_events,
    add_limits,
    discovered,
    one_query,
    options_without_events,
    query_options,
    refuse_limits_unless,
)
from sase.cli.messages import notify
from sase.cli.queries import ArgumentError, Terminated
from sase.cli.standard_input import Ending
from sase.printable import printable

if TYPE_CHECKING:
    from sase.api.explain import PlanByRecipe
    from sase.planning.explain import Explanation

# The time limit of a plan that --run runs.
LIMIT = "1min"
# Exit statuses, as a shell has them.
INTERRUPTED, TERMINATED = 130, 143


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_events(parser, required=False)
    parser.add_argument(
        "--run", action="store_true", help="run every plan, and show its time and its matches"
    )
    add_limits(parser, f"each plan of --run (by default after {LIMIT})")
    parser.add_argument("--rewrites", action="store_true", help="list the rewrites instead")


def run(arguments: Namespace) -> int:
    """List the recipes, or compare their plans."""
    refuse_limits_unless(arguments.run, "--run", arguments)
    with Ending():
        return _run(arguments)


def _run(arguments: Namespace) -> int:
    from sase.planning.recipes import read_recipe, recipe_names
    from sase.planning.rewrites import REWRITES

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
        return _compare(arguments, [*recipe_names(), *own])
    return 0


def _compare(arguments: Namespace, recipes: list[str]) -> int:
    """Print the plan of each recipe, equal ones once, and a table of their costs."""
    from sase.planning.explain.text import tree

    found: dict[str, _Alike] = {}
    for plan in _plans(arguments, recipes):
        explanation = plan.explained()
        shape = "\n".join(tree(explanation, facts=False))
        found.setdefault(shape, _Alike(plan, explanation, [])).names.append(explanation.recipe)
    for shape, alike in found.items():
        print(f"{printable(', '.join(alike.names))}:\n{shape}\n")
    plans = [*found.values()]
    if all(each.explanation.expected_results is None for each in plans):
        return 0
    header: tuple[str, ...] = ("plan", "expected time", "results")
    if not arguments.run:
        _print_aligned([header, *(each.row() for each in plans)])
        return 0
    sys.stdout.flush()
    status, rows = _measured(arguments, plans)
    _print_aligned([(*header, "time", "results"), *rows])
    return status


class _Alike(NamedTuple):
    """A plan that several recipes make, and their names."""

    plan: PlanByRecipe
    explanation: Explanation
    names: list[str]

    def row(self) -> tuple[str, ...]:
        """The names and the estimates."""
        from sase.planning.quantities import counted, duration

        results, operators = self.explanation.expected_results, self.explanation.operators
        expected = sum(each.expected.nanoseconds for each in operators if each.expected)
        shown = "" if results is None else counted(results)
        return ", ".join(self.names), duration(expected), shown


def _measured(arguments: Namespace, plans: list[_Alike]) -> tuple[int, list[tuple[str, ...]]]:
    """Run each plan within its limits; after Ctrl-C return those that were run."""
    from sase.api.checks import guard_of, limits_of
    from sase.errors import MemoryLimitError, TimeLimitError
    from sase.planning.quantities import duration

    rows: list[tuple[str, ...]] = []
    for number, each in enumerate(plans, 1):
        _show(f"plan {number} of {len(plans)}: {each.names[0]}")
        limits = limits_of(arguments.timeout or LIMIT, arguments.max_memory)
        try:
            found = each.plan.analyzed(guard_of(limits, perf_counter_ns))
            ran = (duration(found.nanoseconds or 0), f"{found.results or 0:,}")
        except TimeLimitError:
            ran = (f"over {arguments.timeout or LIMIT}", "")
        except MemoryLimitError:
            ran = (f"over {arguments.max_memory}", "")
        except (KeyboardInterrupt, Terminated) as end:
            _show("")
            notify([f"interrupted: {len(plans) - len(rows)} of {len(plans)} plans have no time"])
            return INTERRUPTED if isinstance(end, KeyboardInterrupt) else TERMINATED, rows
        rows.append((*each.row(), *ran))
    _show("")
    return 0, rows


def _plans(arguments: Namespace, recipes: list[str]) -> Iterator[PlanByRecipe]:
    from sase.api.explain import explained_source, plans_by

    text, options = one_query(arguments), query_options(arguments)
    del options["plan"]
    if arguments.events is None:
        names = options_without_events(arguments)
        source = explained_source(text, None, None, names)
        return plans_by(recipes, text, source, arguments.stats, assumes=True, **options)
    return plans_by(recipes, text, discovered(arguments), arguments.stats, **options)


def _show(line: str) -> None:
    """Replace the line of progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{printable(line)}", end="", file=sys.stderr, flush=True)


def _print_aligned(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(printable("  ".join(cells)).rstrip())
