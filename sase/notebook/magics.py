"""The magic `%%sase`: the cell is a query, and its line says on which events and how it runs."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from glob import glob
from os.path import exists
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser
from IPython.utils.process import arg_split

from sase.api.compiled_query import compile_query
from sase.api.explain import explain
from sase.api.matching import match
from sase.api.plan import DEFAULT_PLAN
from sase.api.why_not import why
from sase.base.interface import Interface, written_for
from sase.binding.input_options import INPUT_OPTIONS, InputOptions
from sase.engine.results.matches import Matches
from sase.engine.sources.discovered import Discovered
from sase.lang.parser import is_script
from sase.notebook.cell_result import CellResult

ABOUT = """Find the matches of a query, which is the cell, and show them beside the plan.
An expression with blanks needs quotes, as in  %%sase "readings[readings.id > 5]" ."""
RUN_OPTIONS = ("plan", "output", "limit", "max_matches", "threads", "timeout", "max_memory")
NUMBERS = ("limit", "max_matches", "threads", "longest")


def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser(
        "%%sase", None, ABOUT,
        formatter_class=RawDescriptionHelpFormatter, argument_default=SUPPRESS,
    )  # fmt: skip
    parser.allow_abbrev = False
    add = parser.add_argument
    add("events", metavar="EVENTS", type=_text, help="a Python expression, or the path of files")
    add("-o", "--out", metavar="NAME", type=_name, help="the variable that gets the matches")
    add("--param", metavar="NAME=VALUE", type=_text, action="append", help="the value of :NAME in"
        " the query, as a Python expression; may be given several times")  # fmt: skip
    group = parser.add_argument_group("keywords of sase.match", "--types is a Python expression.")
    for name in (*RUN_OPTIONS, *INPUT_OPTIONS):
        more = {"action": "append"} if name in ("null", "text") else {}
        kind = _number if name in NUMBERS else _text
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, **more)
    return parser


def _text(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] in "'\"" else text


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else _text(text)


def _name(text: str) -> str:
    if not text.isidentifier():
        raise ArgumentTypeError(f"{text} is no name of a variable, such as  -o found")
    return text


class Magic:
    """The magic `sase` of a shell of IPython."""

    def __init__(self, shell: Any) -> None:
        self._shell, self._parser = shell, _parser()

    def sase(self, line: str, cell: str | None = None) -> CellResult | None:
        """Find the matches of a query, which is the cell; `%sase` prints the options."""
        if cell is None:
            print(self._parser.format_help())
            return None
        with written_for(Interface.COMMAND_LINE):
            return self._result(cell, self.arguments(line))

    def _result(self, cell: str, given: dict[str, Any]) -> CellResult:
        name, source = given.pop("out", None), self.source(given)
        params = self._parameters(given.pop("param", ()))
        if not is_script(cell):
            # Otherwise the columns of files would be read once more for the types in the plan.
            source = compile_query(cell, source, params=params).source
        found = match(cell, source, params=params, **given)
        # This searches. Compressed matches may be too many to be counted for this.
        is_counted, is_listed = isinstance(found, int), isinstance(found, Matches)
        in_vain = found == 0 if is_counted else is_listed and not len(found)
        kept = {name: given[name] for name in ("plan", "output", "limit") if name in given}
        limits = {name: given[name] for name in ("timeout", "max_memory") if name in given}
        plan = explain(cell, source, params=params, **kept)
        recipe = given.get("plan", DEFAULT_PLAN)
        reason = why(cell, source, params=params, plan=recipe, **limits) if in_vain else None
        if name is not None:
            self._shell.push({name: found})
        return CellResult(found, plan, reason)

    def arguments(self, line: str) -> dict[str, Any]:
        """The arguments that a line gives."""
        try:
            return {**vars(self._parser.parse_args(arg_split(line)))}
        except (UsageError, ValueError) as problem:
            raise UsageError(
                f"%%sase: {problem}: %sase lists the options, and an expression with blanks needs"
                " quotes"
            ) from None

    def source(self, given: dict[str, Any]) -> Discovered:
        """Open the events of the arguments, and take the options for them out."""
        text, columns = given.pop("events"), {n: given.pop(n) for n in INPUT_OPTIONS if n in given}
        if "," in columns.get("time", ""):
            columns["time"] = tuple(columns["time"].split(","))
        if "types" in columns:
            columns["types"] = self._value(columns["types"], "give a list or a dict of types")
        remedy = "and it is no file: define the variable, or correct the name or the path"
        events = text if is_path(text, self._shell.user_ns) else self._value(text, remedy)
        return Discovered.of(events, InputOptions(**columns))

    def _parameters(self, texts: Sequence[str]) -> dict[str, Any]:
        pairs = dict(text.partition("=")[::2] for text in texts)
        if len(pairs) < len(texts) or "" in pairs.values():
            raise UsageError("%%sase: --param NAME=VALUE gives each parameter one value")
        remedy = "a text needs quotes, as in  --param \"day='Monday'\""
        return {name: self._value(text, remedy) for name, text in pairs.items()}

    def _value(self, text: str, remedy: str) -> Any:
        try:
            return self._shell.ev(text)
        except Exception as problem:
            words = f"as Python, `{text}` is a {type(problem).__name__}: {problem}"
            raise UsageError(f"%%sase: {words}; {remedy}") from None


def is_path(text: str, variables: dict[str, Any]) -> bool:
    """Whether a text is no variable, and the path of files."""
    return text not in variables and (exists(text) or bool(glob(text)))
