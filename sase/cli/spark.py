"""Spark sessions and sources of events for commands."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sase.cli.event_arguments import limit_options, on_bad_row, options_for, query_options
from sase.cli.messages import notify, notify_warnings
from sase.cli.queries import STANDARD_INPUT, ArgumentError, named_value, refuse_given
from sase.cli.script_arguments import GivenProgram, discovered_input, is_flat

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.binding.input_options import InputOptions
    from sase.lang.ast import Query
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame, SparkSession

MASTER, ADDRESS = "local[*]", "://"
STRATEGIES = ("key", "slice", "key_and_slice", "files", "one_task")


def add_spark(parser: ArgumentParser) -> None:
    """Add the arguments for the Spark session and the slices of events."""
    parser.add_argument(
        "--table", metavar="NAME", help="a table that Spark knows, or a view, instead of --events"
    )
    parser.add_argument(
        "--master",
        metavar="URL",
        help=f"where Spark runs: this machine, a cluster, or sc://… (default: {MASTER})",
    )
    parser.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting of Spark; may be given several times",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="how the events are cut into tasks (default: chosen by the plan)",
    )
    parser.add_argument(
        "--slices",
        metavar="N|TIMES",
        help="how many parts there are, or the times between slices, with commas",
    )


class Replayed(NamedTuple):
    """DataFrames of matches by statement, and of bad rows by input; a lone query's replay."""

    matches: Mapping[str, DataFrame]
    bad_rows: Mapping[str | None, DataFrame]
    replay: Replay | None = None


class SparkRequest:
    """A program and the places of its events, checked as far as possible without Spark."""

    def __init__(self, program: GivenProgram) -> None:
        from sase.api.checks import limits_of
        from sase.binding.schema import check_order

        arguments = program.arguments
        self._program, self._script = program, None
        self._is_lone = program.graph.is_lone
        if not self._is_lone:
            _refuse_of_several(arguments)
        for own in program.inputs.values():
            if self._is_lone and (own.events is None) == (own.table is None):
                raise ArgumentError(
                    "give the events once: with --events PATH, or with --table NAME"
                )
            if own.table is None and own.events is None:
                raise ArgumentError("there are no events: name their files with  --events PATH")
            if own.events == STANDARD_INPUT:
                raise ArgumentError("--events -: only  sase run  reads events from standard input")
        conf_of(arguments)
        limits_of(**limit_options(arguments))
        self._slices = slices_of(arguments.slices)
        if self._is_lone and (self._own.events is None or ADDRESS in self._own.events):
            (statement,) = program.graph.statements
            why = ordering_of(statement.tree, arguments.output, arguments.limit)
        else:  # a bad statement fails here, before Spark starts
            self._script = self._compiled()
            why = "" if (lone := self._script.lone) is None else lone.unoptimized.ordering
        if self._is_lone:
            check_order(self._own.seq, why)

    @property
    def _own(self) -> Namespace:
        """The arguments of the input of a lone query."""
        return self._program.inputs[self._program.graph.inputs[0]]

    def _compiled(self) -> CompiledScript:
        """The statements compiled for the files, which have known columns without Spark."""
        from sase.engine.pipeline.batch import text_warnings

        inputs = self._program.inputs.items()
        for _, own in inputs:
            # Workers have other working directories, so paths must be absolute.
            own.events = os.path.abspath(own.events)
        given = {name: discovered_input(name, own, judges=False) for name, own in inputs}
        script = self._program.compiled(given)
        if (lone := script.lone) is not None:
            assert lone.source.files is not None
            notify_warnings(text_warnings(lone.unoptimized, lone.source.files))
            if self._program.arguments.output == "compressed":
                from sase.spark.replay import check_set

                check_set(lone)
        return script

    @property
    def rows(self) -> int | None:
        """The number of rows, if the footers of all inputs have it."""
        sources = {} if self._script is None else self._script.bound.sources
        known = [each.rows for each in sources.values()]
        return None if None in known or not known else sum(filter(None, known))

    def replay(self, spark: SparkSession) -> Replay:
        """The lone query over its events."""
        from sase.spark import replay

        arguments, (statement,) = self._program.arguments, self._program.graph.statements
        ((df, names),) = self._frames(spark).values()
        output = "structs" if arguments.output == "all" else arguments.output
        options = {name: getattr(arguments, name) for name in ("limit", "stats", "strategy")}
        options |= {"output": output, "flat": is_flat(arguments), "slices": self._slices}
        options |= query_options(arguments) | limit_options(arguments) | vars(names)
        return replay(statement.text, df, **options)

    def replayed(self, spark: SparkSession) -> Replayed:
        """The statements over the events."""
        arguments = self._program.arguments
        if self._is_lone:
            replay, bad = self.replay(spark), dict[str | None, Any]()
            if on_bad_row(arguments) == "quarantine":
                bad[None] = replay.bad_rows
            return Replayed({self._program.names[0]: replay.matches}, bad, replay)
        from sase.spark.script import script

        frames, options = dict[str | None, Any](), dict[str, Any]()
        for each, (df, names) in self._frames(spark).items():
            frames[each] = df
            for option, value in vars(names).items():
                options.setdefault(option, {})[each] = value
        options |= {"strict": arguments.strict, **query_options(arguments)}
        found = script(self._program.graph.source.text, frames, **options)
        return Replayed(found, found.bad_rows)

    def _frames(self, spark: SparkSession) -> dict[str | None, tuple[DataFrame, InputOptions]]:
        """The events of each input, and the options of its columns."""
        from sase.spark.reading.files import frame_of, parquet_of

        if self._script is None:
            own = self._own
            df = parquet_of(spark, own.events) if own.table is None else spark.table(own.table)
            return {None: (df, options_for(own, df.columns))}

        found: dict[str | None, tuple[DataFrame, InputOptions]] = {}
        for name, source in self._script.bound.sources.items():
            assert source.files is not None
            df = frame_of(spark, source.files, *self._script.columns_read(name))
            found[name] = df, source.names.without_reading
        return found


def _refuse_of_several(arguments: Namespace) -> None:
    """Refuse options that only a lone query has on Spark."""
    names = ("limit", "strategy", "slices", "stats", "table", "timeout", "max_memory")
    given = {f"--output {arguments.output}": arguments.output != "all"}
    given |= {f"--{e.replace('_', '-')}": getattr(arguments, e) is not None for e in names}
    refuse_given(given, "a script on Spark")


def ordering_of(query: Query, output: str, limit: int | None) -> str:
    """Why a query depends on the order of simultaneous events, from its text alone; else empty."""
    from sase.lang.ast import Integer, StrategyName

    if query.window is not None and query.window.events:
        return "a window in EVENTS counts them one by one"
    strategy = StrategyName.SKIP_TILL_ANY_MATCH if query.strategy is None else query.strategy.name
    if strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        return f"the events that {strategy.value} takes depend on their order"
    if output == "non_overlap":
        return "non_overlap takes the first of matches in the order of events"
    if limit or (isinstance(query.limit, Integer) and query.limit.value and limit is None):
        return "LIMIT takes the first results in the order of events"
    return ""


def conf_of(arguments: Namespace) -> dict[str, str]:
    """The settings of Spark from the arguments."""
    return dict(named_value("--conf", text, "KEY=VALUE") for text in arguments.conf)


def slices_of(text: str | None) -> int | list[int | datetime] | None:
    """The number of slices, or the times between slices."""
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    try:
        return [_time(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError:
        raise ArgumentError(
            f"--slices {text}: give a number, or times such as 2026-01-01,2026-02-01"
        ) from None


def _time(text: str) -> int | datetime:
    return int(text) if text.lstrip("-").isdigit() else datetime.fromisoformat(text)


@contextmanager
def session(arguments: Namespace) -> Iterator[SparkSession]:
    """A new session that is stopped at the end, or the active session of the calling program."""
    from sase.spark.session import active_session
    from sase.spark.tasks.errors import translated_errors

    active = active_session()
    session = _started(arguments) if active is None else nullcontext(active)
    with translated_errors(), session as spark:
        try:
            yield spark
        except BaseException:
            _in_own_thread(spark.interruptAll)  # after Ctrl-C, jobs still run
            raise


@contextmanager
def _started(arguments: Namespace) -> Iterator[SparkSession]:
    """A new session; if Spark fails, its log file is kept."""
    from sase.spark.session import local_session
    from sase.spark.tasks.errors import is_of_spark

    if sys.stderr.isatty():
        notify([f"starting Spark at {arguments.master or MASTER}"])
    handle, log = tempfile.mkstemp(prefix="sase-spark-", suffix=".log")
    os.close(handle)
    keeps = False
    # py4j also logs an interrupt with its whole traceback.
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        ending = signal.getsignal(signal.SIGINT)
        spark = local_session(arguments.master or MASTER, conf_of(arguments), log)
        signal.signal(signal.SIGINT, ending)  # Spark has replaced the handler
        try:
            yield spark
        finally:
            _in_own_thread(spark.stop)
    except Exception as problem:
        keeps = is_of_spark(problem) and os.path.getsize(log) > 0
        raise
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
        if keeps:
            notify([f"the log of Spark is in {log}"])
        else:
            os.unlink(log)


def _in_own_thread(call: Callable[[], object]) -> None:
    """Call Spark from another thread, which has its own connection to Java.

    The connection of an interrupted thread still waits for an answer. Spark may have ended by now,
    so errors are ignored.
    """

    def try_it() -> None:
        with suppress(Exception):
            call()

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
