"""The program `sase`: finds the command, runs it, and turns what happens into an exit status."""

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
from sase.address_space import is_tight
from sase.cli.pandas_import import HostProcess
from sase.cli.parser import CommandParser
from sase.nearest import nearest
from sase.printable import printable_message


class Command(NamedTuple):
    """A command; its module has `configure(parser) -> None` and `run(arguments) -> int`.

    What `run` raises of this package becomes a message and an exit status.
    """

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("check", "sase.cli.check", "Check queries, and report every error with its place."),
    Command("format", "sase.cli.format", "Lay queries out well."),
    Command("run", "sase.cli.run", "Find the matches of a query in files of events."),
    Command("replay", "sase.cli.replay", "Find the matches of a query with Spark."),
    Command("explain", "sase.cli.explain", "Show the plan of a query, and why it is so."),
    Command("plans", "sase.cli.plans", "List the recipes of plans, or compare what they make."),
    Command("why", "sase.cli.why", "Explain why a query finds no match, or so few."),
    Command("compare", "sase.cli.compare", "Run a pattern under each strategy, side by side."),
    Command("import", "sase.cli.import_rules", "Turn rules of other languages into scripts."),
    Command("generate", "sase.cli.generate", "Make a stream of events to try queries on."),
    Command("completion", "sase.cli.completion", "Print what makes a shell complete all this."),
)

# Exit statuses. An end from outside counts as shells do: 128 and the number of the signal.
FAILED, WRONG, INTERRUPTED, UNREAD, TERMINATED = 1, 2, 130, 141, 143

# So many more objects there may be before Python looks for cycles among them.
YOUNG = 200_000
NO_OUTPUT = "there is no standard output: it is closed"
UNLOADED = (
    "there is not enough memory to load or compile code: a limit such as `ulimit -v` is too low"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the result is the exit status."""
    with _outputs():
        return _main(arguments)


@contextlib.contextmanager
def _outputs() -> Iterator[None]:
    """Stand in for outputs that are closed: writing results fails, and messages go nowhere.

    `print` of messages would else write them among the results.
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
        # Nearly all objects are code that is loaded and stays, and all go with the process: to look
        # for cycles among them every few hundred, and at the exit, takes a tenth of the time.
        gc.set_threshold(YOUNG)
        atexit.register(gc.freeze)
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            # What fails here is still ours to report; at the interpreter's exit it is a traceback.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads our output, such as `head`, has seen enough
        _drop(sys.stdout, sys.stderr)
        return UNREAD
    except MemoryError as error:
        reason = f": {printable_message(str(error))}" if str(error) else ""
        print(f"sase: error: there is not enough memory{reason}", file=sys.stderr)
        return FAILED
    except (ImportError, SystemError) as error:  # LLVM is at a loss in the midst of compiling
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
    if first not in commands:
        program = program_parser()
        if first.startswith("-"):
            program.parse_args([first])  # leaves with the help, the version, or an error
        program.error(f"there is no command {first!r}; {_suggestion(first, commands)}")
    return _run_command(commands[first], rest)


def program_parser() -> CommandParser:
    """The parser of what stands before a command; of the commands it knows the names alone."""
    program = CommandParser(
        prog="sase",  # and not __main__.py
        description="Find event patterns in streams and tables.",
        epilog="Exit status: 0 fine, 1 the run failed, 2 the query or the arguments are wrong.",
    )
    program.add_argument("--version", action="version", version=f"sase {__version__}")
    commands = program.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, _, summary in COMMANDS:
        commands.add_parser(name, help=summary, description=summary)
    return program


def _run_command(command: Command, arguments: Sequence[str]) -> int:
    """Run a command: 1 if it fails, 2 if a query or the arguments are wrong."""
    module = import_module(command.module)
    parser = CommandParser(prog=f"sase {command.name}", description=command.summary)
    module.configure(parser)
    program, parsed = _parse(parser, arguments)
    from sase.cli.messages import print_diagnostics
    from sase.cli.queries import ArgumentError, Terminated, check_events, named_as_read
    from sase.errors import PlanError, QueryError, SaseError, SchemaError

    try:
        check_events(parsed)
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
    """Parse what stands after a command; a choice such as `generate retail` has its own parser."""
    if parser.below:
        if not arguments or arguments[0].startswith("-"):
            parser.parse_args(arguments[:1])  # leaves with the help or an error
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
    """Refuse what is not UTF-8 but for paths, which may be of any bytes."""
    from sase.text_file import is_unicode

    for action in parser.arguments:
        given = getattr(parsed, action.dest, None)
        for text in given if isinstance(given, list) else [given]:
            is_path = {"FILE", "PATH"} & set(re.split(r"\W", str(action.metavar)))
            if isinstance(text, str) and not is_path and not is_unicode(text):
                name = action.option_strings[0] if action.option_strings else action.metavar
                parser.error(f"{name} {text}: this is not UTF-8")


def _suggestion(word: str, known: Iterable[str]) -> str:
    known = list(known)
    # To a lone letter, such as -z, every other is as near.
    found = nearest(word, known) if len(word) > 2 else None
    return f"did you mean {found}?" if found else f"there are: {', '.join(known)}"


def _write_any_character() -> None:
    """Escape what the terminal's encoding lacks (standard error does by itself)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop(*streams: TextIO) -> None:
    """Lead what these streams still hold to nowhere, where writing it cannot fail again."""
    # A stream without a descriptor, such as a caller's StringIO, has nothing that could fail.
    with contextlib.suppress(io.UnsupportedOperation), open(os.devnull, "wb") as nowhere:
        for stream in streams:
            os.dup2(nowhere.fileno(), stream.fileno())
