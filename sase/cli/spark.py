"""Sessions and sources of commands on Spark."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sase.cli.event_arguments import (
    discovered,
    limit_options,
    one_query,
    options_for,
    query_options,
)
from sase.cli.messages import notify, notify_warnings
from sase.cli.queries import STANDARD_INPUT, ArgumentError, named_value

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.engine.sources import Files
    from sase.spark.replay import Replay
    from sase.spark.session import DataFrame, SparkSession

MASTER, ADDRESS = "local[*]", "://"
STRATEGIES = ("key", "slice", "key_and_slice", "files", "one_task")


def add_spark(parser: ArgumentParser) -> None:
    """The arguments that say where Spark is, and how it cuts the events."""
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


@dataclass
class ReplayRequest:
    """A query and where its events are; it is `known` unless Spark alone can read them."""

    arguments: Namespace
    query: str
    options: dict[str, Any]
    known: CompiledQuery | None = None

    @classmethod
    def of(cls, arguments: Namespace, query: str | None = None, **options: Any) -> ReplayRequest:
        """Check the arguments as far as that can be without Spark; they may have the query."""
        if (arguments.events is None) == (arguments.table is None):
            raise ArgumentError("give the events once: with --events PATH, or with --table NAME")
        if arguments.events == STANDARD_INPUT:
            raise ArgumentError("--events -: only  sase run  reads events from standard input")
        from sase.api.limits import limits_of

        conf_of(arguments)
        limits_of(**limit_options(arguments))
        given = cls(arguments, one_query(arguments) if query is None else query, options)
        if arguments.events is not None and ADDRESS not in arguments.events:
            given._open()
        else:
            given._check_order(ordering_of(given.query, **options))
        options |= {"strategy": arguments.strategy, "slices": slices_of(arguments.slices)}
        options |= limit_options(arguments)
        return given

    def _open(self) -> None:
        from sase.api.compiled_query import compile_query
        from sase.engine.pipeline.batch import text_warnings

        # Workers are not where we are, so paths must not depend on that.
        self.arguments.events = os.path.abspath(self.arguments.events)
        source = discovered(self.arguments, judges=False)
        output = self.options.get("output")
        # A bad query fails here, and not when Spark is up.
        self.known = compile_query(
            self.query,
            source,
            limit=self.options.get("limit"),
            output=output if output == "non_overlap" else "all",
            flat=self.options.get("flat", False),
            **query_options(self.arguments),
        )
        if self.files is not None:
            notify_warnings(text_warnings(self.known.unoptimized, self.files))
        # Of files which tasks read, the columns are known here.
        names = replace(source.names, null=(), text=())
        self.options |= query_options(self.arguments) | vars(names)
        if output == "compressed":
            from sase.spark.replay import check_set

            check_set(self.known)
        self._check_order(self.known.unoptimized.ordering)

    def _check_order(self, why: str) -> None:
        """Refuse a query that depends on what nothing says, and that for a reason."""
        from sase.binding.schema import ROW_ORDER

        if self.arguments.seq == ROW_ORDER:
            raise ArgumentError(
                f"--seq '{ROW_ORDER}': the rows that Spark reads have no order: name the column of"
                " integers that orders simultaneous events with  --seq COLUMN"
            )
        if why and self.arguments.seq is None:
            raise ArgumentError(
                f"{why}, and the rows that Spark reads have no order: name the column of integers"
                " that orders simultaneous events with  --seq COLUMN"
            )

    def frame(self, spark: SparkSession) -> DataFrame:
        """The events."""
        if self.files is not None and self.known is not None:
            from sase.spark.files import frame_of

            reading = self.known.reading
            return frame_of(spark, self.files, reading.named, reading.scan.columns is None)
        table = self.arguments.table
        df = spark.read.parquet(self.arguments.events) if table is None else spark.table(table)
        self.options |= query_options(self.arguments)
        self.options |= vars(options_for(self.arguments, df.columns))
        return df

    def replay(self, spark: SparkSession) -> Replay:
        """The query over the events."""
        from sase.spark import replay

        df = self.frame(spark)
        return replay(self.query, df, stats=self.arguments.stats, **self.options)

    @property
    def files(self) -> Files | None:
        """The files, unless Spark alone can read them."""
        return None if self.known is None else self.known.source.files

    @property
    def rows(self) -> int | None:
        """The number of rows, where footers say it."""
        return None if self.files is None else self.files.rows()


def ordering_of(
    text: str, *, output: str = "structs", limit: int | None = None, **rest: Any
) -> str:
    """The reason why a query depends on the order of simultaneous events, by its text alone."""
    from sase.lang.ast import Integer, StrategyName
    from sase.lang.parser import parse_query

    query = parse_query(text)
    if query.window is not None and query.window.events:
        return "a window in EVENTS counts them one by one"
    strategy = StrategyName.SKIP_TILL_ANY_MATCH if query.strategy is None else query.strategy.name
    if strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        return f"what {strategy.value} takes goes by the order of events"
    if output == "non_overlap":
        return "non_overlap takes the first of matches in the order of events"
    if limit or (isinstance(query.limit, Integer) and query.limit.value and limit is None):
        return "LIMIT takes the first results in the order of events"
    return ""


def conf_of(arguments: Namespace) -> dict[str, str]:
    """The settings of Spark that are given."""
    return dict(named_value("--conf", text, "KEY=VALUE") for text in arguments.conf)


def slices_of(text: str | None) -> int | list[int | datetime] | None:
    """A number of parts, or the times between slices."""
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
    """A session that is stopped at the end, or the one of the program that calls us."""
    from sase.spark.errors import translated_errors
    from sase.spark.session import active_session

    active = active_session()
    session = _started(arguments) if active is None else nullcontext(active)
    with translated_errors(), session as spark:
        try:
            yield spark
        except BaseException:
            _in_own_thread(spark.interruptAll)  # with Ctrl-C, jobs still run
            raise


@contextmanager
def _started(arguments: Namespace) -> Iterator[SparkSession]:
    """A session of our own; what Spark logs is kept in a file if Spark gives up."""
    from sase.spark.errors import is_of_spark
    from sase.spark.session import local_session

    if sys.stderr.isatty():
        notify([f"starting Spark at {arguments.master or MASTER}"])
    handle, log = tempfile.mkstemp(prefix="sase-spark-", suffix=".log")
    os.close(handle)
    keeps = False
    # py4j too logs an interrupt with all its traceback.
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        ending = signal.getsignal(signal.SIGINT)
        spark = local_session(arguments.master or MASTER, conf_of(arguments), log)
        signal.signal(signal.SIGINT, ending)  # Spark has put its own there
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
            notify([f"what Spark logged is in {log}"])
        else:
            os.unlink(log)


def _in_own_thread(call: Callable[[], object]) -> None:
    """Call Spark from another thread, which has its own connection to Java.

    That of a thread which was interrupted while it waited has the answer still to come. By now
    Spark may have ended by itself, of which there is nothing to tell.
    """

    def try_it() -> None:
        with suppress(Exception):
            call()

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
