"""The commands of the shell, which begin with a dot."""

from __future__ import annotations

import os
from collections.abc import Callable
from shlex import split
from typing import NamedTuple

from sase.base.files import write_whole
from sase.base.texts import did_you_mean
from sase.cli.event_arguments import parameter
from sase.cli.messages import notify
from sase.cli.queries import ArgumentError, named_value
from sase.cli.shell.session import MODES, Session

# Python refuses numbers of very many digits.
DIGITS = 18


class ShellCommand(NamedTuple):
    """A command: its argument, its help, and the function that it calls with its argument."""

    argument: str
    says: str
    run: Callable[[Session, str], None]
    choices: tuple[str, ...] = ()
    is_path: bool = False


def run_command(session: Session, line: str) -> None:
    """Run the command in a line."""
    word, _, argument = line.strip().partition(" ")
    name = word.rstrip(";").lower()
    name = name if name.startswith((".", "\\")) else f".{name}"
    if name not in COMMANDS:
        hints = [*did_you_mean(name, COMMANDS), ".help lists them"]
        if name.startswith("\\"):
            hints.insert(0, "commands begin with a dot")
        raise ArgumentError(f"there is no command {word}: {'; '.join(hints)}")
    command, argument = COMMANDS[name], argument.strip().removesuffix(";").strip()
    if argument and not command.argument:
        raise ArgumentError(f"{name} has no argument, and here is {argument}")
    if argument and command.choices and argument.lower() not in command.choices:
        hint = (did_you_mean(argument, command.choices) or (f"it is {command.argument}",))[0]
        raise ArgumentError(f"{name} {argument}: {hint}")
    command.run(session, argument)


def _query(session: Session, text: str) -> str:
    """The given query, or the last one."""
    if text:
        session.last = text
    if session.last is None:
        raise ArgumentError("there is no query yet: run one, or write it behind the command")
    return session.last


def _why(session: Session, text: str) -> None:
    from sase.api.why_not import why

    print(session.call(why, _query(session, text), **session.limits))


def _plan(session: Session, text: str) -> None:
    from sase.api.explain import explain

    print(session.call(explain, _query(session, text)))


def _compare(session: Session, text: str) -> None:
    from sase.api.compare import compare

    print(session.call(compare, _query(session, text), **session.limits))


def _timeline(session: Session, path: str) -> None:
    picture = session.matches(_query(session, "")).timeline()
    if not path:
        print(picture)
        return
    try:
        write_whole(path, picture.to_html().encode())
    except OSError as problem:
        raise ArgumentError(f".timeline {path}: {problem.strerror}") from problem
    notify([f"a picture of the first matches: {path}"])


def _open(session: Session, paths: str) -> None:
    try:
        words = [os.path.expanduser(each) for each in split(paths)]
    except ValueError as problem:
        raise ArgumentError(f".open {paths}: {problem}") from problem
    if not words:
        raise ArgumentError(".open PATH … names no files of events")
    session.open(words)


def _schema(session: Session, _: str) -> None:
    from sase.cli.shell.described import described_inputs

    print("\n".join(described_inputs(session.inputs)))


def _types(session: Session, _: str) -> None:
    from sase.lang.printer import spelled_type

    print("\n".join(map(spelled_type, sorted(session.names.types))) or "no types are known")


def _mode(session: Session, mode: str) -> None:
    if mode:
        session.mode = mode.lower()
    else:
        print(session.mode)


def _rows(session: Session, number: str) -> None:
    if number and not (number.isdecimal() and len(number) <= DIGITS):
        shown = number[:40]
        raise ArgumentError(f".rows {shown}: give a whole number of at most {DIGITS} digits")
    if number:
        session.rows = int(number)
    else:
        print(session.rows)


def _timer(session: Session, state: str) -> None:
    if state:
        session.has_timer = state.lower() == "on"
    else:
        print("on" if session.has_timer else "off")


def _param(session: Session, text: str) -> None:
    if text:
        named_value(".param", text)
        name, value = parameter(text)
        session.parameters[name] = value
        return
    for name, value in session.parameters.items():
        print(f":{name} = {value!r}")


def _read(session: Session, path: str) -> None:
    if not path:
        raise ArgumentError(".read FILE names no file of queries")
    session.read_file(path)


def _quit(session: Session, _: str) -> None:
    session.is_over = True


def _help(session: Session, _: str) -> None:
    heads = {f"{name} {command.argument}".strip(): command for name, command in COMMANDS.items()}
    width = max(map(len, heads))
    print("A query ends with a semicolon. CREATE STREAM keeps a stream for later queries.")
    for head, command in heads.items():
        print(f"{head:<{width}}  {command.says}")


COMMANDS = {
    ".why": ShellCommand(
        "[QUERY]", "why a query has no match, or few; without one, the last query", _why
    ),
    ".plan": ShellCommand("[QUERY]", "the plan of a query", _plan),
    ".compare": ShellCommand("[QUERY]", "the pattern under each strategy", _compare),
    ".timeline": ShellCommand(
        "[FILE]", "the first matches of the last query along time; as a page in a file",
        _timeline, is_path=True,
    ),
    ".open": ShellCommand(
        "PATH …", "open other events; NAME=PATH is an input for FROM", _open, is_path=True
    ),
    ".schema": ShellCommand("", "the columns of the events and their types", _schema),
    ".types": ShellCommand("", "the types of the events", _types),
    ".mode": ShellCommand("[" + "|".join(MODES) + "]", "the form of results", _mode, MODES),
    ".rows": ShellCommand("[N]", "the most rows of a table", _rows),
    ".output": ShellCommand(
        "[FILE]", "write results to a file; without one to the terminal", Session.write_to,
        is_path=True,
    ),
    ".param": ShellCommand("[NAME=VALUE]", "set the value of :NAME in queries", _param),
    ".timer": ShellCommand("[on|off]", "print the time of each query", _timer, ("on", "off")),
    ".read": ShellCommand("FILE", "run the queries and commands of a file", _read, is_path=True),
    ".help": ShellCommand("", "this list", _help),
    ".quit": ShellCommand("", "leave; Ctrl-D does, too", _quit),
    ".exit": ShellCommand("", "the same", _quit),
}  # fmt: skip
