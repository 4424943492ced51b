"""The spelling of options in messages: for Python by default, the command line, or the shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto


class Interface(Enum):
    """An interface by which a query and its options come."""

    PYTHON = auto()
    COMMAND_LINE = auto()
    SHELL = auto()


_interface: ContextVar[Interface] = ContextVar("interface", default=Interface.PYTHON)
# Options that `sase run` has and the shell lacks.
_OF_RUN = ("output", "input_format")


@contextmanager
def written_for(interface: Interface) -> Iterator[None]:
    """Write the messages within the block for an interface."""
    before = _interface.set(interface)
    try:
        yield
    finally:
        _interface.reset(before)


def interface() -> Interface:
    """Return the interface in use, for work in another process."""
    return _interface.get()


def spelled(python: str, command_line: str, shell: str | None = None) -> str:
    """Return the text for the interface in use; by default the shell has that of the program."""
    match _interface.get():
        case Interface.PYTHON:
            return python
        case Interface.SHELL if shell is not None:
            return shell
        case _:
            return command_line


def option(name: str, *values: object) -> str:
    """Spell an option with its values, or only name it; the shell takes options at its start."""
    texts = [f'"{v}"' if repr(v) == f"'{v}'" and '"' not in str(v) else repr(v) for v in values]
    python = f"({', '.join(texts)})" if len(texts) > 1 else "".join(texts) or "…"
    command = f"--{name.replace('_', '-')}"
    if values:
        command += f" {shlex.quote(','.join(map(str, values)))}"
    program = "sase run" if name in _OF_RUN else "sase shell"
    return spelled(f"{name}={python}", command, f"{program} {command}")


def parameter(name: str, value: str | None = None) -> str:
    """Spell how a parameter of a query gets its value."""
    words = f"param {name}={value or 'VALUE'}"
    return spelled(f'params={{"{name}": {value or "…"}}}', f"--{words}", f".{words}")


def stream(name: str) -> str:
    """Spell how an input gets a name that queries read."""
    path = shlex.quote(f"{name}=PATH")
    return spelled(f"streams={{{name!r}: …}}", f"--input {path}", f".open {path}")
