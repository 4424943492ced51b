"""The program of a command: its statements, and its inputs with names."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sase.base.texts import did_you_mean
from sase.cli.event_arguments import discovered, lateness_of, one_query, query_options
from sase.cli.messages import notify_warnings
from sase.cli.queries import STANDARD_INPUT, ArgumentError, named_value
from sase.errors import SchemaError

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.binding.script.script import StatementGraph
    from sase.engine.sources.discovered import Discovered

# The forms of results that list no matches.
FORMS = ("compressed", "count")
# The options that may differ by input; the time has two columns if it is imprecise.
_OPTIONS = ("time", "type", "seq", "time_unit", "types", "longest")
_OWN = re.compile(rf"(.*),({'|'.join(_OPTIONS)})=((?<=,time=)[^,]*,[^,=]*|[^,]*)", re.DOTALL)
_OTHER = re.compile(r".*,(\w+)=[^,]*", re.DOTALL)


def add_statement(parser: ArgumentParser) -> None:
    """Add the choice of a statement of a script."""
    parser.add_argument(
        "--statement", metavar="NAME", help="of a script: the stream or query_N to be explained"
    )


def add_strict(parser: ArgumentParser) -> None:
    """Add the option to refuse a script if a statement does not fit the events."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="of a script: refuse it if a statement names types or attributes that the events"
        " lack; otherwise the statement is set aside",
    )


def notify_set_aside(script: CompiledScript) -> None:
    """Report the statements that do not run, and why."""
    notify_warnings(f"{name} is set aside: {why}" for name, why in script.reasons.items())


def is_script(arguments: Namespace) -> bool:
    """Whether there are inputs with names, several statements, or streams."""
    from sase.lang.parser import is_script

    try:
        return bool(arguments.input) or is_script(one_query(arguments))
    except ArgumentError:
        return False  # this error is reported after those of other arguments


def named_inputs(arguments: Namespace) -> dict[str | None, Namespace]:
    """The arguments of each input, by its name; None is the input of --events."""
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


@dataclass(frozen=True)
class GivenProgram:
    """The statements of a command, and the arguments of each input that they may read."""

    graph: StatementGraph
    inputs: Mapping[str | None, Namespace]
    arguments: Namespace

    @classmethod
    def of(cls, arguments: Namespace) -> GivenProgram:
        """The statements and inputs that the arguments name; no event is read."""
        from sase.binding.script.script import StatementGraph

        text, inputs = one_query(arguments), named_inputs(arguments) or {None: arguments}
        graph = StatementGraph.of(text, inputs)
        if arguments.limit is not None:  # it applies to one statement only
            written = f"LIMIT {arguments.limit}"
            graph.only_result(
                f"leave --limit out, and write  {written}  in the statements it is for"
            )
        return cls(graph, inputs, arguments)

    @property
    def names(self) -> list[str]:
        """The names of the statements."""
        return [each.name for each in self.graph.statements]

    def label(self, name: str) -> str:
        """The prefix of a message about a statement; empty if it is the only one."""
        return f"{name}: " if len(self.graph.statements) > 1 else ""

    def compiled(
        self, given: Mapping[str | None, Discovered], aside: Collection[str] = ()
    ) -> CompiledScript:
        """The statements over the inputs, without those that are set aside."""
        from sase.api.compiled_script import CompiledScript

        arguments = self.arguments
        options = query_options(arguments)
        script = CompiledScript(
            self.graph.without(aside),
            given,
            options["params"],
            options["plan"],
            lateness_of(getattr(arguments, "lateness", None)),
            arguments.limit,
            arguments.output,
            is_flat(arguments),
        )
        return script.settled(strict=arguments.strict)


def check_form(program: GivenProgram) -> None:
    """Refuse options that a form does not use, and a form that statements cannot share."""
    arguments = program.arguments
    form, format = arguments.output, arguments.format
    if format == "csv" and arguments.out is None and len(program.names) > 1:
        raise ArgumentError(
            "--format csv: the statements of a script have columns of their own: write a file for"
            " each with  -o FOLDER  , or give  --format jsonl"
        )
    if form == "count" and arguments.out is not None:
        raise ArgumentError("-o does not go with --output count: that prints a number")
    if form == "count" and format not in (None, "jsonl", "json"):
        raise ArgumentError(
            f"--format {format} does not go with --output count: that prints a number, with"
            " --format jsonl as JSON"
        )
    if form == "compressed" and format is not None:
        raise ArgumentError(
            f"--format {format} does not go with --output compressed: that prints a summary, and"
            " -o FILE writes the collapsed form"
        )


def is_flat(arguments: Namespace) -> bool:
    """Whether matches are written as CSV, in which attributes of events are columns."""
    if arguments.output in FORMS:
        return False
    if arguments.out is None:
        return bool(arguments.format == "csv")
    return bool(arguments.out.lower().endswith((".csv", ".csv.gz", ".csv.zst")))


def events_of_script(
    arguments: Namespace,
) -> tuple[Discovered | None, dict[str, Discovered] | None]:
    """The events of the input without a name, and of the inputs with names."""
    found = {name: discovered_input(name, e) for name, e in named_inputs(arguments).items()}
    unnamed = found.pop(None, None)
    return unnamed, {str(name): each for name, each in found.items()} or None


def discovered_input(
    name: str | None, arguments: Namespace, *, judges: bool | None = None
) -> Discovered:
    """The events of an input; an error names the input, as several may have it."""
    try:
        return discovered(arguments, judges=judges)
    except (ArgumentError, SchemaError) as problem:
        if name is None:
            raise
        how = f"set options of this input alone by  --input {name}=PATH,time=COLUMN"
        raise type(problem)(f"--input {name}: {problem}; {how}") from problem
