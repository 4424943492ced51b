"""The parser of a command: it keeps its arguments, and the parsers of the choices below it."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser
from typing import Any, NoReturn

from sase.printable import printable_message


class CommandParser(ArgumentParser):
    """An `ArgumentParser` that keeps the arguments added to it; it refuses abbreviated options."""

    def __init__(self, **settings: Any) -> None:
        self.arguments: list[Action] = []
        # By name, such as the streams of `sase generate`.
        self.below: dict[str, CommandParser] = {}
        # An unambiguous abbreviation becomes ambiguous when another option is added.
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Exit with an error; the arguments in it may have any characters."""
        super().error(printable_message(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or an error; the method of `argparse` ignores failures of writing."""
        if message:
            (file or sys.stderr).write(message)

    def add_argument(self, *names: Any, **settings: Any) -> Action:
        """Add an argument, and keep it."""
        self.arguments.append(super().add_argument(*names, **settings))
        return self.arguments[-1]

    def add_subparsers(self, **settings: Any) -> Any:
        """Add choices, and keep their parsers."""
        choices = super().add_subparsers(**settings)
        self.below = choices.choices  # this dict grows as choices are added
        return choices
