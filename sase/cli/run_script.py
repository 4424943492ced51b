"""`sase run` of a script: several statements in one pass, each with results of its own."""

from __future__ import annotations

import io
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from time import perf_counter_ns
from typing import TYPE_CHECKING
from urllib.parse import quote

from sase.cli.event_arguments import discovered, limit_options, one_query, query_options
from sase.cli.follow import lateness_of
from sase.cli.messages import counted, notify, notify_late, notify_warnings, warnings_as_messages
from sase.cli.output_files import Target, check_target, check_unread, write_file
from sase.cli.progress import Progress
from sase.cli.queries import ArgumentError, refuse_given
from sase.cli.script_arguments import named_inputs
from sase.cli.signals import Ending
from sase.cli.standard_input import events_in_a_file

if TYPE_CHECKING:
    from sase.engine.results.matches import Matches
    from sase.engine.sources.discovered import Discovered

SHOWN = 20
SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl"}


def check_script_options(arguments: Namespace) -> None:
    """Refuse what is asked of a single query."""
    given = {
        f"--output {arguments.output}": arguments.output != "all",
        "--limit": arguments.limit is not None,
        "--threads": arguments.threads is not None,
        "--stats": arguments.stats is not None,
        "--quarantine": arguments.quarantine is not None,
    }
    refuse_given(given, "a script")
    if arguments.format == "csv" and arguments.out is None:
        raise ArgumentError(
            "--format csv: the statements of a script have columns of their own: write a file for"
            " each with  -o FOLDER  , or give  --format jsonl"
        )


def run_script(arguments: Namespace, ending: Ending) -> int:
    """Run all statements over files, and deliver what each finds."""
    text, inputs = one_query(arguments), named_inputs(arguments)
    with ExitStack() as stack:
        for each in inputs.values():
            stack.enter_context(events_in_a_file(each))
        given = {name: discovered(each) for name, each in inputs.items()}
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
    lateness = lateness_of(arguments.lateness)
    options = query_options(arguments)
    script = CompiledScript(graph, given, options["params"], options["plan"], lateness)
    names = [each.name for each in graph.statements]
    check_bounds(None, arguments.max_matches)
    guard = guard_of(limits_of(**limit_options(arguments)), perf_counter_ns)
    for each in given.values():
        bound(each, guard)
    paths = _paths(names, arguments, inputs.values())
    with warnings_as_messages(), ScriptProgress(names) as progress:
        found = script.found(given, guard, arguments.max_matches, progress.watch)
        _deliver(found, paths, arguments, ending)
    print(end="", flush=True)  # or the summary could overtake what it sums up
    _conclude(found, paths, progress)
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


# ---------------------------------------------------------------- files


def _paths(
    names: Iterable[str], arguments: Namespace, inputs: Iterable[Namespace]
) -> dict[str, str]:
    """The file of each statement in the folder that is to be written, which is made."""
    if arguments.out is None:
        return {}
    folder, suffix = arguments.out, SUFFIXES.get(arguments.format, ".parquet")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ArgumentError(
            f"-o {folder}: a script writes a file for each statement: name a folder"
        )
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, f"{quote(name, safe=' ')}{suffix}") for name in names}
    for path in paths.values():
        check_target(Target("-o", path))
        for each in inputs:
            check_unread(Target("-o", path), each)
    return paths


def _deliver(
    found: Mapping[str, Matches], paths: Mapping[str, str], arguments: Namespace, ending: Ending
) -> None:
    if paths:
        for name, matches in found.items():
            write_file(*matches.to_batches(), paths[name], ending, safe=arguments.csv_safe)
    elif arguments.format == "jsonl":
        for name, matches in found.items():
            write_lines(name, matches)
    else:
        _print_tables(found)


def write_lines(name: str, matches: Matches) -> None:
    """Write matches as lines of JSON on standard output, each with the name of its statement."""
    from sase.engine.results.sinks import text_writer

    schema, batches = matches.to_batches()
    lines = io.BytesIO()
    writer = text_writer("jsonl", lines, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    begin = f'{{"query": {json.dumps(name, ensure_ascii=False)}, '.encode()
    for line in lines.getvalue().splitlines(keepends=True):
        sys.stdout.buffer.write(begin + line.removeprefix(b"{").lstrip())
    sys.stdout.flush()


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
    found: Mapping[str, Matches], paths: Mapping[str, str], progress: ScriptProgress
) -> None:
    """Report the run, by statement."""
    for name, matches in found.items():
        report = matches.report
        notify_warnings(f"{name}: {warning}" for warning in report.warnings)
        notify([f"{name}: {note}" for note in report.notes])
        if report.bad:
            notify([f"{name}: {counted(report.bad, 'row')} could not be used"])
        notify_late(report.late)
        if name in paths and len(matches):
            notify([f"{name}: {counted(len(matches), 'match')}: {paths[name]}"])
    total = sum(map(len, found.values()))
    rows = f"{counted(progress.rows, 'row')}, {progress.seconds:.2f} s"
    notify([f"{counted(total, 'match')} of {counted(len(found), 'statement')} in {rows}"])
