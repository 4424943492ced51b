"""The reference of the command line, from the parsers of the program."""

from __future__ import annotations

from argparse import SUPPRESS, Action
from collections.abc import Iterator
from html import escape
from importlib import import_module

from sase.cli.main import COMMANDS, program_parser
from sase.cli.parser import CommandParser


def commands() -> str:
    """A section of Markdown for each command of the program."""
    parts = list(_section(program_parser(), "sase"))
    for command in COMMANDS:
        parser = CommandParser(prog=f"sase {command.name}", description=command.summary)
        import_module(command.module).configure(parser)
        parts += _sections(parser)
    return "\n".join(parts)


def _sections(parser: CommandParser) -> Iterator[str]:
    yield from _section(parser, parser.prog)
    for below in parser.below.values():
        yield from _sections(below)


def _section(parser: CommandParser, name: str) -> Iterator[str]:
    """A heading, the description, and a row for each argument."""
    yield f"\n## {name} {{ #{name.replace(' ', '-')} }}\n\n{parser.description or ''}\n"
    shown = [each for each in parser.arguments if each.help != SUPPRESS]
    if shown:
        yield "| argument | |\n| --- | --- |"
        yield from (f"| {_name(each)} | {_help(parser, each)} |" for each in shown)
    if parser.below and parser.prog != "sase":
        yield f"\nOne of these follows: {', '.join(f'`{each}`' for each in parser.below)}.\n"


def _name(action: Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {_value(action)}"
    shown = escape(value).replace("|", "&#124;")
    return ", ".join(f"<code>{option}{shown}</code>" for option in action.option_strings)


def _value(action: Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "|".join(map(str, action.choices))
    metavar = action.metavar or action.dest.upper()
    return " ".join(metavar) if isinstance(metavar, tuple) else metavar


def _help(parser: CommandParser, action: Action) -> str:
    text = (action.help or "") % {**vars(action), "prog": parser.prog}
    return escape(text, quote=False).replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
