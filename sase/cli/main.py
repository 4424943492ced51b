"""The program `sase`: find the command, run it, and return its exit status."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple, TextIO

from sase import __version__
from sase.base.limits import is_tight
from sase.base.texts import nearest
from sase.cli.pandas_import import HostProcess
from sase.cli.parser import CommandParser
from sase.printable import printable_message


class Command(NamedTuple):
    """A command; its module has `configure(parser) -> None` and `run(arguments) -> int`.

    Errors of this package in `run` become a message and an exit status.
    """

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("check", "sase.cli.check", "Check queries, and report every error with its place."),
    Command("format", "sase.cli.format", "Lay queries out well."),
    Command("run", "sase.cli.run", "Find the matches of a query in files of events."),
    Command("shell", "sase.cli.shell", "Run queries one after the other, with completion."),
    Command("replay", "sase.cli.replay", "Find the matches of a query with Spark."),
    Command("explain", "sase.cli.explain", "Show the plan of a query, and why it is so."),
    Command("plans", "sase.cli.plans", "List the recipes of plans, or compare their plans."),
    Command("why", "sase.cli.why", "Explain why a query finds no match, or so few."),
    Command("compare", "sase.cli.compare", "Run a pattern under each strategy, side by side."),
    Command("funnel", "sase.cli.funnel", "Count how many keys reach each of several steps."),
    Command("import", "sase.cli.import_rules", "Turn rules of other languages into scripts."),
    Command("generate", "sase.cli.generate", "Make a stream of events to try queries on."),
    Command("lsp", "sase.cli.lsp", "Serve editors: errors, completion, hovers, layout."),
    Command(
        "completion", "sase.cli.completion", "Print the script by which a shell completes all this."
    ),
)

# The commands with default options from a file.
CONFIGURED = ("run", "shell")

# Exit statuses. If a signal ends the program, its status is 128 plus the number, as in shells.
FAILED, WRONG, INTERRUPTED, UNREAD, TERMINATED = 1, 2, 130, 141, 143

# The number of new objects at which Python collects cyclic garbage.
YOUNG = 200_000
NO_OUTPUT = "there is no standard output: it is closed"
UNLOADED = (
    "there is not enough memory to load or compile code: a limit such as `ulimit -v` is too low"
)


# Options before a command, for the records of the logger.
VERBOSE = ("-v", "--debug")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, and return the exit status."""
    with _outputs():
        return _main(arguments)


@contextlib.contextmanager
def _outputs() -> Iterator[None]:
    """Replace closed outputs: writing results then fails, and messages are dropped.

    Without this, `print` of messages could write them among the results.
    """
    with contextlib.ExitStack() as held:
        if sys.stdout is None:
            unwritable = held.enter_context(open(os.devnull))
            held.enter_context(contextlib.redirect_stdout(unwritable))
        if sys.stderr is None:
            nowhere = held.enter_context(open(os.devnull, "w"))
            held.enter_context(contextlib.redirect_stderr(nowhere))
        yield


def _main(arguments: Sequence[str] | None) -> int:
    _write_any_character()
    HostProcess.is_command = arguments is None
    if HostProcess.is_command:
        # Nearly all objects are loaded code that stays until the process ends. A collection of
        # cycles after every few hundred objects, and at the exit, takes a tenth of the time.
        gc.set_threshold(YOUNG)
        atexit.register(gc.freeze)
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            # An error here can still be reported; at the interpreter's exit it is a traceback.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        _drop(sys.stdout, sys.stderr)
        return UNREAD
    except MemoryError as error:
        reason = f": {printable_message(str(error))}" if str(error) else ""
        print(f"sase: error: there is not enough memory{reason}", file=sys.stderr)
        return FAILED
    except (ImportError, SystemError) as error:  # LLVM fails in this way during compilation
        if not is_tight():
            raise
        print(f"sase: error: {UNLOADED}: {printable_message(str(error))}", file=sys.stderr)
        return FAILED
    except OSError as error:
        _drop(sys.stdout)
        is_unloaded = "shared object" in str(error) and is_tight()
        is_closed = isinstance(error, io.UnsupportedOperation) and not sys.stdout.writable()
        reason = f"{UNLOADED}: {error}" if is_unloaded else NO_OUTPUT if is_closed else str(error)
        print(f"sase: error: {printable_message(reason)}", file=sys.stderr)
        return FAILED


def _run(arguments: Sequence[str]) -> int:
    commands = {command.name: command for command in COMMANDS}
    if not arguments:
        program_parser().print_help(sys.stderr)
        return WRONG
    first, *rest = arguments
    if first in VERBOSE and rest:
        from sase.cli.verbose import logged

        with logged(first):
            return _run(rest)
    if first not in commands:
        program = program_parser()
        if first.startswith("-"):
            program.parse_args([first])  # exits with the help, the version, or an error
        program.error(f"there is no command {first!r}; {_suggestion(first, commands)}")
    return _run_command(commands[first], rest)


def program_parser() -> CommandParser:
    """The parser of the arguments before a command; it knows only the names of commands."""
    program = CommandParser(
        prog="sase",  # and not __main__.py
        description="Find event patterns in streams and tables.",
        epilog="Exit status: 0 fine, 1 the run failed, 2 the query or the arguments are wrong.",
    )
    program.add_argument("--version", action="version", version=f"sase {__version__}")
    program.add_argument("-v", action="store_true", help="also print files, plans and times")
    program.add_argument("--debug", action="store_true", help="the same, and the rewrites")
    commands = program.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, _, summary in COMMANDS:
        commands.add_parser(name, help=summary, description=summary)
    return program


def _run_command(command: Command, arguments: Sequence[str]) -> int:
    """Run a command; return 1 if it fails, 2 if a query or the arguments are wrong."""
    module = import_module(command.module)
    parser = CommandParser(prog=f"sase {command.name}", description=command.summary)
    module.configure(parser)
    if command.name in CONFIGURED:
        from sase.cli.config import with_defaults

        arguments = with_defaults(parser, arguments)
    program, parsed = _parse(parser, arguments)
    from sase.base.interface import Interface, written_for
    from sase.cli.messages import print_diagnostics
    from sase.cli.queries import ArgumentError, Terminated, check_events, named_as_read
    from sase.errors import PlanError, QueryError, SaseError, SchemaError

    try:
        check_events(parsed)
        with written_for(Interface.COMMAND_LINE):
            status: int = module.run(parsed)
    except QueryError as problem:
        print_diagnostics(named_as_read(problem.diagnostics, parsed), sys.stderr)
        return WRONG
    except (SaseError, ArgumentError) as problem:
        print(f"{program}: error: {printable_message(str(problem))}", file=sys.stderr)
        return WRONG if isinstance(problem, SchemaError | PlanError | ArgumentError) else FAILED
    except Terminated:
        return TERMINATED
    return status


def _parse(parser: CommandParser, arguments: Sequence[str]) -> tuple[str, Namespace]:
    """Parse the arguments after a command; `generate retail` has a parser for the choice."""
    if parser.below:
        if not arguments or arguments[0].startswith("-"):
            parser.parse_args(arguments[:1])  # exits with the help or an error
        first, *rest = arguments
        if first not in parser.below:
            parser.error(f"there is no {first!r} here; {_suggestion(first, parser.below)}")
        return _parse(parser.below[first], rest)
    # Intermixed, because a file may also come after an option: `check a.sase --format json b.sase`.
    parsed, unknown = parser.parse_known_intermixed_args(arguments)
    _refuse_bytes(parser, parsed)
    if unknown:
        options = [option for action in parser.arguments for option in action.option_strings]
        parser.error(f"{unknown[0]!r} means nothing here; {_suggestion(unknown[0], options)}")
    return parser.prog, parsed


def _refuse_bytes(parser: CommandParser, parsed: Namespace) -> None:
    """Refuse arguments that are not UTF-8, except paths, which may have any bytes."""
    from sase.base.files import is_unicode

    for action in parser.arguments:
        given = getattr(parsed, action.dest, None)
        for text in given if isinstance(given, list) else [given]:
            is_path = {"FILE", "PATH"} & set(re.split(r"\W", str(action.metavar)))
            if isinstance(text, str) and not is_path and not is_unicode(text):
                name = action.option_strings[0] if action.option_strings else action.metavar
                parser.error(f"{name} {text}: this is not UTF-8")


def _suggestion(word: str, names: Iterable[str]) -> str:
    names = list(names)
    # For a single letter, such as -z, every other letter is equally near.
    found = nearest(word, names) if len(word) > 2 else None
    return f"did you mean {found}?" if found else f"there are: {', '.join(names)}"


def _write_any_character() -> None:
    """Escape characters that the encoding of the terminal lacks, as standard error does."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop(*streams: TextIO) -> None:
    """Discard the buffers of these streams, so that flushing them cannot fail again."""
    # A stream without a descriptor, such as a caller's StringIO, cannot fail.
    with contextlib.suppress(io.UnsupportedOperation), open(os.devnull, "wb") as nowhere:
        for stream in streams:
            os.dup2(nowhere.fileno(), stream.fileno())
