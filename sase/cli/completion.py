"""`sase completion`: a shell script that completes commands, options and choices."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Literal

from sase.cli import main, shells
from sase.cli.parser import CommandParser
from sase.cli.shells import CompletionPlace, Option


def configure(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", metavar="SHELL", choices=shells.SCRIPTS, help="bash, zsh or fish")
    parser.epilog = "The first lines of the script say where to put it."


def run(arguments: Namespace) -> int:
    """Print the script."""
    print(shells.SCRIPTS[arguments.shell](list(places())), end="")
    return 0


def places() -> Iterator[CompletionPlace]:
    """Every place of the command line, read from the parsers of all commands."""
    program = main.program_parser()
    for command in main.COMMANDS:
        import_module(command.module).configure(program.below[command.name])
    return _places(program, ())


def _places(parser: CommandParser, words: tuple[str, ...]) -> Iterator[CompletionPlace]:
    yield CompletionPlace(words, _options(parser), _choices(parser), _takes_files(parser))
    for name, below in parser.below.items():
        yield from _places(below, (*words, name))


def _options(parser: CommandParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(action.option_strings),
            (action.help or "") % (vars(action) | {"prog": parser.prog}),
            _takes(action),
            tuple(map(str, action.choices or ())),
        )
        for action in parser.arguments
        if action.option_strings and action.help != argparse.SUPPRESS
    )


def _takes(action: argparse.Action) -> Literal["nothing", "file", "choice", "other"]:
    if action.nargs == 0:
        return "nothing"
    if action.choices is not None:
        return "choice"
    return "file" if action.type is Path or action.metavar in ("FILE", "PATH") else "other"


def _choices(parser: CommandParser) -> dict[str, str]:
    """The words that may come next, each with its help."""
    if parser.below:
        return {name: below.description or "" for name, below in parser.below.items()}
    for action in parser.arguments:
        if not action.option_strings and action.choices is not None:
            return dict.fromkeys(map(str, action.choices), "")
    return {}


def _takes_files(parser: CommandParser) -> bool:
    return any(_takes(action) == "file" for action in parser.arguments if not action.option_strings)
