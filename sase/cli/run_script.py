"""`sase run` of a script: several statements in one pass, each with results of its own."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from sase.cli.event_arguments import limit_options, one_query, query_options
from sase.cli.follow import lateness_of
from sase.cli.messages import counted, notify, notify_late, notify_warnings, warnings_as_messages
from sase.cli.output_files import write_file
from sase.cli.progress import Progress
from sase.cli.queries import refuse_given
from sase.cli.script_arguments import check_limit, discovered_input, named_inputs, notify_set_aside
from sase.cli.script_results import (
    SHOWN,
    bad_row_files,
    check_form_of_all,
    put_bad_rows_aside,
    statement_files,
    write_lines,
)
from sase.cli.signals import Ending
from sase.cli.standard_input import events_in_a_file

if TYPE_CHECKING:
    from sase.engine.results.matches import Matches
    from sase.engine.sources.discovered import Discovered


def check_script_options(arguments: Namespace) -> None:
    """Refuse what is asked of a single query."""
    given = {
        f"--output {arguments.output}": arguments.output != "all",
        "--stats": arguments.stats is not None,
    }
    refuse_given(given, "a script")
    threads = {"--threads": arguments.threads is not None}
    refuse_given(threads, "a script, whose statements one thread takes through the events")
    check_form_of_all(arguments)


def run_script(arguments: Namespace, ending: Ending) -> int:
    """Run all statements over files, and deliver what each finds."""
    text, inputs = one_query(arguments), named_inputs(arguments)
    with ExitStack() as stack:
        for each in inputs.values():
            stack.enter_context(events_in_a_file(each))
        given = {name: discovered_input(name, each) for name, each in inputs.items()}
        return _run(text, given, inputs, arguments, ending)


def _run(
    text: str,
    given: Mapping[str | None, Discovered],
    inputs: Mapping[str | None, Namespace],
    arguments: Namespace,
    ending: Ending,
) -> int:
    from sase.api.checks import check_bounds
    from sase.api.compiled_script import CompiledScript
    from sase.api.limits import bound, guard_of, limits_of
    from sase.binding.script import StatementGraph

    graph = StatementGraph.of(text, given)
    check_limit(graph, arguments)
    lateness = lateness_of(arguments.lateness)
    options = query_options(arguments)
    limit = arguments.limit
    script = CompiledScript(graph, given, options["params"], options["plan"], lateness, limit)
    every = [each.name for each in graph.statements]
    check_bounds(None, arguments.max_matches)
    guard = guard_of(limits_of(**limit_options(arguments)), perf_counter_ns)
    for each in given.values():
        bound(each, guard)
    paths = statement_files(every, arguments, inputs.values())
    script = script.settled(strict=arguments.strict)
    notify_set_aside(script)
    names = [each.name for each in script.graph.statements]
    aside, bad = bad_row_files(names, arguments, inputs), dict[str | None, Any]()
    with warnings_as_messages(), ScriptProgress(names) as progress:
        found = script.found(given, guard, arguments.max_matches, progress.watch, bad.update)
        _deliver(found, paths, arguments, ending)
    sys.stdout.flush()  # or the summary could overtake what it sums up

    def write(name: str | None, path: str) -> None:
        rows = bad[name]
        write_file(rows.schema, rows.to_batches(), path, ending, safe=arguments.csv_safe)

    put_bad_rows_aside({name: len(rows) for name, rows in bad.items() if rows}, aside, write)
    _conclude(found, paths, progress, len(script.set_aside))
    return 0


class ScriptProgress(Progress):
    """Rows, and the matches of each statement; of many those that found most."""

    MOST = 4

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(None)
        self._found: Mapping[str, int] = dict.fromkeys(names, 0)

    def watch(self, rows: int, found: Mapping[str, int]) -> None:
        """Note how far the run is."""
        self.rows, self._found = rows, found

    def line(self) -> str:
        """Rows, rate, and matches by statement."""
        first = sorted(self._found.items(), key=lambda each: -each[1])[: self.MOST]
        parts = [f"{name} {count:,}" for name, count in first]
        if len(self._found) > self.MOST:
            parts.append(f"all {len(self._found)} {sum(self._found.values()):,}")
        rate = self.rows / max(self.seconds, 1e-9)
        return f"{self.rows:,} rows, {rate:,.0f} a second; matches: {', '.join(parts)}"


def _deliver(
    found: Mapping[str, Matches], paths: Mapping[str, str], arguments: Namespace, ending: Ending
) -> None:
    if paths:
        for name, matches in found.items():
            write_file(*matches.to_batches(), paths[name], ending, safe=arguments.csv_safe)
    elif arguments.format == "jsonl":
        for name, matches in found.items():
            write_lines(name, *matches.to_batches())
    else:
        _print_tables(found)


def _print_tables(found: Mapping[str, Matches]) -> None:
    from sase.engine.results.repr import table_of

    for number, (name, matches) in enumerate(found.items()):
        print("\n" * bool(number) + f"{name}: {counted(len(matches), 'match')}")
        if len(matches):
            first = matches.head(SHOWN)
            print("\n".join(table_of(first.to_arrow(), first.schema.type)))
        if len(matches) > SHOWN:
            print(f"… and {len(matches) - SHOWN:,} more: write all of them with  -o FOLDER")


def _conclude(
    found: Mapping[str, Matches], paths: Mapping[str, str], progress: ScriptProgress, aside: int
) -> None:
    """Report the run, by statement."""
    for name, matches in found.items():
        report = matches.report
        notify_warnings(f"{name}: {warning}" for warning in report.warnings)
        notify([f"{name}: {note}" for note in report.notes])
        notify_late(report.late)
        if name in paths and len(matches):
            notify([f"{name}: {counted(len(matches), 'match')}: {paths[name]}"])
    total = sum(map(len, found.values()))
    rows = f"{counted(progress.rows, 'row')}, {progress.seconds:.2f} s"
    others = f" ({aside:,} set aside)" if aside else ""
    statements = f"{counted(len(found), 'statement')}{others}"
    notify([f"{counted(total, 'match')} of {statements} in {rows}"])
