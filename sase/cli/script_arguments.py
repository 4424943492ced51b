"""Arguments of commands that take scripts: inputs that have names, and whether a text is one."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from sase.cli.event_arguments import discovered, one_query
from sase.cli.messages import notify_warnings
from sase.cli.queries import STANDARD_INPUT, ArgumentError, named_value
from sase.errors import SchemaError
from sase.nearest import did_you_mean

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.binding.script import StatementGraph
    from sase.engine.sources.discovered import Discovered

# One of these is in every script.
_SIGNS = re.compile(r";|create|from", re.IGNORECASE)
# What an input may have that differs from the others; imprecise time has two columns.
_OPTIONS = ("time", "type", "seq", "time_unit", "types", "longest")
_OWN = re.compile(rf"(.*),({'|'.join(_OPTIONS)})=((?<=,time=)[^,]*,[^,=]*|[^,]*)", re.DOTALL)
_OTHER = re.compile(r".*,(\w+)=[^,]*", re.DOTALL)


def add_statement(parser: ArgumentParser) -> None:
    """Add which statement of a script is meant."""
    parser.add_argument(
        "--statement", metavar="NAME", help="of a script: the stream or query_N to be explained"
    )


def add_strict(parser: ArgumentParser) -> None:
    """Add that each statement of a script must fit the events."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="of a script: refuse it where a statement names what the events lack, which is set"
        " aside otherwise",
    )


def notify_set_aside(script: CompiledScript) -> None:
    """Tell which statements do not run, and why."""
    notify_warnings(f"{name} is set aside: {why}" for name, why in script.reasons.items())


def is_script(arguments: Namespace) -> bool:
    """Whether the text has several statements, or names streams."""
    if arguments.input:
        return True
    try:
        text = one_query(arguments)
    except ArgumentError:
        return False  # which is said behind what is wrong with other arguments
    if _SIGNS.search(text) is None:
        return False
    from sase.errors import QueryError
    from sase.lang.parser import parse_script

    try:
        first, *others = parse_script(text).statements
    except QueryError:
        return False  # which is said as of any query
    return bool(others) or first.stream is not None or bool(first.query.sources)


def named_inputs(arguments: Namespace) -> dict[str | None, Namespace]:
    """The arguments for each input, by its name; None is the one of --events."""
    found: dict[str | None, Namespace] = {} if arguments.events is None else {None: arguments}
    for text in arguments.input:
        name, path = named_value("--input", text, "NAME=PATH")
        own = dict[str, str]()
        while (match := _OWN.fullmatch(path)) is not None:
            path, option, value = match.groups()
            own[option] = value
        other = _OTHER.fullmatch(path)
        if other is not None and not Path(path).exists():
            hint = did_you_mean(other[1], _OPTIONS) or (f"there are {', '.join(_OPTIONS)}",)
            raise ArgumentError(f"--input {name}: an input has no option `{other[1]}`: {hint[0]}")
        if not path:
            raise ArgumentError(f"--input {name}= names no file:  --input {name}=PATH")
        if name in found:
            raise ArgumentError(f"--input {name} is given twice: which files are meant?")
        found[name] = Namespace(**{**vars(arguments), "events": path, **own})
    if sum(each.events == STANDARD_INPUT for each in found.values()) > 1:
        raise ArgumentError("two inputs cannot both come on standard input: give one as a file")
    return found


def check_limit(graph: StatementGraph, arguments: Namespace) -> None:
    """Refuse a limit where it is not known of whose matches."""
    if arguments.limit is not None:
        n = arguments.limit
        graph.only_result(f"leave --limit out, and write  LIMIT {n}  in the statements it is for")


def events_of_script(
    arguments: Namespace,
) -> tuple[Discovered | None, dict[str, Discovered] | None]:
    """The events of the input without a name, and of those that have one."""
    found = {name: discovered_input(name, e) for name, e in named_inputs(arguments).items()}
    unnamed = found.pop(None, None)
    return unnamed, {str(name): each for name, each in found.items()} or None


def discovered_input(
    name: str | None, arguments: Namespace, *, judges: bool | None = None
) -> Discovered:
    """The events of an input, which errors name, as several may lack the same."""
    try:
        return discovered(arguments, judges=judges)
    except (ArgumentError, SchemaError) as problem:
        if name is None:
            raise
        how = f"what holds of this input alone is told by  --input {name}=PATH,time=COLUMN"
        raise type(problem)(f"--input {name}: {problem}; {how}") from problem
