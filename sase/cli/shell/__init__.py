"""`sase shell`: queries and commands one after the other, on a terminal or from a pipe."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from io import TextIOWrapper

from sase.cli.event_arguments import (
    add_event_files,
    add_inputs,
    add_limits,
    add_on_bad_row,
    add_query_options,
    add_schema,
)


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files of events, as behind --events and --input"
    )
    add_event_files(parser, required=False)
    add_inputs(parser)
    add_schema(parser, "the schema that the events have, which says the types of their columns")
    add_query_options(parser)
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as pay")
    parser.add_argument("--no-config", action="store_true", help="do not read sase.toml")
    add_limits(parser, "each query")
    add_on_bad_row(parser)
    parser.epilog = (
        "Queries end with a semicolon, and  .help  lists the commands. From a pipe there are no"
        " prompts, and the first error ends the shell with status 1."
    )


def run(arguments: Namespace) -> int:
    """Read queries and commands until the end; from a pipe, an error is a failure."""
    from sase.cli.queries import ArgumentError
    from sase.cli.shell.commands import run_command
    from sase.cli.shell.session import Session

    if sys.stdin is None:
        raise ArgumentError("there is no standard input")
    session = Session(arguments, run_command)
    try:
        if not sys.stdin.isatty():
            if isinstance(sys.stdin, TextIOWrapper):
                sys.stdin.reconfigure(encoding="utf-8-sig")
            return session.read(sys.stdin)
        from sase.cli.shell.prompt import converse

        return converse(session)
    except UnicodeDecodeError as problem:
        raise ArgumentError("standard input is not UTF-8") from problem
    except ModuleNotFoundError as problem:
        if problem.name != "prompt_toolkit":
            raise
        raise ArgumentError(
            "prompt_toolkit is not installed, which a terminal needs: pip install 'sase[shell]';"
            " without it, queries come from a pipe:  sase shell --events PATH < FILE"
        ) from problem
    finally:
        session.close()
